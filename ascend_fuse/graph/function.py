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
    """Replace every call of a model-local function by its body (edited in place), by onnx's own inliner."""
    if model.functions:
        from onnx import inliner

        model.CopyFrom(inliner.inline_local_functions(model))
