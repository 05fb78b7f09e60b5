"""From what happened in each scope to the Plan: indices as in the source model, totals over all runs of a scope."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from onnx import ModelProto

from ascend_fuse.candidate import Candidate
from ascend_fuse.cleanup.model import Found
from ascend_fuse.emit.edit import Fused
from ascend_fuse.engine import Engine
from ascend_fuse.estimate import Estimate
from ascend_fuse.graph.function import FunctionKey, Functions
from ascend_fuse.graph.launch import launches_by_scope
from ascend_fuse.graph.path import function_path
from ascend_fuse.graph.scope import Scope
from ascend_fuse.graph.shape import Inference
from ascend_fuse.graph.view import View
from ascend_fuse.plan import NearMiss, Region, Totals
from ascend_fuse.planning import Outcome
from ascend_fuse.reason import Miss
from ascend_fuse.unknown import explained


@dataclass(slots=True)
class Planned:
    """One scope on its way: `positions` of its nodes in the source's list; `times` that it runs in one run."""

    scope: Scope
    view: View
    inference: Inference
    outcome: Outcome
    positions: Sequence[int]
    times: int = 1
    fused: Sequence[Fused] = ()


def times_of(path: str, functions: Functions, times: Mapping[FunctionKey, int]) -> int:
    """How often the scope runs in one run of the model: a function's calls; a body counts once a call."""
    for key, function in functions.by_key.items():
        own = function_path(function)
        if path == own or path.startswith(f"{own}/"):
            return times.get(key, 0)
    return 1


def regions(planned: Planned, names: Mapping[str, str]) -> tuple[Region, ...]:
    """The scope's fused nodes; `names` of rules by code."""
    return tuple(_region(planned, f, names.get(f.chosen.rules[0], "")) for f in planned.fused)


def _region(planned: Planned, fused: Fused, label: str) -> Region:
    c, view = fused.chosen, planned.view
    program = c.built.program
    return Region(
        planned.scope.path, fused.node.name, fused.body.function.name, program.family, label, c.rules,
        tuple(planned.positions[k] for k in c.nodes), tuple(view.nodes[k].label for k in c.nodes),
        tuple(view.nodes[k].op for k in c.nodes), c.built.inputs, c.built.outputs, c.part[0],
        dict(zip(program.symbols, c.part[1], strict=True)), c.tiling, c.figures,
    )  # fmt: skip


def candidates(planned: Planned) -> Iterable[Candidate]:
    """All that was judged in the scope."""
    for c in planned.outcome.candidates:
        yield replace(c, graph=planned.scope.path, nodes=tuple(planned.positions[k] for k in c.nodes))


def misses(planned: Planned, functions: Functions, passed: bool = False) -> Iterable[NearMiss]:
    """The scope's near misses; they name the call or operator that leaves a type or shape unknown.

    A call of a function in another opset says that this is why it stays whole. `passed`: those of nodes that fuse.
    """
    for m in planned.outcome.passed if passed else planned.outcome.misses:
        node = planned.view.nodes[m.node]
        function = functions.called(node.proto)[1]
        miss = explained(m.miss, planned.scope, planned.view, functions)
        if function is not None and functions.is_foreign(function):
            what = f"the function is written in another opset than the model's {functions.opset}"
            miss = Miss("function-opset", what, m.node, {"opset": functions.opset_of(function)})
        yield replace(m, graph=planned.scope.path, node=planned.positions[m.node], miss=miss)


def totals(planned: Iterable[Planned]) -> tuple[Totals, Totals]:
    """Before and after, over all scopes."""
    before = after = Totals()
    for p in planned:
        before += p.outcome.before * p.times
        after += p.outcome.after * p.times
    return before, after


def removed(
    found: Iterable[Found], model: ModelProto, engine: Engine, sizes: Mapping[str, int], measured: Mapping[str, float]
) -> Totals:
    """What the nodes that cleanups take out cost before; the model is still as it was."""
    launches = launches_by_scope(model)
    functions = Functions(model)
    times = functions.times(model)
    total = Totals()
    for f in found:
        estimate = Estimate(f.view, engine, sizes, measured)
        own = launches.get(f.scope.path, ())
        gone = [f.view.nodes[c.node] for c in f.claims if own and own[c.node]]
        cost = sum((estimate.own(n, estimate.opaque(n, 1)) for n in gone), Totals())
        total += cost * times_of(f.scope.path, functions, times)
    return total


def digest(model: ModelProto) -> str:
    """SHA-256 over the nodes and functions: the weights stay unread."""
    h = hashlib.sha256()
    for item in (*model.graph.node, *model.functions):
        h.update(item.SerializeToString(deterministic=True))
    return h.hexdigest()
