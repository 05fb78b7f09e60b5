"""What has to hold for every model: a plan of disjoint convex regions, equal outputs, bodies that give the model back."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import onnx
from onnx import numpy_helper

from ascend_fuse import _engine, apply, optimize
from ascend_fuse.emit.inline import inline_model
from ascend_fuse.error import UsageError
from ascend_fuse.graph.path import function_path, nested_graphs
from ascend_fuse.plan import Plan
from ascend_fuse.program.evaluate import evaluate
from ascend_fuse.program.text import parse_program, print_program
from tests.attack.random_graph import SIZES
from tests.attack.random_scope import RandomScopes
from tests.equal import bits, session

CHEAP = {"min_gain": 0.0, "launch_us": 15.0}  # fuse whatever can be
Scope = onnx.GraphProto | onnx.FunctionProto


@dataclass(frozen=True, slots=True)
class Seen:
    """What a run looked at."""

    fused: int
    nested: int
    cleanups: int


class Violation(AssertionError):
    """A property that does not hold; `kind` is the same for failures of one sort."""

    def __init__(self, kind: str, what: str = "") -> None:
        super().__init__(f"{kind}: {what}" if what else kind)
        self.kind = kind


def random_model(seed: int) -> RandomScopes:
    """A model of 3 to 24 nodes."""
    graph = RandomScopes(seed)
    steps = graph.r.randint(3, 24)
    while len(graph.nodes) < steps:
        graph.grow()
    return graph


def check(graph: RandomScopes, model: onnx.ModelProto) -> Seen:
    """Raises Violation, or whatever the product raises."""
    # regions are seen in the source's nodes: every second model keeps them all
    result = optimize(model, **CHEAP, cleanup=len(model.graph.node) % 2 == 0)
    fused, plan = result.model, result.plan
    onnx.checker.check_model(fused, full_check=True)
    inlined = onnx.ModelProto()
    inlined.CopyFrom(fused)
    inline_model(inlined)
    if not plan.cleanups:
        check_regions(model, plan)
    programs = [text for scope in scopes(fused).values() for text in _programs(scope)]
    for text in programs:
        if print_program(parse_program(text)) != text or _engine.Program(text).text() != text:
            raise Violation("program text", text)
    check_equal(graph, model, fused)
    check_programs(graph, fused)
    if len(model.graph.node) % 3 == 0:  # a run of its own each
        applied = apply(model, plan).model
        if applied.SerializeToString(deterministic=True) != fused.SerializeToString(deterministic=True):
            raise Violation("applied plan")
    again = optimize(fused, **CHEAP, cleanup=len(model.graph.node) % 2 == 0).model
    if again.SerializeToString(deterministic=True) != fused.SerializeToString(deterministic=True):
        raise Violation("second run")
    if not plan.cleanups and _nodes(inlined) != _nodes(model):
        raise Violation("inline")
    return Seen(len(programs), sum(bool(r.graph) for r in plan.regions), len(plan.cleanups))


def scopes(model: onnx.ModelProto) -> dict[str, Scope]:
    """All graphs and functions but the bodies of fused nodes, by path."""
    found: dict[str, Scope] = {"": model.graph}
    found.update((function_path(f), f) for f in model.functions if f.domain != "ai.ascendfuse")
    waiting = list(found.items())
    while waiting:
        path, scope = waiting.pop()
        for _, inner_path, inner in nested_graphs(scope, path):
            found[inner_path] = inner
            waiting.append((inner_path, inner))
    return found


def check_regions(model: onnx.ModelProto, plan: Plan) -> None:
    """Disjoint, and no path leaves a region and comes back to it; of a plan without cleanups."""
    every = scopes(model)
    by_path: dict[str, list[Sequence[int]]] = {}
    for region in plan.regions:
        by_path.setdefault(region.graph, []).append(region.nodes)
    for path, regions in by_path.items():
        positions = [k for nodes in regions for k in nodes]
        if len(set(positions)) != len(positions):
            raise Violation("regions overlap", path)
        below = _below(every[path])
        for nodes in regions:
            inside = sum(1 << k for k in nodes)
            outside = [k for k in range(len(below)) if not inside >> k & 1]
            entered = [k for k in outside if below[k] & inside and any(below[m] >> k & 1 for m in nodes)]
            if entered:
                raise Violation("region is not convex", f"{path or 'main graph'}: {nodes} through {entered}")


def _below(scope: Scope) -> list[int]:
    """For each node the nodes behind it, as bits; values that bodies capture count as read."""
    count = len(scope.node)
    readers: dict[str, int] = {}
    for k, node in enumerate(scope.node):
        for name in _read(node):
            readers[name] = readers.get(name, 0) | 1 << k
    below = [0] * count
    for k in reversed(range(count)):
        direct = 0
        for name in scope.node[k].output:
            direct |= readers.get(name, 0) if name else 0
        below[k] = direct
        for m in range(k + 1, count):
            if direct >> m & 1:
                below[k] |= below[m]
    return below


def _read(node: onnx.NodeProto) -> Iterator[str]:
    """Names that the node reads, in its bodies too (a body's own names are harmless: no outer node makes them)."""
    yield from (name for name in node.input if name)
    for attribute in node.attribute:
        for inner in (attribute.g, *attribute.graphs) if attribute.type in (5, 10) else ():
            yield from (value.name for value in inner.output)
            for child in inner.node:
                yield from _read(child)


def check_equal(graph: RandomScopes, model: onnx.ModelProto, fused: onnx.ModelProto) -> None:
    """The same bits for small sizes with and without ones, along either branch."""
    before, after = session(model), session(fused)
    for sizes in SIZES:
        for flags in (False, True):
            feeds = _with_flags(graph.feeds(sizes), flags)
            want, got = before.run(None, feeds), after.run(None, feeds)
            for k, (a, b) in enumerate(zip(want, got, strict=True)):
                if bits(a) != bits(b) and not _same_but_for_nan(a, b):
                    raise Violation("outputs differ", f"output {k} for {sizes}")


def check_programs(graph: RandomScopes, fused: onnx.ModelProto) -> None:
    """What the kernels of the main graph would run, on the values that their nodes read: that of the nodes."""
    nodes = [node for node in fused.graph.node if node.domain == "ai.ascendfuse"]
    shown = {value.name for value in (*fused.graph.input, *fused.graph.output)}
    held = {t.name: numpy_helper.to_array(t) for t in fused.graph.initializer}
    names = [n for n in dict.fromkeys(n for k in nodes for n in (*k.input, *k.output)) if n not in shown | held.keys()]
    probe = onnx.ModelProto()
    probe.CopyFrom(fused)
    probe.graph.output.extend(onnx.ValueInfoProto(name=n) for n in names)
    runner = session(probe)
    outputs = [o.name for o in runner.get_outputs()]
    for sizes in SIZES[:2]:
        feeds = _with_flags(graph.feeds(sizes), flags=True)
        values = held | feeds | dict(zip(outputs, runner.run(None, feeds), strict=True))
        for node in nodes:
            program = parse_program(next(_programs_of(node)))
            try:
                ours = evaluate(program, [values[i] for i in node.input])
            except UsageError:
                continue  # the sizes do not bind: the node is executed by its body
            for name, got in zip(node.output, ours, strict=True):
                if not _near(values[name], got, 2e-2 if "f16" in print_program(program) else 1e-3):
                    raise Violation("program differs", f"{name} for {sizes}\n{print_program(program)}")


def _near(want: np.ndarray, got: np.ndarray, share: float) -> bool:
    """Alike but for rounding, most elements: one at a jump, beside a huge sum, or that overflows may differ.

    ONNX Runtime leaves out the rounding of half values between its casts, so that `share` is theirs in all of a program.
    """
    if want.shape != got.shape or want.dtype != got.dtype:
        return False
    w, g = want.astype(np.float64), got.astype(np.float64)
    with np.errstate(all="ignore"):
        near = np.isclose(g, w, rtol=share, atol=share, equal_nan=True) | ~np.isfinite(w) | ~np.isfinite(g)
        near |= (np.abs(w) > 1e4) | (np.abs(g) > 1e4)
    return bool(near.mean() > 0.7) if near.size else True


def _with_flags(feeds: Mapping[str, np.ndarray], flags: bool) -> dict[str, np.ndarray]:
    """Scalar booleans choose branches: both ways are tried."""
    return {k: np.array(flags) if v.dtype == bool and v.ndim == 0 else v for k, v in feeds.items()}


def _same_but_for_nan(a: np.ndarray, b: np.ndarray) -> bool:
    """NaN has many bit patterns; which one comes out depends on the order of a commutative operator's operands."""
    return a.dtype.kind == "f" and a.shape == b.shape and np.array_equal(a, b, equal_nan=True)


def _programs(scope: Scope) -> Iterator[str]:
    for node in scope.node:
        yield from _programs_of(node)


def _programs_of(node: onnx.NodeProto) -> Iterator[str]:
    yield from (a.s.decode() for a in node.attribute if a.name == "program" and node.domain == "ai.ascendfuse")


def _nodes(model: onnx.ModelProto) -> list[str]:
    """All nodes but the constants, in no order; bodies are looked at apart."""
    return sorted(_text(node) for scope in scopes(model).values() for node in scope.node if node.op_type != "Constant")


def _text(node: onnx.NodeProto) -> str:
    plain = onnx.NodeProto()
    plain.CopyFrom(node)
    for attribute in plain.attribute:
        if attribute.type == onnx.AttributeProto.GRAPH:
            attribute.g.CopyFrom(onnx.GraphProto(name=attribute.g.name))
    return str(plain.SerializeToString(deterministic=True))
