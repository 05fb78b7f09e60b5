"""Every operator of ONNX is held by a family or left out with a reason; what is held is right, on every chip."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import onnx
import onnx.parser
import pytest
from packaging.version import Version
from region_case import told

import ascend_fuse
from ascend_fuse.program.evaluate import dtype_of, evaluate
from ascend_fuse.program.program import Program
from ascend_fuse.program.text import parse_program
from ascend_fuse.reason import Miss
from ascend_fuse.region.absent import absent
from ascend_fuse.region.table import QUANTISED, TRAITS
from ascend_fuse.verify.draw import drawn, node_key
from bench.operator_case import CHIPS, DTYPES, SAMPLES, held
from bench.operators import operators, page
from tests.kernels.emulated import SATURATING, check

Array = npt.NDArray[Any]
PAGE = Path(__file__).parents[2] / "docs/operators.md"
WRITTEN_WITH = Version("1.23")  # other versions of onnx have other operators
EAGER = {"min_gain": 0.0, "min_gain_us": 0.0}
# Held by no program of their own: products have tests of their own, views cost nothing.
NOT_ALONE = frozenset(
    "Conv Gemm MatMul Transpose Flatten Identity Reshape Squeeze Unsqueeze Concat Dropout CastLike".split()
)
VECTOR = sorted(SAMPLES.keys() - NOT_ALONE)


def same_onnx() -> bool:
    return Version(onnx.__version__).release[:2] == WRITTEN_WITH.release[:2]


def test_each_operator_has_one_place() -> None:
    places = (TRAITS.keys(), QUANTISED, absent().keys())
    assert sum(map(len, places)) == len(set().union(*places))
    assert set(SAMPLES) == set(TRAITS)
    if same_onnx():
        assert set(operators()) == set().union(*places)


@pytest.mark.skipif(not same_onnx(), reason="the page is of another version of onnx")
def test_the_page_is_of_this_table() -> None:
    assert PAGE.read_text(encoding="utf-8") == page()


def planned(op: str, dtype: str, soc: str) -> tuple[onnx.ModelProto, Program | None]:
    model = SAMPLES[op].model(op, dtype)
    result = ascend_fuse.optimize(model, soc=soc, **EAGER)
    regions = [r for r in result.plan.regions if len(r.nodes) == 2]
    return model, parse_program(regions[0].program) if regions else None


def inputs(program: Program, rng: np.random.Generator, finite: bool) -> list[Array]:
    """Ordinary numbers, small ones, and where the chip knows them in that dtype, ones at the edge."""
    arrays: list[Array] = []
    for line in program.inputs:
        shape = tuple(math.prod(3 if isinstance(e, str) else e for e in size) for size in line.tensor_shape)
        kind = dtype_of(line.type.dtype)
        if kind.kind in "iub":
            arrays.append(
                rng.integers(0 if kind.kind == "b" else -9, 2 if kind.kind == "b" else 10, shape).astype(kind)
            )
            continue
        edge = [0.0, -0.0, 1.0, -1.0, 0.5, 1e-3, *([] if finite else [np.inf, -np.inf, np.nan])]
        drawn = np.where(rng.random(shape) < 0.3, rng.choice(edge, shape), rng.standard_normal(shape) * 2)
        arrays.append(drawn.astype(kind))
    return arrays


@pytest.mark.parametrize("op", VECTOR)
def test_fused_with_its_neighbour_and_right_on_every_chip(op: str) -> None:
    """`optimize` has proved each program against ONNX Runtime; the kernels run it within its bound."""
    ran = 0
    for soc in CHIPS.values():
        for dtype in DTYPES:
            if isinstance(held(op, dtype, soc), Miss):
                continue
            _, program = planned(op, dtype, soc)
            if program is None:
                continue
            ran += 1
            for seed in range(3):
                halves = any(t.dtype == "f16" for t in program.types().values())
                rng = np.random.default_rng(seed)
                arrays = inputs(program, rng, finite=seed == 0 or (halves and soc in SATURATING))
                check(program, arrays, soc, masks=drawn(program, arrays, "n", 5), draw=(node_key(5, "n"), 0))
    assert ran >= len(CHIPS)


def value(graph: str, opset: int, x: Array) -> Array:
    """What the fused program makes of x."""
    model = onnx.parser.parse_model(f'<ir_version: 10, opset_import: ["": {opset}]>\n{graph}')
    (region,) = ascend_fuse.optimize(model, **EAGER).plan.regions
    return evaluate(parse_program(region.program), [x])[0]


def test_the_first_of_several_greatest_is_one() -> None:
    x = np.asarray([[1, 3, 3, 2], [-1, -1, -1, -1], [0, 0, 0, np.nan]], np.float32)
    got = value("g (float[3,4] x) => (float[3,4] y) { a = Abs (x)\n n = Neg (a)\n y = Hardmax (n) }", 13, -np.abs(x))
    assert got.tolist() == [[1, 0, 0, 0], [1, 0, 0, 0], [0, 0, 0, 0]]


def test_logarithm_of_a_sum_of_exponentials_at_the_ends() -> None:
    x = np.asarray([[-np.inf, -np.inf], [np.inf, 1], [1000, 1000], [-1000, -1000]], np.float32)
    graph = "g (float[4,2] x) => (float[4,1] y) { a = Neg (x)\n y = ReduceLogSumExp <axes = [-1]> (a) }"
    got = value(graph, 17, -x)
    assert got.reshape(-1).tolist() == [-np.inf, np.inf, np.float32(1000 + math.log(2)), np.float32(math.log(2) - 1000)]


def test_a_row_without_length_stays_zero() -> None:
    graph = "g (float[2,3] x) => (float[2,3] y) { a = Neg (x)\n y = LpNormalization (a) }"
    got = value(graph, 22, np.asarray([[0, 0, 0], [3, 0, 4]], np.float32))
    assert (got == np.asarray([[0, 0, 0], [-0.6, 0, -0.8]], np.float32)).all()


@pytest.mark.parametrize(("attributes", "wanted"), [
    ("", [True, True, False]), ("<detect_negative = 0>", [True, False, False]), ("<detect_positive = 0>", [False, True, False]),
])  # fmt: skip
def test_infinities_of_the_signs_that_are_asked_for(attributes: str, wanted: list[bool]) -> None:
    graph = f"g (float[3] x) => (bool[3] y) {{ a = Neg (x)\n y = IsInf {attributes} (a) }}"
    assert value(graph, 20, np.asarray([-np.inf, np.inf, np.nan], np.float32)).tolist() == wanted


def test_remainders_have_the_sign_of_the_divisor() -> None:
    x = np.arange(-32768, 32768, dtype=np.int16)
    for divisor in (3, -7, 1, 8, 12345, -32768):
        graph = f"g (int16[65536] x) => (int16[65536] y) <int16 b = {{{divisor}}}> {{ a = BitwiseNot (x)\n y = Mod (a, b) }}"
        assert (value(graph, 18, x) == np.mod(~x.astype(np.int64), divisor)).all()


REFUSED = {
    "leading-length": (17, "y = LpNormalization <p = 2, axis = 0> (a)", "axis-not-trailing"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_stays_outside(case: str) -> None:
    opset, line, code = REFUSED[case]
    graph = f"g (float[4,6] x) => (float[4,6] y) {{ a = Neg (x)\n {line} }}"
    model = onnx.parser.parse_model(f'<ir_version: 10, opset_import: ["": {opset}]>\n{graph}')
    assert code in told(ascend_fuse.optimize(model).plan, "y")


@pytest.mark.parametrize(("more", "line", "attribute"), [
    ("", "RotaryEmbedding <interleaved = 1> (a, c, s)", "interleaved"),
    (", int64[2,6] p", "RotaryEmbedding (a, cc, ss, p)", "position_ids"),
])  # fmt: skip
def test_rotary_embeddings_that_are_no_halves(more: str, line: str, attribute: str) -> None:
    caches = "float[2,6,4] c, float[2,6,4] s, float[64,4] cc, float[64,4] ss"
    graph = f"g (float[2,4,6,8] x, {caches}{more}) => (float[2,4,6,8] y) {{ a = Neg (x)\n y = {line} }}"
    model = onnx.parser.parse_model(f'<ir_version: 10, opset_import: ["": 23]>\n{graph}')
    assert told(ascend_fuse.optimize(model).plan, "y")["attribute-unsupported"].miss.figures["attribute"] == attribute


def test_a_part_of_each_head_is_turned() -> None:
    graph = (
        "g (float[2,4,6,8] x, float[2,6,2] c, float[2,6,2] s) => (float[2,4,6,8] y) "
        "{ a = Neg (x)\n y = RotaryEmbedding <rotary_embedding_dim = 4> (a, c, s) }"
    )
    model = onnx.parser.parse_model(f'<ir_version: 10, opset_import: ["": 23]>\n{graph}')
    (region,) = ascend_fuse.optimize(model, **EAGER).plan.regions
    program = parse_program(region.program)
    assert "x1: f32[d0, 1, d2 | 2] = in (d0, d2, 2)" in region.program
    check(program, inputs(program, np.random.default_rng(0), finite=True))
