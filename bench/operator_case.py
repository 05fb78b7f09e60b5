"""One node of each operator that a family holds, in each dtype, and what the kernels of a chip say of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache

import onnx.parser
from onnx import ModelProto, defs

from ascend_fuse import _engine
from ascend_fuse.engine import Engine, bounds, load_soc
from ascend_fuse.graph.launch import launches_by_node
from ascend_fuse.graph.scope import infer
from ascend_fuse.graph.size import Sizes
from ascend_fuse.graph.view import View
from ascend_fuse.planning import Planner
from ascend_fuse.reason import Miss
from ascend_fuse.region.profile import Profile
from ascend_fuse.rule.load import load_rules

DTYPES = {
    "f32": "float", "f16": "float16", "bf16": "bfloat16", "i32": "int32", "i16": "int16", "bool": "bool",
}  # fmt: skip
CHIPS = {
    "910A": "Ascend910A", "310P": "Ascend310P3", "310B": "Ascend310B1", "910B": "Ascend910B3",
    "950": "Ascend950PR_9599",
}  # fmt: skip
SHAPE = "[2,3,8]"


@dataclass(frozen=True, slots=True)
class Sample:
    """A call of the operator. `inputs`: the types of a, b, c …, `T` for the dtype that is tried and `B` for bool;
    `held`: small constants beside them, as ONNX text; `opset`: the first one that this form is of, if not 23.
    """

    inputs: tuple[str, ...] = (f"T{SHAPE}",)
    attributes: str = ""
    held: tuple[str, ...] = ()
    result: str = f"T{SHAPE}"
    opset: int = 23
    outputs: str = "y"

    def model(self, op: str, dtype: str) -> ModelProto:
        """`before` on the first operand, where its type has one, and the operator on that."""
        names = "abcdefgh"[: len(self.inputs)]
        kinds = ", ".join(f"{_typed(t, dtype)} {n}" for t, n in zip(self.inputs, names, strict=True))
        constants = ", ".join(_typed(text, dtype) for text in self.held)
        read = [*names, *(text.split("=")[0].split()[-1] for text in self.held)]
        first = read[0]
        line = f"{self.outputs} = {op} {self.attributes} ({', '.join(('s', *read[1:]))})"
        step = f"s = {_before(self.inputs[0], dtype)} ({first})"
        head = f'<ir_version: 10, opset_import: ["": {self.opset}]>'
        results = ", ".join(f"{_typed(self.result, dtype)} {o.strip()}" for o in self.outputs.split(","))
        held = f"<{constants}>" if constants else ""
        return onnx.parser.parse_model(f"{head}\ng ({kinds}) => ({results}) {held} {{ {step}\n {line} }}")


def _typed(text: str, dtype: str) -> str:
    return text.replace("T", DTYPES[dtype], 1) if text.startswith("T") else text.replace("B", "bool", 1)


def _before(text: str, dtype: str) -> str:
    """A step that every family holds, on that type."""
    return "Not" if text.startswith("B") or dtype == "bool" else "Neg"


def _same(*ops: str, **more: str) -> dict[str, Sample]:
    return {op: Sample(attributes=more.get("attributes", "")) for op in ops}


def _two(result: str, *ops: str) -> dict[str, Sample]:
    return {op: Sample((f"T{SHAPE}", "T[8]"), result=f"{result}{SHAPE}") for op in ops}


_ROW = "T[2,3,1]"
_AXES = ("int64[1] axes = {-1}",)
_IMAGE, _CHANNELS = "T[2,4,3,5]", "T[4]"
SAMPLES: Mapping[str, Sample] = {
    **_same(*(
        "Abs Acos Acosh Asin Asinh Atan Atanh BitwiseNot Ceil Celu Cos Cosh Elu Erf Exp Floor Gelu HardSigmoid "
        "HardSwish Hardmax Identity LeakyRelu Log LogSoftmax LpNormalization Mish Neg Not Reciprocal Relu Round Selu "
        "Shrink Sigmoid Sign Sin Sinh Softmax Softplus Softsign Sqrt Tan Tanh ThresholdedRelu"
    ).split()),
    **_two("T", *"Add And BitwiseAnd BitwiseOr BitwiseXor Div Max Mean Min Mul Or PRelu Pow Sub Sum Xor".split()),
    **_two("B", *"Equal Greater GreaterOrEqual Less LessOrEqual".split()),
    **{op: Sample(result=f"B{SHAPE}") for op in ("IsInf", "IsNaN")},
    **{
        f"Reduce{kind}": Sample(held=_AXES, result=_ROW)
        for kind in "L1 L2 LogSum LogSumExp Max Mean Min Prod Sum SumSquare".split()
    },
    **{op: Sample((_IMAGE,), result="T[2,4,1,1]") for op in ("GlobalAveragePool", "GlobalMaxPool")},
    "BatchNormalization": Sample((_IMAGE, *(_CHANNELS,) * 4), result=_IMAGE),
    "Bernoulli": Sample(attributes="<dtype = 9>", result=f"bool{SHAPE}"),
    "Cast": Sample(attributes="<to = 10>", result=f"float16{SHAPE}"),
    "CastLike": Sample((f"T{SHAPE}", f"float16{SHAPE}"), result=f"float16{SHAPE}"),
    "Clip": Sample((f"T{SHAPE}", "T", "T")),
    "Concat": Sample((f"T{SHAPE}", "T[2,3,4]"), "<axis = -1>", result="T[2,3,12]"),
    "Conv": Sample(("T[2,16,8,8]", "T[32,16,1,1]", "T[32]"), result="T[2,32,8,8]"),
    "Dropout": Sample(held=("float ratio = {0.3}", "bool train = {1}"), attributes="<seed = 7>"),
    "Expand": Sample(("T[2,1,8]",), held=("int64[3] shape = {2,3,8}",)),
    "Flatten": Sample(result="T[2,24]"),
    "Gemm": Sample(("T[32,16]", "T[16,64]", "T[64]"), result="T[32,64]"),
    "GroupNormalization": Sample((_IMAGE, _CHANNELS, _CHANNELS), "<num_groups = 2>", result=_IMAGE),
    "InstanceNormalization": Sample((_IMAGE, _CHANNELS, _CHANNELS), result=_IMAGE),
    "LayerNormalization": Sample((f"T{SHAPE}", "T[8]", "T[8]")),
    "MatMul": Sample(("T[32,16]", "T[16,64]"), result="T[32,64]"),
    "Mod": Sample(attributes="<fmod = 1>", held=("T b = {3}",)),
    "RMSNormalization": Sample((f"T{SHAPE}", "T[8]")),
    "RandomUniformLike": Sample(),
    "Reshape": Sample(held=("int64[2] shape = {6,8}",), result="T[6,8]"),
    "RotaryEmbedding": Sample(("T[2,4,6,8]", "T[2,6,4]", "T[2,6,4]"), result="T[2,4,6,8]"),
    "Slice": Sample(held=("int64[1] first = {2}", "int64[1] end = {6}", "int64[1] axes = {2}"), result="T[2,3,4]"),
    "Split": Sample(attributes="<axis = -1, num_outputs = 2>", result="T[2,3,4]", outputs="y, z"),
    "Squeeze": Sample(("T[2,1,8]",), held=("int64[1] axes = {1}",), result="T[2,8]"),
    "SwiGLU": Sample((f"T{SHAPE}", f"T{SHAPE}"), opset=28),
    "Swish": Sample(opset=24),
    "Transpose": Sample(attributes="<perm = [0, 2, 1]>", result="T[2,8,3]"),
    "Unsqueeze": Sample(held=("int64[1] axes = {1}",), result="T[2,1,3,8]"),
    "Where": Sample((f"B{SHAPE}", f"T{SHAPE}", f"T{SHAPE}")),
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Held:
    """What an operator is in a family: `family` by its program, `lines` the instructions, each once."""

    family: str
    lines: tuple[str, ...]


@cache
def _chip(soc: str) -> Engine:
    return Engine(load_soc(soc), bounds())


def knows(op: str, dtype: str) -> bool:
    """Whether ONNX has the operator in the dtype."""
    sample = SAMPLES[op]
    schema = defs.get_schema(op, sample.opset)
    first = next(k for k, text in enumerate(sample.inputs) if text.startswith("T")) if sample.inputs else 0
    read = schema.inputs[min(first, len(schema.inputs) - 1)]
    return f"tensor({DTYPES[dtype]})" in read.types


def held(op: str, dtype: str, soc: str) -> Held | Miss:
    """The operator in that dtype, as the planner sees it for the chip, or why no kernel of it runs that."""
    if not knows(op, dtype):
        return Miss("dtype-unsupported", f"ONNX has no {op} on {dtype}")
    sample = SAMPLES[op]
    model = sample.model(op, dtype)
    inference = infer(model)[""]
    view = View(model.graph, sample.opset, inference.types)
    planner = Planner(view, launches_by_node(model), inference.values, load_rules(), _chip(soc), Sizes({}))
    step = planner.grower.steps[len(view.nodes) - 1]
    found = planner.grower.profile(step)
    return found if isinstance(found, Miss) else _lowered(planner, found)


def _lowered(planner: Planner, found: Profile) -> Held | Miss:
    if found.trait.view:
        return Held("view", ())
    if found.trait.turns:
        return Held("matmul", ())
    program = found.alone.program
    text, sizes = planner.estimate.part(found.alone)
    engine = planner.estimate.engine
    try:
        _engine.lower(_engine.Program(text), list(sizes), engine.soc, engine.limits)
    except ValueError as error:
        return Miss("op-unsupported", str(error).partition("lower: ")[2])
    return Held(program.family, tuple(dict.fromkeys(line.op for line in program.instrs)))
