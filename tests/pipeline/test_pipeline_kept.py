"""What comes out as it went in: names, documentation, metadata, unknown operators, functions, subgraphs."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import ModelProto, helper, numpy_helper
from pipeline_model import feeds, fuse, launches, parse, run, same_bits, save

import ascend_fuse

X = "float[4,256,1024]"
CHAIN = f"g ({X} x) => ({X} y) {{ a = Relu (x) b = Tanh (a) y = Sigmoid (b) }}"
FUSED = "ai.ascendfuse:FusedElementwise"


def named(model: ModelProto) -> ModelProto:
    """With a name and a doc string on each node, and both on the model."""
    for k, n in enumerate(model.graph.node):
        n.name, n.doc_string = f"layer.{k}/{n.op_type}", f"line {k}"
    model.doc_string, model.producer_name = "a model", "an exporter"
    model.graph.doc_string = "a graph"
    helper.set_model_props(model, {"author": "someone"})
    return model


def test_what_is_not_fused_stays_byte_for_byte() -> None:
    model = named(parse(
        f"g ({X} x) => ({X} y, {X} z) {{ a = Relu (x) b = Tanh (a) c = com.example.Odd <depth = 3> (b)\n"
        "y = Transpose <perm = [0, 2, 1]> (c) z = com.example.Odd (x) }"
    ))  # fmt: skip
    before = {n.name: n.SerializeToString() for n in model.graph.node}
    out = fuse(model).model
    assert launches(out) == [FUSED, "com.example:Odd", "Transpose", "com.example:Odd"]
    assert [before[n.name] for n in out.graph.node if n.domain != "ai.ascendfuse"] == [
        n.SerializeToString() for n in out.graph.node if n.domain != "ai.ascendfuse"
    ]
    assert (out.doc_string, out.producer_name, out.graph.doc_string) == ("a model", "an exporter", "a graph")
    assert {p.key: p.value for p in out.metadata_props}["author"] == "someone"
    assert [v.SerializeToString() for v in out.graph.input] == [v.SerializeToString() for v in model.graph.input]
    assert [v.SerializeToString() for v in out.graph.output] == [v.SerializeToString() for v in model.graph.output]
    assert {o.domain: o.version for o in out.opset_import} == {"": 18, "com.example": 1, "ai.ascendfuse": 1}


def test_a_proto_is_not_mutated() -> None:
    model = named(parse(CHAIN, ir=7))
    before = model.SerializeToString(deterministic=True)
    result = fuse(model)
    assert model.SerializeToString(deterministic=True) == before
    assert launches(result.model) == [FUSED]


def test_a_fused_model_is_left_alone(tmp_path: Path) -> None:
    """The same options: the same bytes; other options: planned again from the original."""
    once = save(parse(CHAIN), tmp_path / "a.onnx")
    ascend_fuse.optimize(once, output=tmp_path / "b.onnx")
    again = ascend_fuse.optimize(tmp_path / "b.onnx", output=tmp_path / "c.onnx")
    assert (tmp_path / "b.onnx").read_bytes() == (tmp_path / "c.onnx").read_bytes()
    assert again.plan.regions == ()
    assert "already fused" in again.notes[0]
    other = ascend_fuse.optimize(tmp_path / "b.onnx", soc="Ascend310P3", output=tmp_path / "d.onnx")
    fresh = ascend_fuse.optimize(once, soc="Ascend310P3", output=tmp_path / "e.onnx")
    assert other.plan.regions == fresh.plan.regions
    assert (tmp_path / "d.onnx").read_bytes() == (tmp_path / "e.onnx").read_bytes()


SCRIPT = """
import sys
import ascend_fuse
ascend_fuse.optimize(sys.argv[1], output=sys.argv[2])
"""
MANY = f"""g ({X} x, {X} u, float[1024] w) => ({X} y, {X} z, {X} q) <float root = {{1.41421356}}, float one = {{1.0}},
    float half = {{0.5}}> {{
    s = Div (x, root) e = Erf (s) p = Add (e, one) m = Mul (x, p) g = Mul (m, half)
    h = Add (g, u) y = LayerNormalization (h, w)
    t = MatMul (x, k) z = Softmax (t) r = Sigmoid (t) q = Mul (t, r) }}"""


def test_deterministic_whatever_the_hash_seed(tmp_path: Path) -> None:
    model = parse(MANY)
    model.graph.initializer.append(numpy_helper.from_array(np.ones((1024, 1024), np.float32), "k"))
    path = save(model, tmp_path / "a.onnx")
    written: set[bytes] = set()
    for seed in ("0", "1", "42"):
        out = tmp_path / f"{seed}.onnx"
        subprocess.run(
            [sys.executable, "-c", SCRIPT, path, out], check=True, env={**os.environ, "PYTHONHASHSEED": seed}
        )
        written.add(out.read_bytes())
    assert len(written) == 1
    assert len(onnx.load(tmp_path / "0.onnx").functions) >= 2


def test_graphsurgeon_in_and_out() -> None:
    gs = pytest.importorskip("onnx_graphsurgeon")
    model = parse(CHAIN)
    model.functions.clear()
    graph = gs.import_onnx(model)
    result = ascend_fuse.optimize(graph)
    assert isinstance(result.model, gs.Graph)
    assert [n.domain for n in result.model.nodes] == ["ai.ascendfuse"]
    assert [n.op for n in graph.nodes] == ["Relu", "Tanh", "Sigmoid"]
    back = gs.export_onnx(result.model)
    assert [f.domain for f in back.functions] == ["ai.ascendfuse"]
    values = feeds(model)
    assert same_bits(run(model, values), run(back, values))


def test_an_overridable_initializer_is_no_constant() -> None:
    """The caller gives 2 for a scale that the file says is 0.125: the fused node must read it."""
    text = f"g ({X} x, float scale) => ({X} y) <float scale = {{0.125}}> {{ a = Mul (x, scale) y = Tanh (a) }}"
    model = parse(text)
    assert {t.name for t in model.graph.initializer} & {v.name for v in model.graph.input} == {"scale"}
    out = fuse(model).model
    assert launches(out) == [FUSED]
    assert "scale" in out.graph.node[0].input
    values = {"x": feeds(parse(CHAIN))["x"], "scale": np.asarray(2, np.float32)}
    assert same_bits(run(model, values), run(out, values))
    assert same_bits(run(model, {"x": values["x"]}), run(out, {"x": values["x"]}))


@pytest.mark.parametrize(("ir", "raised"), [(3, True), (6, True), (7, True), (8, False), (10, False)])
def test_ir_versions(ir: int, raised: bool) -> None:
    model = parse(CHAIN, opset=13, ir=ir)
    result = fuse(model)
    assert result.model.ir_version == max(ir, 8)
    assert any(f"IR version {ir} raised to 8" in n for n in result.notes) is raised
    assert launches(result.model) == [FUSED]
    values = feeds(model)
    assert same_bits(run(model, values), run(result.model, values))


def test_ir_3_initializers_leave_the_inputs_and_are_constants() -> None:
    text = f"g ({X} x, float half) => ({X} y) <float half = {{0.5}}> {{ a = Mul (x, half) y = Tanh (a) }}"
    model = parse(text, opset=13, ir=3)
    result = fuse(model)
    assert [v.name for v in result.model.graph.input] == ["x"]
    assert any("initializers were taken out of the graph inputs" in n for n in result.notes)
    assert ", 0.5\n" in result.plan.regions[0].program
    values = feeds(parse(CHAIN))
    assert same_bits(run(model, values), run(result.model, values))


def test_inline_gives_names_and_documentation_back(tmp_path: Path) -> None:
    model = named(
        parse(
            MANY.replace("t = MatMul (x, k)", "t = MatMul (x, x2)").replace(
                "float[1024] w)", "float[1024] w, float[4,1024,1024] x2)"
            )
        )
    )
    path = save(model, tmp_path / "a.onnx")
    ascend_fuse.optimize(path, output=tmp_path / "b.onnx")
    ascend_fuse.inline(tmp_path / "b.onnx", tmp_path / "c.onnx")
    back = onnx.load(tmp_path / "c.onnx")
    plain = [n for n in back.graph.node if n.op_type != "Constant"]
    wanted = [n for n in model.graph.node if n.op_type != "Constant"]
    described = {(n.name, n.doc_string, n.op_type, tuple(n.input), tuple(n.output)) for n in wanted}
    assert {(n.name, n.doc_string, n.op_type, tuple(n.input), tuple(n.output)) for n in plain} == described
    assert not back.functions
    assert {o.domain for o in back.opset_import} == {""}  # nothing was of the other one
    assert {p.key for p in back.metadata_props} == {"author"}


@pytest.mark.parametrize("ir", [8, 9, 10])
def test_inline_needs_no_original_at_any_ir(ir: int, tmp_path: Path) -> None:
    """Source names are metadata of the node from IR 10 on, an attribute before."""
    path = save(named(parse(CHAIN, ir=ir)), tmp_path / "a.onnx")
    fused = ascend_fuse.optimize(path, output=tmp_path / "b.onnx").model
    assert bool(fused.graph.node[0].metadata_props) is (ir >= 10)
    ascend_fuse.inline(tmp_path / "b.onnx", tmp_path / "c.onnx")
    assert [n.name for n in onnx.load(tmp_path / "c.onnx").graph.node] == [
        "layer.0/Relu",
        "layer.1/Tanh",
        "layer.2/Sigmoid",
    ]


def test_values_between_fused_nodes_have_their_types() -> None:
    """ONNX Runtime infers nothing about our domain before it inlines; other tools do not at all."""
    model = parse(f"g ({X} x) => ({X} y) {{ a = Relu (x) b = Tanh (a) c = Trilu (b) y = Trilu (c) }}")
    out = fuse(model).model
    (info,) = [v for v in out.graph.value_info if v.name == "b"]
    assert [d.dim_value for d in info.type.tensor_type.shape.dim] == [4, 256, 1024]
    onnx.checker.check_model(out, full_check=True)
