"""Terms: what is computed, whatever the order of commuting operands and however often a value is shared."""

from __future__ import annotations

import pytest
from onnx import ModelProto, parser

import ascend_fuse
from ascend_fuse.program.text import parse_program
from ascend_fuse.proof.symbolic import same

HEAD = '<ir_version: 8, opset_import: ["" : 17]>'


def body(text: str) -> ModelProto:
    return parser.parse_model(f"{HEAD} g (float[4,8] a, float[4,8] b) => (float[4,8] y) {{ {text} }}")


def equal(lines: str, text: str) -> bool:
    program = parse_program(f"elementwise 1 [d0, d1]\nx0: f32[d0, d1] = in\nx1: f32[d0, d1] = in\n{lines}\nout v1")
    return same(program, body(text).graph.node, ("a", "b"), ("y",), {})


def test_commuting_operands_are_one_term() -> None:
    lines = "v0: f32[d0, d1] = mul x1, x0\nv1: f32[d0, d1] = sub v0, x0"
    assert equal(lines, "t = Mul (a, b) y = Sub (t, a)")
    assert not equal(lines, "t = Mul (a, b) y = Sub (a, t)")


def test_zeros_of_either_sign_are_two_terms() -> None:
    lines = "v0: f32[d0, d1] = mul x1, x0\nv1: f32[d0, d1] = div v0, {}"
    text = "t = Mul (a, b) z = Constant <value_float = 0.0> () y = Div (t, z)"
    assert equal(lines.format("0.0"), text)
    assert not equal(lines.format("-0.0"), text)


CONVOLUTION = """\
matmul 1 [d0, d1 | d2, d3]
x0: f32[d1 | d4] = left (d1, d4, 1, 1)
x1: f32[d0, d4 | d2, d3] = right
x2: f32[d1 | 1, 1] = in (d1)
v0: f32[d0, d1 | d2, d3] = matmul x0, x1
v1: f32[d0, d1 | d2, d3] = add v0, x2
out v1"""


@pytest.mark.parametrize(
    ("attributes", "known"),
    [
        ("", True),
        ("<kernel_shape = [1, 1], group = 1, strides = [1, 1], pads = [0, 0, 0, 0], dilations = [2, 2]>", True),
        ("<strides = [2, 1]>", False),
        ("<group = 2>", False),
        ("<kernel_shape = [3, 1]>", False),
        ("<pads = [0, 1, 0, 1]>", False),
    ],
)
def test_a_convolution_is_a_product_only_without_attributes_that_make_it_more(attributes: str, known: bool) -> None:
    graph = f"g (float x, float w, float b) => (float y) {{ y = Conv {attributes} (x, w, b) }}"
    nodes = parser.parse_model(f"{HEAD} {graph}").graph.node
    assert same(parse_program(CONVOLUTION), nodes, ("w", "x", "b"), ("y",), {}) == known
    assert not same(parse_program(CONVOLUTION), nodes, ("x", "w", "b"), ("y",), {})


def test_a_value_shared_again_and_again_costs_nothing() -> None:
    """Written out, the last of sixty doublings has 2^60 operands."""
    doublings = " ".join(f"v{k + 1} = Add (v{k}, v{k})" for k in range(60))
    model = parser.parse_model(f"{HEAD} g (float[4,8] v0) => (float[4,8] v60) {{ {doublings} }}")
    assert len(ascend_fuse.optimize(model).plan.regions) == 1
