"""`bisect`: real plans in parts, judged by commands, by the CPU provider and by the emulated kernels."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import ascend_fuse
from ascend_fuse.cli.main import app_main

WriteModel = Callable[[str, str], Path]
Run = Callable[..., tuple[int, dict[str, Any]]]

TWO = """
<ir_version: 10, opset_import: ["" : 18]>
two (float[batch, 64] x, float[4, 64] z) => (float[batch, 64] y, float[4, 64] v, float[4, 64] u) <float one = {1}> {
  a = Add (x, one)
  b = Sigmoid (a)
  s = Softmax (b)
  y = Mul (s, x)
  c = Mul (z, z)
  d = Tanh (c)
  v = Add (d, z)
  i = Identity (z)
  u = Neg (i)
}
"""


def absent(*names: str) -> str:
    """A command that objects to models which name all of these."""
    found = " && ".join(f"grep -aq {name} {{model}}" for name in names)
    return f"sh -c '! ({found})'"


def fused_names(document: dict[str, Any]) -> list[list[str]]:
    return [[r["name"] for r in c["regions"]] for c in document["culprits"]]


def test_nothing_breaks(layer: Path, bisect: Run) -> None:
    code, document = bisect(layer, "--command", "test -s {model}")
    assert (code, document["broken"], document["culprits"], len(document["tried"])) == (0, False, [], 1)
    assert document["schema"] == "ascend-fuse/bisect/1"


def test_one_fusion_is_found_and_the_plan_that_is_left_is_good(layer: Path, bisect: Run, tmp_path: Path) -> None:
    plan = ascend_fuse.optimize(layer).plan
    for region in (plan.regions[0], plan.regions[5]):
        left = tmp_path / "left.json"
        name = f"{region.name}[^_]"  # no other fused node's name begins so
        code, document = bisect(layer, "--command", absent(name), "-o", str(left))
        assert code == 1
        assert document["complete"] and document["culprits"][0]["minimal"]
        assert fused_names(document) == [[region.name]]
        assert document["culprits"][0]["rules"] == [region.rules[0]]
        fused = ascend_fuse.apply(layer, left, output=tmp_path / "left.onnx").plan
        assert {r.nodes for r in plan.regions} - {r.nodes for r in fused.regions} == {region.nodes}
        left.unlink()


def test_a_rule_is_found_and_planning_without_it_is_judged(layer: Path, bisect: Run) -> None:
    code, document = bisect(layer, "--command", absent("AF202_Fused"))
    assert code == 1
    assert [c["rules"] for c in document["culprits"]] == [["AF202"], ["AF202"]]
    assert document["ignoring"] == {"rules": ["AF202"], "answer": "good", "why": "exit code 0"}
    assert bisect(layer, "--command", absent("AF202_Fused"), "--ignore", "af202")[0] == 0


def test_fusions_that_break_only_together_are_found_together(layer: Path, bisect: Run) -> None:
    code, document = bisect(layer, "--command", absent("AF302_", "AF202_"))
    assert code == 1
    (culprit,) = document["culprits"]
    assert len(culprit["regions"]) == 2 and culprit["minimal"]
    assert set(culprit["rules"]) == {"AF302", "AF202"}


def test_as_many_culprits_as_asked_for(layer: Path, bisect: Run) -> None:
    code, document = bisect(layer, "--command", absent("Fused"), "--culprits", "2")
    assert (code, len(document["culprits"]), document["complete"]) == (1, 2, False)


def test_a_cleanup_is_found(write_model: WriteModel, bisect: Run) -> None:
    model = write_model("two.onnx", TWO)
    code, document = bisect(model, "--command", "grep -aq Identity {model}")
    assert code == 1
    (culprit,) = document["culprits"]
    assert (culprit["regions"], [c["node"] for c in culprit["cleanups"]]) == ([], ["Identity(i)"])


def test_what_is_written_with_nothing_fused_is_no_fusions_fault(write_model: WriteModel, bisect: Run) -> None:
    model = write_model("old.onnx", TWO.replace("ir_version: 10", "ir_version: 7"))
    code, document = bisect(model, "--command", f"cmp -s {{model}} {model}")
    assert (code, document["culprits"]) == (1, [])
    assert document["unfused"] == "exit code 1"


def test_the_original_has_to_be_good(layer: Path, bisect: Run) -> None:
    code, document = bisect(layer, "--command", "sh -c 'echo broken: {model} >&2; exit 3'")
    assert code == 2
    assert "the original is not good itself: exit code 3: broken" in document["error"]


def test_answers_that_change_are_an_error(layer: Path, bisect: Run, tmp_path: Path) -> None:
    """The culprit is objected to once; when asked again it is not."""
    seen = tmp_path / "seen"
    script = f"grep -aq AF302_ {{model}} || exit 0; echo x >> {seen}; test $(wc -l < {seen}) -gt 4"
    code, document = bisect(layer, "--command", f'sh -c "{script}"')
    assert code == 2
    assert "good once" in document["error"] and "bad once" in document["error"]


def test_125_cannot_tell(layer: Path, bisect: Run) -> None:
    code, document = bisect(layer, "--command", "sh -c 'grep -aq AF202_ {model} && exit 125; exit 0'")
    assert (code, "cannot tell about the fused model" in document["error"]) == (2, True)
    script = "sh -c '! grep -aq AF302_ {model} || exit 1; grep -aq AF401_ {model} || exit 0; grep -aq AF202_ {model} || exit 125'"
    code, document = bisect(layer, "--command", script)
    assert code == 1
    assert [c["rules"] for c in document["culprits"]] == [["AF302"]]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--command", "true"], "no {model}"),
        (["--command", "absent-command {model}"], "cannot be run"),
        (["--command", "sh -c 'exit 127' {model}"], "ended with 127"),
        (["--command", "echo {model} 'x"], "close the quotation"),
        (["--command", "true {model}", "--kernels"], "judged in one way"),
        (["--command", "true {model}", "--atol", "1"], "limits of its own"),
        (["--command", "true {model}", "--metric", "("], "no regular expression"),
        (["--command", "true {model}", "--metric", "a"], "no limit"),
        (["--command", "true {model}", "--min", "2", "--max", "1"], "swap"),
        (["--command", "true {model}", "--min", "2"], "printed no number"),
        (["--min", "2"], "only a command"),
        (["--inputs", "absent.npy"], "cannot be read"),
    ],
)
def test_what_cannot_be_meant_is_refused(layer: Path, bisect: Run, arguments: list[str], said: str) -> None:
    code, document = bisect(layer, *arguments)
    assert code == 2
    assert said in document["error"]


def test_a_number_decides(layer: Path, bisect: Run) -> None:
    command = "sh -c 'echo loss 0.5; echo score: $(grep -ac AF302_ {model}).25 of 9'"
    code, document = bisect(layer, "--command", command, "--metric", r"score: (\S+)", "--max", "1")
    assert code == 1
    assert [(c["rules"], c["why"]) for c in document["culprits"]] == [(["AF302"], "metric 1.25, above 1")]
    assert bisect(layer, "--command", command, "--max", "1")[1]["error"].count("original is not good itself: metric 9")


def test_a_fused_model_has_no_plan(layer: Path, tmp_path: Path, bisect: Run) -> None:
    ascend_fuse.optimize(layer, output=tmp_path / "fused.onnx")
    code, document = bisect(tmp_path / "fused.onnx", "--command", "true {model}")
    assert (code, "fused already" in document["error"]) == (2, True)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupt_ends_it_and_leaves_nothing(layer: Path, tmp_path: Path, number: signal.Signals) -> None:
    started = tmp_path / "started"
    command = f"sh -c 'case {{model}} in *bisect*) touch {started}; exec sleep 60;; esac'"
    words = [sys.executable, "-m", "ascend_fuse", "bisect", str(layer), "--command", command, "-o", str(tmp_path / "p")]
    process = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    for _ in range(600):
        if started.exists():
            break
        time.sleep(0.1)
    os.kill(process.pid, number)
    _, told = process.communicate(timeout=30)
    assert process.returncode == 128 + number
    assert "interrupted" in told
    assert not list(tmp_path.glob(".*")) and not (tmp_path / "p").exists()


def test_reports(layer: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    names = [tmp_path / f"r.{ending}" for ending in ("md", "html", "json", "txt")]
    reports = [text for path in names for text in ("--report", str(path))]
    assert app_main(["bisect", str(layer), "--command", absent("AF302_Fused"), *reports]) == 1
    out = capsys.readouterr().out
    assert "1 culprit: AF302." in out
    assert "`--ignore AF302` was planned and judged: " in out
    assert out == names[3].read_text("utf-8")
    assert "| fusions | cleanups | answer | why |" in names[0].read_text("utf-8")
    assert json.loads(names[2].read_text("utf-8"))["culprits"][0]["rules"] == ["AF302"]
    assert "AF302" in names[1].read_text("utf-8")


def test_it_does_not_write_over_what_it_reads(layer: Path, bisect: Run) -> None:
    before = layer.read_bytes()
    assert bisect(layer, "--command", "true {model}", "-o", str(layer))[0] == 2
    assert layer.read_bytes() == before
