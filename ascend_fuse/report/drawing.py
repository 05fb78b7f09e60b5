"""What the script of an HTML page draws: both graphs with fusions and reasons in them, and the roofline (0011).

Plain data, names as they are: whoever writes it into a page escapes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from ascend_fuse.graph.outline import OutlineScope
from ascend_fuse.plan import NearMiss, Plan, Region, Totals
from ascend_fuse.reason import CODES
from ascend_fuse.report.advice import ADVICE
from ascend_fuse.report.block import blocks
from ascend_fuse.report.roofline import points, top
from ascend_fuse.report.verdict import tiling_line

if TYPE_CHECKING:
    from ascend_fuse.task import Drawing

Groups = Sequence[Sequence[Region]]


def drawing_json(plan: Plan, drawing: Drawing, groups: Groups) -> dict[str, object]:
    """The drawing of docs/design/0011; `groups`: the fusions as the rows of the report have them."""
    after = {s.path: s for s in drawing.after.scopes}
    scopes = [_scope(s, after.get(s.path)) for s in drawing.before.scopes if s.nodes]
    number = {id(r): k for k, g in enumerate(groups, start=1) for r in g}
    programs: dict[tuple[str, str], int] = {}
    regions = [_region(r, number[id(r)], programs) for r in plan.regions]
    codes = {m.miss.code for m in plan.misses}
    return {
        "scopes": scopes, "regions": regions, "programs": [[text.splitlines(), tiling] for text, tiling in programs],
        "misses": [_miss(m) for m in plan.misses],
        "cleanups": [[c.graph, c.node, c.rule, c.what] for c in plan.cleanups],
        "rules": {code: plan.rule_names.get(code, "") for code in sorted({c for r in plan.regions for c in r.rules})},
        "reasons": {code: [CODES[code], ADVICE[code]] for code in sorted(codes)},
        "roofline": _roofline(drawing, groups),
    }  # fmt: skip


def _scope(before: OutlineScope, after: OutlineScope | None) -> dict[str, object]:
    """Values are numbered: both graphs name most of them several times."""
    values: dict[str, int] = {}
    named = dict.fromkeys(blocks(before))
    number = {name: k for k, name in enumerate(named)}
    at = [number[name] for name in blocks(before)]
    made = {o: at[k] for k, node in enumerate(before.nodes) for o in node.outputs}
    graphs = [_graph(before, values, at)]
    if after is not None:
        # a fused node is in the block of what makes its first output
        places = [next((made[o] for o in node.outputs if o in made), 0) for node in after.nodes]
        graphs.append(_graph(after, values, places))
    types = [before.types.get(name, "") for name in values]
    return {"path": before.path, "blocks": list(named), "values": list(values), "types": types, "graphs": graphs}


def _graph(scope: OutlineScope, values: dict[str, int], at: Sequence[int]) -> dict[str, object]:
    def numbers(names: Sequence[str]) -> list[int]:
        return [values.setdefault(name, len(values)) for name in names]

    return {
        "nodes": [
            [n.label, n.op, b, numbers(n.inputs), numbers(n.outputs)] for n, b in zip(scope.nodes, at, strict=True)
        ],
        "inputs": numbers(scope.inputs), "outputs": numbers(scope.outputs),
    }  # fmt: skip


def _totals(t: Totals) -> list[float]:
    return [t.launches, t.hbm_bytes, round(t.time_us, 3)]


def _region(r: Region, number: int, programs: dict[tuple[str, str], int]) -> dict[str, object]:
    f = r.figures
    return {
        "scope": r.graph, "name": r.name, "rules": list(r.rules), "label": r.label, "family": r.family,
        "row": number, "nodes": list(r.nodes), "before": _totals(f.before), "after": _totals(f.after),
        "bound": "launch and heads" if f.bound == "launch" else f.bound, "assumed": round(f.assumed_share, 4),
        "program": programs.setdefault((r.program, tiling_line(r.tiling)), len(programs)),
    }  # fmt: skip


def _miss(m: NearMiss) -> dict[str, object]:
    return {
        "scope": m.graph, "node": m.node, "code": m.miss.code, "message": m.miss.message, "rule": m.miss.rule,
        "figures": dict(m.miss.figures), "cost": _totals(m.cost),
    }  # fmt: skip


def _roofline(drawing: Drawing, groups: Groups) -> Mapping[str, object]:
    roofs = drawing.roofs
    found = points(groups)
    tops = {(p.work.unit, p.work.dtype): top(roofs, p) for p in found}
    return {
        "memory": roofs.hbm_bytes_per_s,
        "tops": [[f"{unit} {dtype}", rate] for (unit, dtype), rate in sorted(tops.items())],
        "points": [
            {
                "row": p.number, "count": p.count, "label": p.region.label, "rule": p.region.rules[0],
                "scope": p.region.graph, "name": p.region.name,
                "before": [p.intensity(p.region.figures.before), p.rate(p.region.figures.before)],
                "after": [p.intensity(p.region.figures.after), p.rate(p.region.figures.after)],
            }
            for p in found
        ],
    }  # fmt: skip
