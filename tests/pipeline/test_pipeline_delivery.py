"""What a run may write over, what it leaves when it is verified, and what it does with a fused model."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import numpy_helper
from pipeline_model import parse, save

import ascend_fuse
from ascend_fuse import UsageError, VerificationError
from ascend_fuse.verify import compare

X = "float[batch,64]"
CHAIN = f"g ({X} x) => ({X} y) {{ a = Add (x, x) b = Tanh (a) y = Relu (b) }}"


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A chain in a folder of its own."""
    return save(parse(CHAIN), tmp_path / "a.onnx")


@pytest.fixture
def heavy(tmp_path: Path) -> Path:
    """A chain whose weight is in a data file."""
    model = parse(f"g ({X} x) => ({X} y) {{ a = Add (x, w) b = Tanh (a) y = Relu (b) }}")
    model.graph.initializer.append(numpy_helper.from_array(np.arange(64, dtype=np.float32), "w"))
    (tmp_path / "in").mkdir()
    (tmp_path / "out").mkdir()
    made = tmp_path / "in" / "a.onnx"
    onnx.save(model, made, save_as_external_data=True, location="a.data", size_threshold=0)
    return made


def state(folder: Path) -> dict[str, bytes]:
    return {str(p.relative_to(folder)): p.read_bytes() for p in folder.rglob("*") if p.is_file()}


@pytest.mark.parametrize(
    ("output", "reports", "says"),
    [
        ("in/a.data", [], "the output is a data file of the input"),
        ("out/a.data", [], "the output is a data file of the output"),
        ("out/b.onnx", ["in/a.onnx.json", "in/./a.onnx.json"], "the report is given twice"),
        ("out/b.json", ["out/b.json"], "the report is the output"),
        ("out/b.onnx", ["out/absent/r.md"], "the report's folder does not exist"),
        ("out/b.onnx", ["out/r.pdf"], "no report format"),
        ("out/b.onnx", ["out/-.md", "out"], "no report format"),
        ("out/b.onnx", ["out/dir.md"], "the report is a folder"),
    ],
)
def test_no_file_is_written_over(output: str, reports: list[str], says: str, heavy: Path, tmp_path: Path) -> None:
    (tmp_path / "out" / "dir.md").mkdir()
    before = state(tmp_path)
    with pytest.raises(UsageError, match=says):
        ascend_fuse.optimize(heavy, output=tmp_path / output, reports=[tmp_path / r for r in reports])
    assert state(tmp_path) == before


def test_a_report_is_not_a_data_file(heavy: Path, tmp_path: Path) -> None:
    model = onnx.load(heavy, load_external_data=False)
    model.graph.initializer[0].external_data[0].value = "w.json"
    heavy.write_bytes(model.SerializeToString())
    (heavy.parent / "a.data").rename(heavy.parent / "w.json")
    before = state(tmp_path)
    with pytest.raises(UsageError, match="the report is a data file of the input"):
        ascend_fuse.optimize(heavy, reports=heavy.parent / "w.json")
    with pytest.raises(UsageError, match="the output is a data file of the input"):
        ascend_fuse.inline(heavy, heavy.parent / "w.json")
    assert state(tmp_path) == before


def test_linked_data_is_told(heavy: Path, tmp_path: Path) -> None:
    there, here = tmp_path / "out" / "a.data", heavy.parent / "a.data"
    result = ascend_fuse.optimize(heavy, output=tmp_path / "out" / "b.onnx", weights="link")
    assert f"linked: {there} -> {here}" in result.notes
    assert there.samefile(here)
    result = ascend_fuse.optimize(heavy, output=tmp_path / "out" / "b.onnx")
    assert f"copied: {here} to {there}" in result.notes
    assert not there.samefile(here)
    assert ascend_fuse.optimize(heavy, output=heavy.parent / "b.onnx", weights="copy").notes == ()


def test_one_item_is_a_list_of_one(path: Path, tmp_path: Path) -> None:
    (tmp_path / "rules").mkdir()
    documented = (Path(__file__).parents[2] / "docs" / "rules.md").read_text("utf-8")
    (tmp_path / "rules" / "own.toml").write_text(documented.partition("```toml\n")[2].partition("```")[0], "utf-8")
    report = tmp_path / "r.json"
    some = ascend_fuse.optimize(path, select="af101", ignore="AF3*", rules=str(tmp_path / "rules"), reports=str(report))
    assert (some.plan.select, some.plan.ignore) == (("AF101",), ("AF3*",))
    assert json.loads(report.read_text("utf-8"))["regions"]


@pytest.mark.parametrize("size", [0, -1, 2**31, 2**63 - 1, 10**20, True, 1.5])
def test_sizes_that_no_axis_has(size: Any, path: Path) -> None:
    with pytest.raises(UsageError, match="is no size"):
        ascend_fuse.optimize(path, dims={"batch": size})


def test_sizes_over_what_the_engine_counts(tmp_path: Path) -> None:
    made = save(parse(CHAIN.replace("[batch,", "[batch,seq,")), tmp_path / "b.onnx")
    with pytest.raises(UsageError, match="sizes are too large"):
        ascend_fuse.optimize(made, dims={"batch": 2**31 - 1, "seq": 2**31 - 1})


def test_chips_go_by_any_case(path: Path) -> None:
    assert ascend_fuse.optimize(path, soc="ascend910b3").plan.soc == "Ascend910B3"


def test_a_verified_run_says_so_and_names_no_temporary_file(path: Path, tmp_path: Path) -> None:
    reports = [tmp_path / "r.json", tmp_path / "r.md", tmp_path / "r.txt"]
    output = tmp_path / "b.onnx"
    ascend_fuse.optimize(path, output=output, verify=True, dims={"batch": 3}, reports=reports)
    texts = [r.read_text("utf-8") for r in reports]
    found = json.loads(texts[0])["verification"]
    assert (found["ok"], found["a"], found["b"]) == (True, str(path), str(output))
    assert not any(".verify" in text for text in texts)
    assert all("Verified: bitwise equal" in text and "batch=3" in text and "seed 0" in text for text in texts[1:])
    unnamed = ascend_fuse.optimize(path, verify=True).verification
    assert unnamed == replace(compare.verify(path, output), model_b="")


def test_verification_needs_the_models_folder() -> None:
    with pytest.raises(UsageError, match="beside the model") as caught:
        ascend_fuse.optimize("/proc/version", verify=True)  # even root creates nothing there
    assert (caught.value.where, caught.value.exit_code) == ("/proc", 2)


def test_a_failed_verification_leaves_its_reports_alone(
    path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Our proofs leave no wrong model to verify: the original that ONNX Runtime sees is exchanged instead."""
    other = save(parse(CHAIN.replace("Tanh", "Sigmoid")), tmp_path / "other.onnx")
    honest = compare.verify
    monkeypatch.setattr(compare, "verify", lambda a, b, **options: honest(other, b, **options))
    report, output = tmp_path / "r.json", tmp_path / "b.onnx"
    with pytest.raises(VerificationError, match=r"computes something else: output y: \d+ elements differ") as caught:
        ascend_fuse.optimize(path, output=output, verify=True, reports=report)
    assert caught.value.exit_code == 4
    assert caught.value.verification is not None and not caught.value.verification.ok
    assert json.loads(report.read_text("utf-8"))["verification"]["ok"] is False
    assert set(state(tmp_path)) == {"a.onnx", "other.onnx", "r.json"}


def test_a_fused_model_is_copied_as_it_is_or_left(path: Path, tmp_path: Path) -> None:
    fused, again = tmp_path / "f.onnx", tmp_path / "g.onnx"
    assert not ascend_fuse.optimize(path, output=fused).unchanged
    # bytes that only a copy keeps: an unknown field, which serialising would move to the end
    fused.write_bytes(b"\xa2\x06\x01x" + fused.read_bytes())
    skipped = ascend_fuse.optimize(fused, output=again, skip_unchanged=True)
    assert (skipped.unchanged, skipped.path) == (True, None)
    assert not again.exists()
    assert ascend_fuse.optimize(fused, output=again).path == again
    assert again.read_bytes() == fused.read_bytes()
    assert not ascend_fuse.optimize(fused, output=again, min_gain=0.5, skip_unchanged=True).unchanged


def test_inlining_counts(path: Path, tmp_path: Path) -> None:
    fused = tmp_path / "f.onnx"
    ascend_fuse.optimize(path, output=fused)
    assert ascend_fuse.inline(fused, tmp_path / "b.onnx").count == 1
    assert ascend_fuse.inline(path, tmp_path / "c.onnx").count == 0
