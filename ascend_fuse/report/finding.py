"""What a report finds, one by one, for the formats of CI systems: near misses, failed gates, models that failed."""

from __future__ import annotations

import hashlib
import os
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

Level = Literal["error", "note"]
FAILED = "failed"  # what is said of a model that could not be judged
VERIFICATION = "verification"
ROOTS = ("GITHUB_WORKSPACE", "CI_PROJECT_DIR")  # where GitHub and GitLab check the repository out


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing to say about a model's file. `about`: a rule, a reason code, a gate or `failed`.

    `node` has its scope, as `If_3.then_branch: Add_7`, and is "" for the model as a whole; `reason` is the near miss's.
    """

    level: Level
    about: str
    model: Path
    message: str
    node: str = ""
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Case:
    """One thing that is tested about a model; `failure`: why it does not hold; `error`: why it could not be tested."""

    name: str
    failure: str = ""
    error: str = ""


@dataclass(frozen=True, slots=True)
class Suite:
    """All that is tested about one model."""

    model: Path
    cases: tuple[Case, ...]


def placed(path: Path) -> Path:
    """The path relative to the checked out repository, or to the working directory; absolute outside of both."""
    real = path.absolute()
    for root in (*(os.environ.get(name, "") for name in ROOTS), os.getcwd()):
        if root and real.is_relative_to(Path(root).absolute()):
            return real.relative_to(Path(root).absolute())
    return real


def fingerprinted(findings: Iterable[Finding]) -> Iterator[tuple[Finding, str]]:
    """Each with what stays the same while it is the same finding: figures and sentences may change."""
    seen: Counter[tuple[str, ...]] = Counter()
    for f in findings:
        identity = (placed(f.model).as_posix(), f.about, f.reason, f.node)
        seen[identity] += 1
        text = "\0".join((*identity, str(seen[identity])))
        yield f, hashlib.sha256(text.encode("utf-8", "backslashreplace")).hexdigest()[:32]
