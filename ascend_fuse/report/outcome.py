"""What became of one model as findings and as cases: the same for one model and for many."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from ascend_fuse.plan import NearMiss, Region
from ascend_fuse.report import quantity
from ascend_fuse.report.finding import FAILED, VERIFICATION, Case, Finding, Suite
from ascend_fuse.report.fusion import located

if TYPE_CHECKING:
    from ascend_fuse.worker import Outcome


def outcome_findings(o: Outcome) -> Iterator[Finding]:
    """An error if the model failed, else a note for each near miss."""
    if o.error is not None:
        yield Finding("error", FAILED, o.source, o.error.what)
    elif o.verification is not None and not o.verification.ok:
        yield Finding("error", VERIFICATION, o.source, "; ".join(o.verification.failures()))
    for m in o.plan.misses if o.plan is not None else ():
        yield _near_miss(o.source, m)


def _near_miss(model: Path, m: NearMiss) -> Finding:
    node, figures = located(m.graph, m.name), quantity.figures(m.miss.figures)
    message = f"{m.op} {node} is not fused: {m.miss.code}: {m.miss.message}{figures and f' ({figures})'}"
    return Finding("note", m.miss.rule or m.miss.code, model, message, node, m.miss.code)


def outcome_suite(o: Outcome) -> Suite:
    """A case for the model, and one for each fusion."""
    cases = [Case("plan", error=o.error.what if o.error is not None else "")]
    if o.verification is not None:
        cases.append(Case(VERIFICATION, "; ".join(o.verification.failures())))
    cases += map(_case, o.plan.regions if o.plan is not None else ())
    return Suite(o.source, tuple(cases))


def _case(r: Region) -> Case:
    return Case(f"{', '.join(r.rules)} {r.label}: {located(r.graph, r.name)}")
