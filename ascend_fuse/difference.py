"""Two models side by side: structure, nodes, fusions, and what each costs on a chip."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from onnx import ModelProto, NodeProto

from ascend_fuse.config import DEFAULT_SOC, Settings, check_settings
from ascend_fuse.cost import Cost, Expanded, cost, expand
from ascend_fuse.emit.inline import count_fused
from ascend_fuse.error import ModelError, UsageError
from ascend_fuse.graph.attribute import attribute_texts
from ascend_fuse.graph.change import Change, NodeChange, Nodes, compared
from ascend_fuse.graph.difference import Counts, structure
from ascend_fuse.graph.load import normalise, read_model
from ascend_fuse.graph.node_difference import Subject, compare_nodes
from ascend_fuse.graph.proto import node_label
from ascend_fuse.graph.scope import infer
from ascend_fuse.graph.shape import Inference
from ascend_fuse.graph.weight import Held
from ascend_fuse.preparation import Preparation, declared_sizes, prepare, without_absent
from ascend_fuse.run import Progress

PathText = str | os.PathLike[str]


@dataclass(frozen=True, slots=True)
class Side:
    """One of the two models; `cost` is None where it could not be estimated."""

    path: str
    counts: Counts
    fused: int
    cost: Cost | None


@dataclass(frozen=True, slots=True)
class FusionChange:
    """A fused node that is `added`, `removed` or `changed`: `rules` as in `b` if it is there."""

    graph: str
    what: str
    rules: tuple[str, ...]
    a: str
    b: str
    changes: tuple[Change, ...] = ()


@dataclass(frozen=True, slots=True)
class Difference:
    """What differs, by what it is of; `nodes` and `values` with fused nodes expanded, all else as in the files.

    The counts of `operators` and `rules` (fused nodes by the rule that names them) are decimal; `computation` names
    outputs. `estimated_on`: the chip.
    """

    a: Side
    b: Side
    interface: tuple[Change, ...]
    opsets: tuple[Change, ...]
    operators: tuple[Change, ...]
    functions: tuple[Change, ...]
    initializers: tuple[Change, ...]
    computation: tuple[Change, ...]
    nodes: tuple[NodeChange, ...] = ()
    values: tuple[Change, ...] = ()
    matched: int = 0
    rules: tuple[Change, ...] = ()
    fusions: tuple[FusionChange, ...] = ()
    estimated_on: str = ""
    notes: tuple[str, ...] = ()

    @property
    def changes(self) -> tuple[Change, ...]:
        """All that is no node."""
        structure = (*self.interface, *self.opsets, *self.operators, *self.functions)
        return (*structure, *self.initializers, *self.computation)

    @property
    def is_same(self) -> bool:
        """Whether nothing differs but names, the order of nodes, docs, metadata and what is declared of inner values.

        Names of inputs, outputs, functions and of initializers that a caller may give do count.
        """
        return not self.changes and not self.nodes and not self.fusions

    @property
    def is_expanded(self) -> bool:
        """Whether `nodes` compares what fused nodes are made of."""
        return self.a.fused + self.b.fused > 0


@dataclass(slots=True)
class _Model:
    """One model on its way: in its file's form first, then without fused nodes and with types."""

    held: Held
    expanded: Expanded
    fused: int
    inferred: Mapping[str, Inference] = field(default_factory=dict[str, Inference])
    fault: str = ""  # why it has no types

    @classmethod
    def read(cls, path: Path) -> _Model:
        model = read_model(path)
        return cls(Held(model, path), Expanded(model), count_fused(model))

    def open(self) -> None:
        """Expand and infer; what cannot be planned is compared without types."""
        model = self.held.model
        try:
            normalise(model)
            self.expanded = expand(model)
            self.inferred = infer(model)
        except ModelError as e:
            self.fault = e.sentence()


def diff(
    a: PathText,
    b: PathText,
    *,
    soc: str = DEFAULT_SOC,
    dims: Mapping[str, int] | None = None,
    by_place: bool = False,
    progress: Progress | None = None,
) -> Difference:
    """What differs between two model files, and what both cost on the chip.

    External weights at the same place are the same; others are read, in pieces, unless `by_place`. Sizes have to be in
    one of the models. Raises ModelError for a file that is no model or lacks weights that are to be read, UsageError,
    SocError.
    """
    settings = Settings(soc=soc, dims=dims or {})
    check_settings(settings, "diff()")
    return compare(Path(a), Path(b), settings, by_place, progress)


def compare(
    path_a: Path, path_b: Path, settings: Settings, by_place: bool = False, progress: Progress | None = None
) -> Difference:
    """The same for settings that were checked."""
    tell = progress or _silent
    ready = prepare(settings)
    tell("read", 0, 4)
    a, b = _Model.read(path_a), _Model.read(path_b)
    _check_sizes(settings.dims, a.held.model, b.held.model)
    tell("weights", 1, 4)
    found = structure(a.held, b.held, by_place)
    tell("nodes", 2, 4)
    a.open()
    b.open()
    nodes = compare_nodes(
        Subject(a.held.model, a.inferred, found.leaves_a, found.shared_b),
        Subject(b.held.model, b.inferred, found.leaves_b, found.shared_a),
    )
    tell("estimate", 3, 4)
    sides = _side(a, found.a, ready), _side(b, found.b, ready)
    result = Difference(
        *sides, found.interface, found.opsets, found.operators, found.functions, found.initializers, found.computation,
        nodes.changes, nodes.values, nodes.matched, _rules(a, b), _fusions(a, b, nodes), ready.options.soc,
    )  # fmt: skip
    tell("done", 4, 4)
    return replace(result, notes=tuple(_notes(result, a, b)))


def _silent(stage: str, done: int, total: int) -> None:
    """No progress wanted."""


def _check_sizes(dims: Mapping[str, int], a: ModelProto, b: ModelProto) -> None:
    known = declared_sizes(a) | declared_sizes(b)
    _, absent = without_absent(dims, known, frozenset())
    if absent:
        do = f"theirs are: {', '.join(sorted(known)) or 'none'}"
        raise UsageError(absent[0].replace("this model", "these models"), where="--dim", do=do)


def _side(model: _Model, counts: Counts, ready: Preparation) -> Side:
    known = None if model.fault else cost(model.expanded, model.inferred, ready)
    return Side(str(model.held.source), counts, model.fused, known)


def _notes(d: Difference, a: _Model, b: _Model) -> Iterator[str]:
    for model, side in ((a, d.a), (b, d.b)):
        if model.fault:
            yield f"{side.path}: its types are not known, nothing is estimated: {model.fault}"
        elif side.cost is not None and side.cost.by_body:
            count = side.cost.by_body
            yield f"{side.path}: {count} fused nodes have no kernel on {d.estimated_on}: counted as what they hold"


def _fused(model: _Model) -> Iterator[tuple[str, NodeProto]]:
    for path, nodes in model.expanded.fused.items():
        for node in nodes:
            yield path, node


def _rules(a: _Model, b: _Model) -> tuple[Change, ...]:
    def counts(model: _Model) -> dict[str, str]:
        found = Counter(_rules_of(node)[0] for _, node in _fused(model))
        return {rule: str(n) for rule, n in sorted(found.items())}

    return compared("rule", counts(a), counts(b))


def _rules_of(node: NodeProto) -> tuple[str, ...]:
    return tuple(_texts(node).get("rules", "").split(","))


def _texts(node: NodeProto) -> dict[str, str]:
    """The body's name and the attributes of a fused node that decide what runs."""
    return {"body": node.op_type, **{n: t for n, t in attribute_texts(node).items() if n != "source"}}


def _fusions(a: _Model, b: _Model, nodes: Nodes) -> tuple[FusionChange, ...]:
    """Fused nodes that the other model has not around the same values, or with other contents."""
    of_b = {(path, name): node for path, node in _fused(b) for name in node.output if name}
    met: set[tuple[str, str]] = set()
    found: list[FusionChange] = []
    for path, node in _fused(a):
        first = next((o for o in node.output if o), "")
        twin = (path, nodes.twins.get((path, first), ""))
        other = of_b.get(twin)
        if other is None:
            found.append(FusionChange(path, "removed", _rules_of(node), node_label(node), ""))
            continue
        met |= {(path, name) for name in other.output}
        if changes := compared("attribute", _texts(node), _texts(other)):
            labels = node_label(node), node_label(other)
            found.append(FusionChange(path, "changed", _rules_of(other), *labels, changes))
    for path, node in _fused(b):
        if (path, next((o for o in node.output if o), "")) not in met:
            found.append(FusionChange(path, "added", _rules_of(node), "", node_label(node)))
    return tuple(found)
