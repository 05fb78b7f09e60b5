"""A fault of each kind is caught, and said to be where it is."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest
from emulator_case import Case, Library, faulty_cases

FAULT_HEADER = Path(__file__).parents[2] / "kernels/emulator/fault.h"
CASES = faulty_cases()


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_fault(library: Library, case: Case) -> None:
    inputs, outputs = [np.zeros(1024, np.float32)], [np.zeros(1024, np.float32) for _ in range(2)]
    outcome = library.run(case.name, inputs, outputs, chip=case.chip, cores=case.cores, mixed=case.mixed)
    assert outcome.fault.startswith(case.fault + ":"), outcome.fault
    assert f"{case.file}:{case.line}" in outcome.fault
    assert f"kernel {case.name}" in outcome.fault


def test_every_kind_has_a_case() -> None:
    """But for the one of a kernel that throws, which device code does not."""
    kinds = set(re.findall(r'"([a-z]+(?:-[a-z0-9]+)+)"', FAULT_HEADER.read_text()))
    assert len(kinds) > 25
    assert kinds - {case.fault for case in CASES} == {"kernel-failed"}


def test_flag_that_nobody_waits_for(library: Library) -> None:
    outcome = library.run("flag_left", mixed=True)
    assert outcome.fault.startswith("cross-core-flag: core 0 (AIV)")
