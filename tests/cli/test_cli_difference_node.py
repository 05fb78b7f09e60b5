"""`diff`: nodes side by side, fusions, and what both models cost."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from pathlib import Path

import onnx
import pytest
from onnx import ModelProto, helper, numpy_helper

import ascend_fuse
from ascend_fuse import Difference, diff
from ascend_fuse.cli.main import app_main
from models import BUILDERS
from models import save as save_model

WriteModel = Callable[[str, str], Path]

BASE = """
<ir_version: 10, opset_import: ["" : 18]>
m (float[batch, 4] x) => (float[batch, 4] y)
<float[4] w = {1, 2, 3, 4}, float[4] v = {5, 6, 7, 8}, int64[1] last = {-1}> {
  a = Add (x, w)
  b = LeakyRelu <alpha = 0.1> (a)
  c = Mul (b, v)
  half = Constant <value = float {0.5}> ()
  d = Mul (c, half)
  e = ReduceSum <keepdims = 1> (d, last)
  y = Sub (d, e)
}
"""


def told(d: Difference) -> list[tuple[str, str, str, str, tuple[tuple[str, str, str, str], ...]]]:
    return [
        (n.what, n.operator, n.a, n.b, tuple((c.kind, c.name, c.before, c.after) for c in n.changes)) for n in d.nodes
    ]


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        (
            "alpha = 0.1",
            "alpha = 0.25",
            [
                (
                    "changed",
                    "LeakyRelu",
                    "LeakyRelu(b)",
                    "LeakyRelu(b)",
                    (("attribute", "alpha", "0.100000001", "0.25"),),
                )
            ],
        ),
        (
            "LeakyRelu <alpha = 0.1>",
            "Relu",
            [
                (
                    "changed",
                    "Relu",
                    "LeakyRelu(b)",
                    "Relu(b)",
                    (("operator", "", "LeakyRelu", "Relu"), ("attribute", "alpha", "0.100000001", "")),
                )
            ],
        ),
        (
            "c = Mul (b, v)",
            "r = Relu (b)\n c = Mul (r, v)",
            [
                ("added", "Relu", "", "Relu(r)", ()),
                ("rewired", "Mul", "Mul(c)", "Mul(c)", (("operand", "0", "LeakyRelu(b)", "Relu(r)"),)),
            ],
        ),
        (
            "y = Sub (d, e)",
            "y = Sub (e, d)",
            [
                (
                    "changed",
                    "Sub",
                    "Sub(y)",
                    "Sub(y)",
                    (("operand", "0", "Mul(d)", "ReduceSum(e)"), ("operand", "1", "ReduceSum(e)", "Mul(d)")),
                )
            ],
        ),
        (
            "{0.5}",
            "{0.75}",
            [
                (
                    "changed",
                    "Constant",
                    "Constant(half)",
                    "Constant(half)",
                    (("attribute", "value", "float[] 0.5", "float[] 0.75"),),
                )
            ],
        ),
        (
            "c = Mul (b, v)",
            "c = Mul (b, w)",
            [("changed", "Mul", "Mul(c)", "Mul(c)", (("operand", "1", "v", "w"),))],
        ),
    ],
)
def test_each_node_that_differs_is_told(
    write_model: WriteModel, old: str, new: str, expected: list[tuple[object, ...]]
) -> None:
    assert old in BASE
    assert told(diff(write_model("a.onnx", BASE), write_model("b.onnx", BASE.replace(old, new)))) == expected


def test_a_constant_node_may_be_an_initializer_elsewhere(write_model: WriteModel) -> None:
    other = BASE.replace("  half = Constant <value = float {0.5}> ()\n", "").replace(
        "int64[1]", "float half = {0.5}, int64[1]"
    )
    found = diff(write_model("a.onnx", BASE), write_model("b.onnx", other))
    assert told(found) == [("removed", "Constant", "Constant(half)", "", ())]
    assert [c.name for c in found.initializers] == ["half"]


def test_types_of_values_are_compared(write_model: WriteModel) -> None:
    keep = BASE.replace("float[batch, 4] y", "float[batch, n] y").replace("y = Sub (d, e)", "y = Identity (e)")
    a, b = write_model("a.onnx", keep), write_model("b.onnx", keep.replace("keepdims = 1", "keepdims = 0"))
    found = diff(a, b)
    assert [(c.name, c.before, c.after) for c in found.values] == [
        ("e", "f32[batch, 1]", "f32[batch]"),
        ("y", "f32[batch, 1]", "f32[batch]"),
    ]


def shuffled(model: ModelProto, seed: int) -> ModelProto:
    """The model with other names of nodes, inner values and initializers, in another order where that is free."""
    out = ModelProto.FromString(model.SerializeToString())
    graph, draw = out.graph, random.Random(seed)
    kept = {v.name for v in (*graph.input, *graph.output)}
    names = [o for n in graph.node for o in n.output if o and o not in kept] + [t.name for t in graph.initializer]
    numbers = draw.sample(range(len(names)), len(names))
    new = dict(zip(names, (f"onnx::{k}" for k in numbers), strict=True))
    for tensor in graph.initializer:
        tensor.name = new[tensor.name]
    for node in graph.node:
        node.name = ""
        for names_of in (node.input, node.output):
            for k, name in enumerate(names_of):
                names_of[k] = new.get(name, name)
    del graph.value_info[:]
    waiting, made = list(graph.node), {*kept, *new.values()} - {o for n in graph.node for o in n.output} | {""}
    nodes: list[onnx.NodeProto] = []
    while waiting:
        node = draw.choice([n for n in waiting if made.issuperset(n.input)])
        waiting.remove(node)
        made.update(node.output)
        nodes.append(onnx.NodeProto.FromString(node.SerializeToString()))
    del graph.node[:]
    graph.node.extend(nodes)
    return out


@pytest.mark.parametrize("seed", range(3))
def test_names_and_order_are_no_difference(layer: Path, tmp_path: Path, seed: int) -> None:
    onnx.save(shuffled(onnx.load(layer), seed), tmp_path / "b.onnx")
    found = diff(layer, tmp_path / "b.onnx")
    assert found.is_same
    assert found.matched == found.a.counts.nodes


def test_one_change_among_other_names_is_one_change(layer: Path, tmp_path: Path) -> None:
    model = shuffled(onnx.load(layer), 0)
    softmax = next(n for n in model.graph.node if n.op_type == "Softmax")
    softmax.attribute[0].i = 1
    onnx.save(model, tmp_path / "b.onnx")
    found = diff(layer, tmp_path / "b.onnx")
    assert [(n.what, n.operator) for n in found.nodes] == [("changed", "Softmax")]
    assert not found.initializers


def test_weights_that_were_trained_on_are_changed_weights_and_nothing_else(layer: Path, tmp_path: Path) -> None:
    model = onnx.load(layer)
    trained = next(t for t in model.graph.initializer if len(t.dims) == 2)
    trained.CopyFrom(numpy_helper.from_array(numpy_helper.to_array(trained) + 1, trained.name))
    onnx.save(model, tmp_path / "b.onnx")
    found = diff(layer, tmp_path / "b.onnx")
    assert [c.name for c in found.changes] == [trained.name]
    assert not found.nodes


def test_bodies_are_compared_node_by_node(write_model: WriteModel) -> None:
    text = """<ir_version: 10, opset_import: ["" : 17]>
    m (bool c, float[4] x) => (float[4] y) {
      s = Relu (x)
      y = If (c) <
        then_branch = t () => (float[4] p) { o = Abs (s) p = LeakyRelu <alpha = 0.5> (o) },
        else_branch = e () => (float[4] q) { q = Neg (x) }
      >
    }"""
    found = diff(write_model("a.onnx", text), write_model("b.onnx", text.replace("0.5", "0.25")))
    assert [(n.graph, n.what, n.operator) for n in found.nodes] == [("If#0.then_branch", "changed", "LeakyRelu")]
    captured = diff(write_model("a.onnx", text), write_model("c.onnx", text.replace("Neg (x)", "Neg (s)")))
    assert [(n.graph, n.what, n.operator) for n in captured.nodes] == [("If#0.else_branch", "changed", "Neg")]


@pytest.mark.parametrize("name", ["bert-layer", "gpt2-layer", "llama-block", "groupnorm-block", "resnet-bottleneck"])
@pytest.mark.parametrize("soc", ["Ascend910B3", "Ascend310P3"])
def test_a_fused_model_differs_in_its_fusions_alone_and_costs_what_the_plan_says(
    tmp_path: Path, name: str, soc: str
) -> None:
    a = save_model(BUILDERS[name](), tmp_path / "a.onnx")
    plan = ascend_fuse.optimize(a, output=tmp_path / "b.onnx", soc=soc, cleanup=False).plan
    found = diff(a, tmp_path / "b.onnx", soc=soc)
    assert found.nodes == ()
    assert found.matched == found.a.counts.nodes
    assert {f.what for f in found.fusions} == {"added"}
    assert {f.b: f.rules for f in found.fusions} == {r.name: r.rules for r in plan.regions}
    assert {c.name: int(c.after) for c in found.rules} == plan.counts()
    for side, totals in ((found.a, plan.totals_before), (found.b, plan.totals_after)):
        assert side.cost is not None
        assert (side.cost.totals.launches, side.cost.totals.hbm_bytes) == (totals.launches, totals.hbm_bytes)
        assert side.cost.totals.time_us == pytest.approx(totals.time_us, rel=1e-9)


def test_fusions_of_two_fused_models_are_compared(layer: Path, tmp_path: Path) -> None:
    ascend_fuse.optimize(layer, output=tmp_path / "a.onnx")
    ascend_fuse.optimize(layer, output=tmp_path / "b.onnx", ignore="AF3*", ub_reserve=0.5)
    found = diff(tmp_path / "a.onnx", tmp_path / "b.onnx")
    assert found.nodes == ()
    assert ("removed", "AF302") in {(f.what, f.rules[0]) for f in found.fusions}
    assert {c.name for f in found.fusions if f.what == "changed" for c in f.changes} <= {
        "ub_budget", "tile_rows", "tile_cols", "block_dim", "buffer_num"
    }  # fmt: skip
    assert [(c.name, c.before, c.after) for c in found.rules] == [("AF302", "1", "")]


def test_a_fused_model_without_kernels_on_the_chip_counts_as_what_it_holds(layer: Path, tmp_path: Path) -> None:
    ascend_fuse.optimize(layer, output=tmp_path / "b.onnx", cleanup=False)
    found = diff(layer, tmp_path / "b.onnx", soc="Ascend910A")
    assert found.b.cost is not None and found.b.cost.by_body == 7
    assert any("7 fused nodes have no kernel on Ascend910A" in note for note in found.notes)


def test_a_model_that_cannot_be_planned_is_compared_without_types(write_model: WriteModel, tmp_path: Path) -> None:
    a = write_model("a.onnx", BASE)
    model = onnx.load(a)
    model.graph.node[0].input.append("x")  # an Add of three
    onnx.save(model, tmp_path / "b.onnx")
    found = diff(a, tmp_path / "b.onnx")
    assert found.b.cost is None and found.a.cost is not None
    assert [(n.what, n.operator) for n in found.nodes] == [("changed", "Add")]
    assert any("nothing is estimated" in note for note in found.notes)


def test_sizes_are_of_one_of_the_models(write_model: WriteModel, capsys: pytest.CaptureFixture[str]) -> None:
    a = str(write_model("a.onnx", BASE))
    b = str(write_model("b.onnx", BASE.replace("batch", "n")))
    assert app_main(["diff", a, b, "--dim", "batch=8", "--dim", "n=8", "--format", "json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["a"]["estimate"]["time_us"] == document["b"]["estimate"]["time_us"]
    assert document["a"]["estimate"]["assumed_dims"] == []
    assert app_main(["diff", a, b, "--dim", "bach=8"]) == 2
    assert "no size of these models is called 'bach'" in capsys.readouterr().err


def test_long_lists_are_cut_in_text_and_whole_in_json(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    paths: list[str] = []
    for name, alpha in (("a", 0.5), ("b", 0.25)):
        nodes = [helper.make_node("Elu", [f"v{k}"], [f"v{k + 1}"], f"n|{k}\x1b[31m", alpha=alpha) for k in range(100)]
        ends = [helper.make_tensor_value_info(n, onnx.TensorProto.FLOAT, [4]) for n in ("v0", "v100")]
        model = helper.make_model(helper.make_graph(nodes, "g", ends[:1], ends[1:]), ir_version=8)
        paths.append(str(tmp_path / f"{name}.onnx"))
        onnx.save(model, paths[-1])
    report = tmp_path / "d.html"
    assert app_main(["diff", *paths, "--report", str(report)]) == 0
    text = capsys.readouterr().out
    assert "100 changed" in text and "… and 60 more in the JSON format." in text
    assert "\x1b" not in text and "\\x1b[31m" in text
    assert "\x1b" not in report.read_text("utf-8") and "n|0\\x1b[31m" in report.read_text("utf-8")
    assert app_main(["diff", *paths, "--format", "json"]) == 0
    assert len(json.loads(capsys.readouterr().out)["nodes"]["changes"]) == 100
    assert app_main(["diff", *paths, "--format", "markdown"]) == 0
    assert "n\\|0\\\\x1b\\[31m" in capsys.readouterr().out
