"""What a further transformer layer costs once fused, in launches."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import pytest
from onnx import ModelProto

import ascend_fuse
from ascend_fuse.graph.launch import launches_by_node
from models.bert import bert_layer
from models.llama import llama_block


def all_launches(model: ModelProto) -> int:
    return sum(launches_by_node(ascend_fuse.optimize(model).model))


llama = partial(llama_block, kv_heads=2, inner=128)


@pytest.mark.parametrize("dtype", ["float32", "float16"])
@pytest.mark.parametrize(
    ("build", "sizes", "most"),
    [
        (bert_layer, (2, 32), 11),
        (bert_layer, ("batch", "seq"), 11),
        (llama, (2, 32), 14),
        (llama, ("batch", "seq"), 17),  # sizes are read of q, k and v before their Transposes, which wait for them
    ],
    ids=["bert-static", "bert-dynamic", "llama-static", "llama-dynamic"],
)
def test_a_further_layer_costs_few_launches(
    build: Callable[..., ModelProto], sizes: tuple[int | str, int | str], most: int, dtype: str
) -> None:
    batch, seq = sizes
    two, three = (all_launches(build(layers=n, hidden=64, heads=4, batch=batch, seq=seq, dtype=dtype)) for n in (2, 3))
    assert three - two <= most


def test_equal_layers_share_their_bodies() -> None:
    two, four = (ascend_fuse.optimize(bert_layer(layers=n, hidden=64, heads=4)).model for n in (2, 4))
    assert len(two.functions) == len(four.functions)
    assert sum(n.domain == "ai.ascendfuse" for n in four.graph.node) > len(four.functions)
