"""What a model costs as it is: each fused node by its program, each other launch by itself."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from onnx import ModelProto, NodeProto

from ascend_fuse.emit.inline import inline_model, made_in
from ascend_fuse.engine import Part
from ascend_fuse.graph.dim import Dim, evaluate
from ascend_fuse.graph.function import FUSED_DOMAIN, Functions
from ascend_fuse.graph.launch import launches_by_scope
from ascend_fuse.graph.proto import copied
from ascend_fuse.graph.scope import scopes, view_of
from ascend_fuse.graph.shape import Inference
from ascend_fuse.graph.size import FRESH, Sizes, by_use
from ascend_fuse.graph.type import TensorType
from ascend_fuse.graph.view import Node, View
from ascend_fuse.plan import Totals
from ascend_fuse.planning import Planner
from ascend_fuse.preparation import Preparation
from ascend_fuse.program.text import parse_program
from ascend_fuse.rule.load import RuleSet
from ascend_fuse.summary import times_of


@dataclass(frozen=True, slots=True)
class Expanded:
    """A model whose fused nodes were replaced by their bodies, and what they were, by path of scope.

    `left`: the values that other nodes made before, which are there still.
    """

    model: ModelProto
    fused: Mapping[str, Sequence[NodeProto]] = field(default_factory=dict[str, Sequence[NodeProto]])
    left: Mapping[str, frozenset[str]] = field(default_factory=dict[str, frozenset[str]])


def expand(model: ModelProto) -> Expanded:
    """The model with its fused nodes replaced, edited in place. Raises ModelError for one without a body that fits."""
    fused: dict[str, Sequence[NodeProto]] = {}
    left: dict[str, frozenset[str]] = {}
    for scope in scopes(model):
        own = [copied(n) for n in scope.graph.node if n.domain == FUSED_DOMAIN]
        if own:
            fused[scope.path] = own
            left[scope.path] = frozenset(made_in(scope.graph) - {o for n in own for o in n.output})
    if fused:
        inline_model(model)
    return Expanded(model, fused, left)


@dataclass(frozen=True, slots=True)
class Cost:
    """Of one run: launches, bytes, time; `sizes` that stand for symbols, `assumed` of them nobody gave.

    `by_body`: how many fused nodes no kernel of the chip runs, which count as the nodes that they are made of.
    """

    totals: Totals
    sizes: Mapping[str, int]
    assumed: tuple[str, ...]
    by_body: int


def cost(expanded: Expanded, inferred: Mapping[str, Inference], ready: Preparation) -> Cost:
    """What the model costs on the chip, its nodes as they were before they were expanded.

    Raises UsageError for sizes that exceed what the engine counts.
    """
    model = expanded.model
    sizes = Sizes(ready.options.dims, by_use(model.graph))
    launches, functions = launches_by_scope(model), Functions(model)
    times = functions.times(model)
    total, by_body = Totals(), 0
    for scope in scopes(model):
        inference, own = inferred.get(scope.path), launches.get(scope.path)
        if inference is None or own is None:  # a function in another opset, or one that nothing calls
            continue
        view = view_of(scope, inference, model.ir_version >= 4)
        planner = Planner(view, own, inference.sure_values, RuleSet(()), ready.engine, sizes)
        left = expanded.left.get(scope.path)
        here = Totals()
        alone = [n for n in view.nodes if left is None or any(o in left for o in n.outputs)]
        for node in expanded.fused.get(scope.path, ()):
            part = _part(node, inference.types, sizes)
            if part is None or ready.engine.unsupported(part) is not None or ready.engine.cost(part) is None:
                by_body += 1
                alone += _inside(view, node)
            else:
                priced = ready.engine.price(part)[1]
                here += Totals(1, int(priced.hbm_bytes), priced.total_us)
        here += sum((planner.cost(n.index) for n in alone if own[n.index]), Totals())
        total += here * times_of(scope.path, functions, times)
    return Cost(total, dict(sizes), tuple(sorted(sizes.declared)), by_body)


def _inside(view: View, fused: NodeProto) -> list[Node]:
    """The nodes that a fused node was made of."""
    found: dict[int, Node] = {}
    stack = [o for o in fused.output if o]
    while stack:
        name = stack.pop()
        maker = None if name in fused.input else view.producer(name)
        if maker is not None and maker.index not in found:
            found[maker.index] = maker
            stack += [i for i in maker.inputs if i]
    return list(found.values())


def _part(node: NodeProto, types: Mapping[str, TensorType], sizes: Mapping[str, int]) -> Part | None:
    """The program with a number for each symbol; None where the types of its inputs do not say them all."""
    text = next((a.s.decode("utf-8", "replace") for a in node.attribute if a.name == "program"), "")
    if not text:
        return None
    program = parse_program(text)
    found: dict[str, Dim] = {}
    for line, name in zip(program.inputs, node.input, strict=False):
        shape = types[name].shape if name in types else None
        for factors, dim in zip(line.tensor_shape, shape or (), strict=False):
            symbol = factors[0]
            # inputs agree on a size at run time: one that the model names says more than one that inference named
            if len(factors) == 1 and isinstance(symbol, str) and (symbol not in found or FRESH in str(found[symbol])):
                found[symbol] = dim
    if any(s not in found for s in program.symbols):
        return None
    return text, tuple(max(evaluate(found[s], sizes), 1) for s in program.symbols)
