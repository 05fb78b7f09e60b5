"""Findings as SARIF 2.1.0, which code scanning services and editors read.

https://docs.oasis-open.org/sarif/sarif/v2.1.0/sarif-v2.1.0.html
"""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from urllib.parse import quote

from ascend_fuse import __version__
from ascend_fuse.report.descriptor import describe
from ascend_fuse.report.finding import FAILED, Finding, fingerprinted, placed
from ascend_fuse.report.page import printable

SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
FINGERPRINT = "ascendFuse/v1"


def render_sarif(findings: Sequence[Finding]) -> str:
    """One run with a result for each finding; near misses are notes, failed gates errors."""
    ids = sorted({f.about for f in findings})
    driver = {"name": "ascend-fuse", "version": __version__, "rules": [_descriptor(about) for about in ids]}
    results = [_result(f, fingerprint, ids.index(f.about)) for f, fingerprint in fingerprinted(findings)]
    run = {
        "tool": {"driver": driver},
        "invocations": [{"executionSuccessful": not any(f.about == FAILED for f in findings)}],
        "columnKind": "unicodeCodePoints",
        "results": results,
    }
    return json.dumps({"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}, indent=2) + "\n"


def _descriptor(about: str) -> dict[str, object]:
    d = describe(about)
    return {
        "id": about, "name": d.name, "shortDescription": {"text": _plain(d.short)},
        "help": {"text": _plain(d.help), "markdown": d.help},
    }  # fmt: skip


def _result(f: Finding, fingerprint: str, index: int) -> dict[str, object]:
    location: dict[str, object] = {
        "physicalLocation": {"artifactLocation": {"uri": _uri(f)}, "region": {"startLine": 1}}  # a file without lines
    }
    if f.node:
        location["logicalLocations"] = [{"fullyQualifiedName": printable(f.node), "kind": "node"}]
    return {
        "ruleId": f.about, "ruleIndex": index, "level": f.level, "message": {"text": _plain(printable(f.message))},
        "locations": [location], "partialFingerprints": {FINGERPRINT: fingerprint},
    }  # fmt: skip


def _uri(f: Finding) -> str:
    """A relative reference where the file is in the repository, else a file URI."""
    path = placed(f.model)
    return path.as_uri() if path.is_absolute() else quote(os.fsencode(path.as_posix()))


def _plain(text: str) -> str:
    """The text as a message's: braces would be placeholders (3.11.5), `[a](b)` a link (3.11.6)."""
    return text.replace("{", "{{").replace("}", "}}").replace("](", "] (")
