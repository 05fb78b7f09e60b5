"""What a further transformer layer costs once fused: launches beside its products and transposes."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import pytest
from onnx import ModelProto

import ascend_fuse
from ascend_fuse.graph.launch import launches_by_node
from models.bert import bert_layer
from models.llama import llama_block

PLAIN = ("MatMul", "Gemm", "Transpose")  # they have kernels of their own in this version


def other_launches(model: ModelProto) -> int:
    """Launches of the fused model that are neither a product nor a transpose."""
    fused = ascend_fuse.optimize(model).model
    launches = launches_by_node(fused)
    return sum(n for n, node in zip(launches, fused.graph.node, strict=True) if node.op_type not in PLAIN)


@pytest.mark.parametrize("dtype", ["float32", "float16"])
@pytest.mark.parametrize("sizes", [(2, 32), ("batch", "seq")], ids=["static", "dynamic"])
@pytest.mark.parametrize(
    ("build", "most"), [(bert_layer, 7), (partial(llama_block, kv_heads=2, inner=128), 7)], ids=["bert", "llama"]
)
def test_a_further_layer_costs_few_launches(
    build: Callable[..., ModelProto], most: int, sizes: tuple[int | str, int | str], dtype: str
) -> None:
    batch, seq = sizes
    two, three = (
        other_launches(build(layers=n, hidden=64, heads=4, batch=batch, seq=seq, dtype=dtype)) for n in (2, 3)
    )
    assert three - two <= most


def test_equal_layers_share_their_bodies() -> None:
    two, four = (ascend_fuse.optimize(bert_layer(layers=n, hidden=64, heads=4)).model for n in (2, 4))
    assert len(two.functions) == len(four.functions)
    assert sum(n.domain == "ai.ascendfuse" for n in four.graph.node) > len(four.functions)
