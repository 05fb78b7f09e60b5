"""Attention weights in a training graph: scale, mask, Softmax, then dropout in each exported form."""

from typing import Literal

import onnx
from onnx import TensorProto

from models.build import Builder, Dim, DType
from models.layer import sizes

Form = Literal["dropout", "dropout_mask", "mask_mul", "mask_where", "bernoulli", "random_uniform"]
RATIO = 0.1
SEED = 17


def attention_training(
    form: Form = "dropout",
    dtype: DType = "float32",
    batch: Dim = 1,
    heads: int = 12,
    seq: Dim = 128,
    opset: int = 17,
    seeded: bool = True,
) -> onnx.ModelProto:
    """scores [batch, heads, seq, seq] and an addend mask [batch, 1, 1, seq] to dropped-out attention weights.

    dropout: a Dropout in training mode; dropout_mask: its mask is a graph output too; mask_mul, mask_where:
    the mask is a graph input; bernoulli, random_uniform: the mask is drawn by other operators.
    """
    makers = {
        "dropout": _dropout,
        "dropout_mask": _dropout_mask,
        "mask_mul": _mask_mul,
        "mask_where": _mask_where,
        "bernoulli": _bernoulli,
        "random_uniform": _random_uniform,
    }
    if form not in makers:
        raise ValueError(f"form {form!r}: must be one of {', '.join(makers)}")
    b = Builder(f"attention_{form}", dtype, opset)
    shape: list[Dim] = [batch, heads, seq, seq]
    scores = b.input("scores", shape)
    mask = b.input("mask", [batch, 1, 1, seq])
    scaled = b.node("Mul", scores, b.scalar(0.125))
    weights = b.node("Softmax", b.node("Add", scaled, mask), axis=-1)
    b.output(makers[form](b, weights, shape, seeded), "weights", shape)
    return b.model()


def _seed(seeded: bool) -> dict[str, int]:
    return {"seed": SEED} if seeded else {}


def _float_seed(seeded: bool) -> dict[str, float]:
    return {"seed": float(SEED)} if seeded else {}


def _dropout(b: Builder, x: str, shape: list[Dim], seeded: bool) -> str:
    return b.node("Dropout", x, b.scalar(RATIO), b.boolean(True), **_seed(seeded))


def _dropout_mask(b: Builder, x: str, shape: list[Dim], seeded: bool) -> str:
    kept, mask = b.nodes_of("Dropout", [x, b.scalar(RATIO), b.boolean(True)], 2, **_seed(seeded))
    b.output(mask, "keep", shape, TensorProto.BOOL)
    return kept


def _rescaled(b: Builder, x: str, keep: str) -> str:
    """x where `keep`, divided by the share that is kept."""
    dropped = b.node("Mul", x, b.node("Cast", keep, to=b.elem_type))
    return b.node("Mul", dropped, b.scalar(1.0 / (1.0 - RATIO)))


def _mask_mul(b: Builder, x: str, shape: list[Dim], seeded: bool) -> str:
    return _rescaled(b, x, b.input("keep_mask", shape, TensorProto.BOOL))


def _mask_where(b: Builder, x: str, shape: list[Dim], seeded: bool) -> str:
    keep = b.input("keep_mask", shape, TensorProto.BOOL)
    return b.node("Div", b.node("Where", keep, x, b.scalar(0.0)), b.scalar(1.0 - RATIO))


def _bernoulli(b: Builder, x: str, shape: list[Dim], seeded: bool) -> str:
    """The mask as the operator's text has it; ONNX Runtime draws the complement, see the tests."""
    share = onnx.helper.make_tensor("share", TensorProto.FLOAT, [1], [1.0 - RATIO])
    chances = b.node("ConstantOfShape", sizes(b, shape, x), value=share)
    return _rescaled(b, x, b.node("Bernoulli", chances, dtype=TensorProto.BOOL, **_float_seed(seeded)))


def _random_uniform(b: Builder, x: str, shape: list[Dim], seeded: bool) -> str:
    drawn = b.node("RandomUniformLike", x, dtype=TensorProto.FLOAT, **_float_seed(seeded))
    return _rescaled(b, x, b.node("Less", drawn, b.float32(1.0 - RATIO)))
