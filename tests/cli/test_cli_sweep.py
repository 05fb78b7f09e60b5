"""`explain --sweep`: where verdicts flip with a size, exactly, and as planning at that size has it."""

from __future__ import annotations

import json
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

import ascend_fuse
from ascend_fuse.cli.main import app_main
from ascend_fuse.cli.sweep import parse_sweep
from ascend_fuse.config import Settings
from ascend_fuse.error import UsageError
from ascend_fuse.graph.load import read_model

WriteModel = Callable[[str, str], Path]

# A product and a norm, of which the nodes between are the norm's or, where there are many rows, the product's; a chain.
MODEL = """
<ir_version: 10, opset_import: ["" : 17]>
m (float[batch, 1024] x, float[batch, 256] r, float[1024, 256] w, float[256] b, float[256] g, float[seq, 64] u)
  => (float[batch, 256] y, float[seq, 64] v) {
  [product] p = MatMul (x, w)
  [bias] d = Add (p, b)
  [sum] s = Add (d, r)
  [norm] y = LayerNormalization <axis = -1> (s, g)
  [exp] e = Exp (u)
  [neg] v = Neg (e)
}
"""
HALF = 0.5  # of two launches without much traffic not quite a half can be saved


@pytest.fixture
def model(write_model: WriteModel) -> Path:
    return write_model("m.onnx", MODEL)


def run(*arguments: object) -> int:
    return app_main([str(a) for a in arguments])


def shown(capsys: pytest.CaptureFixture[str], *arguments: object) -> dict[str, Any]:
    assert run(*arguments, "--format", "json") == 0
    return json.loads(capsys.readouterr().out)


def planned(model: Path, min_gain: float, **dims: int) -> set[tuple[str, ...]]:
    return {r.names for r in ascend_fuse.optimize(model, dims=dims, min_gain=min_gain).plan.regions}


@pytest.mark.parametrize(("size", "values"), [("batch", (1, 7, 64, 512, 4096)), ("seq", (1, 33, 5000))])
def test_the_verdict_at_a_size_is_that_of_planning_with_it(model: Path, size: str, values: tuple[int, ...]) -> None:
    """The program of a region found at one size is asked at all of them; --dim of that size gives the same."""
    found = ascend_fuse.sweep(model, size, values)
    assert [s.value for s in found.samples] == list(values)
    for value, sample in zip(values, found.samples, strict=True):
        result = ascend_fuse.optimize(model, dims={size: value})
        regions = {r.names: r for r in result.plan.regions}
        assert sample.regions == len(regions)
        assert sample.after == result.plan.totals_after
        for region in found.regions:
            (answer,) = (a for a in region.answers if a.value == value)
            assert answer.fuse == (region.names in regions)
            if answer.fuse:
                own = regions[region.names]
                assert (region.program, answer.tiling, answer.figures) == (own.program, own.tiling, own.figures)
            else:
                assert answer.message


def test_a_fused_node_is_asked_for_another_size(model: Path) -> None:
    """The node keeps the tiling of the size that was assumed; its program at the real size has another."""
    fused = ascend_fuse.optimize(model, dims={"seq": 4}).model
    programs = {a.s.decode() for n in fused.graph.node for a in n.attribute if a.name == "program"}
    found = ascend_fuse.sweep(fused, "seq", (4, 40000))
    assert found.notes == ("the model is fused already: this is planned anew from its original graph",)
    (chain,) = (r for r in found.regions if "exp" in r.names)
    assert chain.program in programs
    small, large = chain.answers
    assert (small.fuse, large.fuse) == (True, True)
    assert small.tiling != large.tiling
    assert large.figures.before.time_us > small.figures.before.time_us


@pytest.mark.parametrize(("size", "min_gain"), [("seq", HALF), ("batch", 0.03)])
def test_the_value_where_a_verdict_flips_is_found(model: Path, size: str, min_gain: float) -> None:
    found = ascend_fuse.sweep(model, size, range(1, 10001), Settings(min_gain=min_gain))
    assert found.exact
    assert len(found.samples) < 60
    assert any(r.flips for r in found.regions)
    for region in found.regions:
        for a, b in pairwise(region.answers):
            if (a.fuse, a.code) != (b.fuse, b.code):
                assert b.value == a.value + 1
                fused = [region.names in planned(model, min_gain, **{size: v}) for v in (a.value, b.value)]
                assert fused == [a.fuse, b.fuse]


def test_a_flip_is_shown_with_its_reason(model: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (sweep,) = shown(capsys, "explain", model, "--sweep", "seq=1..64", "--min-gain", HALF)["sweeps"]
    (chain,) = (r for r in sweep["regions"] if r["flips"])
    answers = {(a["fuse"], a["code"]) for a in chain["answers"]}
    assert answers == {(False, "no-gain"), (True, "")}
    last = max(a["value"] for a in chain["answers"] if not a["fuse"])
    assert run("explain", model, "--sweep", "seq=1..64", "--min-gain", HALF) == 0
    text = capsys.readouterr().out
    assert f"1 … {last}" in text
    assert f"{last + 1} … 64" in text
    assert "no-gain" in text
    assert "elementwise-chain" in text


def test_a_short_range_is_planned_whole_and_a_long_one_at_powers_and_ends(model: Path) -> None:
    assert [s.value for s in ascend_fuse.sweep(model, "seq", range(3, 9)).samples] == list(range(3, 9))
    values = [s.value for s in ascend_fuse.sweep(model, "seq", range(3, 101)).samples]
    assert set(values) >= {3, 4, 8, 16, 32, 64, 100}
    assert len(values) < 98


def test_sweeps_are_one_after_another(model: Path, capsys: pytest.CaptureFixture[str]) -> None:
    document = shown(capsys, "explain", model, "--sweep", "batch=1..4096", "--sweep", "seq=1,16,128")
    assert (document["schema"], document["bounds"]["launch_us"]) == ("ascend-fuse/sweep/1", 10.0)
    batch, seq = document["sweeps"]
    assert (batch["dims"], batch["assumed_dims"], batch["exact"]) == ({"seq": 128}, ["seq"], True)
    assert (seq["size"], seq["exact"], [s["value"] for s in seq["samples"]]) == ("seq", False, [1, 16, 128])
    assert "elementwise-chain" in {r["label"] for r in batch["regions"]}
    for region in seq["regions"]:
        assert region["flips"] == (len({(a["fuse"], a["code"]) for a in region["answers"]}) > 1)
    assert run("explain", model, "--sweep", "batch=1..4096") == 0
    text = capsys.readouterr().out
    assert "Where verdicts flip with batch" in text
    assert "fuse" in text
    assert run("explain", model, "--sweep", "seq=1..4096", "--format", "markdown") == 0
    assert "Nowhere from 1 to 4096: " in capsys.readouterr().out.replace("\\", "")


def test_filters_choose_from_a_sweep(model: Path, capsys: pytest.CaptureFixture[str]) -> None:
    whole = shown(capsys, "explain", model, "--sweep", "batch=1..4096")["sweeps"][0]["regions"]
    for options, wanted in (
        (["--node", "exp"], [r for r in whole if "exp" in r["names"]]),
        (["--rule", "AF1*"], [r for r in whole if any(c.startswith("AF1") for c in r["rules"])]),
        (["--code", "no-gain"], [r for r in whole if any(a["code"] == "no-gain" for a in r["answers"])]),
    ):
        assert shown(capsys, "explain", model, "--sweep", "batch=1..4096", *options)["sweeps"][0]["regions"] == wanted


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("batch", "no size and its values"), ("batch=", "no size"), ("=1..2", "no size"), ("batch=0..4", "no size"),
        ("batch=1..2..3", "no size"), ("batch=a,b", "no size"), ("batch=99999999999", "no size"),
        ("batch=8..4", "the range ends before it begins"), ("bach=1..4", "--sweep: no size is called 'bach'"),
    ],
)  # fmt: skip
def test_what_a_sweep_cannot_be(text: str, says: str, model: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("explain", model, "--sweep", text) == 2
    assert says in capsys.readouterr().err


def test_a_size_is_swept_or_given(model: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("explain", model, "--sweep", "batch=1..4", "--dim", "batch=2") == 2
    assert "--dim batch: the size is given and swept" in capsys.readouterr().err
    assert run("explain", "AF101", "--sweep", "batch=1..4") == 2
    assert "are for a model" in capsys.readouterr().err
    settings = Settings(dims={"batch": 2})  # a file's, say
    assert [s.value for s in ascend_fuse.sweep(model, "batch", (3,), settings).samples] == [3]


def test_values_are_read(model: Path) -> None:
    assert parse_sweep("batch=1..64") == ("batch", range(1, 65))
    assert parse_sweep("a=b=3") == ("a=b", (3,))
    assert parse_sweep("seq=1, 16,1") == ("seq", (1, 16))
    with pytest.raises(UsageError, match="there is no value"):
        ascend_fuse.sweep(model, "batch", ())


def test_the_model_stays_as_it_is(model: Path) -> None:
    proto = read_model(model)
    kept = proto.SerializeToString()
    ascend_fuse.sweep(proto, "batch", (1, 2))
    assert proto.SerializeToString() == kept
