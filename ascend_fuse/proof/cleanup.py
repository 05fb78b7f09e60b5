"""The proof of cleanups: each claim is checked from first principles before anything is edited.

Independent of what finds claims. A node that gives an operand back is one of a closed list, by what inference
guarantees of its types; a folded value is computed by ONNX Runtime, each Shape that it rests on fed with the sizes as
they are known and, where they are not, with two choices of sizes that must not matter.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Protocol

import numpy as np
import numpy.typing as npt
from onnx import NodeProto, TensorProto, helper, numpy_helper

from ascend_fuse.error import InternalError, VerificationError
from ascend_fuse.graph.dim import Dim, Sym, evaluate, product
from ascend_fuse.graph.guarantee import Guarantee
from ascend_fuse.graph.shape import Inference
from ascend_fuse.graph.type import ONNX_OF_DTYPE
from ascend_fuse.graph.view import Constant, Node, View, subgraphs
from ascend_fuse.proof.body import open_body
from ascend_fuse.proof.structure import StandIn

WHERE = "cleanup proof"
DO = "please report the model; nothing was written"
FIRST_SIZES = (1009, 7)  # an odd size for each symbol, none of them met twice: 1009, 1016, …
STRIDES = (7, 2)
SHAPE_OPS = frozenset({"Shape", "Size"})
COMPUTED = frozenset(
    (
        "Add Sub Mul Div Equal Less Greater LessOrEqual GreaterOrEqual Min Max Where Concat Gather Slice "
        "Identity Cast Unsqueeze Squeeze Reshape Flatten Neg ReduceProd Expand ConstantOfShape Constant "
        "Range"
    ).split()
)
UNREPEATABLE = frozenset(
    "RandomNormal RandomUniform RandomNormalLike RandomUniformLike Bernoulli Multinomial Dropout".split()
)


class Claim(StandIn, Protocol):
    """What is to be proved of a node, by its label."""

    @property
    def label(self) -> str: ...


class Cleaned(Protocol):
    """The claims of one scope, with its view and inference before the edit."""

    @property
    def view(self) -> View: ...
    @property
    def inference(self) -> Inference: ...
    @property
    def claims(self) -> Sequence[Claim]: ...


def prove_claims(cleaned: Iterable[Cleaned]) -> None:
    """Raises InternalError naming the first claim that does not hold."""
    for scope in cleaned:
        sure = Guarantee(scope.inference)
        for claim in scope.claims:
            if claim.kept:
                _prove_kept(claim, scope.view, sure)
        _prove_dead(scope.claims, scope.view)
        folded = [c for c in scope.claims if c.constant is not None]
        if folded:
            _prove_folded(folded, scope.view, sure)


def _fail(claim: Claim, what: str) -> InternalError:
    return InternalError(f"{claim.label} is not {what}", where=WHERE, do=DO)


def _prove_kept(claim: Claim, view: View, sure: Guarantee) -> None:
    node = view.nodes[claim.node]
    holds = _HOLDS.get(node.op)
    what = f"{claim.kept} for certain"
    if holds is None or node.domain or node.is_template or not node.outputs or node.outputs[0] != claim.output:
        raise _fail(claim, what)
    others = [o for o in node.outputs[1:] if o]
    if any(view.readers(o) or view.is_output(o) for o in others):
        raise _fail(claim, f"without readers of {others[0]}")
    if not holds(node, claim.kept, view, sure):
        raise _fail(claim, what)


def _first(node: Node, kept: str) -> bool:
    return bool(node.inputs) and node.inputs[0] == kept


def _identity(node: Node, kept: str, view: View, sure: Guarantee) -> bool:
    return _first(node, kept) and len(node.inputs) == 1


def _dropout(node: Node, kept: str, view: View, sure: Guarantee) -> bool:
    if view.opset < 7 or not _first(node, kept):
        return False
    flag = node.inputs[2] if view.opset >= 12 and len(node.inputs) > 2 else ""
    if not flag:
        return True
    value = view.constant(flag)
    return value is not None and value.dtype == np.bool_ and value.tobytes() == b"\0"


def _cast(node: Node, kept: str, view: View, sure: Guarantee) -> bool:
    targets = [a.i for a in node.proto.attribute if a.name == "to"]
    return _first(node, kept) and targets == [ONNX_OF_DTYPE.get(sure.dtype(kept), -1)]


def _same_shape(node: Node, kept: str, view: View, sure: Guarantee) -> bool:
    shape = sure.shape(kept)
    return _first(node, kept) and shape is not None and sure.shape(node.outputs[0]) == shape


def _transpose(node: Node, kept: str, view: View, sure: Guarantee) -> bool:
    perm = [tuple(a.ints) for a in node.proto.attribute if a.name == "perm"]
    if perm and perm[0]:
        return _first(node, kept) and all(k == p for k, p in enumerate(perm[0]))
    shape = sure.shape(kept)
    return _first(node, kept) and shape is not None and len(shape) <= 1


def _arithmetic(node: Node, kept: str, view: View, sure: Guarantee) -> bool:
    """x ∘ c with the bits of c; c has one element and no more axes than x."""
    if len(node.inputs) != 2 or kept not in node.inputs:
        return False
    at = node.inputs.index(kept)
    value = view.constant(node.inputs[1 - at])
    if value is None or value.size != 1 or (at == 1 and node.op not in ("Add", "Mul")):
        return False
    if value.ndim > 0:
        shape = sure.shape(kept)
        if shape is None or value.ndim > len(shape):
            return False
    if node.op == "Pow" and sure.dtype(kept) not in ("f16", "bf16", "f32", "f64"):
        return False
    return _bits_are_neutral(node.op, value)


# The bits, little-endian, of 1.0; of 0.0 all are 0, and -0.0 has the sign set.
_ONE = {"float16": "003c", "bfloat16": "803f", "float32": "0000803f", "float64": "000000000000f03f"}


def _bits_are_neutral(op: str, value: Constant) -> bool:
    bits, name = value.tobytes(), value.dtype.name
    if value.dtype.kind in "iu":
        wanted = int(op in ("Mul", "Div", "Pow")).to_bytes(len(bits), "little")
        return bits == wanted
    if name not in _ONE:
        return False
    if op in ("Mul", "Div", "Pow"):
        return bits.hex() == _ONE[name]
    return bits == b"\0" * (len(bits) - 1) + (b"\x80" if op == "Add" else b"\0")


_HOLDS: Mapping[str, Callable[[Node, str, View, Guarantee], bool]] = MappingProxyType(
    {
        "Identity": _identity, "Dropout": _dropout, "Cast": _cast, "Transpose": _transpose,
        **dict.fromkeys(("Reshape", "Flatten", "Squeeze", "Unsqueeze", "Expand"), _same_shape),
        **dict.fromkeys(("Add", "Sub", "Mul", "Div", "Pow"), _arithmetic),
    }
)  # fmt: skip


def _prove_dead(claims: Sequence[Claim], view: View) -> None:
    """What has no stand-in is read by claimed nodes only, under whichever name, and can be run or not."""
    gone = {c.node for c in claims}
    stands_for: dict[str, list[str]] = {}
    for c in claims:
        if c.kept:
            stands_for.setdefault(c.kept, []).append(c.output)
    for claim in claims:
        if claim.kept or claim.constant is not None:
            continue
        node = view.nodes[claim.node]
        if node.domain or node.op in UNREPEATABLE or list(subgraphs(node.proto)):
            raise _fail(claim, "a node that can be left out")
        waiting = [o for o in node.outputs if o]
        while waiting:
            name = waiting.pop()
            if view.is_output(name) or any(r not in gone for r in view.readers(name)):
                raise _fail(claim, f"without readers of {name}")
            waiting += stands_for.get(name, [])


def _prove_folded(folded: Sequence[Claim], view: View, sure: Guarantee) -> None:
    """One session for all folded values of a scope, run once for each choice of the unknown sizes."""
    wanted = {c.output: c for c in folded}
    made = [o for n in view.nodes if n.index in {c.node for c in folded} for o in n.outputs]
    if made != list(wanted):
        raise _fail(folded[0], "the only output of its node")
    steps, shapes = _slice(wanted, view, sure)
    outputs = [helper.make_tensor_value_info(n, ONNX_OF_DTYPE[sure.dtype(n)], None) for n in wanted]
    inputs = [helper.make_tensor_value_info(n, TensorProto.INT64, None) for n in shapes]
    graph = helper.make_graph(steps, "folded", inputs, outputs)
    imports = [helper.make_opsetid("", view.opset)]
    try:
        body = open_body(helper.make_model(graph, opset_imports=imports, ir_version=8), WHERE)
        results = [body.run(_sizes(shapes, choice)) for choice in range(len(FIRST_SIZES))]
    except VerificationError as e:
        raise InternalError(e.sentence(), where=WHERE, do=DO) from e
    for found in results:
        for name, claim in wanted.items():
            got = np.asarray(found[name])
            value = claim.constant
            assert value is not None
            if (got.dtype, got.shape, got.tobytes()) != (value.dtype, value.shape, value.tobytes()):
                raise _fail(claim, f"always {value.tolist()}: ONNX Runtime has {got.tolist()}")


def _slice(
    wanted: Mapping[str, Claim], view: View, sure: Guarantee
) -> tuple[list[NodeProto], dict[str, tuple[Dim, ...] | Dim]]:
    """The nodes above the wanted values, constants among them, and what Shape and Size nodes read, by their output."""
    steps: dict[int, NodeProto] = {}
    constants: dict[str, NodeProto] = {}
    shapes: dict[str, tuple[Dim, ...] | Dim] = {}
    waiting = [(name, claim) for name, claim in wanted.items()]
    while waiting:
        name, claim = waiting.pop()
        node = view.producer(name)
        value = view.constant(name)
        if value is not None:
            constants[name] = helper.make_node("Constant", [], [name], value=numpy_helper.from_array(value))
        elif node is not None and node.op in SHAPE_OPS and not node.domain and not node.is_template:
            shapes[name] = _shape_of(node, sure, claim)
        elif node is None or node.op not in COMPUTED or node.domain or node.is_template:
            raise _fail(claim, "made of constants and shapes alone")
        elif node.index not in steps:
            steps[node.index] = node.proto
            waiting += [(i, claim) for i in node.inputs if i]
    return [*constants.values(), *(steps[k] for k in sorted(steps))], shapes


def _shape_of(node: Node, sure: Guarantee, claim: Claim) -> tuple[Dim, ...] | Dim:
    shape = sure.shape(node.inputs[0])
    if shape is None:
        raise _fail(claim, "made of shapes that are certain")
    if node.op == "Size":
        return product(shape)
    ends = {a.name: a.i for a in node.proto.attribute}
    return shape[ends.get("start", 0) : ends.get("end", len(shape))]


def _sizes(shapes: Mapping[str, tuple[Dim, ...] | Dim], choice: int) -> dict[str, npt.NDArray[np.int64]]:
    """Operands for the slice, with an own size for each symbol."""
    dims = [d for s in shapes.values() for d in (s if isinstance(s, tuple) else (s,))]
    symbols = sorted({name for d in dims if isinstance(d, Sym) for name in d.symbols})
    sizes = {name: FIRST_SIZES[choice] + STRIDES[choice] * k for k, name in enumerate(symbols)}

    def real(d: Dim) -> int:
        return evaluate(d, sizes)

    return {
        name: np.asarray([real(d) for d in s] if isinstance(s, tuple) else real(s), np.int64)
        for name, s in shapes.items()
    }
