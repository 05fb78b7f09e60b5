"""Launches and bytes of a model by one rule for every tool, and whether it still computes the same.

A launch is a node that starts a kernel: not a view, a constant or a computation on shapes.  It reads each of its inputs
and writes each of its outputs once.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnx.inliner
from onnx import ModelProto, NodeProto, TensorProto, numpy_helper

from ascend_fuse.error import VerificationError
from ascend_fuse.graph.function import FUSED_DOMAIN
from ascend_fuse.graph.launch import launch_counts, launches_by_node, operator_name
from ascend_fuse.graph.view import subgraphs
from ascend_fuse.verify.feed import make_feed, required_inputs
from ascend_fuse.verify.run import Runner
from ascend_fuse.verify.seed import random_nodes

Values = dict[str, Any]

# Of the largest magnitude of an output.  Another order of sums is within, a wrong operand far outside.
EXACT, COARSE = 1e-3, 5e-2
COARSE_OPS = ("QuantizeLinear", "DynamicQuantizeLinear", "MatMulInteger", "ConvInteger")


@dataclass(frozen=True, slots=True)
class Count:
    """Launches by operator, and bytes (0 where nobody asked); `problem`: why the result is not valid."""

    kinds: Mapping[str, int] = field(default_factory=dict[str, int])
    hbm_bytes: int = 0
    problem: str = ""

    @property
    def launches(self) -> int:
        return sum(self.kinds.values())

    def __sub__(self, other: Count) -> Count:
        kinds = Counter(self.kinds)
        kinds.subtract(other.kinds)
        kept = {op: n for op, n in kinds.items() if n}
        return Count(kept, self.hbm_bytes - other.hbm_bytes, self.problem or other.problem)


@dataclass(frozen=True, slots=True)
class Original:
    """A model, inputs that it takes, and what it makes of them."""

    feed: Values
    outputs: Values
    drawing: int  # nodes that draw random numbers
    bound: float


def original(path: Path) -> Original:
    """Raises VerificationError for a model that does not run."""
    model = onnx.load(path)
    feed, runner = make_feed(model), Runner(path, str(path))
    try:
        outputs = runner.run(feed.values)
    except VerificationError:
        feed = feed.zeroed()
        outputs = runner.run(feed.values)
    halves = {value.type.tensor_type.elem_type for value in (*model.graph.output, *model.graph.input)}
    halves.update(tensor.data_type for tensor in model.graph.initializer)
    coarse = TensorProto.FLOAT16 in halves or any(node.op_type in COARSE_OPS for node in model.graph.node)
    return Original(feed.values, outputs, drawing_nodes(model), COARSE if coarse else EXACT)


def drawing_nodes(model: ModelProto) -> int:
    """Nodes that draw random numbers, those of a function once for each call."""
    return len(random_nodes(onnx.inliner.inline_local_functions(model)))


def inlined(model: ModelProto) -> ModelProto:
    """The model without functions but those of fused nodes."""
    other = [(f.domain, f.name) for f in model.functions if f.domain != FUSED_DOMAIN]
    return onnx.inliner.inline_selected_functions(model, other) if other else model


def counted(model: ModelProto, before: Original, sized: bool) -> Count:
    """What a tool made of the model; the bytes too if `sized`."""
    model = inlined(model)
    kinds = Counter[str]()
    for op, launches in launch_counts(model).items():
        kinds[op.removeprefix(f"{FUSED_DOMAIN}::").partition("_")[0]] += launches
    try:
        values = _run(model, before.feed, sized)
    except VerificationError as error:
        return Count(kinds, 0, error.what)
    drawing = drawing_nodes(model)
    return Count(kinds, _bytes(model, values) if sized else 0, difference(before, values, drawing))


def difference(before: Original, outputs: Values, drawing: int) -> str:
    """In what the outputs are not those of the original, "" if they are; drawn numbers are not compared."""
    if drawing != before.drawing:
        return f"{drawing} nodes draw random numbers, not {before.drawing}"
    for name, want in before.outputs.items():
        if name not in outputs:
            return f"no output {name}"
        if not drawing and not _close(want, outputs[name], before.bound):
            return f"output {name} differs"
    return ""


def _close(want: Any, got: Any, bound: float) -> bool:
    if not isinstance(want, np.ndarray) or want.dtype.kind not in "fiub":
        return str(want) == str(got)
    if want.shape != np.shape(got):
        return False
    a, b = want.astype(np.float64), np.asarray(got).astype(np.float64)
    largest = np.abs(a[np.isfinite(a)]).max(initial=0.0)
    return np.allclose(a, b, rtol=0, atol=bound * largest, equal_nan=True)


def _run(model: ModelProto, feed: Values, every: bool) -> Values:
    """The outputs, or every value of the graph with the weights."""
    wanted = {value.name for value in required_inputs(model.graph)}
    feed = {name: value for name, value in feed.items() if name in wanted}
    if not every:
        return Runner(model, "the result").run(feed)
    shown = ModelProto()
    shown.CopyFrom(model)
    known = {value.name for value in model.graph.output}
    names = [name for node in model.graph.node for name in node.output if name and name not in known]
    shown.graph.output.extend(onnx.ValueInfoProto(name=name) for name in names)
    held = {tensor.name: numpy_helper.to_array(tensor) for tensor in model.graph.initializer}
    return held | feed | Runner(shown, "the result").run(feed)


def _bytes(model: ModelProto, values: Values) -> int:
    total = 0
    for node, launches in zip(model.graph.node, launches_by_node(model), strict=True):
        if launches:
            if any(subgraphs(node)):
                raise NotImplementedError(f"bytes of {operator_name(node)}, which holds graphs")
            total += sum(values[name].nbytes for name in _touched(node))
    return total


def _touched(node: NodeProto) -> set[str]:
    return {name for name in (*node.input, *node.output) if name}


def compulsory_bytes(path: Path, before: Original) -> int:
    """Weights, inputs and outputs of the model."""
    weights = sum(numpy_helper.to_array(tensor).nbytes for tensor in onnx.load(path).graph.initializer)
    return weights + sum(value.nbytes for value in (*before.feed.values(), *before.outputs.values()))
