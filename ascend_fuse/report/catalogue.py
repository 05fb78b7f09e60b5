"""The reports of `rules` and `soc`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ascend_fuse.report import quantity
from ascend_fuse.report.page import Page, Section, Table
from ascend_fuse.rule.condition import KINDS

if TYPE_CHECKING:
    from ascend_fuse._engine import Soc
    from ascend_fuse.rule.condition import Condition
    from ascend_fuse.rule.load import Rule

RULES_SCHEMA = "ascend-fuse/rules/1"
SOC_SCHEMA = "ascend-fuse/soc/1"


def _opset(opset: tuple[int, int | None]) -> str:
    first, last = opset
    return f"{first} and later" if last is None else f"{first} to {last}"


def _rule_json(r: Rule) -> dict[str, object]:
    return {
        "code": r.code, "name": r.name, "role": r.role, "family": r.family, "status": r.status,
        "since": r.since, "opset": list(r.opset), "doc": r.doc, "example": r.example,
        "instruction": r.instruction, "builtin": r.builtin, "optional": list(r.optional), "ordered": list(r.ordered),
        "where": [_condition_json(c) for c in r.where],
        "patterns": [{"text": t.text.strip(), "where": [_condition_json(c) for c in t.where]} for t in r.texts],
    }  # fmt: skip


def _condition_json(c: Condition) -> dict[str, object]:
    """The condition with the keys of the rule's file that it has."""
    said = {"is": c.kind, "of": list(c.of), "to": c.to, "name": c.name, "equals": c.equals, "one_of": list(c.one_of)}
    return {key: value for key, value in said.items() if value not in ("", None, [])}


def _matching(r: Rule) -> list[Section]:
    """What the rule finds and what it makes of it, as its file has it."""
    found: list[Section] = []
    if r.builtin:
        found.append(Section("Pattern", (f"None: the planner finds it by itself ({r.builtin}).",)))
    for k, t in enumerate(r.texts, start=1):
        found.append(
            Section(f"Pattern {k} of {len(r.texts)}" if len(r.texts) > 1 else "Pattern", (), None, t.text.strip())
        )
    said = [("every pattern" if len(r.texts) > 1 else "the pattern", c) for c in r.where]
    said += [(f"pattern {k}", c) for k, t in enumerate(r.texts, start=1) for c in t.where]
    lines = [f"Operands that may be omitted, nodes that may be missing: {', '.join(r.optional)}."] if r.optional else []
    lines += [f"Operators whose operands are not swapped: {', '.join(r.ordered)}."] if r.ordered else []
    if said:
        rows = tuple((where, c.label, _wanted(c), KINDS[c.kind].says) for where, c in said)
        found.append(Section("Conditions", tuple(lines), Table(("in", "condition", "wants", "means"), rows)))
    elif lines:
        found.append(Section("Conditions", tuple(lines)))
    if r.instruction:
        found.append(Section("Instruction", (), None, r.instruction))
    return found


def _wanted(c: Condition) -> str:
    """What a condition compares with."""
    values = c.one_of if c.equals is None else (c.equals,)
    return " or ".join(str(v).lower() if isinstance(v, bool) else str(v) for v in values)


def rules_page(rules: Sequence[Rule]) -> Page:
    """One row per rule."""
    rows = tuple((r.code, r.name, r.role, r.family, _opset(r.opset), r.status, r.since) for r in rules)
    table = Table(("code", "name", "role", "family", "opset", "status", "since"), rows)
    document = {"schema": RULES_SCHEMA, "rules": [_rule_json(r) for r in rules]}
    return Page("ascend-fuse: rules", (Section("", (), table),), document)


def rule_page(rule: Rule) -> Page:
    """One rule in full: what it does, why, what it finds, an example."""
    facts = (f"{rule.role}, family {rule.family}, opset {_opset(rule.opset)}, {rule.status} since {rule.since}",)
    paragraphs = tuple(" ".join(p.split()) for p in rule.doc.split("\n\n") if p.strip())
    sections = [Section("", facts + paragraphs), *_matching(rule)]
    if rule.example:
        sections.append(Section("Example", (), None, rule.example))
    document = {"schema": RULES_SCHEMA, "rules": [_rule_json(rule)]}
    return Page(f"{rule.code} {rule.name}", tuple(sections), document)


def _figures(chip: Soc) -> dict[str, int | float | str | bool]:
    from ascend_fuse.engine import cube_dtypes, vector_dtypes

    return {
        "cube_dtypes": ", ".join(cube_dtypes(chip)), "vector_dtypes": ", ".join(vector_dtypes(chip)),
        "family": chip.family, "npu_arch": chip.npu_arch,
        "cube_and_vector": chip.cube_vector_combine or "one core",
        "ai_cores": chip.ai_cores, "cube_cores": chip.cube_cores, "vector_cores": chip.vector_cores,
        "freq_mhz": chip.freq_mhz, "ub_bytes": chip.ub_size, "ub_reserved_bytes": chip.ub_reserved,
        "l1_bytes": chip.l1_size, "l0a_bytes": chip.l0_a_size, "l0b_bytes": chip.l0_b_size,
        "l0c_bytes": chip.l0_c_size, "l2_bytes": chip.l2_size, "memory_bytes": chip.memory_size,
        "hbm_bytes_per_s": chip.hbm_bytes_per_s, "vector_bytes_per_cycle": chip.vec_calc_size,
        "bf16": chip.supports_bf16, "fixpipe": chip.supports_fixpipe,
    }  # fmt: skip


def _shown(value: int | float | str | bool) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:.4g}"
    return quantity.count(value) if isinstance(value, int) and value > 9999 else str(value)


def socs_page(chips: Sequence[Soc]) -> Page:
    """One row per chip, with the figures that decide most."""
    columns = (
        "family",
        "npu_arch",
        "ai_cores",
        "vector_cores",
        "freq_mhz",
        "ub_bytes",
        "l1_bytes",
        "hbm_bytes_per_s",
    )
    all_figures = {chip.name: _figures(chip) for chip in chips}
    rows = tuple((name, *(_shown(f[c]) for c in columns)) for name, f in all_figures.items())
    table = Table(("chip", *columns), rows, frozenset(columns[1:]))
    return Page("ascend-fuse: chips", (Section("", (), table),), {"schema": SOC_SCHEMA, "chips": all_figures})


def soc_page(chip: Soc) -> Page:
    """Every figure of one chip; 0 where its source does not say."""
    known = _figures(chip)
    rows = tuple((key, _shown(value)) for key, value in known.items())
    table = Table(("figure", "value"), rows, frozenset({"value"}))
    line = (
        "hbm_bytes_per_s is frequency times AI cores times bytes per cycle; 0 where the source does not say. "
        "cube_dtypes are what products take, vector_dtypes what sums take; casts read and write more types."
    )
    document = {"schema": SOC_SCHEMA, "chips": {chip.name: known}}
    return Page(f"ascend-fuse: {chip.name}", (Section("", (line,), table),), document)
