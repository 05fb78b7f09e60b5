"""A deep look at rule files: what loading them cannot see. Findings are values; a missing directory is an error."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from onnx import ModelProto, checker, defs, shape_inference
from onnx.parser import ParseError, parse_model

from ascend_fuse.error import RuleError
from ascend_fuse.graph.check import MIN_OPSET
from ascend_fuse.graph.scope import infer, scopes, view_of
from ascend_fuse.graph.type import ONNX_OF_DTYPE
from ascend_fuse.reason import Miss
from ascend_fuse.resource import rules_dir
from ascend_fuse.rule.axis import AXED
from ascend_fuse.rule.condition import Condition
from ascend_fuse.rule.load import OURS, RESERVED, Rule, check_own, check_patterns, load_rule, rule_files
from ascend_fuse.rule.match import Match, match_at
from ascend_fuse.rule.pattern import Pattern
from ascend_fuse.rule.schema import has_attribute, misfit
from ascend_fuse.rule.source import Source, read
from ascend_fuse.rule.twin import covers

Difference = Callable[[Rule, Pattern], str]  # "" when an idiom's instruction computes what the pattern does
PRODUCTS = frozenset("MatMul Gemm Conv ConvTranspose MatMulInteger ConvInteger".split())
MADE = frozenset(("trailing", "keepdims", "attribute"))  # predicates that speak of the node behind a value


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing to mend; `code` names its kind and is never renamed."""

    path: Path
    line: int
    code: str
    message: str

    def sentence(self) -> str:
        """As compilers print it: file:line: CODE message."""
        return f"{self.path}:{self.line}: {self.code} {self.message}"


@dataclass(frozen=True, slots=True)
class Checked:
    """What `lint` looked at and what it found, by file and line."""

    files: int
    findings: tuple[Finding, ...]


def lint(folders: Sequence[Path], difference: Difference) -> Checked:
    """The findings for every `*.toml` of the folders, and for single files. Raises RuleError for one without any."""
    paths = list(dict.fromkeys(p for f in folders for p in ([f] if f.is_file() else rule_files(f))))
    known = {} if rules_dir() in {f.resolve() for f in folders} else _shipped()
    loaded: list[tuple[Rule, Source]] = []
    findings: list[Finding] = []
    for path in paths:
        try:
            source = read(path)
            rule = load_rule(source)
            (check_patterns if path.resolve().parent == rules_dir() else check_own)(rule, source)
        except RuleError as e:
            findings.append(_unloadable(path, e))
            continue
        findings += _code(rule, source, known)
        known.setdefault(rule.code, rule)
        loaded.append((rule, source))
    for rule, source in loaded:
        findings += _rule(rule, source, difference)
    findings += _copies([r for r, _ in loaded], [r for r in known.values() if r.path.parent == rules_dir()])
    return Checked(len(paths), tuple(sorted(findings, key=lambda f: (str(f.path), f.line, f.code, f.message))))


def _shipped() -> dict[str, Rule]:
    rules = (load_rule(read(path)) for path in sorted(rules_dir().glob("*.toml")))
    return {r.code: r for r in rules}


def _unloadable(path: Path, error: RuleError) -> Finding:
    line = error.where.rpartition(":")[2]
    message = f"{error.what}; {error.do}" if error.do else error.what
    return Finding(path, int(line) if line.isdecimal() else 1, "not-loadable", message)


def _code(rule: Rule, source: Source, known: dict[str, Rule]) -> Iterator[Finding]:
    line = source.line("code")
    if other := known.get(rule.code):
        yield Finding(rule.path, line, "duplicate-code", f"{rule.code} is already defined in {other.path}")
    elif rule.code.startswith(OURS) and rule.path.resolve().parent != rules_dir():
        yield Finding(rule.path, line, "reserved-code", RESERVED)
    names = {r.name: r for r in known.values() if r.code != rule.code}
    if other := names.get(rule.name):
        yield Finding(rule.path, source.line("name"), "duplicate-name", f"{other.code} is called {rule.name} too")


def _rule(rule: Rule, source: Source, difference: Difference) -> Iterator[Finding]:
    yield from _example(rule, source)
    yield from _conditions(rule)
    yield from _operators(rule, source)
    yield from _family(rule, source)
    if rule.role == "idiom":
        yield from _instruction(rule, difference)


def _example(rule: Rule, source: Source) -> Iterator[Finding]:
    first = source.first_text_line("example")
    try:
        model = parse_model(rule.example)
        checker.check_model(model, full_check=True)  # pyright: ignore[reportUnknownMemberType]
    except ParseError as e:
        said = e.args[0].decode("utf-8", "replace") if e.args and isinstance(e.args[0], bytes) else str(e)
        yield Finding(rule.path, first, "example-invalid", f"not ONNX text: {said.splitlines()[-1]}")
        return
    except (checker.ValidationError, shape_inference.InferenceError) as e:
        yield Finding(rule.path, first, "example-invalid", f"onnx refuses it: {str(e).splitlines()[0]}")
        return
    if not rule.builtin and (why := _unmatched(rule, model)):
        yield Finding(rule.path, first, "example-no-match", f"the rule does not match its own example: {why}")


def _unmatched(rule: Rule, model: ModelProto) -> str:
    """Why the rule matches nowhere in the model, "" when it does."""
    inferred = infer(model)
    reasons: list[str] = []
    for scope in scopes(model):
        if scope.path not in inferred:
            continue
        view = view_of(scope, inferred[scope.path], overridable=model.ir_version >= 4)
        for node in view.nodes:
            found = match_at(rule, view, node.index)
            if isinstance(found, Match):
                return ""
            if isinstance(found, Miss):
                reasons.append(f"{found.code} at {node.label}: {found.message}")
    return reasons[-1] if reasons else "no part of a pattern is there"


def _conditions(rule: Rule) -> Iterator[Finding]:
    """Conditions that no match ever judges, that none can fulfil, or that are written twice."""
    judged = {c for p in rule.patterns for c in p.conditions}
    for c in rule.where if rule.patterns else ():
        if c not in judged:
            yield Finding(rule.path, c.line, "condition-idle", f"no pattern has all values of `{c.label}`")
    found: list[Finding] = []
    for pattern in rule.patterns:
        labels = [c.label for c in pattern.conditions]
        for c in pattern.conditions:
            if labels.count(c.label) > 1:
                found.append(
                    Finding(rule.path, c.line, "condition-twice", f"`{c.label}` stands twice for {pattern.name}")
                )
            if why := _impossible(c, pattern):
                found.append(
                    Finding(rule.path, c.line, "condition-impossible", f"`{c.label}` of {pattern.name}: {why}")
                )
    yield from dict.fromkeys(found)


def _impossible(c: Condition, pattern: Pattern) -> str:
    """Why no value of that place in the pattern can fulfil the condition, "" when one may."""
    if c.kind == "dtype" and (unknown := [n for n in c.one_of if n not in ONNX_OF_DTYPE]):
        return f"no type is called {unknown[0]!r}, known are {', '.join(ONNX_OF_DTYPE)}"
    if c.kind not in MADE:
        return ""
    maker = pattern.producers.get(c.of[0])
    if maker is None:
        return f"{c.of[0]} is an input, made by no node"
    op = pattern.nodes[maker].op
    if c.kind == "trailing":
        return "" if op in AXED or op.startswith("Reduce") else f"{op} works along no axes"
    name = "keepdims" if c.kind == "keepdims" else c.name
    return "" if has_attribute(op, name) else f"{op} has no attribute {name}"


def _operators(rule: Rule, source: Source) -> Iterator[Finding]:
    """Operators and forms of them that no model of the rule's opsets has."""
    first, last = rule.opset[0], rule.opset[1] or defs.onnx_opset_version()
    if last > defs.onnx_opset_version():
        latest = defs.onnx_opset_version()
        yield Finding(rule.path, source.line("opset"), "opset-unknown", f"onnx knows opsets up to {latest}")
        return
    if first < MIN_OPSET:
        message = f"models of opsets before {MIN_OPSET} are refused"
        yield Finding(rule.path, source.line("opset"), "opset-too-early", message)
        return
    whole: list[bool] = []
    for text, pattern in zip(rule.texts, rule.patterns, strict=True):
        opsets = range(first, last + 1)
        for node in pattern.function.node:
            if why := misfit(node, opsets, pattern.optional):
                yield Finding(rule.path, text.line_of(node.output[0]), "operator-misfit", why)
        whole.append(all(not misfit(n, range(first, first + 1), pattern.optional) for n in pattern.function.node))
    if rule.patterns and not any(whole):
        message = f"no pattern can be written at opset {first}, the first of its range"
        yield Finding(rule.path, source.line("opset"), "opset-too-early", message)


def _family(rule: Rule, source: Source) -> Iterator[Finding]:
    """A family that no pattern of the rule is of: products are those of matmul, and of no other."""
    if not rule.patterns:
        return
    has = [any(n.op_type in PRODUCTS for n in p.function.node) for p in rule.patterns]
    if rule.family == "matmul" and not all(has):
        message = "a pattern of the family matmul has no product"
        yield Finding(rule.path, source.line("family"), "family-misfit", message)
    if rule.family in ("elementwise", "rowwise") and any(has):
        message = f"a pattern has a product, which is not in the family {rule.family}"
        yield Finding(rule.path, source.line("family"), "family-misfit", message)


def _instruction(rule: Rule, difference: Difference) -> Iterator[Finding]:
    for text, pattern in zip(rule.texts, rule.patterns, strict=True):
        if why := difference(rule, pattern):
            message = f"{pattern.name} is not {rule.instruction}: {why}"
            yield Finding(rule.path, text.line, "instruction-differs", message)


def _copies(rules: Sequence[Rule], shipped: Sequence[Rule]) -> Iterator[Finding]:
    """Patterns that never decide, since an earlier one of their role matches wherever they do."""
    lines = {id(p): t.line for r in rules for t, p in zip(r.texts, r.patterns, strict=True)}
    others = [*(r for r in shipped if r not in rules), *rules]
    earlier: list[tuple[Rule, Pattern]] = []
    for rule in others:
        for pattern in rule.patterns:
            wider = ((r, p) for r, p in earlier if r.role == rule.role and _holds_for(r, rule) and covers(p, pattern))
            twin = next(wider, None)
            if twin is not None and id(pattern) in lines:
                message = f"{twin[0].code} {twin[1].name} matches wherever {pattern.name} does"
                yield Finding(rule.path, lines[id(pattern)], "pattern-unreachable", message)
            earlier.append((rule, pattern))


def _holds_for(earlier: Rule, later: Rule) -> bool:
    """Whether the earlier rule holds for every opset of the later one."""
    last = earlier.opset[1]
    return earlier.opset[0] <= later.opset[0] and (last is None or (later.opset[1] or last + 1) <= last)
