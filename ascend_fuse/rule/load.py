"""Rules from TOML files; onnx is imported when a rule's `patterns` are asked for, and not before."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import lru_cache
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, cast

from ascend_fuse.error import RuleError, UsageError
from ascend_fuse.resource import rules_dir
from ascend_fuse.rule.condition import Condition, condition
from ascend_fuse.rule.source import Source, read

if TYPE_CHECKING:
    from ascend_fuse.rule.pattern import Pattern

ROLES = ("cleanup", "idiom", "anchor", "chain")
FAMILIES = ("elementwise", "rowwise", "matmul", "transform")
STATUSES = ("preview", "stable", "deprecated", "removed")
OURS = "AF"  # what the codes of shipped rules begin with
RESERVED = f"codes that begin with {OURS} are those of ascend-fuse"
BUILTINS = ("shape-source", "shape-value", "unused-initializer", "unused-import", "elementwise", "transform")

_NEEDS = ("code", "name", "status", "since", "role", "family", "opset", "doc", "example")
_MAY = ("pattern", "variants", "where", "optional", "ordered", "instruction", "builtin")
_VARIANT = ("pattern", "where")
_CODE = re.compile(r"[A-Z]{2,8}[0-9]{3}")
_SINCE = re.compile(r"[0-9]+\.[0-9]+\.[0-9]+")


@dataclass(frozen=True, slots=True)
class PatternText:
    """ONNX text of one pattern, not yet parsed; `line` is the TOML file's line of the text's first."""

    text: str
    line: int
    where: tuple[Condition, ...]

    def line_of(self, value: str) -> int:
        """The TOML file's line that defines a value of the pattern, the text's first when none does."""
        begins = re.compile(rf"(?:.*,)?\s*{re.escape(value)}\s*[,=]")
        lines = self.text.splitlines() if value else []
        return self.line + next((i for i, line in enumerate(lines) if begins.match(line)), 0)


@dataclass(frozen=True, slots=True)
class Rule:
    """One rule file. `opset` is (first, last or None); `where` holds the conditions common to all patterns.

    `instruction` is an idiom's program line (`gelu x`); `builtin` names the part of the planner that stands
    in for a pattern. `optional` names operands that may be omitted and values whose node may be missing;
    `ordered` lists operators whose operands are not to be swapped.
    """

    code: str
    name: str
    role: str
    family: str
    status: str
    since: str
    opset: tuple[int, int | None]
    doc: str
    example: str
    instruction: str
    builtin: str
    optional: tuple[str, ...]
    optional_line: int
    ordered: tuple[str, ...]
    where: tuple[Condition, ...]
    texts: tuple[PatternText, ...]
    path: Path

    @property
    def patterns(self) -> tuple[Pattern, ...]:
        """The parsed patterns, none for a builtin. Raises RuleError with the TOML file's line."""
        from ascend_fuse.rule.pattern import compiled  # imports onnx

        return compiled(self)

    def error(self, what: str, line: int = 1, do: str = "") -> RuleError:
        """The error that says `what` about a line of the rule's file."""
        return RuleError(what, where=f"{self.path}:{line}", do=do)


@dataclass(frozen=True, slots=True)
class RuleSet:
    """Rules in the order of their codes, each code once; `dropped` are those that `choose` left out."""

    rules: tuple[Rule, ...]
    dropped: tuple[Rule, ...] = ()

    def by_code(self, entry: str) -> Rule:
        """The rule of that code or name, in any case. Raises UsageError with the near ones."""
        if found := [r for r in self.rules if r.code == entry.upper() or r.name == entry.lower()]:
            return found[0]
        raise self._unknown(entry)

    def choose(self, select: Sequence[str], ignore: Sequence[str], option: str = "select") -> RuleSet:
        """The rules that match `select` (all when empty) and not `ignore`: codes or globs (`AF3*`) in any case, names.

        Raises UsageError on an entry that matches no rule, and when `ignore` takes all that `select` gives; `option`
        is where `select` comes from.
        """
        for place, entries in ((option, select), ("ignore", ignore)):
            if unknown := [e for e in entries if not any(_chooses(e, r) for r in self.rules)]:
                raise self._unknown(unknown[0], place)
        selected = [r for r in self.rules if not select or any(_chooses(s, r) for s in select)]
        kept = tuple(r for r in selected if not any(_chooses(i, r) for i in ignore))
        if select and not kept:
            raise UsageError("every rule that is selected is ignored", where="ignore", do="leave one of them out")
        return RuleSet(kept, (*self.dropped, *(r for r in self.rules if r not in kept)))

    def near(self, entry: str) -> list[str]:
        """The codes that an entry may be meant for, or else the names."""
        codes = difflib.get_close_matches(entry.upper(), [r.code for r in self.rules], 3, 0.5)
        return codes or difflib.get_close_matches(entry.lower(), [r.name for r in self.rules], 3, 0.5)

    def _unknown(self, code: str, option: str = "") -> UsageError:
        do = f"did you mean {', '.join(near)}?" if (near := self.near(code)) else "see `ascend-fuse rules`"
        if option and "," in code:
            each = " ".join(f"--{option.removeprefix('--')} {c.strip()}" for c in code.split(","))
            do = f"give the option once for each rule: {each}"
        return UsageError(f"no rule {code!r}", where=option, do=do)


def _chooses(entry: str, rule: Rule) -> bool:
    return fnmatchcase(rule.code, entry.upper()) or rule.name == entry.lower()


def load_rules(extra: Sequence[Path] = ()) -> RuleSet:
    """The built-in rules and those of the user's directories. Raises RuleError with file:line.

    A rule of the user's is refused when its code is one of ours, its patterns do not compile or its instruction is
    unknown, whether it is selected or not; `ascend-fuse rules lint` sees the rest.
    """
    found = dict(_shipped())
    for directory in extra:
        for source, rule in _read(directory):
            if other := found.get(rule.code):
                raise source.error(f"{rule.code} is already defined in {other.path}", source.line("code"))
            if rule.code.startswith(OURS):
                raise source.error(RESERVED, source.line("code"), "choose other letters")
            check_own(rule, source)
            found[rule.code] = rule
    return RuleSet(tuple(found[code] for code in sorted(found)))


@lru_cache(maxsize=1)
def _shipped() -> Mapping[str, Rule]:
    """Ours by code; read once, as rules do not change."""
    return MappingProxyType({rule.code: rule for _, rule in _read(rules_dir())})


def _read(directory: Path) -> Iterator[tuple[Source, Rule]]:
    for path in rule_files(directory):
        source = read(path)
        yield source, load_rule(source)


def rule_files(directory: Path) -> list[Path]:
    """The rule files in a directory. Raises RuleError without any."""
    if not directory.is_dir():
        raise RuleError("not a directory of rules", where=str(directory), do="give one with *.toml files")
    found = sorted(directory.glob("*.toml"))
    if not found:
        raise RuleError("no rule is in the directory", where=str(directory), do="give one with *.toml files")
    return found


def check_own(rule: Rule, source: Source) -> None:
    """Raises RuleError with file:line when a user's rule cannot be used."""
    if rule.role == "cleanup":
        raise source.error("a cleanup cannot be added", source.line("role"), "write an idiom or an anchor")
    if rule.builtin:
        raise source.error("only shipped rules name a `builtin`", source.line("builtin"), "write a `pattern`")
    check_patterns(rule, source)


def check_patterns(rule: Rule, source: Source) -> None:
    """Raises RuleError with file:line when a pattern does not compile or the instruction is unknown."""
    from ascend_fuse.program.op import table

    if not rule.patterns and not rule.builtin:
        raise source.error("the rule has no pattern")
    name, *operands = rule.instruction.split() or [""]
    op = table().get(name)
    if name and (op is None or op.kind != "map"):
        raise source.error(f"no instruction is called {name!r}", source.line("instruction"))
    if op is not None and op.arity != len(operands):
        raise source.error(f"{name} reads {op.arity} values, not {len(operands)}", source.line("instruction"))


def load_rule(source: Source) -> Rule:
    """The rule in one file. Raises RuleError on an unknown, missing or ill-typed key."""
    _check_keys(source)
    role = _one_of(source, "role", ROLES)
    builtin = _one_of(source, "builtin", BUILTINS) if "builtin" in source.table else ""
    if bool(builtin) == ("pattern" in source.table):
        raise source.error("a rule has either a `pattern` or a `builtin`", source.line("builtin"))
    if (role == "idiom") != ("instruction" in source.table):
        raise source.error("an idiom, and nothing else, names its `instruction`", source.line("instruction"))
    return Rule(
        code=_matching(source, "code", _CODE),
        name=_string(source, "name"),
        role=role,
        family=_one_of(source, "family", FAMILIES),
        status=_one_of(source, "status", STATUSES),
        since=_matching(source, "since", _SINCE),
        opset=_opset(source),
        doc=_string(source, "doc").strip(),
        example=_string(source, "example").strip(),
        instruction=_string(source, "instruction") if role == "idiom" else "",
        builtin=builtin,
        optional=_strings(source, "optional"),
        optional_line=source.line("optional"),
        ordered=_strings(source, "ordered"),
        where=_conditions(source, source.table.get("where", [])),
        texts=() if builtin else _texts(source),
        path=source.path,
    )


def _check_keys(source: Source) -> None:
    for key in source.table:
        if key not in _NEEDS and key not in _MAY:
            do = f"one of {', '.join((*_NEEDS, *_MAY))}"
            raise source.error(f"unknown key `{key}`", source.line(key), do)
    for key in _NEEDS:
        if key not in source.table:
            raise source.error(f"the key `{key}` is missing")


def _string(source: Source, key: str) -> str:
    value = source.table.get(key)
    if not isinstance(value, str) or not value.strip():
        raise source.error(f"`{key}` is a string that is not empty", source.line(key))
    return value


def _one_of(source: Source, key: str, choices: Sequence[str]) -> str:
    value = source.table.get(key)
    if not isinstance(value, str) or value not in choices:
        raise source.error(f"`{key}` is one of {', '.join(choices)}, not {value!r}", source.line(key))
    return value


def _matching(source: Source, key: str, form: re.Pattern[str]) -> str:
    value = _string(source, key)
    if not form.fullmatch(value):
        raise source.error(f"`{key}` has the form {form.pattern}, not {value!r}", source.line(key))
    return value


def _strings(source: Source, key: str) -> tuple[str, ...]:
    value = source.table.get(key, [])
    items = cast("list[object]", value) if isinstance(value, list) else [None]
    if not all(isinstance(i, str) for i in items):
        raise source.error(f"`{key}` is a list of strings", source.line(key))
    return tuple(cast("list[str]", items))


def _opset(source: Source) -> tuple[int, int | None]:
    value = source.table["opset"]
    items = cast("list[object]", value) if isinstance(value, list) else []
    numbers = [i for i in items if isinstance(i, int) and not isinstance(i, bool)]
    if not 1 <= len(numbers) == len(items) <= 2 or numbers != sorted(numbers):
        raise source.error("`opset` is [first] or [first, last]", source.line("opset"))
    return (numbers[0], numbers[1] if len(numbers) == 2 else None)


def _conditions(source: Source, value: object, table: str = "", ordinal: int = 0) -> tuple[Condition, ...]:
    if not isinstance(value, list):
        raise source.error("`where` is an array of tables", source.line("where", table, ordinal))
    items = cast("list[object]", value)
    lines = (source.item("where", i, table, ordinal) for i in range(len(items)))
    return tuple(condition(item, source, line) for item, line in zip(items, lines, strict=True))


def _texts(source: Source) -> tuple[PatternText, ...]:
    texts = [PatternText(_string(source, "pattern"), source.first_text_line("pattern"), ())]
    variants = source.table.get("variants", [])
    if not isinstance(variants, list):
        raise source.error("`variants` is an array of tables", source.line("variants"))
    for i, variant in enumerate(cast("list[object]", variants)):
        line = source.item("variants", i)
        entry = cast("dict[str, object]", variant) if isinstance(variant, dict) else {}
        if unknown := sorted(entry.keys() - set(_VARIANT)):
            raise source.error(f"a variant has no key `{unknown[0]}`", source.line(unknown[0], "variants", i))
        text = entry.get("pattern")
        if not isinstance(text, str):
            raise source.error("a variant is a table with a `pattern`", line)
        where = _conditions(source, entry.get("where", []), "variants", i)
        texts.append(PatternText(text, source.first_text_line("pattern", "variants", i), where))
    return tuple(texts)
