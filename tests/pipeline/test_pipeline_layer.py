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


@pytest.mark.parametrize(("kv_heads", "most"), [(4, 13), (2, 14)])
@pytest.mark.parametrize("past", [31, "past"])
def test_a_cache_is_written_without_a_launch(kv_heads: int, most: int, past: int | str) -> None:
    """By rotary of the keys, which queries of as many heads share, and by the product that makes the values."""
    build = partial(llama_block, kv_heads=kv_heads, inner=128, hidden=64, heads=4, seq=1, past=past, casts=False)
    two, three = (ascend_fuse.optimize(build(layers=n)) for n in (2, 3))
    assert three.plan.totals_after.launches - two.plan.totals_after.launches <= most
    joined = [r for r in three.plan.regions if " behind " in r.program.split("\n")[-1]]
    assert sorted(r.family for r in joined) == ["matmul"] * 3 + ["rowwise"] * 3
    assert not [m for m in three.plan.misses if m.op == "Concat"]


def test_equal_layers_share_their_bodies() -> None:
    two, four = (ascend_fuse.optimize(bert_layer(layers=n, hidden=64, heads=4)).model for n in (2, 4))
    assert len(two.functions) == len(four.functions)
    assert sum(n.domain == "ai.ascendfuse" for n in four.graph.node) > len(four.functions)
