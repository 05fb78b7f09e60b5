"""Patterns: ONNX functions in ONNX text, parsed and checked, matched from their last output backwards."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import permutations
from typing import cast

from onnx import FunctionProto, NodeProto, defs, helper
from onnx.parser import ParseError, parse_function

from ascend_fuse.rule.condition import Condition, Literal
from ascend_fuse.rule.load import PatternText, Rule

COMMUTATIVE = frozenset({"Add", "Mul", "Max", "Min", "And", "Or", "Equal", "Sum"})
MAX_COMMUTED = 4  # operands; 24 orders

_AT_LINE = re.compile(r"line: (\d+)")


@dataclass(frozen=True, slots=True)
class PatternNode:
    """One operator of a pattern; `orders` are the ways to read its operands, the written one first.

    `largest_first`: the positions of its operands, those with the most nodes above first.
    """

    op: str
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    attributes: tuple[tuple[str, Literal | tuple[int, ...]], ...]
    orders: tuple[tuple[int, ...], ...]
    optional: bool  # the node may be missing: its value is then its first operand
    size: int  # nodes at and above it
    largest_first: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Pattern:
    """A parsed pattern. `name` is its function's; `constants` maps the inputs that `value` conditions fix.

    `heads` are the operators right above the root, those of optional nodes left out. `starts`: for each order of the
    root's operands where it wants constants (name, position), and the operand that is looked at first: its position,
    and its operator or "" for any. Where none fits, nothing does.
    """

    name: str
    function: FunctionProto
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    nodes: tuple[PatternNode, ...]
    producers: Mapping[str, int]
    root: int
    constants: Mapping[str, Literal]
    optional: frozenset[str]
    conditions: tuple[Condition, ...]
    heads: frozenset[str]
    starts: tuple[tuple[tuple[tuple[str, int], ...], int, str], ...]

    @property
    def needed(self) -> int:
        """How many nodes a match has at least."""
        return sum(not n.optional for n in self.nodes)


@cache
def compiled(rule: Rule) -> tuple[Pattern, ...]:
    """The rule's patterns. Raises RuleError with the TOML file's line."""
    patterns = tuple(_compile(rule, text) for text in rule.texts)
    names = [p.name for p in patterns]
    for text, name in zip(rule.texts, names, strict=True):
        if names.count(name) > 1:
            raise rule.error(f"two patterns are called {name}", text.line)
    known = {v for p in patterns for v in (*p.inputs, *p.producers)}
    for c in rule.where:
        if patterns and not set(c.values) <= known:
            unknown = next(v for v in c.values if v not in known)
            raise rule.error(f"no pattern has a value {unknown!r}", c.line)
    for name in rule.optional:
        if name not in known:
            raise rule.error(f"`optional` names {name!r}, which no pattern has", rule.optional_line)
    return patterns


def _parse(rule: Rule, text: PatternText) -> FunctionProto:
    try:
        return parse_function(text.text)
    except ParseError as e:
        said = e.args[0].decode("utf-8", "replace") if e.args and isinstance(e.args[0], bytes) else str(e)
        at = _AT_LINE.search(said)
        line = text.line + (int(at[1]) - 1 if at else 0)
        do = "write it as for `onnx.parser.parse_function`"
        raise rule.error(f"not ONNX text: {said.splitlines()[-1]}", line, do) from e


def _compile(rule: Rule, text: PatternText) -> Pattern:
    function = _parse(rule, text)
    producers = _producers(rule, text, function)
    inputs, outputs = tuple(function.input), tuple(function.output)
    known = set(inputs) | set(producers)
    for c in text.where:
        if not set(c.values) <= known:
            unknown = next(v for v in c.values if v not in known)
            raise rule.error(f"the pattern has no value {unknown!r}", c.line)
    conditions = tuple(c for c in (*rule.where, *text.where) if set(c.values) <= known)
    optional = frozenset(rule.optional) & known
    root = producers.get(outputs[-1], -1) if outputs else -1
    if root < 0 or outputs[-1] in optional:
        raise rule.error("the last output is the value of a node that is not optional", text.line)
    nodes: list[PatternNode] = []
    for n in function.node:
        nodes.append(_node(rule, text, n, optional, nodes, producers))
    _check_reachable(rule, text, function, nodes, producers)
    constants = {c.of[0]: c.equals for c in conditions if c.kind == "value" and c.equals is not None}
    above = (p for p in nodes[root].inputs if p in producers and p not in optional)
    heads = frozenset(nodes[producers[p]].op for p in above)
    return Pattern(
        name=function.name,
        function=function,
        inputs=inputs,
        outputs=outputs,
        nodes=tuple(nodes),
        producers=producers,
        root=root,
        constants=constants,
        optional=optional,
        conditions=conditions,
        heads=heads,
        starts=tuple(_start(nodes, root, order, producers, constants) for order in nodes[root].orders),
    )


def _start(
    nodes: Sequence[PatternNode],
    root: int,
    order: tuple[int, ...],
    producers: Mapping[str, int],
    constants: Mapping[str, Literal],
) -> tuple[tuple[tuple[str, int], ...], int, str]:
    names = nodes[root].inputs
    fixed = tuple((n, k) for n, k in zip(names, order, strict=True) if n in constants)
    for at in nodes[root].largest_first[:1]:
        maker = producers.get(names[at])
        if maker is not None and not nodes[maker].optional:
            return fixed, order[at], nodes[maker].op
    return fixed, 0, ""


def _producers(rule: Rule, text: PatternText, function: FunctionProto) -> dict[str, int]:
    producers: dict[str, int] = {}
    for i, node in enumerate(function.node):
        line = _line_of(text, node)
        if node.domain not in ("", "ai.onnx") or not defs.has(node.op_type):
            raise rule.error(f"{node.op_type} is not an operator of the default domain", line)
        for name in node.input:
            if name and name not in producers and name not in function.input:
                raise rule.error(f"{name!r} is neither an input nor the value of an earlier node", line)
        for name in node.output:
            if name in producers or name in function.input:
                raise rule.error(f"{name!r} is defined twice", line)
            if name:
                producers[name] = i
    return producers


def _line_of(text: PatternText, node: NodeProto) -> int:
    """The line that defines the node's first output."""
    return text.line_of(node.output[0] if node.output else "")


def _node(
    rule: Rule, text: PatternText, node: NodeProto, optional: frozenset[str], earlier: list[PatternNode],
    producers: Mapping[str, int],
) -> PatternNode:  # fmt: skip
    attributes: list[tuple[str, Literal | tuple[int, ...]]] = []
    for a in node.attribute:
        written = cast(object, helper.get_attribute_value(a))
        value = written.decode() if isinstance(written, bytes) else written
        items = cast("list[object]", value) if isinstance(value, list) else []
        if isinstance(value, (bool, int, float, str)):
            attributes.append((a.name, value))
        elif items and all(isinstance(v, int) for v in items):
            attributes.append((a.name, tuple(cast("list[int]", items))))
        else:
            what = f"the attribute {a.name} of a pattern is no number, string or list of integers"
            raise rule.error(what, _line_of(text, node))
    count = len(node.input)
    swapped = node.op_type in COMMUTATIVE and node.op_type not in rule.ordered and count <= MAX_COMMUTED
    orders = tuple(permutations(range(count))) if swapped else (tuple(range(count)),)
    above = {producers[i] for i in node.input if i in producers}
    sizes = [earlier[producers[i]].size if i in producers else 0 for i in node.input]
    largest_first = tuple(sorted(range(count), key=lambda k: -sizes[k]))
    return PatternNode(
        node.op_type, tuple(node.input), tuple(node.output), tuple(attributes), orders,
        any(o in optional for o in node.output), 1 + sum(earlier[a].size for a in above), largest_first,
    )  # fmt: skip


def _check_reachable(
    rule: Rule,
    text: PatternText,
    function: FunctionProto,
    nodes: list[PatternNode],
    producers: Mapping[str, int],
) -> None:
    seen: set[int] = set()
    read: set[str] = set()
    stack = [producers[function.output[-1]]]
    while stack:
        i = stack.pop()
        if i not in seen:
            seen.add(i)
            read |= set(nodes[i].inputs)
            stack += [producers[p] for p in nodes[i].inputs if p in producers]
    for i, n in enumerate(nodes):
        if i not in seen:
            raise rule.error(f"{n.op} does not lead to the last output", _line_of(text, function.node[i]))
    if unread := [i for i in function.input if i not in read]:
        raise rule.error(f"the input {unread[0]!r} is not read", text.line)
    for word in rule.instruction.split()[1:]:
        if word.strip(",") not in function.input:
            raise rule.error(f"`instruction` reads {word!r}, which is no input of {function.name}", text.line)
