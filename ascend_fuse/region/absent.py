"""Operators that no family holds, each with why, as reports and docs/operators.md say it."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache

# Reason code, what stands behind the operator's name, operators.
_GROUPS = (
    ("own-kernel", "it slides a window",
     "AveragePool CausalConvWithState Col2Im ConvInteger ConvTranspose DeformConv LRN LpPool MaxPool MaxRoiPool "
     "MaxUnpool RoiAlign"),
    ("own-kernel", "it is two products and what lies between them", "Attention LinearAttention"),
    ("own-kernel", "its sum is not that of a MatMul", "Det Einsum MatMulInteger"),
    ("own-kernel", "each step waits for the one before", "CumProd CumSum GRU LSTM RNN"),
    ("own-kernel", "it transforms rows of complex numbers", "DFT STFT"),
    ("own-kernel", "its data say which elements are read or written",
     "Gather GatherElements GatherND GridSample OneHot ReverseSequence Scatter ScatterElements ScatterND "
     "TensorScatter"),
    ("own-kernel", "its result is a place in the row", "ArgMax ArgMin TopK"),
    ("own-kernel", "its data say how large the result is", "Compress NonMaxSuppression NonZero Unique"),
    ("own-kernel", "it gathers by labels and sums over the batch", "NegativeLogLikelihoodLoss SoftmaxCrossEntropyLoss"),
    ("own-kernel", "it moves data alone",
     "CenterCropPad DepthToSpace Pad Resize SpaceToDepth Tile Trilu Upsample"),
    ("own-kernel", "it makes a tensor of sizes",
     "AffineGrid BlackmanWindow ConstantOfShape EyeLike HammingWindow HannWindow MelWeightMatrix Range"),
    ("op-unsupported", "ONNX Runtime divides by another deviation than the specification", "MeanVarianceNormalization"),
    ("op-unsupported", "nothing here runs it since opset 22, to prove a program of it", "GlobalLpPool"),
    ("op-unsupported", "it draws from another distribution than the kernels",
     "Multinomial RandomNormal RandomNormalLike"),
    ("op-unsupported", "it has no operand whose sizes it takes", "RandomUniform"),
    ("op-unsupported", "its operands are unsigned integers", "BitShift"),
    ("op-unsupported", "it reads bits of one type as another", "BitCast"),
    ("op-unsupported", "it launches nothing", "Constant Shape Size"),
    ("op-unsupported", "its bodies are optimised by themselves", "If Loop Scan SequenceMap"),
    ("op-unsupported", "it is of sequences or optional values",
     "ConcatFromSequence Optional OptionalGetElement OptionalHasElement SequenceAt SequenceConstruct SequenceEmpty "
     "SequenceErase SequenceInsert SequenceLength SplitToSequence"),
    ("op-unsupported", "it reads text or files",
     "ImageDecoder RegexFullMatch StringConcat StringNormalizer StringSplit TfIdfVectorizer"),
)  # fmt: skip
OWN_KERNEL = "own-kernel"


@cache
def absent() -> Mapping[str, tuple[str, str]]:
    """Reason code and why, by operator of the default domain."""
    return {op: (code, why) for code, why, ops in _GROUPS for op in ops.split()}


def reason(op: str) -> tuple[str, str]:
    """Reason code and sentence for an operator that no table holds."""
    code, why = absent().get(op, ("op-unsupported", ""))
    if not why:
        return code, f"{op} is in no family's table"
    kernel = "has a kernel of its own" if code == OWN_KERNEL else "is in no family's table"
    return code, f"{op} {kernel}: {why}"
