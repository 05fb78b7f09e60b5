"""Graphs that draw random numbers: seeded as they are, unseeded with equal seeds in both copies."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper
from verify_sample import Save, fuse, make_model

import models
from ascend_fuse.verify import verify
from ascend_fuse.verify.feed import make_feed
from ascend_fuse.verify.run import Runner
from ascend_fuse.verify.seed import random_nodes, seed_pair

FORMS = ["dropout", "dropout_mask", "bernoulli", "random_uniform"]
SHAPE = [4, 32]


def value(name: str, elem_type: int = TensorProto.FLOAT) -> onnx.ValueInfoProto:
    return helper.make_tensor_value_info(name, elem_type, SHAPE)


RATIO = helper.make_tensor("ratio", TensorProto.FLOAT, [], [0.5])
TRAINING = helper.make_tensor("training", TensorProto.BOOL, [], [True])


def dropout(x: str, y: str) -> onnx.NodeProto:
    return helper.make_node("Dropout", [x, "ratio", "training"], [y])


def unary(op: str, x: str, y: str) -> onnx.NodeProto:
    return helper.make_node(op, [x], [y])


def model_of(nodes: Sequence[onnx.NodeProto], outputs: Sequence[str] = ("y",)) -> onnx.ModelProto:
    return make_model(nodes, [value("x")], [value(name) for name in outputs], [RATIO, TRAINING], opset=17)


@pytest.mark.parametrize("seeded", [True, False])
@pytest.mark.parametrize("form", FORMS)
def test_fused_body_draws_the_same(form: str, seeded: bool, write: Save) -> None:
    model = models.attention_training(form, heads=2, seq=16, seeded=seeded)
    body = [k for k, node in enumerate(model.graph.node) if node.op_type != "Constant"]
    found = verify(write(model, "a.onnx"), write(fuse(model, [body]), "b.onnx"), runs=2)
    assert found.ok, found.failures()
    assert found.random_nodes == 1
    assert len(found.notes) == (0 if seeded else 1)


@pytest.mark.parametrize("form", FORMS)
def test_unseeded_needs_the_seeds(form: str, write: Save) -> None:
    """Without equal seeds the two models differ, so the tests above do depend on them."""
    model = models.attention_training(form, heads=2, seq=16, seeded=False)
    # ONNX Runtime derives the seed of some operators from the node's position: move it.
    moved = onnx.ModelProto()
    moved.CopyFrom(model)
    moved.graph.node.insert(0, unary("Identity", "scores", "unused"))
    feed = make_feed(model)
    first, second = (Runner(each, "model").run(feed.values)["weights"] for each in (model, moved))
    assert (first != second).any()


@pytest.mark.parametrize("form", FORMS)
def test_another_seed_is_a_difference(form: str, write: Save) -> None:
    model = models.attention_training(form, heads=2, seq=16)
    changed = onnx.ModelProto()
    changed.CopyFrom(model)
    for node in random_nodes(changed):
        seed = next(attribute for attribute in node.attribute if attribute.name == "seed")
        seed.CopyFrom(helper.make_attribute("seed", type(helper.get_attribute_value(seed))(99)))
    assert not verify(write(model, "a.onnx"), write(changed, "b.onnx")).ok


def test_two_calls_of_one_body_have_masks_of_their_own(write: Save) -> None:
    nodes = [
        unary("Relu", "x", "a"),
        dropout("a", "b"),
        unary("Relu", "b", "c"),
        dropout("c", "y"),
    ]
    model = model_of(nodes)
    fused = fuse(model, [[0, 1], [2, 3]])
    assert len(fused.functions) == 1
    assert verify(write(model, "a.onnx"), write(fused, "b.onnx")).ok
    pair = seed_pair(model, fused, 0)
    for copy in (pair.a, pair.b):
        seeds = [attribute.i for node in random_nodes(copy) for attribute in node.attribute]
        assert len(set(seeds)) == 2


def test_twins_are_found_in_another_order(write: Save) -> None:
    """Independent nodes change places: pairing by position alone would swap their masks."""
    first = [unary("Relu", "x", "a"), dropout("a", "y")]
    second = [unary("Tanh", "x", "b"), dropout("b", "z")]
    one, other = model_of(first + second, ["y", "z"]), model_of(second + first, ["y", "z"])
    found = verify(write(one, "a.onnx"), write(other, "b.onnx"))
    assert found.ok, found.failures()
    assert not any("order" in note for note in found.notes)


def test_twins_with_one_source_are_told_apart_by_their_readers(write: Save) -> None:
    first = [dropout("x", "a"), unary("Relu", "a", "y")]
    second = [dropout("x", "b"), unary("Tanh", "b", "z")]
    one, other = model_of(first + second, ["y", "z"]), model_of(second + first, ["y", "z"])
    found = verify(write(one, "a.onnx"), write(other, "b.onnx"))
    assert found.ok, found.failures()


def test_inside_a_branch(write: Save) -> None:
    def branch(name: str, nodes: Sequence[onnx.NodeProto]) -> onnx.GraphProto:
        return helper.make_graph(nodes, name, [], [value(f"{name}_y")])

    choice = helper.make_node(
        "If",
        ["training"],
        ["y"],
        then_branch=branch("then", [unary("Tanh", "x", "t"), dropout("t", "then_y")]),
        else_branch=branch("else", [unary("Relu", "x", "else_y")]),
    )
    model = model_of([choice])
    found = verify(write(model, "a.onnx"), write(model, "b.onnx"))
    assert found.ok, found.failures()
    assert found.random_nodes == 1
    assert found.notes


def test_lost_dropout_is_a_finding(write: Save) -> None:
    kept = model_of([unary("Relu", "x", "a"), dropout("a", "y")])
    lost = model_of([unary("Relu", "x", "a"), unary("Identity", "a", "y")])
    found = verify(write(kept, "a.onnx"), write(lost, "b.onnx"))
    assert "1 random nodes without a seed against 0" in found.interface
    assert not found.outputs[0].equal


def test_changed_ratio_is_a_difference(write: Save) -> None:
    model = model_of([dropout("x", "y")])
    changed = onnx.ModelProto()
    changed.CopyFrom(model)
    changed.graph.initializer[0].CopyFrom(helper.make_tensor("ratio", TensorProto.FLOAT, [], [0.4]))
    assert not verify(write(model, "a.onnx"), write(changed, "b.onnx")).ok


def test_swapped_dropouts_are_a_difference(write: Save) -> None:
    """Dropout before and after Tanh are not the same; equal seeds must not hide it."""
    one = model_of([dropout("x", "a"), unary("Tanh", "a", "y")])
    other = model_of([unary("Tanh", "x", "a"), dropout("a", "y")])
    assert not verify(write(one, "a.onnx"), write(other, "b.onnx")).ok


def test_inference_dropout_draws_nothing(write: Save) -> None:
    model = make_model([helper.make_node("Dropout", ["x"], ["y"])], [value("x")], [value("y")])
    found = verify(write(model, "a.onnx"), write(model, "b.onnx"))
    assert found.ok
    assert found.random_nodes == 0


def test_a_random_node_that_nothing_reads_may_go(write: Save) -> None:
    with_dead = model_of([dropout("x", "unused"), unary("Relu", "x", "a"), dropout("a", "y")])
    without = model_of([unary("Relu", "x", "a"), dropout("a", "y")])
    found = verify(write(with_dead, "a.onnx"), write(without, "b.onnx"))
    assert found.ok, found.failures()


@pytest.mark.parametrize("changed", [False, True])
def test_seeded_copies_read_the_weights_where_they_are(tmp_path: Path, changed: bool) -> None:
    """Each model in a folder of its own, its weight in a folder below: the copies are made in memory."""
    weight = TensorProto(name="weight", data_type=TensorProto.FLOAT, dims=[32, 32])
    weight.data_location = TensorProto.EXTERNAL
    weight.external_data.add(key="location", value="below/weights.bin")
    nodes = [helper.make_node("MatMul", ["x", "weight"], ["a"]), dropout("a", "y")]
    model = make_model(nodes, [value("x")], [value("y")], [weight, RATIO, TRAINING])
    payload = np.random.default_rng(0).standard_normal(1024).astype(np.float32)
    for folder in ("a", "b"):
        (tmp_path / folder / "below").mkdir(parents=True)
        payload[7] += changed and folder == "b"
        (tmp_path / folder / "below" / "weights.bin").write_bytes(payload.tobytes())
        (tmp_path / folder / "model.onnx").write_bytes(model.SerializeToString())
    before = sorted(tmp_path.rglob("*"))
    found = verify(tmp_path / "a" / "model.onnx", tmp_path / "b" / "model.onnx")
    assert found.ok is not changed
    assert sorted(tmp_path.rglob("*")) == before
