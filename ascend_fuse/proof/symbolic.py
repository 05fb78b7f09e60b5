"""Symbolic equality of a program and its body: both as terms over ONNX operators, idioms by their patterns.

A term says what is computed of which operands, for all values; extents are checked by running the pair once. Operators
that are several instructions without an idiom (Softmax, LayerNormalization) stay opaque, so their programs are not
proved here but evaluated.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice, product

from onnx import NodeProto, helper

from ascend_fuse.graph.type import DTYPE_OF_ONNX
from ascend_fuse.graph.view import constant_value
from ascend_fuse.program.evaluate import dtype_of
from ascend_fuse.program.op import table
from ascend_fuse.program.program import Instr, Operand, Program, Value
from ascend_fuse.rule.pattern import COMMUTATIVE, Pattern

Term = tuple[object, ...]
Definitions = Mapping[str, Sequence[Pattern]]
# The elements stay as they are and only their extents change, which the evaluation sees.
_TRANSPARENT = frozenset(("Expand", "Unsqueeze", "Squeeze", "Reshape", "Identity"))
_REDUCTIONS = {f"reduce_{k.lower()}": f"Reduce{k}" for k in ("Sum", "Mean", "Max", "Min")}
MAX_READINGS = 64  # ways to choose one of its definitions for each idiom of a program


def _apply(op: str, *operands: Term) -> Term:
    return (op, *(sorted(operands, key=repr) if op in COMMUTATIVE else operands))


def _literal(value: bool | int | float) -> Term:
    return ("literal", float(value))


def _power(x: Term, exponent: Term) -> Term:
    """x² and x³ are products, as the program has them."""
    if exponent == _literal(2.0):
        return _apply("Mul", x, x)
    if exponent == _literal(3.0):
        return _apply("Mul", _apply("Mul", x, x), x)
    return _apply("Sqrt", x) if exponent == _literal(0.5) else _apply("Pow", x, exponent)


def body_terms(nodes: Sequence[NodeProto], inputs: Sequence[str]) -> dict[str, Term]:
    """A term for each value of the body."""
    terms: dict[str, Term] = {name: ("input", k) for k, name in enumerate(inputs)}
    for node in nodes:
        operands = [terms.get(i, ("absent",)) for i in node.input]
        attributes = {a.name: a for a in node.attribute}
        constant = constant_value(node) if node.op_type == "Constant" else None
        if constant is not None and constant.size == 1:
            made: Term = _literal(constant.reshape(-1)[0].item())
        elif node.op_type in _TRANSPARENT:
            made = operands[0]
        elif node.op_type == "Cast":
            made = ("Cast", DTYPE_OF_ONNX.get(attributes["to"].i, ""), operands[0])
        elif node.op_type == "Pow":
            made = _power(operands[0], operands[1])
        elif node.op_type in _REDUCTIONS.values():
            made = (node.op_type, operands[0])
        else:
            values = tuple(repr(helper.get_attribute_value(a)) for a in sorted(node.attribute, key=lambda a: a.name))
            made = (*_apply(node.op_type, *operands), *values)
        for k, name in enumerate(node.output):
            terms[name] = made if len(node.output) == 1 else (*made, k)
    return terms


@dataclass(frozen=True, slots=True)
class _Reading:
    """One way to read a program: a definition for each of its composite operators."""

    program: Program
    patterns: Mapping[str, Pattern]
    dtypes: Mapping[str, str]

    def terms(self) -> dict[str, Term]:
        found: dict[str, Term] = {line.name: ("input", k) for k, line in enumerate(self.program.inputs)}
        for line in self.program.instrs:
            found[line.name] = self._instr(line, [self._operand(o, found) for o in line.operands])
        return found

    def _operand(self, operand: Operand, found: Mapping[str, Term]) -> Term:
        return found[operand.name] if isinstance(operand, Value) else _literal(operand)

    def _instr(self, line: Instr, operands: Sequence[Term]) -> Term:
        if line.op in self.patterns:
            return _expand(self.patterns[line.op], operands, line.type.dtype)
        if line.op == "cast":
            return ("Cast", line.type.dtype, operands[0])
        if line.op == "broadcast":
            return operands[0]
        if line.op in _REDUCTIONS:
            return (_REDUCTIONS[line.op], operands[0])
        name = table()[line.op].onnx
        if not name or line.attributes:
            return ("instruction", line.op, *operands, *sorted(line.attributes.items()))
        return _apply(name, *operands)


def _expand(pattern: Pattern, operands: Sequence[Term], dtype: str) -> Term:
    """The pattern over the operands, its constants rounded to the dtype as exporters round them."""
    free = [i for i in pattern.inputs if i not in pattern.constants]
    terms = dict(zip(free, operands, strict=False))
    rounded = {n: float(dtype_of(dtype).type(v)) for n, v in pattern.constants.items()}
    terms.update((n, _literal(v)) for n, v in rounded.items())
    for node in pattern.nodes:
        ins = [terms.get(i, ("absent",)) for i in node.inputs]
        made = _power(ins[0], ins[1]) if node.op == "Pow" else _apply(node.op, *ins)
        terms.update((o, made) for o in node.outputs)
    return terms[pattern.outputs[-1]]


def _readings(program: Program, definitions: Definitions) -> Iterator[_Reading]:
    used = [op for op in dict.fromkeys(i.op for i in program.instrs) if op in definitions]
    dtypes = {n: t.dtype for n, t in program.types().items()}
    for choice in islice(product(*(definitions[op] for op in used)), MAX_READINGS):
        yield _Reading(program, dict(zip(used, choice, strict=True)), dtypes)


def same(
    program: Program,
    nodes: Sequence[NodeProto],
    inputs: Sequence[str],
    outputs: Sequence[str],
    definitions: Definitions,
) -> bool:
    """Whether every output of the program is, for some reading of its idioms, the body's term."""
    terms = body_terms(nodes, inputs)
    wanted = [terms.get(o) for o in outputs]
    for reading in _readings(program, definitions):
        found = reading.terms()
        if [found[o.name] for o in program.outputs] == wanted:
            return True
    return False
