"""The report of `explain MODEL`: each candidate, near miss and cleanup."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING

from ascend_fuse import __version__
from ascend_fuse.detail import Explained
from ascend_fuse.error import UsageError
from ascend_fuse.plan import SCHEMA as PLAN_SCHEMA
from ascend_fuse.plan import (
    Cleanup,
    NearMiss,
    Plan,
    Region,
    cleanup_json,
    miss_json,
    region_json,
    rounded,
    to_json,
)
from ascend_fuse.report.candidate import alike, candidate
from ascend_fuse.report.detail import detail_json, detail_sections
from ascend_fuse.report.fusion import context
from ascend_fuse.report.miss import advice, each_miss
from ascend_fuse.report.page import Page, Section, Table, located

if TYPE_CHECKING:
    from ascend_fuse.survey import Swept

SCHEMA = "ascend-fuse/explanation/1"


@dataclass(frozen=True, slots=True)
class Filter:
    """What to look at: nodes by name, a rule's code or glob, a reason code; empty is all."""

    nodes: tuple[str, ...] = ()
    rule: str = ""
    code: str = ""

    def region(self, r: Region) -> bool:
        """Whether a region is looked at: one has no reason code."""
        named = not self.nodes or not {r.name, *r.names}.isdisjoint(self.nodes)
        return named and not self.code and (not self.rule or any(fnmatchcase(c, self.rule) for c in r.rules))

    def swept(self, r: Swept) -> bool:
        """Whether a region is looked at whose verdict depends on a size."""
        named = not self.nodes or not set(self.nodes).isdisjoint(r.names)
        ruled = not self.rule or any(fnmatchcase(c, self.rule) for c in r.rules)
        return named and ruled and (not self.code or any(a.code == self.code for a in r.answers))

    def cleanup(self, c: Cleanup) -> bool:
        """Whether a cleanup is looked at: one has no reason code."""
        named = not self.nodes or c.node in self.nodes
        return named and not self.code and (not self.rule or fnmatchcase(c.rule, self.rule))

    def miss(self, m: NearMiss) -> bool:
        """Whether a near miss is looked at."""
        named = not self.nodes or m.name in self.nodes
        ruled = not self.rule or fnmatchcase(m.miss.rule, self.rule)
        return named and ruled and (not self.code or m.miss.code == self.code)


def explanation_page(
    model: str,
    plan: Plan,
    notes: Sequence[str],
    wanted: Filter,
    others: Callable[[], Mapping[str, str]] = dict,
    judged: Sequence[Explained] = (),
) -> Page:
    """Each candidate, near miss and cleanup that is wanted; `judged`: what was, with each of the nodes.

    `others`: the model's nodes that are in none, each with what is to be said of it; asked for when it is needed.
    Raises UsageError when the model has no node of the name.
    """
    plan = rounded(plan)  # the figures of the plan's own JSON
    regions = [r for r in plan.regions if wanted.region(r)]
    misses = [m for m in plan.misses if wanted.miss(m)]
    cleanups = [c for c in plan.cleanups if wanted.cleanup(c)]
    found = bool(regions or misses or cleanups)
    notes = (*notes, *(line for name in wanted.nodes for line in _said(plan, name, others)))
    head = Section("", (f"{model}: {context(plan)[0]}", *context(plan)[1:], *notes))
    sections = [head, *(candidate(k, g) for k, g in enumerate(alike(regions), start=1))]
    if misses:
        sections += [each_miss(misses), advice(misses)]
    sections += (section for e in judged for section in detail_sections(e))
    if cleanups:
        sections.append(_cleanups(cleanups))
    if not found:
        sections.append(Section("", ("No candidate, no near miss and no cleanup is as asked for.",)))
    document = {
        "schema": SCHEMA, "tool": __version__, "model": model, "node": wanted.nodes[0] if wanted.nodes else "",
        "nodes": list(wanted.nodes), "rule": wanted.rule, "code": wanted.code,
        "regions": [region_json(r) for r in regions], "misses": [miss_json(m) for m in misses],
        "cleanups": [cleanup_json(c) for c in cleanups], "notes": list(notes),
        "judged": [detail_json(e) for e in judged], **_planned(plan),
    }  # fmt: skip
    return Page("ascend-fuse: explanation", tuple(sections), document)


def _planned(plan: Plan) -> dict[str, object]:
    """What the figures rest on, under the names of the plan's schema."""
    keys = ("already_fused", "soc", "dims", "assumed_dims", "undeclared_dims", "bounds", "profile", "rules")
    whole = to_json(plan)
    return {"plan_schema": PLAN_SCHEMA, **{key: whole[key] for key in keys}}


def _said(plan: Plan, name: str, others: Callable[[], Mapping[str, str]]) -> tuple[str, ...]:
    """What is to be said of a node that is in nothing of the plan. Raises UsageError when the model has none."""
    known = {n for r in plan.regions for n in (r.name, *r.names)} | {m.name for m in plan.misses}
    known |= {c.node for c in plan.cleanups}
    if name in known:
        return ()  # left out by another filter
    more = others()
    if name in more:
        return (f"{name}: {more[name]}.",)
    near = get_close_matches(name, known | more.keys(), 3, 0.6)
    do = f"did you mean {', '.join(near)}?" if near else "`ascend-fuse explain MODEL` lists the names"
    raise UsageError(f"the model has no node {name!r}", where="--node", do=do)


def _cleanups(found: Sequence[Cleanup]) -> Section:
    rows = tuple((c.rule, located(c.graph, c.node), c.what) for c in found)
    line = "Nodes that went before fusion, and what took their place; --no-cleanup keeps them."
    return Section("Cleanups", (line,), Table(("rule", "node", "what"), rows))
