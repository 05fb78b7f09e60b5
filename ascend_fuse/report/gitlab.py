"""Findings as a GitLab code quality report: https://docs.gitlab.com/ci/testing/code_quality/."""

from __future__ import annotations

import json
from collections.abc import Sequence

from ascend_fuse.report.finding import Finding, fingerprinted, placed
from ascend_fuse.report.page import printable

SEVERITY = {"error": "major", "note": "info"}


def render_gitlab(findings: Sequence[Finding]) -> str:
    """A list with an entry for each finding; GitLab tells new from old ones by the fingerprint."""
    entries = [
        {
            "description": printable(f.message), "check_name": f.about, "fingerprint": fingerprint,
            "severity": SEVERITY[f.level],
            "location": {"path": placed(f.model).as_posix(), "lines": {"begin": 1}},  # a file without lines
        }
        for f, fingerprint in fingerprinted(findings)
    ]  # fmt: skip
    return json.dumps(entries, indent=2) + "\n"
