"""Terms: what is computed, whatever the order of commuting operands and however often a value is shared."""

from __future__ import annotations

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


def test_a_value_shared_again_and_again_costs_nothing() -> None:
    """Written out, the last of sixty doublings has 2^60 operands."""
    doublings = " ".join(f"v{k + 1} = Add (v{k}, v{k})" for k in range(60))
    model = parser.parse_model(f"{HEAD} g (float[4,8] v0) => (float[4,8] v60) {{ {doublings} }}")
    assert len(ascend_fuse.optimize(model).plan.regions) == 1
