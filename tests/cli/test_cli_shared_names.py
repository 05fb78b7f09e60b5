"""Nodes that share a name, or have none: ONNX Runtime refuses the former, and every command goes by their places."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import numpy_helper

from ascend_fuse.cli.main import app_main
from ascend_fuse.graph.name import named_apart, shared_names
from ascend_fuse.verify import verify

WriteModel = Callable[[str, str], Path]
Run = Callable[..., tuple[int, dict[str, Any]]]
X = "float[64, 64]"
# Two fusions, a branch among what stays, a weight.
TEXT = f"""
<ir_version: 10, opset_import: ["" : 18]>
g ({X} x, {X} s, bool c) => ({X} y, {X} z) {{
  a = Mul (x, w)  y = Tanh (a)
  q = If (c) <
    then_branch = yes () => ({X} t) {{ t0 = Trilu (s)  t = Transpose (t0) }},
    else_branch = no () => ({X} e) {{ e = Trilu (s) }}
  >
  n = Neg (q)  d = Exp (n)  z = Tanh (d)
}}
"""


def written(write_model: WriteModel, name: str, external: bool = False) -> Path:
    """The model with every node of that name."""
    path = write_model("m.onnx", TEXT)
    model = onnx.load(path)
    branches = [a.g.node for n in model.graph.node for a in n.attribute if a.HasField("g")]
    for node in (n for nodes in (model.graph.node, *branches) for n in nodes):
        node.name = name
    model.graph.initializer.append(numpy_helper.from_array(np.full((64, 64), 0.5, np.float32), "w"))
    onnx.save(model, path, save_as_external_data=external, location="w.bin", size_threshold=0)
    return path


def distinct(graph: onnx.GraphProto) -> bool:
    inner = [a.g for n in graph.node for a in n.attribute if a.HasField("g")]
    return len({n.name for n in graph.node}) == len(graph.node) and all(map(distinct, inner))


@pytest.mark.parametrize("name", ["", "same"])
@pytest.mark.parametrize("judge", [("--cpu",), ("--kernels",), ("--command", "test -s {model}")], ids=lambda j: j[0])
def test_bisect_judges_it(write_model: WriteModel, bisect: Run, name: str, judge: tuple[str, ...]) -> None:
    code, document = bisect(written(write_model, name), *judge)
    assert (code, document.get("regions"), document.get("broken")) == (0, 2, False), document


def test_bisect_tells_the_nodes_of_a_culprit_by_their_places(
    write_model: WriteModel, capsys: pytest.CaptureFixture[str]
) -> None:
    path = written(write_model, "same")
    assert app_main(["bisect", str(path), "--command", "sh -c '! grep -aq Fused.*Fused {model}'"]) == 1
    shown = " ".join(capsys.readouterr().out.split())
    assert "same (Mul #0), same (Tanh #1)" in shown or "same (Neg #3), same (Exp #4), same (Tanh #5)" in shown


@pytest.mark.parametrize("external", [False, True], ids=["inline", "external"])
def test_verify_runs_copies_and_says_so(write_model: WriteModel, external: bool) -> None:
    path = written(write_model, "same", external)
    target = path.with_name("f.onnx")
    assert app_main(["optimize", str(path), "-o", str(target), "-q", "--verify=kernels"]) == 0
    found = verify(path, target)
    assert found.ok and any("they ran under names of their own" in note for note in found.notes)
    assert not any("names of their own" in note for note in verify(written(write_model, ""), target).notes[:-1])


def test_optimize_notes_that_the_runtime_refuses_it(
    write_model: WriteModel, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    said = "several nodes are called same: ONNX Runtime loads no such model, fused or not"
    for name in ("same", ""):
        assert app_main(["optimize", str(written(write_model, name)), "-o", str(tmp_path / "f.onnx")]) == 0
        assert (said in " ".join(capsys.readouterr().out.split())) == bool(name)


def test_a_copy_has_names_of_its_own_and_the_same_nodes(write_model: WriteModel) -> None:
    model = onnx.load(written(write_model, "same"))
    copy = named_apart(model)
    assert shared_names(model.graph) == ("same",) and not distinct(model.graph)
    assert shared_names(copy.graph) == () and distinct(copy.graph)
    assert [n.op_type for n in copy.graph.node] == [n.op_type for n in model.graph.node]
    assert named_apart(copy) is copy


def test_another_fault_beside_it_is_told(write_model: WriteModel, capsys: pytest.CaptureFixture[str]) -> None:
    path = written(write_model, "same")
    model = onnx.load(path)
    model.graph.node[0].domain = "com.example"
    model.opset_import.append(onnx.helper.make_opsetid("com.example", 1))
    onnx.save(model, path)
    assert app_main(["verify", str(path), str(path)]) == 4
    assert "com.example" in capsys.readouterr().err
