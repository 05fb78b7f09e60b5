"""The blocks of a model (its layers, mostly), read off the names that exporters give nodes and weights."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from ascend_fuse.graph.outline import Outline, OutlineNode, OutlineScope
from ascend_fuse.plan import NearMiss, Plan, Totals
from ascend_fuse.report import quantity
from ascend_fuse.report.page import Kind, Section, Shown, Table, located

NUMBERED = re.compile(r"(.*?)([._])(\d+)")
UNNAMED = re.compile(r"[\w:.]+\((.*)\)")  # what stands for the name of a node without one: `Add(output)`
LAYERS = re.compile(r"(.*?\.\d+)\..*")  # of a weight: `encoder.layers.3` of `encoder.layers.3.linear1.weight`
REST = "the rest"


def block(name: str) -> str:
    """The block that a node's name puts it in; "" for a name without modules.

    `/encoder/layer.3/attention/MatMul`: the modules up to the first that has a number, `encoder/layer.3`. Where the
    number counts calls of a module (`/layer/attention_1/Add`, `/layer_1/Mul`): the first module and the number,
    `layer 1`. Else the first module.
    """
    *modules, _ = name.strip("/").split("/")
    for depth, module in enumerate(modules):
        if m := NUMBERED.fullmatch(module):
            stem, dot, number = m.groups()
            if dot == ".":
                return "/".join(modules[: depth + 1])
            return f"{modules[0] if depth else stem} {number}"
    return modules[0] if modules else ""


def blocks(scope: OutlineScope) -> tuple[str, ...]:
    """The block of each node; one that has none of its own is in that of the node before it."""
    last = ""
    found: list[str] = []
    for node in scope.nodes:
        last = _own(node) or last
        found.append(last or REST)
    return tuple(found)


def _own(node: OutlineNode) -> str:
    unnamed = UNNAMED.fullmatch(node.label)
    weights = (m[1] for name in node.inputs if (m := LAYERS.fullmatch(name)))
    return block(unnamed[1] if unnamed else node.label) or next(weights, "")


@dataclass(slots=True)
class Share:
    """What a block costs before and after, its fusions and the nodes that are left."""

    fusions: int = 0
    left: int = 0
    before: Totals = field(default_factory=Totals)
    after: Totals = field(default_factory=Totals)


def shares(plan: Plan, outline: Outline) -> Mapping[str, Share]:
    """Each block's part of the totals, in the order of the graphs.

    A fusion counts in the block of its first node, a node with several reasons once.
    """
    of_node = {(s.path, k): located(s.path, name) for s in outline.scopes for k, name in enumerate(blocks(s))}
    found = {name: Share() for name in (*of_node.values(), REST)}
    for r in plan.regions:
        share = found[of_node.get((r.graph, r.nodes[0]), REST)]
        share.fusions += 1
        share.before, share.after = share.before + r.figures.before, share.after + r.figures.after
    for m in _once(plan.misses):
        share = found[of_node.get((m.graph, m.node), REST)]
        share.left += 1
        share.before, share.after = share.before + m.cost, share.after + m.cost
    return {name: share for name, share in found.items() if share.fusions or share.left}


def _once(misses: Iterable[NearMiss]) -> Iterator[NearMiss]:
    yield from {(m.graph, m.node): m for m in misses}.values()


def blocks_section(plan: Plan, outline: Outline) -> Section:
    """Launches, bytes and time of each block, and what the totals hold beside them."""
    found = shares(plan, outline)
    rows = [_row(name, s) for name, s in found.items()]
    bars = [(s.before.time_us, s.after.time_us) for s in found.values()]
    before = plan.totals_before - sum((s.before for s in found.values()), Totals())
    after = plan.totals_after - sum((s.after for s in found.values()), Totals())
    if before.launches or after.launches:
        rows.append(_row("cleanups, further calls of functions", Share(0, 0, before, after)))
        bars.append((before.time_us, after.time_us))
    columns = ("block", "fusions", "left", "launches", "HBM traffic", "estimated time", "saved")
    line = (
        "Blocks are read off the names of nodes and weights; a fusion counts in the block of its first node. left: "
        "nodes that stay a launch of their own."
    )
    known = {located(s.path, name): Shown(name, s.path, Kind.BLOCK) for s in outline.scopes for name in blocks(s)}
    shows = tuple(known.get(row[0]) for row in rows)
    left = sum(s.left for s in found.values())
    total = _row("total", Share(len(plan.regions), left, plan.totals_before, plan.totals_after))
    table = Table(columns, tuple(rows), frozenset(columns[1:]), shows, tuple(bars), total)
    return Section("Blocks", (line,), table, in_text=False)


def _row(name: str, s: Share) -> tuple[str, ...]:
    b, a = s.before, s.after
    return (
        name, quantity.count(s.fusions), quantity.count(s.left),
        f"{quantity.count(b.launches)} → {quantity.count(a.launches)}",
        f"{quantity.size(b.hbm_bytes)} → {quantity.size(a.hbm_bytes)}",
        f"{b.time_us:,.1f} → {quantity.time(a.time_us)}", quantity.share((b - a).time_us, b.time_us),
    )  # fmt: skip
