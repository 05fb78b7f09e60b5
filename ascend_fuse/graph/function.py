"""The model-local functions of a model and who calls whom; not the bodies of fused nodes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from functools import cached_property

from onnx import FunctionProto, GraphProto, ModelProto, NodeProto

from ascend_fuse.graph.view import model_opset, subgraphs

FUSED_DOMAIN = "ai.ascendfuse"
FunctionKey = tuple[str, str, str]  # domain, name, overload


def _nodes(graph: GraphProto | FunctionProto) -> list[NodeProto]:
    """All nodes, those of nested graphs too."""
    stack, found = list(graph.node), list[NodeProto]()
    while stack:
        node = stack.pop()
        found.append(node)
        for _, graph in subgraphs(node):
            stack += graph.node
    return found


class Functions:
    """Functions by what calls name. One in the default domain is left alone: its calls read as the operator's."""

    def __init__(self, model: ModelProto) -> None:
        self.opset = model_opset(model)
        self.by_key: dict[FunctionKey, FunctionProto] = {
            (f.domain, f.name, f.overload): f for f in model.functions if f.domain not in ("", "ai.onnx", FUSED_DOMAIN)
        }

    def called(self, node: NodeProto) -> tuple[FunctionKey, FunctionProto | None]:
        """The function that the node calls, None when it calls none."""
        key = (node.domain, node.op_type, node.overload)
        return key, self.by_key.get(key)

    def is_foreign(self, function: FunctionProto) -> bool:
        """Whether it is written in another default opset than the model: its nodes could not stand in a body."""
        return model_opset(function) != self.opset

    def opset_of(self, function: FunctionProto) -> int:
        """The default opset that the function imports."""
        return model_opset(function)

    def callers_first(self) -> list[FunctionKey]:
        """Each function before those that it calls; one that calls itself, which ONNX forbids, anywhere."""
        done: dict[FunctionKey, None] = {}

        def visit(key: FunctionKey, path: frozenset[FunctionKey]) -> None:
            if key in done or key in path or len(path) > 100:
                return
            for callee in dict.fromkeys(self._callees[key]):
                visit(callee, path | {key})
            done[key] = None

        for key in self.by_key:
            visit(key, frozenset())
        return list(reversed(done))

    def kept(self) -> set[FunctionKey]:
        """The foreign functions, and all that they call."""
        found: set[FunctionKey] = set()
        stack = [key for key, f in self.by_key.items() if self.is_foreign(f)]
        while stack:
            key = stack.pop()
            if key not in found:
                found.add(key)
                stack += self._callees[key]
        return found

    def times(self, model: ModelProto) -> Mapping[FunctionKey, int]:
        """How often each function runs in one run of the model: its call sites, by way of its callers'."""
        found = Counter(key for n in _nodes(model.graph) if (key := self.called(n)[0]) in self.by_key)
        for caller in self.callers_first():
            for key in self._callees[caller]:
                found[key] += found[caller]
        return found

    @cached_property
    def _callees(self) -> dict[FunctionKey, list[FunctionKey]]:
        return {
            key: [k for n in _nodes(f) if (k := self.called(n)[0]) in self.by_key] for key, f in self.by_key.items()
        }


def inline_functions(model: ModelProto) -> None:
    """Replace calls of model-local functions by their bodies (edited in place), by onnx's own inliner.

    A function in another default opset than the model's stays, and so do those that it calls.
    """
    functions = Functions(model)
    kept = functions.kept()
    wanted = [(key[0], key[1]) for key in functions.by_key if key not in kept]
    if not wanted:
        return
    from onnx import inliner

    _fill_attributes(model, functions)
    model.CopyFrom(inliner.inline_selected_functions(model, wanted))


def left_in_place(model: ModelProto) -> tuple[str, ...]:
    """A note about the functions that `inline_functions` left, if it did."""
    functions = Functions(model)
    left = [f"{f.domain}::{f.name}" for f in functions.by_key.values() if functions.is_foreign(f)]
    if not left:
        return ()
    named = ", ".join(left[:3]) + (f" and {len(left) - 3} more" if len(left) > 3 else "")
    what = "a function in another opset" if len(left) == 1 else "functions in another opset"
    return (f"--inline-functions left {what} than the model's {functions.opset} in place: {named}",)


def _fill_attributes(model: ModelProto, functions: Functions) -> None:
    """Write a function's default attributes on the calls that leave them out: the inliner forgets them."""
    for holder in (model.graph, *model.functions):
        for node in _nodes(holder):
            function = functions.called(node)[1]
            if function is not None:
                given = {a.name for a in node.attribute}
                node.attribute.extend(a for a in function.attribute_proto if a.name not in given)
