"""What OpenVINO's CPU plugin executes: kernels of the compiled model, counted as launches of a graph are."""

from __future__ import annotations

from collections import Counter
from importlib import import_module
from pathlib import Path
from typing import Any

from bench.fusion_count import Count, Original, Values, difference

VIEWS = frozenset({"Reshape", "Squeeze", "Unsqueeze", "Flatten"})
ENDS = frozenset({"Input", "Output", "Const", "MemoryInput", "MemoryOutput"})
HOLDERS = frozenset({"If", "TensorIterator", "Loop"})  # whose kernels the compiled model does not list
DRAWING = frozenset({"RandomUniform", "Multinomial"})


def executed(path: Path, before: Original, sized: bool) -> Count:
    """The model compiled for the CPU in float32, run on the original's inputs."""
    openvino: Any = import_module("openvino")
    compiled = openvino.Core().compile_model(str(path), "CPU", {"INFERENCE_PRECISION_HINT": "f32"})
    kinds, moved = Counter[str](), 0
    dynamic: set[str] = set()
    drawing = 0
    for node in compiled.get_runtime_model().get_ordered_ops():
        kind = str(node.get_rt_info()["layerType"].value)
        sources = [node.input_value(k) for k in range(node.get_input_size())]
        drawing += kind in DRAWING
        fed = node.get_type_name() == "Parameter" or kind in DRAWING
        if kind == "ShapeOf" or not (fed or any(s.get_node().get_friendly_name() in dynamic for s in sources)):
            continue
        dynamic.add(node.get_friendly_name())
        if kind in HOLDERS:
            return Count(problem=f"kernels inside {kind} are not listed")
        if kind not in VIEWS | ENDS:
            kinds[kind] += 1
            moved += sum(map(_bytes, [*sources, *node.outputs()])) if sized else 0
    return Count(kinds, moved, difference(before, _outputs(compiled, before), drawing))


def _bytes(value: Any) -> int:
    size = value.get_element_type().size
    for length in value.get_partial_shape().to_shape():
        size *= length
    return size


def _outputs(compiled: Any, before: Original) -> Values:
    known = {name for value in compiled.inputs for name in value.names}
    found = compiled({name: value for name, value in before.feed.items() if name in known})
    values = [found[value] for value in compiled.outputs]
    return dict(zip(before.outputs, values, strict=True))
