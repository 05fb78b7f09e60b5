"""Which nodes count as launches."""

from __future__ import annotations

import pytest
from onnx.parser import parse_model

from ascend_fuse.error import ModelError
from ascend_fuse.graph.launch import launch_counts

HEAD = '<ir_version: 10, opset_import: ["" : 17, "ai.ascendfuse" : 1, "local" : 1, "other" : 1]>\n'


def counts(body: str, functions: str = "", outputs: str = "float[4] y", initializers: str = "") -> dict[str, int]:
    held = f"<{initializers}>" if initializers else ""
    text = f"{HEAD} m (float[2, 2] x, bool c) => ({outputs}) {held} {{ {body} }} {functions}"
    return dict(launch_counts(parse_model(text)))


def function(domain: str, name: str, body: str) -> str:
    return f'<domain: "{domain}", opset_import: ["" : 17, "local" : 1]> {name} (v) => (r) {{ {body} }}'


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("y = Relu (x)", {"Relu": 1}),
        ("a = Identity (x) y = Flatten (a)", {}),
        ("s = Shape (x) d = Mul (s, s) y = Reshape (x, d)", {}),
        ("s = Shape (x) f = Cast <to = 1> (s) y = Add (x, f)", {"Add": 1}),
        ("s = Shape (x) y = Expand (x, s)", {"Expand": 1}),
        ("y = RandomNormal <shape = [4]> ()", {"RandomNormal": 1}),
        ("y = other.Custom (x)", {"other::Custom": 1}),
        ("y, mask = Dropout (x)", {}),
        (
            "d, mask = Dropout (x) f = Cast <to = 1> (mask) y = Mul (d, f)",
            {"Dropout": 1, "Cast": 1, "Mul": 1},
        ),
    ],
)
def test_a_node_starts_a_kernel_or_not(body: str, expected: dict[str, int]) -> None:
    assert counts(body) == expected


@pytest.mark.parametrize(("training", "expected"), [("0", {}), ("1", {"Dropout": 1})])
def test_a_dropout_counts_when_it_drops(training: str, expected: dict[str, int]) -> None:
    held = f"float r = {{0.5}}, bool t = {{{training}}}"
    assert counts("y = Dropout (x, r, t)", initializers=held) == expected


def test_a_mask_that_a_subgraph_reads_is_read() -> None:
    then = "then_branch = t () => (bool[4] p) { p = Not (mask) }"
    other = "else_branch = e () => (bool[4] q) { q = Not (mask) }"
    found = counts(f"y, mask = Dropout (x) z = If (c) <{then}, {other}>", outputs="float[4] y, bool[4] z")
    assert found == {"Dropout": 1, "Not": 2, "If": 1}


def test_a_fused_node_counts_once_whatever_its_body() -> None:
    body = "a = Add (v, v) b = Mul (a, a) r = Relu (b)"
    assert counts("y = ai.ascendfuse.F (x)", function("ai.ascendfuse", "F", body)) == {"ai.ascendfuse::F": 1}


def test_another_function_counts_as_its_body_at_each_call() -> None:
    inner = function("local", "Twice", "r = Add (v, v)")
    outer = function("local", "Four", "a = local.Twice (v) r = local.Twice (a)")
    assert counts("a = local.Four (x) y = local.Four (a)", inner + outer) == {"Add": 4}


def test_a_call_on_shapes_alone_counts_nothing() -> None:
    held = function("local", "Twice", "r = Add (v, v)")
    assert counts("s = Shape (x) d = local.Twice (s) y = Reshape (x, d)", held) == {}


def test_a_function_that_calls_itself_is_a_bad_model() -> None:
    with pytest.raises(ModelError, match="local::Loop: the function calls itself"):
        counts("y = local.Loop (x)", function("local", "Loop", "r = local.Loop (v)"))
