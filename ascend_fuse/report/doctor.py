"""The report of `doctor`."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING

from ascend_fuse.report.page import Page, Section, Table

if TYPE_CHECKING:
    from ascend_fuse.doctor import Diagnosis

SCHEMA = "ascend-fuse/diagnosis/1"
_VERDICTS = {True: "ok", False: "FAULT", None: "absent"}


def doctor_page(d: Diagnosis) -> Page:
    """What was found, and what would run where."""
    rows = tuple((f.what, _VERDICTS[f.ok], f.found, f.do) for f in d.findings)
    places = Table(("nodes", "run on"), d.places)
    document = {
        "schema": SCHEMA, "ok": d.ok, "findings": [asdict(f) for f in d.findings], "places": dict(d.places)
    }  # fmt: skip
    verdict = "Everything that is needed is here." if d.ok else "Something is missing: see below."
    sections = (
        Section("", (verdict,), Table(("what", "verdict", "found", "what to do"), rows)),
        Section("What would run where", (), places),
    )
    return Page("ascend-fuse: doctor", sections, document)
