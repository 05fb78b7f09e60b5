"""`optimize`, `inline`, `rules` and `soc` from the prompt: what is written where."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from ascend_fuse.cli.main import app_main

WriteModel = Callable[[str, str], Path]
RENAMED = """
<ir_version: 10, opset_import: ["" : 17]>
chain (float[batch, 64] z) => (float[batch, 64] y) { a = Mul (z, z) y = Relu (a) }
"""
NARROW = RENAMED.replace("[batch, 64] z", "[7, 64] x").replace("(z, z)", "(x, x)")


def files(folder: Path) -> set[str]:
    return {p.name for p in folder.iterdir()}


def test_the_default_output_lies_beside_the_input(
    chain: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before = chain.read_bytes()
    assert app_main(["optimize", str(chain)]) == 0
    out, err = capsys.readouterr()
    assert f"Written: {tmp_path / 'chain.fused.onnx'}" in out
    assert err == ""
    assert chain.read_bytes() == before
    assert files(tmp_path) == {"chain.onnx", "chain.fused.onnx"}


def test_the_formats_tell_the_same(chain: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    reports = {
        form: tmp_path / f"r.{ending}" for form, ending in (("json", "json"), ("markdown", "md"), ("text", "txt"))
    }
    args = [a for path in reports.values() for a in ("--report", str(path))]
    for form, path in reports.items():
        assert app_main(["optimize", str(chain), "--format", form, *args]) == 0
        # text adds where the model went, which is no part of the report
        assert capsys.readouterr().out.startswith(path.read_text("utf-8"))
    document = json.loads(reports["json"].read_text("utf-8"))
    after = document["totals"]["after"]["launches"]
    assert (document["totals"]["before"]["launches"], after) == (3, 1)
    assert len(document["regions"]) == 1
    assert f"| launches | 3 | {after} |" in reports["markdown"].read_text("utf-8")


def test_quiet_says_nothing(chain: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert app_main(["optimize", str(chain), "-q"]) == 0
    assert capsys.readouterr() == ("", "")


def test_what_is_verified_is_in_the_report(chain: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert app_main(["optimize", str(chain), "--verify", "--format", "json"]) == 0
    found = json.loads(capsys.readouterr().out)["verification"]
    assert found["ok"] is True
    assert [o["name"] for o in found["outputs"]] == ["y"]


def test_an_ignored_rule_fuses_nothing(chain: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert app_main(["optimize", str(chain), "--ignore", "AF*"]) == 0
    assert "Nothing is fused." in capsys.readouterr().out


def test_fused_then_inlined_is_the_original(chain: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    fused, back = tmp_path / "chain.fused.onnx", tmp_path / "back.onnx"
    assert app_main(["optimize", str(chain), "-q"]) == 0
    assert app_main(["inline", str(fused), "-o", str(back)]) == 0
    assert app_main(["verify", str(chain), str(fused), "--dim", "batch=3"]) == 0
    assert app_main(["diff", str(chain), str(fused), "--exit-code"]) == 1
    assert app_main(["diff", str(chain), str(back), "--exit-code"]) == 0
    capsys.readouterr()


def test_models_that_compute_different_things_are_4(
    chain: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    other = tmp_path / "other.onnx"
    other.write_bytes(chain.read_bytes().replace(b"Relu", b"Tanh"))
    assert app_main(["verify", str(chain), str(other)]) == 4
    assert "Different." in capsys.readouterr().out


def test_a_difference_in_the_interface_is_4_and_said(
    write_model: WriteModel, chain: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    renamed, narrow = write_model("renamed.onnx", RENAMED), write_model("narrow.onnx", NARROW)
    for other, says in ((renamed, "input x is missing"), (narrow, "and is float[7, 64]")):
        assert app_main(["verify", str(chain), str(other)]) == 4
        out, err = capsys.readouterr()
        assert says in out
        assert "was not run" in out or "was not compared" in out
        assert "INVALID_ARGUMENT" not in out + err


def test_an_unknown_size_is_2_for_both(chain: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for args in (["optimize", str(chain)], ["verify", str(chain), str(chain)]):
        assert app_main([*args, "--dim", "bach=3"]) == 2
        out, err = capsys.readouterr()
        assert out == ""
        assert "'bach'" in err and "batch" in err


def test_sizes_over_any_memory_are_2(chain: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert app_main(["verify", str(chain), str(chain), "--dim", f"batch={2**31 - 1}"]) == 2
    assert "memory" in capsys.readouterr().err


def test_a_fused_model_is_not_fused_again(chain: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert app_main(["optimize", str(chain), "-q"]) == 0
    fused = tmp_path / "chain.fused.onnx"
    before = fused.read_bytes()
    assert app_main(["optimize", str(fused)]) == 0
    out = capsys.readouterr().out
    assert "already fused with these options: nothing to do" in out.split("Summary")[0]
    assert "Written:" not in out
    assert files(tmp_path) == {"chain.onnx", "chain.fused.onnx"}
    assert app_main(["optimize", str(fused), "--in-place", "-q"]) == 0
    assert app_main(["optimize", str(fused), "-q", "-o", str(tmp_path / "copy.onnx")]) == 0
    assert fused.read_bytes() == (tmp_path / "copy.onnx").read_bytes() == before


def test_what_was_verified_is_said(chain: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    report = tmp_path / "r.md"
    assert app_main(["optimize", str(chain), "--verify", "--report", str(report), "--dim", "batch=2"]) == 0
    for text in (capsys.readouterr().out, report.read_text("utf-8")):
        assert "Verified: bitwise equal" in text
        assert "sizes batch=2" in text and "seed 0" in text


def test_inline_says_what_it_wrote(chain: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert app_main(["optimize", str(chain), "-q"]) == 0
    assert app_main(["inline", str(tmp_path / "chain.fused.onnx"), "-o", str(tmp_path / "b.onnx")]) == 0
    out, err = capsys.readouterr()
    assert out == f"Written: {tmp_path / 'b.onnx'}, 1 fused node replaced\n"
    assert err.startswith("ascend-fuse: note: it was fused with cleanups: what they removed, if anything,")
    assert err.count("\n") == 1
    assert app_main(["inline", str(chain), "-o", str(tmp_path / "c.onnx")]) == 0
    assert "has no fused nodes" in capsys.readouterr().err
    assert app_main(["optimize", str(chain), "-q", "--no-cleanup", "-o", str(tmp_path / "kept.onnx")]) == 0
    assert app_main(["inline", str(tmp_path / "kept.onnx"), "--in-place"]) == 0
    assert capsys.readouterr().err == ""
    assert (tmp_path / "kept.onnx").read_bytes() == (tmp_path / "b.onnx").read_bytes()


@pytest.mark.parametrize("where", [(), ("-o", "x.onnx", "--in-place")])
def test_inline_needs_one_place(chain: Path, where: tuple[str, ...], capsys: pytest.CaptureFixture[str]) -> None:
    assert app_main(["inline", str(chain), *where]) == 2
    assert "one of -o and --in-place is needed" in capsys.readouterr().err


def test_inline_counts_in_every_scope(
    write_model: WriteModel, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = """<ir_version: 10, opset_import: ["" : 17]>
    m (bool c, float[64, 64] x) => (float[64, 64] y) {
      a = Relu (x) s = Tanh (a)
      y = If (c) <
        then_branch = t () => (float[64, 64] p) { f = Abs (s) p = Neg (f) },
        else_branch = e () => (float[64, 64] q) { g = Exp (s) q = Tanh (g) }
      >
    }"""
    model, fused = write_model("scoped.onnx", text), tmp_path / "scoped.fused.onnx"
    assert app_main(["optimize", str(model), "-q", "--inline-functions"]) == 0
    assert app_main(["inline", str(fused), "--in-place"]) == 0
    out, err = capsys.readouterr()
    assert out == f"Written: {fused}, 3 fused nodes replaced\n"
    assert "functions expanded" in err


def test_names_of_rules_and_chips_take_any_case(chain: Path, capsys: pytest.CaptureFixture[str]) -> None:
    args = ["optimize", str(chain), "--select", "af1*", "--ignore", "af3*", "--soc", "ASCEND910B3", "--format", "json"]
    assert app_main(args) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["soc"] == "Ascend910B3"
    assert (document["rules"]["select"], document["rules"]["ignore"]) == (["AF1*"], ["AF3*"])
    assert app_main(["rules", "af3*", "--format", "json"]) == 0
    codes = [r["code"] for r in json.loads(capsys.readouterr().out)["rules"]]
    assert len(codes) > 1
    assert all(code.startswith("AF3") for code in codes)
    assert app_main(["rules", "AF9*"]) == 2


def test_in_place_writes_over_the_input(chain: Path, tmp_path: Path) -> None:
    before = chain.read_bytes()
    assert app_main(["optimize", str(chain), "--in-place", "-q"]) == 0
    assert chain.read_bytes() != before
    assert files(tmp_path) == {"chain.onnx"}


def test_the_catalogue(capsys: pytest.CaptureFixture[str]) -> None:
    assert app_main(["rules", "--format", "json"]) == 0
    codes = [r["code"] for r in json.loads(capsys.readouterr().out)["rules"]]
    assert codes == sorted(set(codes))
    assert "AF101" in codes
    assert app_main(["rules", "af101"]) == 0
    assert capsys.readouterr().out.startswith("AF101 ")
    assert app_main(["soc", "Ascend910B3", "--format", "json"]) == 0
    chips = json.loads(capsys.readouterr().out)["chips"]
    assert chips["Ascend910B3"]["ub_bytes"] == 196608
    assert app_main(["soc"]) == 0
    assert "Ascend310P3" in capsys.readouterr().out
