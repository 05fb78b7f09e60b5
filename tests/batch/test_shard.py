"""One part of many models: every model in one part, the same on every machine."""

from __future__ import annotations

import json
from pathlib import Path

import onnx
import pytest
from batch.conftest import tree, write_chain
from hypothesis import given
from hypothesis import strategies as st

from ascend_fuse.batch import optimize_all
from ascend_fuse.cli.main import app_main
from ascend_fuse.config import Settings
from ascend_fuse.error import UsageError
from ascend_fuse.shard import Shard, parse_shard, part, share

NAMES = st.text("abc/", min_size=1, max_size=4)
GROUPS = st.lists(
    st.lists(st.tuples(NAMES, st.integers(0, 10**10)), min_size=1, max_size=3), max_size=12, unique_by=str
)


@given(GROUPS, st.integers(1, 9))
def test_every_group_is_in_one_shard(groups: list[list[tuple[str, int]]], count: int) -> None:
    parts = [part(groups, Shard(k, count)) for k in range(1, count + 1)]
    assert sorted(k for p in parts for k in p) == list(range(len(groups)))
    assert len({share(groups, Shard(k, count)).digest for k in range(1, count + 1)}) == 1


@given(GROUPS, st.integers(1, 5), st.randoms(use_true_random=False))
def test_the_order_of_the_inputs_does_not_matter(
    groups: list[list[tuple[str, int]]], count: int, random: object
) -> None:
    shuffled = list(groups)
    random.shuffle(shuffled)  # pyright: ignore
    for k in range(1, count + 1):
        mine, other = ([str(sorted(g[i])) for i in part(g, Shard(k, count))] for g in (groups, shuffled))
        assert sorted(mine) == sorted(other)


@given(st.lists(st.integers(1, 1000), min_size=1, max_size=40), st.integers(1, 6))
def test_no_shard_has_more_than_its_share_and_one_group(sizes: list[int], count: int) -> None:
    groups = [[(f"m{k}", size)] for k, size in enumerate(sizes)]
    loads = [sum(sizes[i] for i in part(groups, Shard(k, count))) for k in range(1, count + 1)]
    assert max(loads) <= sum(sizes) / count + max(sizes)


@pytest.mark.parametrize("text", ["", "1", "0/2", "3/2", "1/0", "-1/2", "1/2/3", "a/b", "1 /2", "1/99999999", "²/3"])
def test_what_is_no_part(text: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(UsageError, match="no part of a whole"):
        parse_shard(text)
    assert app_main(["optimize", "in", "-o", "out", "--shard", text]) == 2
    assert f"error: --shard {text}: " in capsys.readouterr().err


def test_the_shards_together_are_the_whole(folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    whole = optimize_all([folder], output=tmp_path / "whole")
    assert whole.share is None
    digests: set[str] = set()
    for k in (1, 2, 3):
        out = tmp_path / f"part{k}"
        assert app_main(["optimize", str(folder), "-o", str(out), "--shard", f"{k}/3", "--format", "json"]) == 0
        document = json.loads(capsys.readouterr().out)
        assert len(document["models"]) == len(tree(out)) == 2
        assert (document["shard"]["index"], document["shard"]["count"], document["shard"]["models"]) == (k, 3, 6)
        digests.add(document["shard"]["digest"])
    assert len(digests) == 1
    parts = [tree(tmp_path / f"part{k}") for k in (1, 2, 3)]
    assert parts[0] | parts[1] | parts[2] == tree(tmp_path / "whole")


def test_a_shard_may_be_empty_and_one_model_may_be_sharded(folder: Path, tmp_path: Path) -> None:
    shards = [optimize_all([folder / "m0.onnx"], output=tmp_path / "o", shard=Shard(k, 2)) for k in (1, 2)]
    assert [len(b.outcomes) for b in shards] == [1, 0]
    assert [b.exit_code for b in shards] == [0, 0]
    assert list(tree(tmp_path / "o")) == ["m0.onnx"]


def test_models_that_share_a_data_file_are_in_one_shard(tmp_path: Path) -> None:
    for k in range(5):
        path = write_chain(tmp_path / "in" / f"m{k}.onnx", 64 + k)
        model = onnx.load(path)
        weights = onnx.numpy_helper.from_array(onnx.numpy_helper.to_array(model.graph.initializer[0]), "one")
        model.graph.initializer[0].CopyFrom(weights)
        onnx.save(model, path, save_as_external_data=True, location="a.bin" if k < 3 else f"b{k}.bin", size_threshold=0)
    found: list[set[str]] = []
    for k in (1, 2):
        out = tmp_path / f"out{k}"
        batch = optimize_all([tmp_path / "in"], output=out, shard=Shard(k, 2))
        assert batch.exit_code == 0, batch.errors
        found.append(set(tree(out)))
    assert found[0] & found[1] == set()
    assert any({"m0.onnx", "m1.onnx", "m2.onnx", "a.bin"} <= names for names in found)


def test_a_size_of_another_shards_models_is_no_mistake(folder: Path, tmp_path: Path) -> None:
    settings = Settings(dims={"seq": 3})
    assert optimize_all([folder], settings, output=tmp_path / "a").exit_code == 2
    assert optimize_all([folder], settings, output=tmp_path / "b", shard=Shard(1, 2)).exit_code == 0


def test_a_gate_may_be_sharded(folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    baseline = ("--expect", str(tmp_path / "b.json"))
    assert app_main(["check", str(folder), *baseline, "--update-baseline", "-q"]) == 0
    found: list[str] = []
    for k in (1, 2, 3):
        assert app_main(["check", str(folder), *baseline, "--shard", f"{k}/3", "--format", "json"]) == 0
        document = json.loads(capsys.readouterr().out)
        assert document["shard"]["models"] == 6
        assert document["gone"] == []
        found += [m["model"] for m in document["models"]]
    assert len(found) == len(set(found)) == 6
