"""What bench/fusion.py counts, and what it takes for a valid result."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import onnx
import onnx.parser
import pytest

from ascend_fuse import optimize
from ascend_fuse.graph.launch import launch_counts
from bench.fusion_block import BLOCKS
from bench.fusion_count import Count, Original, compulsory_bytes, counted, original
from bench.fusion_page import BlockRow, ModelRow, page
from bench.fusion_tool import EXPORTED, OURS, Tool

WEIGHTS = "float[8,4] w = {" + ", ".join(["0.5"] * 32) + "}"
CHAIN = f"""g (float[2,8] x) => (float[4,2] y) <{WEIGHTS}, int64[2] shape = {{4, 2}}> {{
    p = MatMul (x, w)
    a = Relu (p)
    s = Add (a, a)
    y = Reshape (s, shape)
}}"""
DROPPED = """g (float[64,8] x) => (float[64,8] y) <float ratio = {0.5}, bool on = {1}> {
    d = Dropout (x, ratio, on)
    y = Relu (d)
}"""


def model(graph: str) -> onnx.ModelProto:
    return onnx.parser.parse_model(f'<ir_version: 9, opset_import: ["": 17]>\n{graph}')


def written(graph: str, folder: Path) -> tuple[Path, Original]:
    path = folder / "model.onnx"
    onnx.save(model(graph), path)
    return path, original(path)


def test_bytes_are_what_each_launch_reads_and_writes(tmp_path: Path) -> None:
    path, before = written(CHAIN, tmp_path)
    plain = counted(model(CHAIN), before, sized=True)
    x, w, y = 2 * 8 * 4, 8 * 4 * 4, 2 * 4 * 4
    assert dict(plain.kinds) == {"MatMul": 1, "Relu": 1, "Add": 1} and not plain.problem
    assert plain.hbm_bytes == (x + w + y) + (y + y) + (
        y + y
    )  # a view costs nothing, an operand that is read twice once
    fused = optimize(path).model
    ours = counted(fused, before, sized=True)
    assert dict(ours.kinds) == {"FusedMatmul": 1} and ours.launches == sum(launch_counts(fused).values())
    assert ours.hbm_bytes == x + w + y and not ours.problem
    assert compulsory_bytes(path, before) == x + w + y + 16  # the shape is an initializer too


@pytest.mark.parametrize(
    ("result", "problem"),
    [
        (CHAIN.replace("Add (a, a)", "Mul (a, a)"), "output y differs"),
        (CHAIN.replace("y =", "z =").replace("float[4,2] y", "float[4,2] z"), "no output y"),
        (CHAIN.replace("float[4,2] y", "float[8] y").replace("int64[2] shape = {4, 2}", "int64[1] shape = {8}"),
         "output y differs"),
        (CHAIN.replace("s = Add (a, a)", "h = Mul (a, a)\n    s = Sub (a, h)"), "output y differs"),
        (CHAIN.replace("Relu (p)", "com.example.Odd (p)"), "not runnable"),
    ],
)  # fmt: skip
def test_what_computes_something_else_is_not_valid(result: str, problem: str, tmp_path: Path) -> None:
    _, before = written(CHAIN, tmp_path)
    assert counted(model(result), before, sized=False).problem.startswith(problem)


def test_a_dropout_that_is_gone_is_not_valid(tmp_path: Path) -> None:
    _, before = written(DROPPED, tmp_path)
    assert not counted(model(DROPPED), before, sized=False).problem
    gone = DROPPED.replace("d = Dropout (x, ratio, on)", "d = Identity (x)")
    assert counted(model(gone), before, sized=False).problem == "0 nodes draw random numbers, not 1"


def test_dropouts_of_fused_nodes_that_share_a_body_count_each(tmp_path: Path) -> None:
    twice = """g (float[64,8] x) => (float[64,8] y) <float ratio = {0.5}, bool on = {1}> {
        a = Dropout (x, ratio, on)
        b = Relu (a)
        c = Softmax (b)
        d = Transpose <perm = [1, 0]> (c)
        e = Transpose <perm = [1, 0]> (d)
        f = Dropout (e, ratio, on)
        g = Relu (f)
        y = Softmax (g)
    }"""
    path, before = written(twice, tmp_path)
    fused = optimize(path, cleanup=False).model
    assert before.drawing == 2 and not counted(fused, before, sized=False).problem


def test_a_tool_answers_from_a_process_of_its_own(tmp_path: Path) -> None:
    path, before = written(CHAIN, tmp_path)
    tools = [Tool(name, 120.0) for name in (EXPORTED, OURS)]
    assert [tool.count(path, before).launches for tool in tools] == [3, 1]
    (tmp_path / "bad.onnx").write_bytes(b"no model")
    assert tools[1].count(tmp_path / "bad.onnx", before).problem.startswith("ModelError: ")
    assert tools[1].count(path, before).launches == 1
    late = Tool(OURS, 0.0)
    assert late.count(path, before).problem == "more than 0 s"
    for tool in (*tools, late):
        tool.stop()


def test_every_block_that_has_a_builder_is_a_layer_of_it() -> None:
    """Its marginal cost is a number of layers, not of whole models."""
    known = [block for block in BLOCKS if block.available()]
    assert {block.name for block in known} >= {"BERT layer", "GPT-2 layer", "LLaMA layer, decode", "ViT layer"}
    small = {"hidden": 16, "heads": 2}
    for block in known:
        options = {**block.options, **({"hidden": 16, "heads": 2} if "hidden" in block.options else {})}
        options |= {"kv_heads": 2, "inner": 16, **small} if block.builder == "llama-block" else {}
        counts = [sum(launch_counts(replace(block, options=options).build(n)).values()) for n in (1, 2, 3)]
        assert counts[2] - counts[1] == counts[1] - counts[0] > 5


def test_the_page_counts_what_is_not_valid_as_the_original() -> None:
    found = {
        EXPORTED: Count({"Relu": 8}),
        OURS: Count({"Relu": 2}),
        "OnnxSlim": Count({"Relu": 1}, 0, "output y differs"),
    }
    tools = dict.fromkeys(found, "1.0")
    text = page((), (ModelRow("m", found),), tools, (1e-3, 5e-2), "chip")
    assert "| ascend-fuse | 0.250 |  |" in text and "| OnnxSlim | 1.000 | 1 |" in text
    assert "OnnxSlim, m: output y differs" in text and "on 0 of 1" in text
    row = BlockRow("layer", 2, 4_000_000, {name: Count(c.kinds, 8_000_000, c.problem) for name, c in found.items()})
    assert "| layer | 8 (8.0) | 2 (8.0) | 2 | (4.0) | 1 (8.0) invalid |" in page(
        (row,), (), tools, (1e-3, 5e-2), "chip"
    )
