"""Cleaning a whole model: every scope, inner ones first, with what has to be proved of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from onnx import ModelProto

from ascend_fuse.cleanup.claim import Claim
from ascend_fuse.cleanup.edit import clean
from ascend_fuse.cleanup.find import find_claims
from ascend_fuse.graph.scope import Scope, scopes, view_of
from ascend_fuse.graph.shape import Inference
from ascend_fuse.graph.view import View
from ascend_fuse.plan import Cleanup, Totals
from ascend_fuse.rule.load import RuleSet


@dataclass(frozen=True, slots=True)
class Found:
    """The claims of one scope."""

    scope: Scope
    view: View
    inference: Inference
    claims: tuple[Claim, ...]


@dataclass(frozen=True, slots=True)
class Cleaned:
    """What was done: as the report lists it, where the nodes that are left stood, and what those that went cost."""

    cleanups: tuple[Cleanup, ...] = ()
    positions: Mapping[str, Sequence[int]] = field(default_factory=dict[str, Sequence[int]])
    removed: Totals = field(default_factory=Totals)


def find_all(model: ModelProto, inferred: Mapping[str, Inference], rules: RuleSet) -> list[Found]:
    """What can go, by scope, inner ones first; nothing is edited."""
    found: list[Found] = []
    for scope in scopes(model):
        inference = inferred.get(scope.path)
        if inference is not None:
            view = view_of(scope, inference, model.ir_version >= 4)
            found.append(Found(scope, view, inference, find_claims(view, inference, rules)))
    return found


def clean_all(found: Sequence[Found]) -> Mapping[str, Sequence[int]]:
    """Edit the scopes in place; for each node that is left, by path, its index in the old list."""
    return {f.scope.path: clean(f.scope.graph, f.view, f.claims) for f in found if f.claims}
