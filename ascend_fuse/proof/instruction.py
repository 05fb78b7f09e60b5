"""Whether an idiom's instruction computes what its pattern does: the pattern is the definition."""

from __future__ import annotations

import numpy as np
from onnx import NodeProto, checker, defs, helper, numpy_helper

from ascend_fuse.error import AscendFuseError
from ascend_fuse.program.text import parse_program
from ascend_fuse.proof.program import UndecidedError, check
from ascend_fuse.proof.trial import Claim
from ascend_fuse.region.build import Built
from ascend_fuse.rule.load import Rule
from ascend_fuse.rule.pattern import Pattern

_TYPE = "f32[d0, d1]"


def difference(rule: Rule, pattern: Pattern) -> str:
    """ "" when instruction and pattern agree on random rows of every magnitude, else what differs.

    Nodes that may be missing are left out: with and without them the pattern has to mean the same.
    """
    name, *words = (w.strip(",") for w in rule.instruction.split())
    free = [i for i in pattern.inputs if i not in pattern.constants and i not in pattern.optional]
    if unread := [i for i in free if i not in words]:
        return f"the instruction does not read {unread[0]}"
    nodes = [*(_constant(n, v) for n, v in pattern.constants.items() if n in pattern.inputs), *_needed(pattern)]
    opset = _opset(rule, nodes)
    if not opset:
        return "no opset of its range accepts the pattern as it stands"
    inputs = [f"x{k}: {_TYPE} = in" for k in range(len(words))]
    line = f"v0: {_TYPE} = {name} {', '.join(f'x{k}' for k in range(len(words)))}"
    program = parse_program("\n".join(["elementwise 1 [d0, d1]", *inputs, line, "out v0"]))
    built = Built(program, tuple(words), pattern.outputs[-1:], {})
    claim = Claim(rule.code, built, tuple(nodes), tuple(words), pattern.outputs[-1:], opset, {}, rule.code)
    try:
        return check(claim)
    except UndecidedError as e:
        return e.what
    except AscendFuseError as e:
        return f"the pattern does not run: {e.what}"


def _constant(name: str, value: bool | int | float | str) -> NodeProto:
    """A Constant node; a number is a float, as what it is used with."""
    array = np.asarray(value, np.bool_ if isinstance(value, bool) else np.float32)
    return helper.make_node("Constant", [], [name], value=numpy_helper.from_array(array))


def _needed(pattern: Pattern) -> list[NodeProto]:
    """The pattern's nodes without the optional ones, whose readers read their first operand."""
    renamed: dict[str, str] = {}
    kept: list[NodeProto] = []
    for node, proto in zip(pattern.nodes, pattern.function.node, strict=True):
        operands = [renamed.get(i, i) if i not in pattern.optional or i in renamed else "" for i in node.inputs]
        if node.optional:
            renamed.update(dict.fromkeys(node.outputs, operands[0]))
            continue
        copy = NodeProto()
        copy.CopyFrom(proto)
        del copy.input[:]
        while operands and not operands[-1]:
            operands.pop()
        copy.input.extend(operands)
        kept.append(copy)
    return kept


def _opset(rule: Rule, nodes: list[NodeProto]) -> int:
    """The latest opset of the rule's range at which every node is valid, 0 when there is none."""
    first, last = rule.opset[0], rule.opset[1] or defs.onnx_opset_version()
    for opset in range(last, first - 1, -1):
        context = checker.C.CheckerContext()
        context.ir_version = 8
        context.opset_imports = {"": opset}
        try:
            for node in nodes:
                checker.check_node(node, context)
        except checker.ValidationError:
            continue
        return opset
    return 0
