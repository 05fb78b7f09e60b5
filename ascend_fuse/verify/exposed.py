"""Copies of a fused model in which what its fused nodes read and write can be seen, or be moved."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import onnx
from onnx import NodeProto, helper, numpy_helper

from ascend_fuse.graph.function import FUSED_DOMAIN
from ascend_fuse.verify.feed import Array


@dataclass(frozen=True, slots=True)
class FusedNode:
    """A fused node of the main graph."""

    node: NodeProto
    program: str

    @property
    def name(self) -> str:
        return self.node.name or self.node.output[0]


def fused_nodes(model: onnx.ModelProto) -> tuple[FusedNode, ...]:
    """Those of the main graph, in order."""
    found = (n for n in model.graph.node if n.domain == FUSED_DOMAIN)
    return tuple(FusedNode(n, program_of(n)) for n in found)


def planned_chips(model: onnx.ModelProto) -> tuple[str, ...]:
    """The chips that fused nodes of the main graph were planned for, by name."""
    chips = {a.s.decode() for n in fused_nodes(model) for a in n.node.attribute if a.name == "soc"}
    return tuple(sorted(chips))


def program_of(node: NodeProto) -> str:
    """The program text of a fused node, "" where it has none."""
    return next((a.s.decode() for a in node.attribute if a.name == "program"), "")


def with_outputs(model: onnx.ModelProto, names: Iterable[str]) -> onnx.ModelProto:
    """The model with these values as its only outputs."""
    copy = onnx.ModelProto()
    copy.CopyFrom(model)
    del copy.graph.output[:]
    copy.graph.output.extend(onnx.ValueInfoProto(name=name) for name in names)
    return copy


def with_noise(model: onnx.ModelProto, noise: Mapping[str, Array]) -> onnx.ModelProto:
    """The model with an input for each of these values of fused nodes that is added to it.

    The input of `v` is called as `noise_name(v)`.
    """
    copy = onnx.ModelProto()
    copy.CopyFrom(model)
    nodes: list[NodeProto] = []
    for node in copy.graph.node:
        nodes.append(node)
        if node.domain != FUSED_DOMAIN:
            continue
        for k, name in enumerate(node.output):
            if name in noise:
                node.output[k] = f"{name}/of kernel"
                nodes.append(helper.make_node("Add", [node.output[k], noise_name(name)], [name]))
    added = [NodeProto.FromString(n.SerializeToString()) for n in nodes]
    del copy.graph.node[:]
    copy.graph.node.extend(added)
    for name, array in noise.items():
        kind = helper.np_dtype_to_tensor_dtype(array.dtype)
        copy.graph.input.append(helper.make_tensor_value_info(noise_name(name), kind, array.shape))
    return copy


def noise_name(value: str) -> str:
    """The input that moves a value."""
    return f"{value}/noise"


def constants(model: onnx.ModelProto, names: Sequence[str], folder: Path) -> dict[str, Array]:
    """The initializers of these names; external ones are read from the folder."""
    wanted = set(names)
    return {t.name: numpy_helper.to_array(t, str(folder)) for t in model.graph.initializer if t.name in wanted}
