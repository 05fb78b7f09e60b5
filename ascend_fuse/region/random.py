"""Operators that draw: a Dropout in training mode, and the parts that exporters spell one out with.

All are drawn on chip (docs/design/0008): `random_keep` is the mask of a Dropout, `random_uniform` numbers to compare.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping

from ascend_fuse.graph.type import DTYPE_OF_ONNX
from ascend_fuse.graph.view import Node, View
from ascend_fuse.program.evaluate import dtype_of
from ascend_fuse.program.program import Attribute
from ascend_fuse.reason import Miss
from ascend_fuse.region.build import Handle
from ascend_fuse.region.lowering import Lowering
from ascend_fuse.region.step import embedded
from ascend_fuse.region.trait import SUPPORTED, Trait, refused

_FLOAT = 1  # TensorProto.FLOAT


def dropout(node: Node, view: View) -> Trait | Miss:
    """In inference mode the same elements, and a mask that is all true."""
    training = view.constant(node.operand(2)) if node.operand(2) else False
    if training is None:
        return refused(node, "training_mode", "whether the Dropout trains is not constant")
    if not bool(training):
        mask = any(node.outputs[1:])
        if mask and view.opset < 12:  # numbers before 10, and ONNX Runtime gives all false there
            return refused(node, "outputs", "before opset 12 nothing says what mask a Dropout in inference mode has")
        return Trait(node.inputs[:1], view=not mask)
    ratio = view.constant(node.operand(1))
    if node.operand(1) and ratio is None:
        return refused(node, "ratio", "the ratio is not constant")
    if ratio is not None and not 0 <= float(ratio) < 1:
        return refused(node, "ratio", "the ratio is not in [0, 1)")
    return Trait(node.inputs[:1])


def lower_dropout(low: Lowering) -> Miss | None:
    """y = mask ? x / (1 - ratio) : 0, as ONNX Runtime and the specification compute it; in inference mode y = x."""
    x = low.arg(0)
    training = embedded(low.builder.view, low.node.inputs[2]) if low.has(2) else None
    if training is None or not bool(training):
        low.done(x)
        if any(low.node.outputs[1:]):  # true for every x, also one that is no number
            low.done(low.with_literal("or", low.op("eq", x, x), 1), 1)
        return None
    constant = embedded(low.builder.view, low.node.inputs[1]) if low.has(1) else None
    ratio = 0.5 if constant is None else float(constant.reshape(-1)[0])
    attributes: dict[str, Attribute] = {"ratio": ratio, **_seed(low.node)}
    mask = low.builder.emit("random_keep", dtype="bool", dims=x.dims, attributes=attributes)
    low.done(low.builder.emit("where", mask, _scaled(low, x, 1 / (1 - ratio)), low.lit(0.0, x), dtype=x.dtype))
    if len(low.node.outputs) > 1 and low.node.outputs[1]:
        low.done(mask, 1)
    return None


def _scaled(low: Lowering, x: Handle, scale: float) -> Handle:
    """x · scale; of half types in f32, since the scale rounded to a half (1/0.9) would shift every mean."""
    held = float(dtype_of(x.dtype).type(scale)) == scale
    return low.cast(low.with_literal("mul", x if held else low.cast(x, "f32"), scale), x.dtype)


def uniform_like(node: Node, view: View) -> Trait | Miss:
    """Numbers of float32 in the shape of the operand, which is read for its sizes alone."""
    dtype = node.integer("dtype", 0)
    if (dtype or _FLOAT) != _FLOAT or (not dtype and view.type_of(node.inputs[0]).dtype != "f32"):
        return refused(node, "dtype", "only numbers of float32 are drawn")
    return Trait(node.inputs[:1])


def lower_uniform_like(low: Lowering) -> Miss | None:
    """low + (high - low) · u, u in [0, 1)."""
    drawn, start = _drawn(low), low.number("low", 0.0)
    if (width := low.number("high", 1.0) - start) != 1:
        drawn = low.with_literal("mul", drawn, width)
    low.done(low.with_literal("add", drawn, start) if start else drawn)
    return None


def bernoulli(node: Node, view: View) -> Trait | Miss:
    """The operand holds probabilities."""
    if view.type_of(node.inputs[0]).dtype not in ("f32", ""):
        return refused(node, "dtype", "only probabilities of float32 are compared with what is drawn")
    target = DTYPE_OF_ONNX.get(node.integer("dtype", _FLOAT), "")
    return Trait(node.inputs[:1]) if target in SUPPORTED else refused(node, "dtype", f"a mask of {target or '?'}")


def lower_bernoulli(low: Lowering) -> Miss | None:
    """1 where u > p: the function by which ONNX defines the operator, and which ONNX Runtime runs.

    Its text says the reverse, 1 with probability p; what a model does today is what the function does.
    """
    target = DTYPE_OF_ONNX[low.node.integer("dtype", _FLOAT)]
    chances = low.arg(0)
    low.done(low.cast(low.op("gt", _drawn(low), chances), target))
    return None


def _drawn(low: Lowering) -> Handle:
    low.arg(0)  # binds the sizes, also where nothing else reads it
    name = low.node.inputs[0]
    dims = low.builder.space.extents(name, low.builder.view.type_of(name).shape or ())
    return low.builder.emit("random_uniform", dtype="f32", dims=dims, attributes=_seed(low.node))


def _seed(node: Node) -> Mapping[str, Attribute]:
    """The key of the draw: the seed, of one that is no whole number its bits."""
    seed = node.attribute("seed")
    if isinstance(seed, int):
        return {"seed": seed}
    if isinstance(seed, float):
        return {"seed": int(seed) if seed.is_integer() else int.from_bytes(struct.pack("<f", seed), "little")}
    return {}
