"""What a model must be before it is planned: versions that we know, functions that end, no name without an owner."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from onnx import IR_VERSION, FunctionProto, GraphProto, ModelProto, NodeProto, defs

from ascend_fuse.error import ModelError
from ascend_fuse.graph.flow import Flow
from ascend_fuse.graph.function import FUSED_DOMAIN
from ascend_fuse.graph.name import shared_names
from ascend_fuse.graph.proto import node_label
from ascend_fuse.graph.view import model_opset, subgraphs

MIN_OPSET = 7
MAX_CALL_DEPTH = 100  # ONNX Runtime stops there
AGAIN = "export the model again"
DEFAULT = ("", "ai.onnx")
FunctionKey = tuple[str, str, str]


def check_ir(model: ModelProto) -> None:
    """Raises ModelError for an IR that the installed onnx does not know: it may hold what we would lose."""
    if model.ir_version > IR_VERSION:
        what = f"IR version {model.ir_version} is newer than the {IR_VERSION} of the installed onnx"
        raise ModelError(what, where="ir_version", do="upgrade onnx, or export with an older IR")


def check_opset(model: ModelProto) -> None:
    """Raises ModelError for a default-domain opset that is missing, too old, or newer than the installed onnx."""
    local = {f.name for f in model.functions if f.domain in DEFAULT}
    if not any(n.domain in DEFAULT and n.op_type not in local for n in _nodes(model.graph)):
        return
    opset = model_opset(model)
    if not opset:
        raise ModelError("no default opset", where="opset_import", do=AGAIN)
    if opset < MIN_OPSET:
        do = "convert the model with onnx.version_converter first"
        raise ModelError(f"opset {opset} of the default domain is older than {MIN_OPSET}", where="opset_import", do=do)
    _check_known(opset, "opset_import")


def _check_known(opset: int, where: str) -> None:
    newest = defs.onnx_opset_version()
    if opset > newest:
        do = "upgrade onnx, or export with an older opset"
        raise ModelError(f"opset {opset} is newer than the {newest} of the installed onnx", where=where, do=do)


def _nodes(scope: GraphProto | FunctionProto) -> Iterator[NodeProto]:
    for node in scope.node:
        yield node
        for _, inner in subgraphs(node):
            yield from _nodes(inner)


def check_functions(model: ModelProto) -> None:
    """Raises ModelError for functions given twice, in an opset that nobody knows, or that call themselves."""
    by_key: dict[FunctionKey, FunctionProto] = {}
    for f in model.functions:
        key = (f.domain, f.name, f.overload)
        if key in by_key:
            raise ModelError("the function is given twice", where=function_label(f), do=AGAIN)
        by_key[key] = f
        if any(n.domain in DEFAULT for n in _nodes(f)):
            if not model_opset(f):
                raise ModelError("the function has no default opset", where=function_label(f), do=AGAIN)
            _check_known(model_opset(f), function_label(f))
    _check_calls(by_key)
    for node in (n for scope in (model.graph, *model.functions) for n in _nodes(scope) if n.domain == FUSED_DOMAIN):
        if (node.domain, node.op_type, node.overload) not in by_key:
            where = f"node {node_label(node)}"
            raise ModelError("the fused node has no body", where=where, do="fuse the original again")


def function_label(f: FunctionProto) -> str:
    """What a person can find."""
    return f"function {f.domain or 'ai.onnx'}::{f.name}" + (f":{f.overload}" if f.overload else "")


def _check_calls(functions: dict[FunctionKey, FunctionProto]) -> None:
    """Callees before callers, level by level; who is left calls itself. Raises ModelError."""
    callees = {
        key: {k for n in _nodes(f) if (k := (n.domain, n.op_type, n.overload)) in functions}
        for key, f in functions.items()
    }
    callers: dict[FunctionKey, list[FunctionKey]] = {key: [] for key in functions}
    for key, called in callees.items():
        for k in called:
            callers[k].append(key)
    waits = {key: len(called) for key, called in callees.items()}
    level, depth = [key for key, n in waits.items() if not n], 0
    while level:
        depth += 1
        above: list[FunctionKey] = []
        for key in level:
            for caller in callers[key]:
                waits[caller] -= 1
                if not waits[caller]:
                    above.append(caller)
        level = above
    stuck = {key for key, n in waits.items() if n}
    if stuck:
        ring = next(iter(stuck))
        seen: set[FunctionKey] = set()
        while ring not in seen:  # down from any of them comes to the ring
            seen.add(ring)
            ring = min(callees[ring] & stuck)
        raise ModelError("the function calls itself", where=function_label(functions[ring]), do=AGAIN)
    if depth > MAX_CALL_DEPTH:
        what = f"functions call each other {depth} deep, and ONNX Runtime stops at {MAX_CALL_DEPTH}"
        raise ModelError(what, where="functions", do="inline some of them")


def check_values(model: ModelProto) -> tuple[str, ...]:
    """Check every scope value by value and sort its nodes where they are not (in place); notes say what was done.

    Raises ModelError for a value made twice or never, for a cycle, and for nodes that their operator does not allow.
    """
    flow = Flow(model_opset(model))
    flow.graph(model.graph)
    for f in model.functions:
        flow.function(f, model_opset(f), function_label(f))
    return flow.notes()


def clashes(model: ModelProto) -> tuple[str, ...]:
    """What is given twice or named badly and has one reading all the same: the one that ONNX Runtime takes."""
    notes: list[str] = []
    opset = model_opset(model)
    for f in model.functions:
        if f.domain in DEFAULT and opset and defs.has(f.name, opset, ""):
            notes.append(f"{function_label(f)} has the name of an operator, which is what runs")
    twice = [name for name, count in Counter(t.name for t in model.graph.initializer).items() if count > 1]
    notes += [f"initializer {name} is given twice: the last one counts" for name in twice[:3]]
    if shared := shared_names(model.graph):
        notes.append(f"several nodes are called {shared[0]}: ONNX Runtime loads no such model, fused or not")
    return tuple(notes)


def unknown_operators(model: ModelProto) -> tuple[str, ...]:
    """Default-domain operators that the installed onnx does not have at the model's opset, each once."""
    opset = model_opset(model)
    local = {f.name for f in model.functions if f.domain in DEFAULT}
    ops = dict.fromkeys(n.op_type for n in model.graph.node if n.domain in DEFAULT)
    return tuple(op for op in ops if op not in local and not defs.has(op, opset, ""))
