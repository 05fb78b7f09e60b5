"""The report of several models: a table of results, and each model's report below it where that is wanted."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from ascend_fuse import __version__
from ascend_fuse.plan import Totals
from ascend_fuse.report import quantity
from ascend_fuse.report.fusion import fusion_page
from ascend_fuse.report.outcome import outcome_findings, outcome_suite
from ascend_fuse.report.page import Page, Section, Table
from ascend_fuse.report.verification import summary, verification_json

if TYPE_CHECKING:
    from ascend_fuse.batch import Batch
    from ascend_fuse.worker import Outcome

SCHEMA = "ascend-fuse/batch/1"
COLUMNS = ("model", "fusions", "launches", "saved", "estimated time", "gained", "result")


def batch_page(batch: Batch, *, in_full: bool = False) -> Page:
    """The results of all models; `in_full`: the sections of each model's own report too."""
    sections = [Section("", _lines(batch), _table(batch.outcomes))]
    if batch.errors:  # the prompt has them on standard error
        sections.append(Section("Errors", batch.errors, in_text=in_full))
    if in_full:
        for outcome in batch.outcomes:
            sections += model_sections(outcome)
    document: Mapping[str, object] = {
        "schema": SCHEMA, "tool": __version__, "interrupted": batch.interrupted, "exit_code": batch.exit_code,
        "absent_sizes": list(batch.absent_sizes), "shard": share_json(batch),
        "models": [outcome_json(o) for o in batch.outcomes],
    }  # fmt: skip
    findings = tuple(f for o in batch.outcomes for f in outcome_findings(o))
    suites = tuple(map(outcome_suite, batch.outcomes))
    return Page("ascend-fuse: fusion of several models", tuple(sections), document, findings, suites)


def share_line(batch: Batch) -> str:
    """What shard it is, with a blank before; "" for a whole."""
    found = batch.share
    if found is None:
        return ""
    models = quantity.counted(found.models, "model")
    return f" Shard {found.shard} of {models} (listing {found.digest}, the same for every shard)."


def share_json(batch: Batch) -> dict[str, object] | None:
    """The key `shard` of a document."""
    found = batch.share
    if found is None:
        return None
    shard = found.shard
    return {"index": shard.index, "count": shard.count, "models": found.models, "digest": found.digest}


def _lines(batch: Batch) -> tuple[str, ...]:
    done = sum(o.error is None for o in batch.outcomes)
    written = sum(o.path is not None for o in batch.outcomes)
    failed = len(batch.outcomes) - done
    models = quantity.counted(done, "model")
    line = f"{models} done, {quantity.count(failed)} failed; {quantity.count(written)} written."
    if cached := sum(o.cached for o in batch.outcomes):
        line += f" {quantity.count(cached)} from the cache."
    if batch.interrupted:
        line += " Interrupted: the others were not begun, or not finished and left no file."
    line += share_line(batch)
    return (line, "Times are estimates of the cost model for the chip, not measurements.")


def _table(outcomes: tuple[Outcome, ...]) -> Table | None:
    if not outcomes:
        return None
    rows = [_row(o) for o in outcomes]
    known = [o.plan for o in outcomes if o.plan is not None and not o.plan.already_fused]
    if len(known) > 1:
        before = sum((p.totals_before for p in known), Totals())
        after = sum((p.totals_after for p in known), Totals())
        rows.append(("all", quantity.count(sum(len(p.regions) for p in known)), *_change(before, after), ""))
    return Table(COLUMNS, tuple(rows), frozenset(COLUMNS[1:-1]))


def _row(o: Outcome) -> tuple[str, ...]:
    name, verified = str(o.source), ", verified" if o.verification is not None else ""
    verified += ", from the cache" if o.cached else ""
    if o.error is not None:
        return (name, "", "", "", "", "", f"failed ({o.error.exit_code})")
    if o.plan is None:
        return (name, "", "", "", "", "", "written")
    if o.plan.already_fused:
        launches = quantity.count(o.plan.totals_after.launches)
        return (name, "0", launches, "", "", "", f"already fused{verified}")
    what = "fused" if o.plan.regions else "nothing to fuse"
    change = _change(o.plan.totals_before, o.plan.totals_after)
    return (name, quantity.count(len(o.plan.regions)), *change, f"{what}{verified}")


def _change(before: Totals, after: Totals) -> tuple[str, ...]:
    saved = before - after
    return (
        f"{quantity.count(before.launches)} → {quantity.count(after.launches)}",
        quantity.share(saved.launches, before.launches),
        f"{before.time_us:,.1f} → {quantity.time(after.time_us)}", quantity.share(saved.time_us, before.time_us),
    )  # fmt: skip


def model_sections(o: Outcome) -> list[Section]:
    """The sections of the model's own report, each with the model in its title; none without a plan."""
    if o.plan is None:
        return []
    page = fusion_page(o.plan, o.notes)
    found = [replace(s, title=f"{o.source}: {s.title or 'Summary'}") for s in page.sections]
    if o.verification is not None:
        section = summary(o.verification)
        found.append(replace(section, title=f"{o.source}: {section.title}"))
    return found


def outcome_json(o: Outcome) -> dict[str, object]:
    """One of `models` in `ascend-fuse/batch/1`."""
    verification = None if o.verification is None else verification_json(o.verification)
    plan = None if o.plan is None else fusion_page(o.plan, o.notes, verification).document
    error = None if o.error is None else {"what": o.error.what, "exit_code": o.error.exit_code}
    return {
        "model": str(o.source), "output": None if o.path is None else str(o.path), "unchanged": o.unchanged,
        "cached": o.cached, "error": error, "verification": verification, "notes": list(o.notes), "plan": plan,
    }  # fmt: skip
