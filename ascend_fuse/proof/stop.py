"""Which node of a body is to blame where nothing here runs the body: one that does not run by itself either."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from onnx import ModelProto, ValueInfoProto, helper

from ascend_fuse.error import VerificationError
from ascend_fuse.graph.dim import evaluate
from ascend_fuse.graph.view import Node, View
from ascend_fuse.program.evaluate import dtype_of
from ascend_fuse.proof.body import open_body
from ascend_fuse.proof.trial import Array, Claim, Trial, feeds_of, wide_node

SIZE = 4


@dataclass(frozen=True, slots=True)
class Stop:
    """A claim of which no proof can be had: the position of the node that stops its body, and what is said of it.

    `node` is -1 where no node by itself does.
    """

    claim: Claim
    node: int
    why: str


def stop_of(claim: Claim, error: VerificationError) -> Stop:
    """Where the body stops; `error`: what was said of the whole of it."""
    for ones in (False, True):
        trial = Trial(claim, np.random.default_rng(0), ones)
        model, drawn = trial.body()
        feeds = feeds_of(trial, 1.0, drawn)[1]
        for k in range(len(model.graph.node)):
            why = _refusal(model, k, feeds)
            if why:
                return Stop(claim, _position(claim, [n for m in model.graph.node[k:] for n in m.output]), why)
    return Stop(claim, -1, _said(error))


def _position(claim: Claim, names: list[str]) -> int:
    """The claim's node that makes the first of these values that one of them makes: draws are spelled in several."""
    made = {o: k for k, n in enumerate(claim.nodes) for o in n.output if o}
    return next((made[n] for n in names if n in made), -1)


def _refusal(model: ModelProto, last: int, feeds: Mapping[str, Array]) -> str:
    """Why the body does not run up to that node, "" when it does."""
    part = ModelProto()
    part.CopyFrom(model)
    del part.graph.node[last + 1 :]
    del part.graph.output[:]
    part.graph.output.extend(ValueInfoProto(name=o) for o in model.graph.node[last].output if o)
    return _ran(part, feeds)


def _ran(model: ModelProto, feeds: Mapping[str, Array]) -> str:
    try:
        open_body(model, "a node").run(feeds)
    except VerificationError as e:
        return _said(e) or "it does not run"
    return ""


def runs_alone(node: Node, view: View) -> bool:
    """Whether something here runs the node on tensors of its own types: then it is not what stops a body.

    Half types run as float32, like bodies; each size without a number is `SIZE`.
    """
    proto = wide_node(node.proto)
    feeds: dict[str, Array] = {}
    for name in dict.fromkeys(n for n in node.inputs if n):
        kind, value = view.type_of(name), view.constant(name)
        sizes = [evaluate(d, _Sizes()) for d in kind.shape or ()]
        held = np.ones(sizes, dtype_of(kind.dtype)) if value is None else np.asarray(value)
        feeds[name] = held.astype(np.float32) if held.dtype.kind not in "fiub" or held.dtype == np.float16 else held
    ins = [
        helper.make_tensor_value_info(n, helper.np_dtype_to_tensor_dtype(a.dtype), a.shape) for n, a in feeds.items()
    ]
    outs = [ValueInfoProto(name=o) for o in node.outputs if o]
    graph = helper.make_graph([proto], "node", ins, outs)
    imports = [helper.make_opsetid("", view.opset)]
    return not _ran(helper.make_model(graph, opset_imports=imports, ir_version=8), feeds)


class _Sizes(dict[str, int]):
    """The same number for every name."""

    def __missing__(self, name: str) -> int:
        return SIZE


def _said(error: VerificationError) -> str:
    """ONNX Runtime's own words, without what it says around them."""
    return re.sub(r"^.*?Status Message: |^(does not run|not runnable: [^:]*): ", "", error.what)
