"""The predicates of rule/condition.py, evaluated on a structural match: None when they hold, else a Miss."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import cast

from onnx import defs, helper

from ascend_fuse.graph.dim import Dim
from ascend_fuse.graph.view import Node, View
from ascend_fuse.reason import Figure, Miss
from ascend_fuse.rule import constant
from ascend_fuse.rule.axis import axes_of, interval, trailing
from ascend_fuse.rule.condition import Condition
from ascend_fuse.rule.pattern import Pattern

# Operators whose result has the joint shape of their operands.
JOINING = frozenset("Add Sub Mul Div Pow Max Min Where And Or Equal Less Greater LessOrEqual GreaterOrEqual".split())


@dataclass(frozen=True, slots=True)
class Site:
    """A structural match under judgement: pattern value → graph value, pattern node → graph node."""

    view: View
    pattern: Pattern
    bound: Mapping[str, str]
    placed: Mapping[int, int]

    def shape(self, name: str) -> tuple[Dim, ...] | None:
        """The shape of the graph value that the pattern's value stands for."""
        return self.view.type_of(self.bound[name]).shape

    def maker(self, name: str) -> Node | None:
        """The node that makes it."""
        return self.view.producer(self.bound[name])


def failed(c: Condition, found: Figure, wanted: Figure) -> Miss:
    """The Miss of a predicate that does not hold."""
    message = f"{c.kind} of {', '.join(c.values)} does not hold: {found} where the rule wants {wanted}"
    return Miss("condition-failed", message, figures={"predicate": c.label, "found": found, "wanted": wanted})


def unknown(c: Condition, name: str, axis: Figure) -> Miss:
    """The Miss of a predicate that needs a size nobody knows."""
    return Miss("shape-unknown", f"{c.label}: the size of {name} is not known", figures={"axis": axis})


def _print(shape: tuple[Dim, ...]) -> str:
    return "[" + ", ".join(str(d) for d in shape) + "]"


def _value(c: Condition, at: Site) -> Miss | None:
    name = at.bound[c.of[0]]
    if at.view.is_overridable(name):
        message = f"the caller may override the constant {name}"
        return Miss("input-overridable", message, figures={"value": name})
    value = at.view.constant(name)
    wanted = c.equals
    assert wanted is not None  # condition.py requires it
    if value is None:
        return failed(c, "no constant", wanted)
    if constant.equals(value, wanted):
        return _scalar(c, at)
    found = constant.single(value)
    said = found if found is not None else f"{value.size} elements of {value.dtype}"
    figures: dict[str, Figure] = {"found": said, "wanted": wanted}
    message = f"the constant {c.of[0]} is {said}, not {wanted} in {value.dtype}"
    return Miss("constant-mismatch", message, figures=figures)


def _scalar(c: Condition, at: Site) -> Miss | None:
    name = at.bound[c.of[0]]
    value = at.view.constant(name)
    shape = value.shape if value is not None else at.view.type_of(name).shape
    if shape is None:
        return unknown(c, name, "rank")
    if any(d != 1 for d in shape):
        return failed(c, _print(shape), "one element")
    if not shape:
        return None
    ranks = [len(s) for o in _beside(c.of[0], at) if (s := at.view.type_of(o).shape) is not None]
    if max(ranks, default=0) < len(shape):
        return failed(c, f"rank {len(shape)}", f"rank {max(ranks, default=0)} as the operand beside it")
    return None


def _beside(name: str, at: Site) -> list[str]:
    return [
        at.bound[o]
        for i in at.placed
        if name in at.pattern.nodes[i].inputs
        for o in at.pattern.nodes[i].inputs
        if o != name and o in at.bound
    ]


def _not_scalar(c: Condition, at: Site) -> Miss | None:
    shape = at.shape(c.of[0])
    if shape is None:
        return unknown(c, at.bound[c.of[0]], "rank")
    return None if any(d != 1 for d in shape) else failed(c, "one element", "more than one")


def _same_shape(c: Condition, at: Site) -> Miss | None:
    a, b = at.shape(c.of[0]), at.shape(c.of[1])
    if a is None or b is None:
        return unknown(c, at.bound[c.of[0 if a is None else 1]], "rank")
    return None if a == b else failed(c, _print(b), _print(a))


def _stretches(small: Dim, large: Dim) -> bool:
    """Two sizes of which one or both are known at run time only may be equal: the program's binding checks it then."""
    return small in (1, large) or (large != 1 and not (isinstance(small, int) and isinstance(large, int)))


def _not_enlarged(c: Condition, at: Site) -> Miss | None:
    name = at.bound[c.of[0]]
    own = at.view.type_of(name).shape
    for reader in at.view.readers(name):
        node = at.view.nodes[reader]
        made = at.view.type_of(node.outputs[0]).shape if node.op in JOINING else None
        if own is not None and made is not None and made != own and any(d != 1 for d in made):
            return failed(c, f"{node.label} makes {_print(made)}", f"{_print(own)}")
    return None


def _reduced(c: Condition, at: Site) -> int | None:
    """The number of elements that the reduction of `to` takes together; None when a size is not known."""
    node = at.maker(c.to)
    axes = axes_of(node, at.view) if node is not None else None
    shape = at.view.type_of(node.inputs[0]).shape if node is not None else None
    if not axes or shape is None or not all(-len(shape) <= a < len(shape) for a in axes):
        return None
    sizes = [shape[a] for a in axes]
    return math.prod(s for s in sizes if isinstance(s, int)) if all(isinstance(s, int) for s in sizes) else None


def _count(c: Condition, at: Site) -> Miss | None:
    number = _reduced(c, at)
    if not number:
        return unknown(c, at.bound[c.to], "reduced")
    return _value(replace(c, equals=number if c.kind == "count" else 1 / number), at)


def _broadcasts(c: Condition, at: Site) -> Miss | None:
    a, b = at.shape(c.of[0]), at.shape(c.to)
    if a is None or b is None:
        return unknown(c, at.bound[c.of[0] if a is None else c.to], "rank")
    fits = len(a) <= len(b) and all(_stretches(x, y) for x, y in zip(a[::-1], b[::-1], strict=False))
    return None if fits else failed(c, _print(a), f"no larger than {_print(b)}")


def _row_vector(c: Condition, at: Site) -> Miss | None:
    a, b = at.shape(c.of[0]), at.shape(c.to)
    if a is None or b is None:
        return unknown(c, at.bound[c.of[0] if a is None else c.to], "rank")
    fits = 0 < len(a) <= len(b) and a[-1] == b[-1] and all(d == 1 for d in a[:-1])
    return None if fits else failed(c, _print(a), f"one row of {_print(b[-1:])}")


def _trailing(c: Condition, at: Site) -> Miss | None:
    node = at.maker(c.of[0])
    if node is None:
        return failed(c, "no node", "a reduction")
    axes = axes_of(node, at.view)
    shape = at.view.type_of(node.inputs[0]).shape
    if axes is None:
        figures: dict[str, Figure] = {"attribute": "axes", "value": "not constant"}
        return Miss("attribute-unsupported", f"the axes of {node.label} are not constant", figures=figures)
    rank = None if shape is None else len(shape)
    verdict = trailing(axes, rank)
    if verdict is None:
        return unknown(c, node.inputs[0], "rank")
    if verdict:
        return None
    said = ", ".join(str(a) for a in axes) or "none"
    message = f"{node.label} works along axis {said}, not along the last"
    return Miss("axis-not-trailing", message, figures={"axis": said, "rank": "unknown" if rank is None else rank})


def _keepdims(c: Condition, at: Site) -> Miss | None:
    node = at.maker(c.of[0])
    keeps = node is not None and node.integer("keepdims", 1) != 0
    return None if keeps == bool(c.equals) else failed(c, str(keeps).lower(), str(bool(c.equals)).lower())


def effective(node: Node, name: str, opset: int) -> object:
    """The attribute's value, else the schema's default at that opset, else None; lists as tuples."""
    if any(a.name == name for a in node.proto.attribute):
        return _plain(node.attribute(name))
    try:
        attribute = defs.get_schema(node.op, opset).attributes.get(name)
    except defs.SchemaError:
        return None
    if attribute is None or not attribute.default_value.name:
        return None
    return _plain(cast(object, helper.get_attribute_value(attribute.default_value)))


def _plain(value: object) -> object:
    if isinstance(value, bytes):
        return value.decode("utf-8", "replace")
    return tuple(cast("list[object]", value)) if isinstance(value, list) else value


def _attribute(c: Condition, at: Site) -> Miss | None:
    node = at.maker(c.of[0])
    value = None if node is None else effective(node, c.name, at.view.opset)
    choices = (c.equals,) if c.equals is not None else c.one_of
    return None if value in choices else failed(c, str(value), " or ".join(str(w) for w in choices))


def _dtype(c: Condition, at: Site) -> Miss | None:
    dtype = at.view.type_of(at.bound[c.of[0]]).dtype
    return None if dtype in c.one_of else failed(c, dtype or "unknown", " or ".join(str(w) for w in c.one_of))


def _halves(c: Condition, at: Site) -> Miss | None:
    shape = at.shape(c.to)
    if not shape or not isinstance(shape[-1], int):
        return unknown(c, at.bound[c.to], -1)
    parts = [interval(at.bound[name], at.view) for name in c.of]
    half = shape[-1] // 2
    wanted = [(0, half), (half, shape[-1])]
    if parts == wanted and shape[-1] == 2 * half:
        return None
    found = " ".join(f"{p[0]}..{p[1]}" if p else "unknown" for p in parts)
    return failed(c, found, f"0..{half} {half}..{shape[-1]}")


_CHECKS: Mapping[str, Callable[[Condition, Site], Miss | None]] = MappingProxyType(
    {
        "value": _value, "scalar": _scalar, "not_scalar": _not_scalar, "same_shape": _same_shape,
        "broadcasts": _broadcasts, "row_vector": _row_vector, "trailing": _trailing, "keepdims": _keepdims,
        "not_enlarged": _not_enlarged, "count": _count, "share": _count, "attribute": _attribute, "dtype": _dtype,
        "halves": _halves,
    }
)  # fmt: skip


def check(c: Condition, at: Site) -> Miss | None:
    """None when the condition holds, also when it speaks of an optional part that is absent."""
    if any(name not in at.bound for name in c.values):
        return None
    return _CHECKS[c.kind](c, at)
