"""A fused model through the kernels: what agrees, what is caught, what is counted."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import parser

import ascend_fuse
from ascend_fuse.cli.main import app_main
from ascend_fuse.config import Settings
from ascend_fuse.each import launch_each
from ascend_fuse.preparation import prepare
from ascend_fuse.program.bound import bounds
from ascend_fuse.program.text import parse_program
from ascend_fuse.verify.exposed import fused_nodes, noise_name, with_noise
from ascend_fuse.verify.kernel_check import check_node
from ascend_fuse.verify.kernels import verify_kernels
from ascend_fuse.verify.run import Runner

LAYER = """
<ir_version: 10, opset_import: ["" : 18]>
layer (float[batch, 24] x, float[24] b) => (float[batch, 24] y, float[batch, 24] z)
<float[24, 24] w> {
    p = MatMul (x, w)
    q = Add (p, b)
    r = Relu (q)
    s = Add (r, x)
    y = Softmax (s)
    t = Sigmoid (y)
    z = Mul (t, y)
}
"""
DROPPED = """
<ir_version: 10, opset_import: ["" : 18]>
dropped (float[batch, 64] x) => (float[batch, 64] y) <float ratio = {0.25}, bool training = {1}> {
    s = Softmax (x)
    d = Dropout (s, ratio, training)
    y = Mul (d, x)
}
"""


def written(text: str, folder: Path) -> Path:
    model = parser.parse_model(text)
    for tensor in model.graph.initializer:
        if tensor.name == "w":
            rng = np.random.default_rng(3)
            tensor.CopyFrom(onnx.numpy_helper.from_array(rng.standard_normal((24, 24)).astype(np.float32), "w"))
    path = folder / "model.onnx"
    onnx.save(model, path)
    return path


def fused(path: Path) -> Path:
    ascend_fuse.optimize(path, output=path.with_name("fused.onnx"))
    return path.with_name("fused.onnx")


@pytest.fixture
def layer(tmp_path: Path) -> Path:
    return written(LAYER.replace("<float[24, 24] w>", "<float[24, 24] w = {" + ",".join(["0"] * 576) + "}>"), tmp_path)


@pytest.mark.parametrize("soc", ["Ascend910B3", "Ascend910A"])
def test_a_fused_model_agrees_and_is_counted(layer: Path, soc: str) -> None:
    found = verify_kernels(layer, fused(layer), prepare(Settings(soc=soc)), {"batch": 37})
    assert found.ok, found.failures()
    assert [o.name for o in found.outputs] == ["y", "z"]
    assert all(0 < o.max_abs <= o.allowed < 1e-3 for o in found.outputs)
    assert all(n.elements for n in found.nodes)
    assert found.after.launches < found.before.launches
    assert found.after.loaded_bytes + found.after.stored_bytes < found.before.loaded_bytes + found.before.stored_bytes


def test_a_program_that_computes_something_else_is_named(layer: Path) -> None:
    path = fused(layer)
    model = onnx.load(path)
    row = next(f for f in fused_nodes(model) if "exp" in f.program)
    attribute = next(a for a in row.node.attribute if a.name == "program")
    attribute.s = attribute.s.replace(b" exp ", b" sin ")
    onnx.save(model, path)
    found = verify_kernels(layer, path, prepare(Settings()), {"batch": 5})
    # The kernels run what the program says, and the body says something else: the outputs tell.
    assert not found.ok
    assert found.failures()[0].startswith("output y: ")


def test_masks_that_kernels_drew_go_into_the_reference(tmp_path: Path) -> None:
    path = written(DROPPED, tmp_path)
    out = fused(path)
    assert any("random_keep" in f.program for f in fused_nodes(onnx.load(out)))
    found = verify_kernels(path, out, prepare(Settings()), {"batch": 9})
    assert found.ok, found.failures()
    assert not found.outputs
    assert "random" in found.notes[0]


def test_where_a_bound_says_nothing_outputs_bear_what_came(tmp_path: Path) -> None:
    """A root at zero may be no number beside it, and so the whole row behind it may be anything."""
    text = """<ir_version: 8, opset_import: ["" : 13]>
    g (float[b,70] x) => (float[b,70] y) { r = Relu(x)
     a = Mul(r, r)
     t = Sqrt(a)
     y = Softmax<axis=-1>(t) }"""
    path = written(text, tmp_path)
    found = verify_kernels(path, fused(path), prepare(Settings()), {"b": 3})
    assert found.ok, found.failures()
    assert sum(n.free for n in found.nodes) > 0
    assert found.outputs[0].allowed < 1e-6


LOOP = """
<ir_version: 8, opset_import: ["" : 17]>
looped (float[N, 16] x) => (float[N, 16] y) {
    n = Constant <value_int = 3> ()
    c = Constant <value = bool {1}> ()
    a = Abs (x)
    y = Loop (n, c, x) <body = b (int64 i, bool k, float[N, 16] s) => (bool k2, float[N, 16] s2) {
        k2 = Identity (k) t = Add (s, a) u = Mul (t, a) s2 = Sigmoid (u)
    }>
}
"""


def test_a_fused_node_of_a_body_may_err_as_others_do(tmp_path: Path) -> None:
    path = written(LOOP, tmp_path)
    found = verify_kernels(path, fused(path), prepare(Settings()), {"N": 13})
    assert not found.nodes and found.notes
    assert found.ok, found.failures()
    assert 0 < found.outputs[0].allowed < 1e-4


def test_a_wrong_node_of_a_body_is_beyond_that(tmp_path: Path) -> None:
    """The kernels run what the program says, and the body says something else."""
    path = written(LOOP, tmp_path)
    model = onnx.load(fused(path))
    (body,) = (a.g for n in model.graph.node for a in n.attribute if a.name == "body")
    (program,) = (a for n in body.node for a in n.attribute if a.name == "program")
    program.s = program.s.replace(b"sigmoid", b"tanh")
    onnx.save(model, tmp_path / "wrong.onnx")
    assert not verify_kernels(path, tmp_path / "wrong.onnx", prepare(Settings()), {"N": 13}).ok


def test_each_node_by_itself(layer: Path) -> None:
    model = onnx.load(layer)
    assert launch_each(model, prepare(Settings())) == 7
    assert [f.node.op_type.startswith("Fused") for f in fused_nodes(model)] == [True] * 7


def test_noise_moves_what_it_is_added_to(layer: Path) -> None:
    model = onnx.load(fused(layer))
    feed = {"x": np.ones((2, 24), np.float32), "b": np.zeros(24, np.float32)}
    plain = Runner(model, "plain").run(feed)
    noise = np.full((2, 24), 0.125, np.float32)
    moved = Runner(with_noise(model, {"y": noise}), "moved").run({**feed, noise_name("y"): noise})
    np.testing.assert_array_equal(moved["y"], plain["y"] + np.float32(0.125))
    np.testing.assert_array_equal(moved["z"], plain["z"])  # of the same node, before the noise


def test_a_wrong_result_of_a_node_is_beyond_its_bound(layer: Path) -> None:
    rows = next(f for f in fused_nodes(onnx.load(fused(layer))) if "exp" in f.program)
    rng = np.random.default_rng(1)
    shapes = {name: (24,) if name == "b" else (4, 24) for name in rows.node.input}
    values = {name: rng.standard_normal(shape).astype(np.float32) for name, shape in shapes.items()}
    wanted = bounds(parse_program(rows.program), [values[n] for n in rows.node.input])
    values |= {name: right for name, (right, _) in zip(rows.node.output, wanted, strict=True)}
    assert check_node(rows, values, 0, False)[0].ok
    spoilt = rows.node.output[0]
    values[spoilt] = values[spoilt].copy()
    values[spoilt][3, 23] *= np.float32(1.001)
    found, _ = check_node(rows, values, 0, False)
    assert (found.ok, found.outside) == (False, 1)
    assert rows.name in found.sentence()


def test_the_command_and_its_json(layer: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = fused(layer)
    capsys.readouterr()
    assert app_main(["verify", str(layer), str(out), "--kernels", "--dim", "batch=3", "--format", "json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["kernels"]["ok"]
    assert document["kernels"]["backend"] == "emulator"
    assert document["kernels"]["after"]["launches"] == len(document["kernels"]["nodes"])
    assert app_main(["verify", str(layer), str(out), "--kernels", "--dim", "batch=3"]) == 0
    assert "within their bounds" in capsys.readouterr().out


def test_the_chip_is_the_one_that_was_planned_for(layer: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = layer.with_name("fused.onnx")
    ascend_fuse.optimize(layer, output=out, soc="Ascend310P3")
    command = ["verify", str(layer), str(out), "--kernels", "--dim", "batch=3", "--format", "json"]
    assert app_main(command) == 0
    found = json.loads(capsys.readouterr().out)["kernels"]
    assert (found["soc"], found["notes"]) == ("Ascend310P3", [])
    assert app_main([*command, "--soc", "Ascend910B3"]) == 0
    found = json.loads(capsys.readouterr().out)["kernels"]
    assert found["soc"] == "Ascend910B3"
    assert found["notes"] == ["planned for Ascend310P3, run on the kernels of Ascend910B3"]


def test_a_model_without_fused_nodes_is_told_so(layer: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert app_main(["verify", str(layer), str(layer), "--kernels", "--dim", "batch=3"]) == 0
    told = capsys.readouterr().out
    assert "the main graph has no fused node that they run, so none was compared." in told
    assert "within their bounds" not in told


def test_optimize_verifies_through_the_kernels(layer: Path, capsys: pytest.CaptureFixture[str]) -> None:
    target = layer.with_name("out.onnx")
    assert app_main(["optimize", str(layer), "-o", str(target), "--verify=kernels", "--dim", "batch=3"]) == 0
    told = capsys.readouterr().out
    assert "Kernels for Ascend910B3 on the emulator" in told
    assert target.is_file()
