"""Rule files that cannot be used are errors with the file and the line; codes are chosen by name or glob."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from ascend_fuse.error import RuleError, UsageError
from ascend_fuse.rule.load import load_rules

GOOD = '''\
code = "XY001"
name = "twice-neg"
status = "preview"
since = "0.1.0"
role = "idiom"
family = "elementwise"
opset = [7]
instruction = "gelu x"
optional = []
doc = """
Why it is there.
"""
example = "none"
where = [
  {is = "value", of = "half", equals = 0.5},
]
pattern = """
first (x, half) => (y)
{
  a = Neg (x)
  y = Mul (a, half)
}
"""

[[variants]]
pattern = """
second (x, half) => (y)
{
  a = Abs (x)
  y = Mul (a, half)
}
"""
where = [{is = "same_shape", of = ["a", "y"]}]
'''
# old, new, the line of the error, a part of what it says
BAD = [
    ('name = "twice-neg"', 'name = "twice-neg"\ncolour = "red"', 3, "unknown key `colour`"),
    ('name = "twice-neg"\n', "", 1, "the key `name` is missing"),
    ('name = "twice-neg"', "name = 3", 2, "`name` is a string"),
    ('name = "twice-neg"', "name = ", 2, "not TOML"),
    ('"XY001"', '"XY1"', 1, "`code` has the form"),
    ('"preview"', '"new"', 3, "`status` is one of"),
    ('"0.1.0"', '"soon"', 4, "`since` has the form"),
    ('"idiom"', '"idol"', 5, "`role` is one of"),
    ('"elementwise"', '"scalar"', 6, "`family` is one of"),
    ("[7]", "[9, 7]", 7, "`opset` is"),
    ("[7]", "[]", 7, "`opset` is"),
    ('instruction = "gelu x"\n', "", 1, "names its `instruction`"),
    ('"gelu x"', '"gelu z"', 18, "reads 'z'"),
    ("optional = []", 'optional = ["z"]', 9, "'z'"),
    ("optional = []", "optional = 3", 9, "list of strings"),
    ("optional = []", 'optional = ["y"]', 18, "not optional"),
    ("optional = []", 'builtin = "elementwise"', 9, "either a `pattern` or a `builtin`"),
    ('{is = "value"', '{is = "worth"', 15, "no predicate is called 'worth'"),
    ('of = "half", equals', 'of = "quarter", equals', 15, "'quarter'"),
    (", equals = 0.5", "", 15, "lacks `equals`"),
    ("equals = 0.5", "equals = 0.5, ulp = 2", 15, "no key `ulp`"),
    ('of = "half"', 'of = ["half", "x"]', 15, "names 1 value"),
    ('{is = "value", of = "half", equals = 0.5}', "3", 14, "a condition is a table"),
    ("a = Neg (x)", "a = Neg x)", 20, "not ONNX text"),
    ("a = Neg (x)", "a = Negg (x)", 20, "Negg is not an operator"),
    ("a = Neg (x)", "a = Neg (b)", 20, "'b' is neither"),
    ("a = Neg (x)", "x = Neg (x)", 20, "defined twice"),
    ("a = Neg (x)", "a = Neg (x)\n  b = Abs (x)", 21, "does not lead to the last output"),
    ("first (x, half)", "first (x, half, more)", 18, "'more' is not read"),
    ("a = Abs (x)", "a = Abs x)", 29, "not ONNX text"),
    ("second (x, half)", "first (x, half)", 18, "two patterns are called first"),
    ('of = ["a", "y"]', 'of = ["a", "q"]', 33, "'q'"),
    ("[[variants]]\n", '[[variants]]\nname = "b"\n', 26, "a variant has no key `name`"),
]  # fmt: skip


def write(folder: Path, text: str) -> Path:
    path = folder / "one.toml"
    path.write_text(text, "utf-8")
    return path


def use(folder: Path) -> None:
    for rule in load_rules([folder]).rules:
        assert rule.patterns or rule.builtin


def test_a_good_file(tmp_path: Path) -> None:
    write(tmp_path, GOOD)
    rule = load_rules([tmp_path]).by_code("XY001")
    assert [p.name for p in rule.patterns] == ["first", "second"]
    assert [len(p.conditions) for p in rule.patterns] == [1, 2]


@pytest.mark.parametrize(("old", "new", "line", "what"), BAD, ids=[b[3] + "/" + b[1][:24] for b in BAD])
def test_a_bad_file(tmp_path: Path, old: str, new: str, line: int, what: str) -> None:
    assert GOOD.count(old) >= 1
    path = write(tmp_path, GOOD.replace(old, new, 1))
    with pytest.raises(RuleError) as error:
        use(tmp_path)
    assert what in error.value.what
    assert error.value.where == f"{path}:{line}"


def test_a_code_is_not_given_twice(tmp_path: Path) -> None:
    path = write(tmp_path, GOOD.replace("XY001", "AF010"))
    with pytest.raises(RuleError, match=r"AF010 is already defined in .*AF010\.toml") as error:
        load_rules([tmp_path])
    assert error.value.where == f"{path}:1"


@pytest.mark.parametrize(
    ("old", "new", "line", "what"),
    [
        ('"idiom"', '"cleanup"', 5, "a cleanup cannot be added"),
        ('"gelu x"', '"gellu x"', 8, "no instruction is called 'gellu'"),
        ('"gelu x"', '"add x"', 8, "add reads 2 values, not 1"),
        ("a = Neg (x)", "a = Negg (x)", 20, "Negg is not an operator"),
    ],
    ids=["cleanup", "instruction", "operands", "operator"],
)
def test_a_rule_that_cannot_be_used_is_refused_at_once(
    tmp_path: Path, old: str, new: str, line: int, what: str
) -> None:
    """Before any model is read, and whether the rule is selected or not."""
    text = GOOD.replace(old, new, 1)
    if "cleanup" in new:
        text = text.replace('instruction = "gelu x"\n', "")
    path = write(tmp_path, text)
    with pytest.raises(RuleError) as error:
        load_rules([tmp_path])
    assert what in error.value.what and error.value.where == f"{path}:{line}"


def test_a_directory_that_is_none(tmp_path: Path) -> None:
    with pytest.raises(RuleError, match="not a directory"):
        load_rules([tmp_path / "none"])
    with pytest.raises(RuleError, match="no rule is in the directory"):
        load_rules([tmp_path])


def test_our_codes_are_ours(tmp_path: Path) -> None:
    path = write(tmp_path, GOOD.replace("XY001", "AF900"))
    with pytest.raises(RuleError, match="codes that begin with AF") as error:
        load_rules([tmp_path])
    assert error.value.where == f"{path}:1"


def test_choose() -> None:
    rules = load_rules()
    assert [r.code for r in rules.choose(["AF30*"], ["AF303"]).rules] == ["AF301", "AF302", "AF304", "AF305", "AF306"]
    assert rules.choose([], []) == rules
    with pytest.raises(UsageError, match=r"no rule 'AF105'; did you mean .*AF305"):
        rules.choose(["AF105"], [])
    with pytest.raises(UsageError, match="no rule 'ZZ"):
        rules.choose([], ["ZZ*"])
    assert rules.choose(["softmax-safe", "af301"], []).rules == rules.choose(["AF301", "AF305"], []).rules
    with pytest.raises(UsageError, match=r"^ignore: every rule that is selected is ignored"):
        rules.choose(["AF301"], ["af3*"])
    assert rules.choose([], ["*"]).rules == ()


def test_listing_rules_needs_no_onnx() -> None:
    code = (
        "import sys; from ascend_fuse.rule.load import load_rules; assert load_rules().rules;"
        "sys.exit('onnx' in sys.modules or 'numpy' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
