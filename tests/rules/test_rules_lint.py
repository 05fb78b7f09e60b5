"""`rules lint`: clean rules stay clean, each defect is found once, where it stands."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from ascend_fuse.error import RuleError
from ascend_fuse.proof.instruction import difference
from ascend_fuse.resource import rules_dir
from ascend_fuse.rule.lint import Checked, Finding, lint
from ascend_fuse.rule.load import load_rules

GOOD = '''\
code = "XY001"
name = "gelu-in-two-parts"
status = "preview"
since = "0.1.0"
role = "idiom"
family = "elementwise"
opset = [9]
instruction = "gelu x"
optional = ["same"]
doc = """
x/2 + x/2 * erf(x/sqrt 2), which is GELU.
"""
example = """
<ir_version: 8, opset_import: ["" : 17]>
graph (float[2,8] x) => (float[2,8] y)
<float sqrt2 = {1.41421356}, float half = {0.5}>
{
  a = Div (x, sqrt2)
  b = Erf (a)
  c = Mul (x, half)
  d = Mul (b, c)
  y = Add (c, d)
}
"""
where = [
  {is = "value", of = "sqrt2", equals = 1.4142135623730951},
  {is = "value", of = "half", equals = 0.5},
  {is = "dtype", of = "same", one_of = ["f32"]},
]
pattern = """
parts (x, sqrt2, half) => (y)
{
  same = Cast (x)
  scaled = Div (same, sqrt2)
  bent = Erf (scaled)
  halved = Mul (same, half)
  more = Mul (halved, bent)
  y = Add (halved, more)
}
"""
'''
COPY = '''
[[variants]]
pattern = """
again (x, half, root) => (last)
{
  near = Cast (x)
  part = Mul (half, near)
  low = Div (near, root)
  curve = Erf (low)
  rest = Mul (curve, part)
  last = Add (rest, part)
}
"""
where = [
  {is = "value", of = "root", equals = 1.4142135623730951},
  {is = "dtype", of = "near", one_of = ["f32"]},
]
'''
# old, new, a part of the line where the finding stands, its code
DEFECTS = [
    ('"preview"', '"new"', "status =", "not-loadable"),
    ('"gelu x"', '"gellu x"', "instruction =", "not-loadable"),
    ('"gelu x"', '"reduce_sum x"', "instruction =", "not-loadable"),
    ('"gelu x"', '"gelu x, x"', "instruction =", "not-loadable"),
    ("bent = Erf", "bent = Erff", "bent = Erff", "not-loadable"),
    ('instruction = "gelu x"\n', 'builtin = "elementwise"\n', "builtin =", "not-loadable"),
    ('"XY001"', '"AF010"', "code =", "duplicate-code"),
    ('"XY001"', '"AF999"', "code =", "reserved-code"),
    ('"gelu-in-two-parts"', '"gelu-erf"', "name =", "duplicate-name"),
    ("  y = Add (c, d)", "  y = Add (c, d", "<ir_version", "example-invalid"),
    ("  y = Add (c, d)", "  y = Add (c, e)", "<ir_version", "example-invalid"),
    ("graph (float[2,8] x)", "graph (float[2,7] x)", "<ir_version", "example-invalid"),
    ("float half = {0.5}>", "float half = {0.6}>", "<ir_version", "example-no-match"),
    ("  b = Erf (a)", "  b = Tanh (a)", "<ir_version", "example-no-match"),
    ("[9]", "[9, 99]", "opset =", "opset-unknown"),
    ("[9]", "[7]", "opset =", "opset-too-early"),
    ("[9]", "[1]", "opset =", "opset-too-early"),
    ('family = "elementwise"', 'family = "matmul"', "family =", "family-misfit"),
    ("same = Cast (x)", "same = Cast <too = 1> (x)", "same = Cast", "operator-misfit"),
    ("bent = Erf (scaled)", "bent = Erf (scaled, half)", "bent = Erf", "operator-misfit"),
    ("[9]", "[9, 18]", "bent = Gelu", "operator-misfit"),
    ('{is = "dtype", of = "same"', '{is = "keepdims", of = "same", equals = true},\n  {is = "dtype", of = "same"', "keepdims", "condition-impossible"),
    ('{is = "dtype", of = "same"', '{is = "trailing", of = "bent"},\n  {is = "dtype", of = "same"', "trailing", "condition-impossible"),
    ('{is = "dtype", of = "same"', '{is = "trailing", of = "x"},\n  {is = "dtype", of = "same"', "trailing", "condition-impossible"),
    ('{is = "dtype", of = "same"', '{is = "attribute", of = "y", name = "axis", equals = 1},\n  {is = "dtype", of = "same"', "attribute", "condition-impossible"),
    ('of = "same", one_of = ["f32"]', 'of = "same", one_of = ["float32"]', "dtype", "condition-impossible"),
    ('  {is = "dtype", of = "same"', '  {is = "dtype", of = "same", one_of = ["f32"]},\n  {is = "dtype", of = "same"', "dtype", "condition-twice"),
    ("y = Add (halved, more)", "y = Sub (halved, more)", "parts (x", "instruction-differs"),
    ('of = "half", equals = 0.5}', 'of = "half", equals = 0.51}', "parts (x", "instruction-differs"),
    ('  {is = "value", of = "half", equals = 0.5},\n', "", "parts (x", "instruction-differs"),
]  # fmt: skip


OPTIONAL = 'optional = ["same"]', 'optional = ["same", "near"]'


def found(folder: Path, text: str, name: str = "one.toml") -> tuple[Finding, ...]:
    text = text.replace(*OPTIONAL) if "near = " in text else text
    (folder / name).write_text(text, "utf-8")
    return lint([folder], difference).findings


def test_shipped_rules_are_clean() -> None:
    checked = lint([rules_dir()], difference)
    assert checked.findings == () and checked.files == len(load_rules().rules)


def test_a_good_rule_is_clean(tmp_path: Path) -> None:
    assert found(tmp_path, GOOD) == ()


def test_the_documented_rule_is_clean(tmp_path: Path) -> None:
    text = (Path(__file__).parents[2] / "docs" / "rules.md").read_text("utf-8")
    blocks = re.findall(r"^```toml\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    assert len(blocks) == 1
    assert found(tmp_path, blocks[0]) == ()


@pytest.mark.parametrize(("old", "new", "at", "code"), DEFECTS, ids=[f"{d[3]}/{d[1][:30]}" for d in DEFECTS])
def test_a_defect_is_found_where_it_stands(tmp_path: Path, old: str, new: str, at: str, code: str) -> None:
    assert old in GOOD
    text = GOOD.replace(old, new, 1)
    if at == "bent = Gelu":
        text = text.replace("bent = Erf (scaled)", "bent = Gelu (scaled)")
    findings = [f for f in found(tmp_path, text) if f.code == code]
    lines = [n for n, line in enumerate(text.splitlines(), 1) if at in line]
    assert findings and {f.line for f in findings} <= set(lines), found(tmp_path, text)


def test_cleanups_are_ours(tmp_path: Path) -> None:
    text = GOOD.replace('"idiom"', '"cleanup"').replace('instruction = "gelu x"\n', "")
    assert [(f.line, f.code) for f in found(tmp_path, text)] == [(5, "not-loadable")]


def test_a_defect_brings_no_others(tmp_path: Path) -> None:
    codes = [f.code for f in found(tmp_path, GOOD.replace("float half = {0.5}>", "float half = {0.6}>"))]
    assert codes == ["example-no-match"]


def test_a_condition_that_no_pattern_judges(tmp_path: Path) -> None:
    text = GOOD.replace("]\npattern", '  {is = "same_shape", of = ["bent", "curve"]},\n]\npattern') + COPY
    assert "condition-idle" in [f.code for f in found(tmp_path, text)]


def test_a_copy_under_other_names(tmp_path: Path) -> None:
    findings = found(tmp_path, GOOD + COPY)
    assert [(f.code, "parts matches wherever again does" in f.message) for f in findings] == [
        ("pattern-unreachable", True)
    ]


def test_a_stricter_pattern_behind_a_wider_one(tmp_path: Path) -> None:
    stricter = COPY.replace("\n]\n", '\n  {is = "not_scalar", of = "part"},\n]\n')
    assert [f.code for f in found(tmp_path, GOOD + stricter)] == ["pattern-unreachable"]


def test_a_wider_pattern_behind_a_stricter_one(tmp_path: Path) -> None:
    text = GOOD.replace("]\npattern", '  {is = "not_scalar", of = "halved"},\n]\npattern') + COPY
    assert found(tmp_path, text) == ()


def test_a_copy_of_a_shipped_pattern(tmp_path: Path) -> None:
    shipped = (rules_dir() / "AF012.toml").read_text("utf-8")
    text = shipped.replace("AF012", "XY001").replace('"silu"', '"my-silu"')
    assert {f.code for f in found(tmp_path, text)} == {"pattern-unreachable"}


def test_codes_given_twice(tmp_path: Path) -> None:
    found(tmp_path, GOOD)
    findings = found(tmp_path, GOOD.replace("gelu-in-two-parts", "other").replace("parts (", "others ("), "two.toml")
    assert {(f.path.name, f.code) for f in findings} == {
        ("two.toml", "duplicate-code"),
        ("two.toml", "pattern-unreachable"),
    }


def test_a_folder_that_is_none(tmp_path: Path) -> None:
    with pytest.raises(RuleError, match="not a directory of rules"):
        lint([tmp_path / "none"], difference)
    with pytest.raises(RuleError, match="no rule is in the directory"):
        lint([tmp_path], difference)


def test_a_single_file(tmp_path: Path) -> None:
    path = tmp_path / "one.toml"
    path.write_text(GOOD, "utf-8")
    (tmp_path / "two.toml").write_text("no rule", "utf-8")
    assert lint([path], difference) == Checked(1, ())


def run(*words: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "ascend_fuse", "rules", "lint", *words]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_the_command(tmp_path: Path) -> None:
    path = tmp_path / "one.toml"
    path.write_text(GOOD, "utf-8")
    assert run(str(tmp_path)).returncode == 0
    path.write_text(GOOD.replace('"XY001"', '"AF999"'), "utf-8")
    done = run(str(tmp_path))
    assert (done.returncode, done.stdout.split(" ")[:2]) == (1, [f"{path}:1:", "reserved-code"])
    assert "1 finding in 1 rule file" in done.stderr
    document = json.loads(run(str(tmp_path), "--format", "json").stdout)
    assert [(f["file"], f["line"], f["code"]) for f in document["findings"]] == [(str(path), 1, "reserved-code")]
    assert run(str(tmp_path / "none")).returncode == 2
