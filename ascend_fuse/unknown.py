"""Why a type or shape is unknown: the node that makes it, as a sentence behind a reason that a value is not known."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from onnx import FunctionProto

from ascend_fuse.graph.function import Functions
from ascend_fuse.graph.scope import Scope
from ascend_fuse.graph.view import TEMPLATE, Node, View
from ascend_fuse.reason import Miss

EACH = "--inline-functions gives each call its own"


def explained(miss: Miss, scope: Scope, view: View, functions: Functions) -> Miss:
    """The miss, with where the unknown type or shape comes from; another miss as it is."""
    node = view.nodes[miss.node]
    if miss.code == "dtype-unsupported" and miss.figures.get("dtype") == "?":
        known, what = _has_type(view), "type"
    elif miss.code == "shape-unknown":
        known, what = _has_shape(view), "shape"
    else:
        return miss
    maker = _maker(view, node, known)
    why = "" if maker is None else _why(maker, what, functions)
    if not why and isinstance(scope.outermost.graph, FunctionProto):
        why = f"the function has one {what} for all of its calls: {EACH}"
    return replace(miss, message=f"{miss.message}; {why}") if why else miss


def _has_type(view: View) -> Callable[[str], bool]:
    return lambda name: bool(view.type_of(name).dtype)


def _has_shape(view: View) -> Callable[[str], bool]:
    return lambda name: view.type_of(name).shape is not None


def _maker(view: View, node: Node, known: Callable[[str], bool]) -> Node | None:
    """Up from the node along what is not known, to the first that makes it of what is; None at an input."""
    while True:  # nodes are in topological order: this ends
        lacking = next((i for i in node.inputs if i and not known(i) and view.constant(i) is None), "")
        if not lacking:
            return node if any(o and not known(o) for o in node.outputs) else None
        maker = view.producer(lacking)
        if maker is None:
            return None
        node = maker


def _why(maker: Node, what: str, functions: Functions) -> str:
    """What is to be said of a node whose result has no type or shape, "" when it is an operator of ONNX."""
    function = functions.called(maker.proto)[1]
    made = f"the {what} is unknown because of {maker.label}"
    if function is not None and functions.is_foreign(function):
        return f"{made}, a call of a function in another opset"
    if function is not None:
        return f"{made}, a call of a function: {EACH}"
    if maker.domain not in ("", TEMPLATE):
        return f"{made}: nobody knows {maker.domain}.{maker.op}; declare its output in value_info"
    return ""
