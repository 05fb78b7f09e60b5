"""The report of `rules lint`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ascend_fuse.report.page import Page, Section, Table

if TYPE_CHECKING:
    from ascend_fuse.rule.lint import Checked

LINT_SCHEMA = "ascend-fuse/rules-lint/1"


def lint_summary(checked: Checked) -> str:
    """How many findings in how many files."""
    count = len(checked.findings)
    findings = f"{count} finding{'' if count == 1 else 's'}" if count else "no findings"
    return f"{findings} in {checked.files} rule file{'' if checked.files == 1 else 's'}"


def lint_page(checked: Checked) -> Page:
    """One row per finding."""
    found = checked.findings
    rows = tuple((f"{f.path}:{f.line}", f.code, f.message) for f in found)
    table = Table(("file", "code", "message"), rows) if rows else None
    document = {
        "schema": LINT_SCHEMA,
        "files": checked.files,
        "findings": [{"file": str(f.path), "line": f.line, "code": f.code, "message": f.message} for f in found],
    }
    return Page("ascend-fuse: rules lint", (Section("", (lint_summary(checked),), table),), document)
