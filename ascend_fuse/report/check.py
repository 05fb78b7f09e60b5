"""The report of `check`: a row for each gate of each model, what fails, and each model's report where it is wanted."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

from ascend_fuse import __version__
from ascend_fuse.gate.result import EXPECT, GONE
from ascend_fuse.report import quantity
from ascend_fuse.report.batch import model_sections, outcome_json, share_json, share_line
from ascend_fuse.report.finding import FAILED, Case, Finding, Suite
from ascend_fuse.report.outcome import outcome_findings, outcome_suite
from ascend_fuse.report.page import Page, Section, Table

if TYPE_CHECKING:
    from ascend_fuse.gate.baseline import Fusion
    from ascend_fuse.gate.regression import Regression
    from ascend_fuse.gate.result import Checked, CheckedModel

SCHEMA = "ascend-fuse/check/1"
COLUMNS = ("model", "gate", "result", "found")


def check_page(checked: Checked, *, in_full: bool = False) -> Page:
    """The results of all gates; `in_full`: the sections of each model's own report too."""
    sections = [Section("", tuple(_lines(checked)), _table(checked))]
    if failed := (*checked.failures, *checked.errors):  # the prompt has them on standard error
        sections.append(Section("Failed", failed, in_text=in_full))
    notes = tuple(f"{m.outcome.source}: {note}" for m in checked.models for note in m.notes)
    if notes:
        sections.append(Section("Notes", notes))
    if in_full:
        sections += (s for m in checked.models for s in model_sections(m.outcome))
    document = {
        "schema": SCHEMA, "tool": __version__, "ok": not checked.failures and not checked.errors,
        "exit_code": checked.exit_code, "interrupted": checked.batch.interrupted,
        "gates": asdict(checked.gates), "absent_sizes": list(checked.batch.absent_sizes),
        "shard": share_json(checked.batch),
        "gone": list(checked.gone), "models": [_json(m) for m in checked.models],
    }  # fmt: skip
    findings = (*(f for m in checked.models for f in _findings(m)), *_gone_findings(checked))
    suites = (*map(_suite, checked.models), *_gone_suites(checked))
    return Page("ascend-fuse: check", tuple(sections), document, findings, suites)


def _lines(checked: Checked) -> Iterator[str]:
    failed = sum(bool(m.failures) for m in checked.models)
    unjudged = sum(m.outcome.error is not None or m.error is not None for m in checked.models)
    told = f"{quantity.counted(len(checked.models), 'model')}: {quantity.count(failed)} with a gate that fails"
    yield f"{told}, {quantity.count(unjudged)} that could not be judged.{share_line(checked.batch)}"
    if checked.failures and checked.exit_zero:
        yield "The exit code is 0 all the same: --exit-zero."
    if checked.updated is not None:
        yield f"Baseline written: {checked.updated}."
    yield "Times are estimates of the cost model for the chip, not measurements; nothing else is written."


def _table(checked: Checked) -> Table | None:
    rows = [row for m in checked.models for row in _rows(m, checked)]
    return Table(COLUMNS, tuple(rows)) if rows else None


def _rows(m: CheckedModel, checked: Checked) -> Iterator[tuple[str, ...]]:
    name = str(m.outcome.source)
    for error in (m.outcome.error, m.error):
        if error is not None:
            yield name, "", f"failed ({error.exit_code})", ""
    for j in m.judgements:
        yield name, j.gate, "ok" if j.ok else "FAILS", j.message
    if not m.judgements and m.error is None and m.outcome.plan is not None:
        p = m.outcome.plan
        made = "in the baseline now" if checked.updated is not None else "the baseline is not written"
        what = made if checked.gates.expect else "no gate is set"
        yield name, "", "", f"{quantity.counted(len(p.regions), 'fusion')}, {what}"


def _findings(m: CheckedModel) -> Iterator[Finding]:
    """What fails before what is merely near."""
    source = m.outcome.source
    if m.error is not None:
        yield Finding("error", FAILED, source, m.error.what)
    for j in m.judgements:
        if not j.ok and j.gate != EXPECT:  # each fusion that is lost is a finding of its own
            yield Finding("error", j.gate, source, f"{j.gate}: {j.message}")
    for r in m.lost:
        yield Finding("error", EXPECT, source, r.message, r.node or _ends(r.fusion), r.code)
    yield from outcome_findings(m.outcome)


def _gone_findings(checked: Checked) -> Iterator[Finding]:
    """About the baseline's file: the model's own is not there."""
    for name in checked.gone:
        yield Finding("error", EXPECT, Path(checked.gates.expect), f"{name}: {GONE}", name)


def _gone_suites(checked: Checked) -> Iterator[Suite]:
    if checked.gone:
        yield Suite(Path(checked.gates.expect), tuple(Case(name, GONE) for name in checked.gone))


def _ends(f: Fusion) -> str:
    return f.nodes[-1] if f.nodes else f.label


def _suite(m: CheckedModel) -> Suite:
    """A case for each gate, and for each fusion that the baseline expects."""
    cases = [Case("baseline", error=m.error.what)] if m.error is not None else []
    cases += (Case(j.gate, "" if j.ok else j.message) for j in m.judgements if j.gate != EXPECT)
    lost = [*m.lost]
    for f in m.expected:
        gone = next((r for r in lost if r.fusion == f), None)
        if gone is not None:
            lost.remove(gone)
        cases.append(Case(_named(f), gone.why if gone is not None else ""))
    if m.outcome.error is not None or not cases:
        cases = [*outcome_suite(m.outcome).cases[:1], *cases]
    return Suite(m.outcome.source, tuple(cases))


def _named(f: Fusion) -> str:
    where = f"{f.graph}: " if f.graph else ""
    return f"{', '.join(f.rules)} {f.label}: {where}{_ends(f)}"


def _json(m: CheckedModel) -> dict[str, object]:
    growth = m.outcome.growth
    judged: dict[str, object] = {
        "ok": not m.failures and m.error is None and m.outcome.error is None,
        "gates": [asdict(j) for j in m.judgements],
        "lost": [_lost_json(r) for r in m.lost],
        "expected": len(m.expected),
        "growth": None if growth is None else {**asdict(growth), "percent": round(growth.percent, 4)},
        "baseline_error": None if m.error is None else m.error.what,
        "baseline_notes": list(m.notes),
    }
    return {**outcome_json(m.outcome), **judged}


def _lost_json(r: Regression) -> dict[str, object]:
    f = r.fusion
    return {
        "graph": f.graph, "rules": list(f.rules), "label": f.label, "ops": dict(f.ops), "nodes": list(f.nodes),
        "node": r.node, "code": r.code, "why": r.why,
    }  # fmt: skip
