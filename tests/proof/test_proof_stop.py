"""A body that nothing here runs ends in a reason, at the node that stops it; everything else is fused and proved."""

from __future__ import annotations

from pathlib import Path

import onnx.parser
import pytest
from onnx import ModelProto

import ascend_fuse
from ascend_fuse.claim import UnprovableError
from ascend_fuse.cli.main import app_main
from ascend_fuse.engine import Engine, bounds, load_soc
from ascend_fuse.graph.scope import scopes
from ascend_fuse.rule.load import load_rules
from ascend_fuse.run import Options, Run

X = "float[64,512]"
HEAD = '<ir_version: 10, opset_import: ["": 17, "local": 1]>'
NORM = "BatchNormalization (h, s, s, s, s)"  # of scales by channel: these are none
# The first part holds what nothing runs, the second nothing of that.
TWO = f"""{HEAD}
g ({X} x, {X} s, {X} w) => ({X} y, {X} z) {{
  g = Neg (x)  h = Tanh (g)
  a = {NORM}
  b = Exp (a)  y = Tanh (b)
  c = Neg (w)  d = Exp (c)  z = Tanh (d)
}}"""
BRANCH = f"""{HEAD}
g ({X} x, {X} s, bool c) => ({X} z) {{
  h = Neg (x)
  y = If (c) <
    then_branch = yes () => ({X} t) {{ a = {NORM}  b = Exp (a)  t = Tanh (b) }},
    else_branch = no () => ({X} e) {{ e0 = Relu (x)  e = Tanh (e0) }}
  >
  w = Relu (y)  z = Tanh (w)
}}"""
CALLED = f"""{HEAD}
g ({X} x, {X} s) => ({X} z) {{ y = local.f (x, s)  w = Relu (y)  z = Tanh (w) }}
<opset_import: ["": 17], domain: "local">
f (h, s) => (t) {{ a = {NORM}  b = Exp (a)  t = Tanh (b) }}"""


def regions(model: ModelProto) -> tuple[set[tuple[str, ...]], set[str]]:
    """The operators of each fused node, and the nodes that nothing here runs."""
    plan = ascend_fuse.optimize(model).plan
    return {r.ops for r in plan.regions}, {m.name for m in plan.misses if m.miss.code == "not-provable"}


@pytest.mark.parametrize(
    ("text", "fused"),
    [
        (TWO, {("Neg", "Tanh"), ("Exp", "Tanh"), ("Neg", "Exp", "Tanh")}),
        (BRANCH, {("Exp", "Tanh"), ("Relu", "Tanh")}),
        (CALLED, {("Exp", "Tanh"), ("Relu", "Tanh")}),
    ],
    ids=["main", "branch", "function"],
)
def test_the_node_has_a_reason_and_the_others_are_fused(text: str, fused: set[tuple[str, ...]]) -> None:
    assert regions(onnx.parser.parse_model(text)) == (fused, {"BatchNormalization(a)"})


def test_two_such_nodes_have_a_reason_each() -> None:
    text = TWO.replace("d = Exp (c)", "d = BatchNormalization (c, s, s, s, s)")
    found = regions(onnx.parser.parse_model(text))
    assert found == ({("Neg", "Tanh"), ("Exp", "Tanh")}, {"BatchNormalization(a)", "BatchNormalization(d)"})


def test_where_it_is_not_caught_it_names_the_node() -> None:
    """The plan of one attempt alone, without a second: nothing of it may be taken."""
    run = Run(
        onnx.parser.parse_model(TWO),
        Engine(load_soc("Ascend910B3"), bounds()),
        load_rules([]),
        Options(),
        lambda *_: None,
    )
    with pytest.raises(UnprovableError, match="nothing here runs BatchNormalization as it stands") as caught:
        run.fuse()
    (path,) = caught.value.refused
    assert path == scopes(run.model)[-1].path and list(caught.value.refused[path]) == [2]


@pytest.mark.parametrize("verify", [(), ("--verify",), ("--verify=kernels",)], ids=lambda v: "".join(v) or "plain")
def test_the_command_line_writes_it_or_says_that_the_original_does_not_run(
    verify: tuple[str, ...], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    source, target = tmp_path / "m.onnx", tmp_path / "f.onnx"
    onnx.save(onnx.parser.parse_model(TWO), source)
    code = app_main(["optimize", str(source), "-o", str(target), "-q", *verify])
    said = capsys.readouterr().err
    assert (code, target.exists()) == ((4, False) if verify else (0, True)), said
    assert ("not runnable: ONNX Runtime's CPU provider cannot load it" in said) == bool(verify)
