"""The scopes of a model, each planned as one list of nodes: main graph, bodies of If, Loop and Scan, functions."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from onnx import FunctionProto, GraphProto, ModelProto

from ascend_fuse.graph.function import FUSED_DOMAIN, Functions
from ascend_fuse.graph.nested import NestedInference
from ascend_fuse.graph.path import function_path, nested_graphs
from ascend_fuse.graph.shape import Inference
from ascend_fuse.graph.view import Constant, View, captures, model_opset


@dataclass(frozen=True, slots=True)
class Scope:
    """One list of nodes; `around` is the scope that a nested graph stands in."""

    path: str
    graph: GraphProto | FunctionProto
    opset: int
    around: Scope | None = None

    @property
    def depth(self) -> int:
        """How many graphs are around it."""
        return 0 if self.around is None else self.around.depth + 1

    @property
    def outermost(self) -> Scope:
        """The main graph or function that holds it."""
        return self if self.around is None else self.around.outermost


def scopes(model: ModelProto) -> list[Scope]:
    """All scopes, inner ones before those that hold them, the main graph last; not the bodies of fused nodes."""
    found: list[Scope] = []

    def visit(scope: Scope) -> None:
        for _, path, inner in nested_graphs(scope.graph, scope.path):
            visit(Scope(path, inner, scope.opset, scope))
        found.append(scope)

    for function in model.functions:
        if function.domain != FUSED_DOMAIN:
            visit(Scope(function_path(function), function, model_opset(function)))
    visit(Scope("", model.graph, model_opset(model)))
    return found


def infer(model: ModelProto) -> Mapping[str, Inference]:
    """Types and shape values of every scope that is reached, by path; nodes must be in topological order."""
    nested = NestedInference(Functions(model))
    main = Inference(model_opset(model), nested)
    main.run(model.graph)
    nested.plan_functions()
    return {**nested.found, "": main}


def first_stop(inferred: Mapping[str, Inference]) -> tuple[str, ...]:
    """A note that names the first node of the main graph that onnx infers nothing for, and what it says."""
    main = inferred[""]
    found = [said for output, said in main.stopped.items() if not main.types[output].dtype]  # none is declared either
    return tuple(f"onnx infers no type of {node}, nor of what reads it: {why}" for node, why in found[:1])


def view_of(scope: Scope, inference: Inference, overridable: bool) -> View:
    """The view of a scope, with the small constants that it reads from the graphs around it."""
    templates = isinstance(scope.outermost.graph, FunctionProto)
    outer = _outer_constants(scope, overridable)
    return View(scope.graph, scope.opset, inference.types, outer, overridable, templates, inference.assumed)


def _outer_constants(scope: Scope, overridable: bool) -> Mapping[str, Constant]:
    if scope.around is None or not isinstance(scope.graph, GraphProto):
        return {}
    hidden = {v.name for v in scope.graph.input} | {t.name for t in scope.graph.initializer}
    around = View(scope.around.graph, scope.opset, {}, _outer_constants(scope.around, overridable), overridable)
    found: dict[str, Constant] = {}
    for name in captures(scope.graph):
        value = None if name in hidden else around.constant(name)
        if value is not None:
            found[name] = value
    return found
