"""The closed list of named predicates that a rule's `where` may use, and their reading from TOML."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import cast

from ascend_fuse.rule.source import Source

Literal = bool | int | float | str


@dataclass(frozen=True, slots=True)
class Kind:
    """What a predicate says, the keys that it needs and those that it may have; `of` names `names` values."""

    says: str
    needs: frozenset[str] = frozenset()
    may: frozenset[str] = frozenset()
    names: int = 1


def _kind(says: str, needs: str = "", may: str = "", names: int = 1) -> Kind:
    return Kind(says, frozenset(needs.split()), frozenset(may.split()), names)


KINDS: Mapping[str, Kind] = MappingProxyType(
    {
        "value": _kind("a constant of one element: `equals` rounded to its dtype, within one ulp", "equals"),
        "scalar": _kind("one element, in no more axes than the operand beside it has"),
        "not_scalar": _kind("more than one element"),
        "same_shape": _kind("two values of provably equal shape", names=2),
        "broadcasts": _kind("stretches to the shape of `to` without enlarging it, as far as sizes are known", "to"),
        "not_enlarged": _kind("no reader joins it with a larger shape than its own"),
        "count": _kind("a constant: how many elements the reduction that makes `to` takes together", "to"),
        "share": _kind("a constant: one over that number", "to"),
        "row_vector": _kind("as long as the last axis of `to`, and 1 in every other axis", "to"),
        "trailing": _kind("the axis or axes of the node that makes it are the last ones"),
        "keepdims": _kind("the reduction that makes it keeps its axes (`equals`)", "equals"),
        "attribute": _kind("an attribute of its node, or the operator's default", "name", "equals one_of"),
        "dtype": _kind("its element type is one of `one_of`", "one_of"),
        "halves": _kind("the first and the second half of `to` along its last axis", "to", names=2),
    }
)


@dataclass(frozen=True, slots=True)
class Condition:
    """One predicate over values of the pattern; `of` has one or two names, `line` is the TOML file's."""

    kind: str
    of: tuple[str, ...]
    to: str = ""
    name: str = ""
    equals: Literal | None = None
    one_of: tuple[Literal, ...] = ()
    line: int = 0

    @property
    def values(self) -> tuple[str, ...]:
        """The names of the pattern that the predicate reads."""
        return (*self.of, self.to) if self.to else self.of

    @property
    def label(self) -> str:
        """What reports and test files call it: `value half`, `same_shape a b`."""
        return " ".join((self.kind, *self.values, *((self.name,) if self.name else ())))


def _strings(value: object) -> tuple[str, ...] | None:
    if isinstance(value, str):
        return (value,)
    items = cast("list[object]", value) if isinstance(value, list) else [None]
    return tuple(cast("list[str]", items)) if all(isinstance(i, str) for i in items) else None


def condition(table: object, source: Source, line: int) -> Condition:
    """The predicate that the inline table names. Raises RuleError with the line on anything not in KINDS."""
    if not isinstance(table, dict):
        raise source.error('a condition is a table such as {is = "scalar", of = "scale"}', line)
    entry = cast("dict[str, object]", table)
    name = entry.get("is")
    kind = KINDS.get(name) if isinstance(name, str) else None
    if not isinstance(name, str) or kind is None:
        raise source.error(f"no predicate is called {name!r}", line, f"one of {', '.join(KINDS)}")
    _check_keys(name, kind, entry.keys(), source, line)
    of = _strings(entry["of"])
    if of is None or len(of) != kind.names:
        raise source.error(f"`of` of {name} names {kind.names} value(s) of the pattern", line)
    for key in ("to", "name"):
        if not isinstance(entry.get(key, ""), str):
            raise source.error(f"`{key}` of {name} is a string", line)
    written = entry.get("one_of", [])
    choices = cast("list[object]", written) if isinstance(written, list) else [None]
    if not all(isinstance(c, Literal) for c in choices):
        raise source.error(f"`one_of` of {name} is a list of numbers or strings", line)
    equals = entry.get("equals")
    if not isinstance(equals, (bool, int, float, str, type(None))):
        raise source.error(f"`equals` of {name} is a number, a string or a boolean", line)
    return Condition(
        name, of, cast(str, entry.get("to", "")), cast(str, entry.get("name", "")), equals,
        tuple(cast("list[Literal]", choices)), line,
    )  # fmt: skip


def _check_keys(name: str, kind: Kind, keys: Iterable[str], source: Source, line: int) -> None:
    have = set(keys)
    for key in sorted({"is", "of"} | kind.needs):
        if key not in have:
            raise source.error(f"{name} lacks `{key}`", line)
    if unknown := sorted(have - {"is", "of"} - kind.needs - kind.may):
        raise source.error(f"{name} has no key `{unknown[0]}`", line)
    if name == "attribute" and len(have & {"equals", "one_of"}) != 1:
        raise source.error("attribute takes either `equals` or `one_of`", line)
