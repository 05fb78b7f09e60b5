"""The program proof under mutation of where tensors lie: Transposes are no terms, so running the pair has to show it."""

from __future__ import annotations

from dataclasses import replace

import pytest
from proof_claim import sample
from proof_layout import TEXTS, layouts

from ascend_fuse.error import InternalError
from ascend_fuse.proof.program import Proved, prove_programs
from ascend_fuse.proof.trial import Claim


@pytest.mark.parametrize("name", TEXTS)
def test_every_other_layout_is_refused(name: str) -> None:
    made = sample(name, TEXTS)
    (claim,) = made.claims
    assert prove_programs([claim], made.definitions) == Proved(1)
    tried = list(layouts(claim.built.program))
    assert len(tried) >= 4
    survivors: list[tuple[str, str]] = []
    for mutant in tried:
        wrong: Claim = replace(claim, built=replace(claim.built, program=mutant.program))
        try:
            if prove_programs([wrong], made.definitions).stopped:
                continue
        except InternalError:
            continue
        survivors.append((mutant.line, mutant.change))
    assert survivors == []
