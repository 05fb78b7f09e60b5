"""The function behind a fused node: the region's own nodes, renamed, so that equal regions share one body."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import count

from onnx import FunctionProto, NodeProto, helper, numpy_helper

from ascend_fuse.graph.view import Node, View
from ascend_fuse.region.step import embedded

DOMAIN = "ai.ascendfuse"
VERSION = 1
PRODUCTS = {"MatMul": (0, 1), "Gemm": (0, 1), "Conv": (1, 0)}  # which inputs are left and right, the region's first two
_SHARED = ("program", "rules", "soc", "fuse_enable", "block_dim", "buffer_num", "l1_budget", "ub_budget")
_OWN = {"matmul": ("tile_m", "tile_n", "tile_k", "fuse_tiles")}


def attributes_of(family: str) -> tuple[str, ...]:
    """The attributes of a family's fused nodes, in their order."""
    return (*_SHARED, *_OWN.get(family, ("tile_rows", "tile_cols")), "source")


@dataclass(frozen=True, slots=True)
class Body:
    """A function and where its nodes come from.

    `source`: one entry a node, [position, name, [outputs]], then documentation and [key, value] pairs if any.
    """

    function: FunctionProto
    source: str


def make_body(view: View, nodes: Sequence[Node], inputs: Sequence[str], outputs: Sequence[str], family: str) -> Body:
    """The body of a region; nodes in list order, the constants that the region carries in front of their readers.

    What a product reads itself of the first two inputs nobody else does; a constant among them that other nodes read
    is carried as well.
    """
    direct = _direct(nodes, inputs) if family == "matmul" else {}
    names = {n: f"i{k}" for k, n in enumerate(inputs) if k not in direct.values()}
    names |= {n: f"o{k}" for k, n in enumerate(outputs)}
    constants, values = count(), count()
    made: list[NodeProto] = []
    source: list[list[object]] = []
    inner = {o for n in nodes for o in n.outputs if o}
    for node in nodes:
        own = direct if node.op in PRODUCTS else {}
        for name in (n for k, n in enumerate(node.inputs) if k not in own):
            if name and name not in names and name not in inner:
                names[name] = f"c{next(constants)}"
                made.append(_constant(view, name, names[name]))
                source.append(_constant_entry(view, name))
        for name in node.outputs:
            if name and name not in names:
                names[name] = f"t{next(values)}"
        read = [f"i{own[k]}" if k in own else n and names[n] for k, n in enumerate(node.inputs)]
        made.append(_bare(node, read, names))
        entry: list[object] = [node.index, node.proto.name, list(node.outputs)]
        more = [[p.key, p.value] for p in node.proto.metadata_props]
        source.append([*entry, node.proto.doc_string, *more] if node.proto.doc_string or more else entry)
    function = helper.make_function(
        DOMAIN,
        "",
        [f"i{k}" for k in range(len(inputs))],
        [names[n] for n in outputs],
        made,
        [helper.make_opsetid("", view.opset)],
        list(attributes_of(family)),
    )
    digest = hashlib.sha256(function.SerializeToString(deterministic=True)).hexdigest()[:12]
    function.name = f"Fused{family.capitalize()}_{digest}"
    return Body(function, json.dumps(source, ensure_ascii=True, separators=(",", ":")))


def _constant(view: View, name: str, target: str) -> NodeProto:
    value = embedded(view, name)
    assert value is not None  # a region reads what it does not carry as an input
    return helper.make_node("Constant", [], [target], value=numpy_helper.from_array(value))


def _direct(nodes: Sequence[Node], inputs: Sequence[str]) -> dict[int, int]:
    """Which input of the region each operand of its product is that it reads itself, not through a Transpose."""
    product = next(n for n in nodes if n.op in PRODUCTS)
    return {at: k for k, at in enumerate(PRODUCTS[product.op]) if product.inputs[at] == inputs[k]}


def _constant_entry(view: View, name: str) -> list[object]:
    """A constant has the place of its node; an initializer has none."""
    maker = view.producer(name)
    return [-1, "", [name]] if maker is None else [maker.index, maker.proto.name, [name]]


def _bare(node: Node, inputs: list[str], names: Mapping[str, str]) -> NodeProto:
    """The node on these inputs, nameless; documentation and trailing empty operands (they crash some ORT levels) go."""
    out = NodeProto()
    out.CopyFrom(node.proto)
    for field in ("name", "doc_string", "input", "output"):
        out.ClearField(field)
    if out.domain == "ai.onnx":  # an alias that functions do not know
        out.ClearField("domain")
    del out.metadata_props[:]
    for a in out.attribute:
        a.ClearField("doc_string")
    while inputs and not inputs[-1]:
        inputs.pop()
    out.input.extend(inputs)
    out.output.extend(names[o] if o else "" for o in node.outputs)
    return out
