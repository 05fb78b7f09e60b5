"""A hit gives what a run would give; whatever decides a result makes another entry; what is broken is not believed."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import onnx
import pytest
from batch.conftest import tree, write_chain
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ascend_fuse import _engine
from ascend_fuse import cache as cache_module
from ascend_fuse.batch import optimize_all
from ascend_fuse.cache import SUFFIX, Cache
from ascend_fuse.cli.main import app_main
from ascend_fuse.config import Settings
from ascend_fuse.graph.light import give_weights, without_weights
from ascend_fuse.pipeline import deliver_to
from ascend_fuse.plan import rounded
from ascend_fuse.task import Result, Task, carry_out
from models import BUILDERS
from models import save as save_model

ROOT = Path(__file__).parents[2]


def fuse(model: Path, out: Path, settings: Settings) -> Result:
    return carry_out(model, Task(settings, deliver_to(model, settings, out)))


def entries(folder: Path) -> list[Path]:
    return sorted(folder.glob(f"*{SUFFIX}"))


@pytest.mark.parametrize("name", ["bert-layer", "gpt2-layer", "residual-cnn", "attention-training", "groupnorm-block"])
def test_a_hit_gives_the_bytes_and_the_plan_of_a_run(name: str, tmp_path: Path) -> None:
    model = save_model(BUILDERS[name](), tmp_path / "m.onnx")
    plain = fuse(model, tmp_path / "plain.onnx", Settings())
    kept = Settings(cache_dir=str(tmp_path / "c"))
    first, second = (fuse(model, tmp_path / f"{k}.onnx", kept) for k in (1, 2))
    assert [r.cached for r in (plain, first, second)] == [False, False, True]
    assert first.plan == second.plan == rounded(plain.plan)
    assert first.notes == plain.notes == second.notes[:-1]
    assert second.notes[-1].startswith("from the cache")
    assert (tmp_path / "1.onnx").read_bytes() == (tmp_path / "2.onnx").read_bytes()
    assert (tmp_path / "1.onnx").read_bytes() == (tmp_path / "plain.onnx").read_bytes()
    for form in ("text", "markdown", "json"):
        assert first.report(form).replace("1.onnx", "2.onnx") == replace(second, notes=first.notes).report(form)


def test_every_result_is_kept_in_a_batch_and_told(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    args = ["optimize", str(folder), "--cache-dir", str(tmp_path / "c")]
    assert app_main([*args, "-o", str(tmp_path / "a"), "--jobs", "2"]) == 0
    assert "from the cache" not in capsys.readouterr().out
    os.rename(folder, tmp_path / "moved")  # where a model is does not matter
    args[1] = str(tmp_path / "moved")
    assert app_main([*args, "-o", str(tmp_path / "b"), "--jobs", "2"]) == 0
    assert "6 models done, 0 failed; 6 written. 6 from the cache." in capsys.readouterr().out
    assert tree(tmp_path / "a") == tree(tmp_path / "b")
    assert app_main([*args, "-o", str(tmp_path / "d"), "--format", "json"]) == 0
    assert [m["cached"] for m in json.loads(capsys.readouterr().out)["models"]] == [True] * 6
    assert app_main([*args, "-o", str(tmp_path / "e"), "--no-cache"]) == 0
    assert "from the cache" not in capsys.readouterr().out


def test_where_the_cache_is_named(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "ascend-fuse.toml").write_text('cache_dir = ".fused"\n')
    for _ in range(2):
        assert app_main(["optimize", "in/m0.onnx"]) == 0
    assert "from the cache" in capsys.readouterr().out
    assert (tmp_path / ".fused" / "CACHEDIR.TAG").read_text().startswith("Signature: 8a477f597d28d172789f06886806bc55")
    assert (tmp_path / ".fused" / ".gitignore").read_text() == "*\n"
    monkeypatch.setenv("ASCEND_FUSE_CACHE", "0")
    assert app_main(["optimize", "in/m0.onnx"]) == 0
    assert "from the cache" not in capsys.readouterr().out
    (tmp_path / "file").write_text("")
    assert app_main(["optimize", "in/m0.onnx", "--cache", "--cache-dir", "file"]) == 2
    assert "error: file: the cache is no folder; name a folder, or give --no-cache" in capsys.readouterr().err


def test_whatever_decides_a_result_makes_another_entry(tmp_path: Path) -> None:
    """Each option of the list is changed alone; none of them may find what another has kept."""
    model = write_chain(tmp_path / "m.onnx", 64)
    proto = onnx.load(model)
    proto.graph.node[0].name = "sum"
    onnx.save(proto, model)
    rules = tmp_path / "rules"
    rules.mkdir()
    text = (ROOT / "rules" / "AF102.toml").read_text("utf-8").replace("AF102", "XY102")
    (rules / "XY102.toml").write_text(text.replace('name = "', 'name = "own-'), "utf-8")
    profile = tmp_path / "p.csv"
    profile.write_text("Op Name,OP Type,Task Duration(us)\nsum,Add,3\n")
    base = Settings(cache_dir=str(tmp_path / "c"))
    variants = [
        base, replace(base, soc="Ascend310P3"), replace(base, dims={"batch": 3}), replace(base, ignore=("AF3*",)),
        replace(base, select=("AF1*",)), replace(base, rules=(str(rules),)), replace(base, launch_us=9.0),
        replace(base, min_gain=0.05), replace(base, min_gain_us=2.0), replace(base, ub_reserve=0.1),
        replace(base, l1_reserve=0.1), replace(base, min_tile_k=32), replace(base, streams=2),
        replace(base, cleanup=False), replace(base, inline_functions=True),
        replace(base, profile=str(profile)),
    ]  # fmt: skip
    for k, one in enumerate(variants):
        assert not fuse(model, tmp_path / "o.onnx", one).cached, one
        assert len(entries(tmp_path / "c")) == k + 1
    text = (rules / "XY102.toml").read_text("utf-8")
    (rules / "XY102.toml").write_text(f"# edited\n{text}", "utf-8")
    assert not fuse(model, tmp_path / "o.onnx", replace(base, rules=(str(rules),))).cached
    profile.write_text("Op Name,OP Type,Task Duration(us)\nsum,Add,4\n")
    assert not fuse(model, tmp_path / "o.onnx", replace(base, profile=str(profile))).cached
    for one in variants:
        assert fuse(model, tmp_path / "o.onnx", one).cached
    for same in (replace(base, weights="link"), replace(base, jobs=2), replace(base, verify=True)):
        result = fuse(model, tmp_path / "o.onnx", same)
        assert result.cached
        assert (result.verification is not None) == bool(same.verify)  # both models are run all the same


def test_a_weight_or_a_name_makes_another_entry(tmp_path: Path) -> None:
    model = save_model(BUILDERS["residual-cnn"](), tmp_path / "m.onnx")
    settings = Settings(cache_dir=str(tmp_path / "c"))
    fuse(model, tmp_path / "o.onnx", settings)
    assert entries(tmp_path / "c")[0].stat().st_size < model.stat().st_size / 10
    proto = onnx.load(model)
    large = max(proto.graph.initializer, key=lambda t: t.ByteSize())
    values = onnx.numpy_helper.to_array(large).copy()
    values.flat[0] = np.nextafter(values.flat[0], np.float32(9))
    large.CopyFrom(onnx.numpy_helper.from_array(values, large.name))
    onnx.save(proto, model)
    plain = fuse(model, tmp_path / "plain.onnx", Settings())
    assert not fuse(model, tmp_path / "o.onnx", settings).cached
    assert fuse(model, tmp_path / "o.onnx", settings).cached
    assert (tmp_path / "o.onnx").read_bytes() == (tmp_path / "plain.onnx").read_bytes()
    assert plain.plan.regions
    proto.doc_string = "ours"
    onnx.save(proto, model)
    assert not fuse(model, tmp_path / "o.onnx", settings).cached


def test_the_tool_itself_is_part_of_the_key(tmp_path: Path) -> None:
    """One line in one module, without a new version, and nothing that is kept is found."""
    shutil.copytree(ROOT / "ascend_fuse", tmp_path / "ascend_fuse", ignore=shutil.ignore_patterns("*plugin*"))
    shutil.copy(str(_engine.__file__), tmp_path / "ascend_fuse")
    # an editable install finds the checkout before any path
    script = (
        "import sys; sys.meta_path[:] = [f for f in sys.meta_path if 'Redirecting' not in type(f).__name__]\n"
        "from ascend_fuse.cache import tool_digest; print(tool_digest())"
    )

    def digest() -> str:
        command = [sys.executable, "-c", script]
        environ = {**os.environ, "PYTHONPATH": str(tmp_path)}
        return subprocess.run(command, capture_output=True, text=True, check=True, env=environ, cwd=tmp_path).stdout

    before = digest()
    assert digest() == before
    with (tmp_path / "ascend_fuse" / "region" / "grow.py").open("a") as stream:
        stream.write("# changed\n")
    assert digest() != before


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path, bytes, bytes]:
    """A model, its entry, the entry's bytes, the fused model's."""
    top = tmp_path_factory.mktemp("kept")
    model = write_chain(top / "m.onnx", 64)
    fuse(model, top / "o.onnx", Settings(cache_dir=str(top / "c")))
    entry = entries(top / "c")[0]
    return model, entry, entry.read_bytes(), (top / "o.onnx").read_bytes()


@given(st.data())
@settings(deadline=None, max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_what_is_not_whole_is_removed_and_made_anew(kept: tuple[Path, Path, bytes, bytes], data: st.DataObject) -> None:
    model, entry, good, fused = kept
    at = data.draw(st.integers(0, len(good) - 1))
    how = data.draw(st.sampled_from(["cut", "flip", "insert", "other"]))
    flipped = good[:at] + bytes([good[at] ^ data.draw(st.integers(1, 255))]) + good[at + 1 :]
    bad = {"cut": good[:at], "flip": flipped, "insert": good[:at] + b"\n" + good[at:], "other": data.draw(st.binary())}
    entry.write_bytes(bad[how])
    out = model.with_name("again.onnx")
    result = fuse(model, out, Settings(cache_dir=str(entry.parent)))
    assert (result.cached, out.read_bytes()) == (False, fused)
    assert entry.read_bytes() == good
    assert fuse(model, out, Settings(cache_dir=str(entry.parent))).cached


def test_an_entry_of_another_content_is_not_believed(kept: tuple[Path, Path, bytes, bytes]) -> None:
    """The digest fits what is there, and what is there is no entry."""
    model, entry, good, fused = kept
    for rest in (
        b"{}\n",
        b"[]\n",
        b'{"plan": {}, "rule_names": {}, "passed": [], "notes": [], "weights": []}\n',
        good.split(b"\n", 2)[1] + b"\nx",
    ):
        entry.write_bytes(cache_module._sha256(rest).hex().encode() + b"\n" + rest)  # pyright: ignore
        out = model.with_name("again.onnx")
        assert not fuse(model, out, Settings(cache_dir=str(entry.parent))).cached
        assert (out.read_bytes(), entry.read_bytes()) == (fused, good)


def test_what_was_used_longest_ago_goes_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found: list[Path] = []
    settings = Settings(cache_dir=str(tmp_path / "c"))
    for k in range(4):
        model = write_chain(tmp_path / f"m{k}.onnx", 64 + 16 * k)
        fuse(model, tmp_path / "o.onnx", settings)
        found += [p for p in entries(tmp_path / "c") if p not in found]
        os.utime(found[-1], (1000 + k, 1000 + k))
    assert fuse(tmp_path / "m0.onnx", tmp_path / "o.onnx", settings).cached  # which uses it
    stale = tmp_path / "c" / ".killed.part"
    stale.write_text("")
    os.utime(stale, (1000, 1000))
    monkeypatch.setattr(cache_module, "MAX_BYTES", int(sum(p.stat().st_size for p in found) * 0.7))
    fuse(write_chain(tmp_path / "m9.onnx", 256), tmp_path / "o.onnx", settings)
    left = entries(tmp_path / "c")
    assert found[0] in left
    assert found[1] not in left
    assert sum(p.stat().st_size for p in left) <= cache_module.MAX_BYTES
    assert not stale.exists()


def test_a_cache_that_cannot_be_written_costs_a_note(tmp_path: Path) -> None:
    model = write_chain(tmp_path / "m.onnx", 64)
    (tmp_path / "file").write_text("")
    result = fuse(model, tmp_path / "o.onnx", Settings(cache_dir=str(tmp_path / "file" / "c")))
    assert result.path is not None
    assert any(n.startswith("not kept in the cache: ") for n in result.notes)


def test_a_fused_model_is_nothing_to_do_from_the_cache_too(tmp_path: Path) -> None:
    model = write_chain(tmp_path / "m.onnx", 64)
    settings = Settings(cache_dir=str(tmp_path / "c"))
    fuse(model, tmp_path / "fused.onnx", settings)
    for cached in (False, True):
        result = fuse(tmp_path / "fused.onnx", tmp_path / "again.onnx", settings)
        assert (result.cached, result.unchanged, result.plan.already_fused) == (cached, True, True)
        assert (tmp_path / "again.onnx").read_bytes() == (tmp_path / "fused.onnx").read_bytes()


def test_processes_may_share_a_cache(folder: Path, tmp_path: Path) -> None:
    """The same models in many processes at once, each wanting the same entries."""
    for k in range(3):
        shutil.copytree(folder, tmp_path / "many" / str(k))
    settings = Settings(cache_dir=str(tmp_path / "c"), jobs=4)
    batch = optimize_all([tmp_path / "many"], settings, output=tmp_path / "o")
    assert batch.exit_code == 0, batch.errors
    assert len(entries(tmp_path / "c")) == 6
    trees = [tree(tmp_path / "o" / str(k)) for k in range(3)]
    assert trees[0] == trees[1] == trees[2]
    again = optimize_all([tmp_path / "many"], settings, output=tmp_path / "p")
    assert all(o.cached for o in again.outcomes)
    assert tree(tmp_path / "p") == tree(tmp_path / "o")


def test_weights_go_and_come_back(tmp_path: Path) -> None:
    proto = onnx.load(save_model(BUILDERS["mlp"](), tmp_path / "m.onnx"))
    split = without_weights(proto)
    assert split is not None
    light, digests = split
    assert digests
    assert light.ByteSize() < proto.ByteSize() / 4
    assert all(not t.raw_data for t in light.graph.initializer if t.name in digests)
    give_weights(light, frozenset(digests), proto)
    assert light.SerializeToString(deterministic=True) == proto.SerializeToString(deterministic=True)


def test_what_could_not_come_back_exactly_is_not_kept(tmp_path: Path) -> None:
    proto = onnx.load(write_chain(tmp_path / "m.onnx", 64))
    assert Cache(tmp_path).entry(proto, {}, "") is not None
    newer = onnx.ModelProto.FromString(proto.SerializeToString() + b"\xfa\x3e\x03new")  # field 1007, of no version
    assert Cache(tmp_path).entry(newer, {}, "") is None
    proto.graph.initializer.append(proto.graph.initializer[0])
    assert Cache(tmp_path).entry(proto, {}, "") is None


def test_a_gate_takes_from_the_cache_what_explain_does_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    model = write_chain(tmp_path / "m.onnx", 64)
    monkeypatch.setenv("ASCEND_FUSE_CACHE_DIR", str(tmp_path / "c"))
    for cached in (False, True):
        assert app_main(["check", str(model), "--min-fusions", "1", "--format", "json"]) == 0
        assert json.loads(capsys.readouterr().out)["models"][0]["cached"] == cached
    assert app_main(["explain", str(model), "--node", "Relu(y)", "--format", "json"]) == 0
    assert json.loads(capsys.readouterr().out)["judged"][0]["candidates"]
