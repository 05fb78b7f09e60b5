"""Drawn inputs: what the graph says of sizes, indices and masks is kept."""

from collections.abc import Sequence

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper
from verify_sample import Save, fuse, make_model

from ascend_fuse.error import UsageError, VerificationError
from ascend_fuse.verify import verify
from ascend_fuse.verify.feed import make_feed

INT64, FLOAT = TensorProto.INT64, TensorProto.FLOAT


def info(name: str, elem_type: int, shape: Sequence[int | str | None]) -> onnx.ValueInfoProto:
    return helper.make_tensor_value_info(name, elem_type, shape)


def table(rows: int) -> onnx.TensorProto:
    return helper.make_tensor("table", FLOAT, [rows, 2], np.arange(rows * 2, dtype=np.float32))


def number(name: str, value: int) -> onnx.TensorProto:
    return helper.make_tensor(name, INT64, [], [value])


def lookup(*before: onnx.NodeProto, rows: int = 10, index: str = "ids") -> onnx.ModelProto:
    """Gather of `rows` rows behind the given nodes."""
    nodes = [*before, helper.make_node("Gather", ["table", index], ["y"])]
    extra = [number("two", 2), helper.make_tensor("flat", INT64, [1], [-1])]
    return make_model(nodes, [info("ids", INT64, ["n", 500])], [info("y", FLOAT, None)], [table(rows), *extra])


@pytest.mark.parametrize(
    ("model", "end"),
    [
        (lookup(), 10),
        (lookup(helper.make_node("Cast", ["ids"], ["k"], to=TensorProto.INT32), index="k"), 10),
        (lookup(helper.make_node("Reshape", ["ids", "flat"], ["k"]), index="k"), 10),
        (lookup(helper.make_node("Add", ["ids", "two"], ["k"]), index="k"), 8),
        (lookup(helper.make_node("Add", ["two", "ids"], ["k"]), index="k"), 8),
        (lookup(helper.make_node("Sub", ["ids", "two"], ["k"]), index="k"), 12),
    ],
)
def test_indices_stay_within_the_rows_and_reach_them(model: onnx.ModelProto, end: int) -> None:
    drawn = make_feed(model).values["ids"]
    assert drawn.min() >= 0
    assert drawn.max() == end - 1


def test_smallest_table_counts() -> None:
    nodes = [helper.make_node("Gather", [name, "ids"], [f"y_{name}"]) for name in ("table", "short")]
    short = helper.make_tensor("short", FLOAT, [3], [0.0] * 3)
    outputs = [info("y_table", FLOAT, None), info("y_short", FLOAT, None)]
    model = make_model(nodes, [info("ids", INT64, [500])], outputs, [table(10), short])
    assert make_feed(model).values["ids"].max() == 2


def test_indices_through_a_function_body_and_a_branch() -> None:
    shifted = lookup(helper.make_node("Add", ["ids", "two"], ["k"]), index="k")
    assert make_feed(fuse(shifted, [[0], [1]])).values["ids"].max() == 7
    body = helper.make_graph(
        [helper.make_node("Gather", ["table", "ids"], ["b"])], "body", [], [info("b", FLOAT, None)]
    )
    choice = helper.make_node("If", ["go"], ["y"], then_branch=body, else_branch=body)
    go = helper.make_tensor("go", TensorProto.BOOL, [], [True])
    model = make_model([choice], [info("ids", INT64, [500])], [info("y", FLOAT, None)], [table(10), go])
    assert make_feed(model).values["ids"].max() == 9


def test_external_tables_are_not_read() -> None:
    model = lookup(rows=10)
    tensor = model.graph.initializer[0]
    tensor.ClearField("float_data")
    tensor.data_location = TensorProto.EXTERNAL
    tensor.external_data.add(key="location", value="there_is_no_such_file")
    assert make_feed(model).values["ids"].max() == 9


def test_one_hot_depth_bounds_its_indices() -> None:
    values = helper.make_tensor("values", FLOAT, [2], [0.0, 1.0])
    node = helper.make_node("OneHot", ["ids", "depth", "values"], ["y"])
    inputs, outputs = [info("ids", INT64, [500])], [info("y", FLOAT, None)]
    model = make_model([node], inputs, outputs, [number("depth", 6), values])
    assert make_feed(model).values["ids"].max() == 5


@pytest.mark.parametrize("elem_type", [INT64, FLOAT, TensorProto.BOOL])
def test_masks_are_ones_with_some_zeros(elem_type: int) -> None:
    x = info("attention_mask", elem_type, [4, 100])
    model = make_model([helper.make_node("Identity", [x.name], ["y"])], [x], [info("y", elem_type, None)])
    mask = make_feed(model).values[x.name].astype(np.float64)
    assert set(np.unique(mask)) == {0.0, 1.0}
    assert mask.mean() > 0.5
    assert (mask[:, 0] == 1).all()


def test_cast_to_bool_makes_a_mask() -> None:
    node = helper.make_node("Cast", ["keep"], ["y"], to=TensorProto.BOOL)
    model = make_model([node], [info("keep", INT64, [200])], [info("y", TensorProto.BOOL, None)])
    assert set(np.unique(make_feed(model).values["keep"])) == {0, 1}


def test_a_number_that_is_compared_takes_a_compared_value() -> None:
    node = helper.make_node("Equal", ["rate", "wanted"], ["y"])
    outputs = [info("y", TensorProto.BOOL, None)]
    model = make_model([node], [info("rate", INT64, [])], outputs, [number("wanted", 16000)])
    assert make_feed(model).values["rate"] == 16000


def test_default_sizes() -> None:
    x = info("x", FLOAT, [None, "batch_size", "seq", "past_sequence + seq", "width", None, 3])
    model = make_model([helper.make_node("Identity", ["x"], ["y"])], [x], [info("y", FLOAT, None)])
    assert make_feed(model, {"seq": 2, "past_sequence": 5}).values["x"].shape == (1, 1, 2, 7, 64, 64, 3)
    assert make_feed(model, {"width": 4, "x:0": 6, "x:5": 1, "seq": 1}).values["x"].shape[:6] == (
        6, 1, 1, 129, 4, 1,
    )  # fmt: skip


def test_negative_size_is_refused() -> None:
    with pytest.raises(UsageError, match="seq=-1"):
        make_feed(lookup(), {"seq": -1})


def test_repeats_by_seed() -> None:
    x = info("x", FLOAT, [50])
    model = make_model([helper.make_node("Identity", ["x"], ["y"])], [x], [info("y", FLOAT, None)])
    one, again, other = (make_feed(model, seed=seed).values["x"] for seed in (1, 1, 2))
    assert (one == again).all()
    assert (one != other).any()


def test_sequence_inputs_are_refused_with_a_reason() -> None:
    x = helper.make_tensor_sequence_value_info("x", FLOAT, None)
    node = helper.make_node("SequenceLength", ["x"], ["y"])
    model = make_model([node], [x], [info("y", INT64, [])])
    with pytest.raises(VerificationError, match=r"not runnable.*sequence"):
        make_feed(model)


def test_refused_indices_are_retried_as_zeros(write: Save) -> None:
    """The table is computed, so its rows are not known from the graph."""
    nodes = [
        helper.make_node("Slice", ["table", "zero", "one"], ["first"]),
        helper.make_node("Gather", ["first", "ids"], ["y"]),
    ]
    ends = [helper.make_tensor("zero", INT64, [1], [0]), helper.make_tensor("one", INT64, [1], [1])]
    model = make_model(nodes, [info("ids", INT64, [50])], [info("y", FLOAT, None)], [table(10), *ends])
    path = write(model)
    found = verify(path, path)
    assert found.ok, found.failures()
    assert any("integer inputs are zero" in note for note in found.notes)
