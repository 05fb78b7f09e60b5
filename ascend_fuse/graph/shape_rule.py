"""Shape rules of single operators, for symbolic sizes."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from ascend_fuse.graph.dim import Dim, add, neg
from ascend_fuse.graph.movement_rule import MOVEMENTS
from ascend_fuse.graph.shape_query import Result, Shapes, axis_of, broadcast
from ascend_fuse.graph.type import DTYPE_OF_ONNX, TensorType


def _same(s: Shapes) -> Result:
    return (TensorType(s.dtype(0), s.shape(0)),)


def _map(s: Shapes) -> Result:
    shapes = [t.shape for t in s.ins if t is not None]
    known = [x for x in shapes if x is not None]
    data = 1 if s.node.op == "Where" else 0
    dtype = "bool" if s.node.op in _TO_BOOL else s.dtype(data)
    return (TensorType(dtype, broadcast(known, s.fresh) if len(known) == len(shapes) and known else None),)


def _cast(s: Shapes) -> Result:
    return (TensorType(DTYPE_OF_ONNX.get(s.node.integer("to", 0), ""), s.shape(0)),)


def _dropout(s: Shapes) -> Result:
    mask = "bool" if s.opset >= 10 else s.dtype(0)
    return (TensorType(s.dtype(0), s.shape(0)), TensorType(mask, s.shape(0)))


def _matmul(s: Shapes) -> Result:
    a, b = s.shape(0), s.shape(1)
    if a is None or b is None or not a or not b:
        return None
    lead = broadcast([a[:-2], b[:-2]], s.fresh) if len(a) > 2 or len(b) > 2 else ()
    tail = a[-2:-1] + b[-1:] if len(b) > 1 else a[-2:-1]  # a vector has no row, or no column
    return (TensorType(s.dtype(0), lead + tail),)


def _gemm(s: Shapes) -> Result:
    a, b = s.shape(0), s.shape(1)
    if a is None or b is None or len(a) != 2 or len(b) != 2:
        return None
    m = a[1] if s.node.integer("transA", 0) else a[0]
    n = b[0] if s.node.integer("transB", 0) else b[1]
    return (TensorType(s.dtype(0), (m, n)),)


def _conv(s: Shapes) -> Result:
    """Images of a size that has a name keep it where the padding makes up for the kernel; onnx infers the others."""
    x, w = s.shape(0), s.shape(1)
    if x is None or w is None or len(x) != len(w) or all(isinstance(d, int) for d in x[2:]):
        return None
    kernel, count = s.node.integers("kernel_shape") or w[2:], len(x) - 2
    steps, apart = (s.node.integers(name) or (1,) * count for name in ("strides", "dilations"))
    how = s.node.attribute("auto_pad", "NOTSET")
    pads = (s.node.integers("pads") if how == "NOTSET" else None) or (0,) * (2 * count)
    found: list[Dim] = []
    for k, d in enumerate(x[2:]):
        size = kernel[k]
        if not isinstance(size, int):
            return None
        lost = apart[k] * (size - 1) - pads[k] - pads[k + count]
        if how in ("SAME_UPPER", "SAME_LOWER"):
            lost = 0
        if isinstance(d, int):
            found.append((d - lost - 1) // steps[k] + 1)
        else:
            found.append(add(d, -lost) if steps[k] == 1 else s.fresh())
    return (TensorType(s.dtype(0), (x[0], w[0], *found)),)


def _reduce(s: Shapes) -> Result:
    x = s.shape(0)
    axes = s.integers(1, "axes")
    if x is None or (axes is None and s.present(1)):
        return None
    if not axes:
        if s.node.integer("noop_with_empty_axes", 0):
            return _same(s)
        axes = tuple(range(len(x)))
    where = {axis_of(a, len(x)) for a in axes} if x else set[int]()
    keep = s.node.integer("keepdims", 1)
    dims = tuple(1 if k in where else d for k, d in enumerate(x) if keep or k not in where)
    return (TensorType(s.dtype(0), dims),)


def _layer_norm(s: Shapes) -> Result:
    x = s.shape(0)
    if x is None:
        return None
    axis = axis_of(s.node.integer("axis", -1), len(x))
    stat = TensorType("f32", tuple(1 if k >= axis else d for k, d in enumerate(x)))
    return (TensorType(s.dtype(0), x), stat, stat)


def _shape(s: Shapes) -> Result:
    x = s.shape(0)
    if x is None:
        return (TensorType("i64", (s.fresh(),)),)
    return (TensorType("i64", (len(x[s.node.integer("start", 0) : s.node.integer("end", len(x))]),)),)


def _constant_of_shape(s: Shapes) -> Result:
    want = s.values[0]
    dtype = next((DTYPE_OF_ONNX.get(a.t.data_type, "") for a in s.node.proto.attribute if a.name == "value"), "f32")
    if want is None:
        return None
    return (TensorType(dtype, tuple(s.fresh() if d is None or isinstance(d, bool) else d for d in want.items)),)


def _range(s: Shapes) -> Result:
    start, limit, delta = (v.items[0] if v is not None else None for v in s.values[:3])
    if start is None or limit is None or delta != 1 or isinstance(start, bool) or isinstance(limit, bool):
        return (TensorType(s.dtype(0), (s.fresh(),)),)
    return (TensorType(s.dtype(0), (add(limit, neg(start)),)),)


_TO_BOOL = frozenset("Equal Less Greater LessOrEqual GreaterOrEqual And Or Xor Not IsNaN IsInf".split())
_MAPS = (
    "Add Sub Mul Div Pow Min Max Mod And Or Xor Equal Less Greater LessOrEqual GreaterOrEqual Where Sum "
    "Mean PRelu Not IsNaN IsInf BitwiseAnd BitwiseOr BitwiseXor BitwiseNot"
).split()
_SAMES = (
    "Identity Abs Neg Sqrt Exp Log Sin Cos Tan Asin Acos Atan Sinh Cosh Tanh Asinh "
    "Acosh Atanh Sigmoid Erf Relu Reciprocal Floor Ceil Round Sign "
    "Gelu Softmax LogSoftmax Hardmax Elu Selu Celu LeakyRelu HardSigmoid HardSwish Mish Softplus Softsign "
    "ThresholdedRelu Clip BatchNormalization InstanceNormalization GroupNormalization RMSNormalization "
    "LpNormalization MeanVarianceNormalization RotaryEmbedding Trilu CumSum"
).split()
_REDUCES = (
    "ReduceSum ReduceMean ReduceMax ReduceMin ReduceProd ReduceL1 ReduceL2 ReduceSumSquare ReduceLogSum ReduceLogSumExp"
).split()
RULES: Mapping[str, Callable[[Shapes], Result]] = {
    **MOVEMENTS,
    **dict.fromkeys(_MAPS, _map), **dict.fromkeys(_SAMES, _same), **dict.fromkeys(_REDUCES, _reduce),
    "Cast": _cast, "Dropout": _dropout, "MatMul": _matmul, "Gemm": _gemm, "Conv": _conv,
    "LayerNormalization": _layer_norm,
    "Shape": _shape, "ConstantOfShape": _constant_of_shape, "Range": _range,
}  # fmt: skip
