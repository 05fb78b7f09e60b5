"""Symbolic equality of a program and its body: both as terms over ONNX operators, idioms by their patterns.

A term says what is computed of which operands, for all values; extents and the order of elements are checked by running
the pair once. Operators that are several instructions without an idiom (Softmax, LayerNormalization) stay opaque, so
their programs are not proved here but evaluated.
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
from ascend_fuse.program.program import Instr, Operand, Output, Program, Value
from ascend_fuse.rule.pattern import COMMUTATIVE, Pattern

Term = int  # the number of a computation: equal computations have one number, so shared values cost nothing
Definitions = Mapping[str, Sequence[Pattern]]
# The elements stay as they are and only their extents or their order change, which the evaluation sees.
_TRANSPARENT = frozenset(("Expand", "Unsqueeze", "Squeeze", "Reshape", "Flatten", "Identity", "Transpose"))
_REDUCTIONS = {f"reduce_{k.lower()}": f"Reduce{k}" for k in ("Sum", "Mean", "Max", "Min", "Prod")}
MAX_READINGS = 64  # ways to choose one of its definitions for each idiom of a program


class Terms:
    """The computations met so far, each numbered once."""

    def __init__(self) -> None:
        self._numbers: dict[tuple[object, ...], Term] = {}

    def make(self, *parts: object) -> Term:
        """The number of a computation of these parts."""
        return self._numbers.setdefault(parts, len(self._numbers))

    def apply(self, op: str, operands: Sequence[Term], *attributes: object) -> Term:
        """An ONNX operator on its operands, in any order where that does not matter."""
        if op == "Pow" and len(operands) == 2:
            return self._power(*operands)
        ordered = sorted(operands) if op in COMMUTATIVE else operands
        return self.make(op, *ordered, "with", *attributes)

    def literal(self, value: bool | int | float) -> Term:
        """A scalar; zeros of either sign differ."""
        return self.make("literal", float(value).hex())

    def _power(self, x: Term, exponent: Term) -> Term:
        """Squares, cubes and roots are products and Sqrt, as the program has them."""
        if exponent == self.literal(2.0):
            return self.apply("Mul", (x, x))
        if exponent == self.literal(3.0):
            return self.apply("Mul", (self.apply("Mul", (x, x)), x))
        return self.apply("Sqrt", (x,)) if exponent == self.literal(0.5) else self.make("Pow", x, exponent)


def body_terms(terms: Terms, nodes: Sequence[NodeProto], inputs: Sequence[str]) -> dict[str, Term]:
    """A term for each value of the body."""
    found = {name: terms.make("input", k) for k, name in enumerate(inputs)}
    for node in nodes:
        made = _node(terms, node, [found[i] if i else terms.make("absent") for i in node.input])
        for k, name in enumerate(node.output):
            found[name] = made if len(node.output) == 1 else terms.make("output", made, k)
    return found


def _node(terms: Terms, node: NodeProto, operands: Sequence[Term]) -> Term:
    constant = constant_value(node) if node.op_type == "Constant" else None
    if constant is not None and constant.size == 1:
        return terms.literal(constant.reshape(-1)[0].item())
    if node.op_type in _TRANSPARENT:
        return operands[0]
    if node.op_type == "Cast":
        target = next(a.i for a in node.attribute if a.name == "to")
        return terms.make("Cast", DTYPE_OF_ONNX.get(target, ""), operands[0])
    if node.op_type == "Concat" and len(operands) == 2:
        return terms.make("joined", *operands)
    if node.op_type in _REDUCTIONS.values():
        return terms.make(node.op_type, operands[0])
    if node.op_type == "GlobalAveragePool":
        return terms.make("ReduceMean", operands[0])
    if node.op_type in ("MatMul", "Gemm"):
        return _product(terms, node, operands)
    if node.op_type == "Conv" and _is_pointwise(node):
        made = terms.make("matmul", operands[1], operands[0])
        return terms.apply("Add", (made, operands[2])) if len(operands) > 2 else made
    values = [repr(helper.get_attribute_value(a)) for a in sorted(node.attribute, key=lambda a: a.name)]
    return terms.apply(node.op_type, operands, *values)


def _is_pointwise(node: NodeProto) -> bool:
    """Whether a convolution may be a product; what its weight's shape decides, the evaluation sees."""
    given = {a.name: helper.get_attribute_value(a) for a in node.attribute}
    ones = all(v == 1 for name in ("kernel_shape", "strides") for v in given.get(name, ()))
    return ones and given.get("group", 1) == 1 and not any(given.get("pads", ()))


def _product(terms: Terms, node: NodeProto, operands: Sequence[Term]) -> Term:
    """alpha · left · right + beta · C, each operand with whether it is stored transposed."""
    given = {a.name: helper.get_attribute_value(a) for a in node.attribute}
    made = terms.make("matmul", operands[0], operands[1])
    if given.get("alpha", 1.0) != 1.0:
        made = terms.apply("Mul", (made, terms.literal(given["alpha"])))
    if len(node.input) < 3 or not node.input[2]:
        return made
    addend = operands[2]
    if given.get("beta", 1.0) != 1.0:
        addend = terms.apply("Mul", (addend, terms.literal(given["beta"])))
    return terms.apply("Add", (made, addend))


@dataclass(frozen=True, slots=True)
class _Reading:
    """One way to read a program: a definition for each of its composite operators."""

    terms: Terms
    program: Program
    patterns: Mapping[str, Pattern]

    def values(self) -> dict[str, Term]:
        found = {line.name: self.terms.make("input", k) for k, line in enumerate(self.program.inputs)}
        for line in self.program.instrs:
            found[line.name] = self._instr(line, [self._operand(o, found) for o in line.operands])
        return found

    def output(self, line: Output, found: Mapping[str, Term]) -> Term:
        """The output's term; along which axis parts are joined, the evaluation sees."""
        if line.join is None:
            return found[line.name]
        parts = (found[line.join.past], found[line.name])
        return self.terms.make("joined", *(parts if line.join.behind else parts[::-1]))

    def _operand(self, operand: Operand, found: Mapping[str, Term]) -> Term:
        return found[operand.name] if isinstance(operand, Value) else self.terms.literal(operand)

    def _instr(self, line: Instr, operands: Sequence[Term]) -> Term:
        if line.op in self.patterns:
            return self._expand(self.patterns[line.op], operands, line.type.dtype)
        if line.op == "cast":
            return self.terms.make("Cast", line.type.dtype, operands[0])
        if line.op == "broadcast":
            return operands[0]
        if line.op == "matmul":
            return self.terms.make("matmul", *operands)
        if line.op in _REDUCTIONS:
            return self.terms.make(_REDUCTIONS[line.op], operands[0])
        name = table()[line.op].onnx
        if not name or line.attributes:
            return self.terms.make("instruction", line.op, *operands, *sorted(line.attributes.items()))
        return self.terms.apply(name, operands)

    def _expand(self, pattern: Pattern, operands: Sequence[Term], dtype: str) -> Term:
        """The pattern over the operands, its constants rounded to the dtype as exporters round them."""
        free = [i for i in pattern.inputs if i not in pattern.constants]
        found = dict(zip(free, operands, strict=False))
        rounded = {n: float(dtype_of(dtype).type(v)) for n, v in pattern.constants.items()}
        found.update((n, self.terms.literal(v)) for n, v in rounded.items())
        for node in pattern.nodes:
            ins = [found[i] if i in found else self.terms.make("absent") for i in node.inputs]
            made = self.terms.apply(node.op, ins)
            found.update((o, made) for o in node.outputs)
        return found[pattern.outputs[-1]]


def _readings(terms: Terms, program: Program, definitions: Definitions) -> Iterator[_Reading]:
    used = [op for op in dict.fromkeys(i.op for i in program.instrs) if op in definitions]
    for choice in islice(product(*(definitions[op] for op in used)), MAX_READINGS):
        yield _Reading(terms, program, dict(zip(used, choice, strict=True)))


def same(
    program: Program,
    nodes: Sequence[NodeProto],
    inputs: Sequence[str],
    outputs: Sequence[str],
    definitions: Definitions,
) -> bool:
    """Whether every output of the program is, for some reading of its idioms, the body's term."""
    terms = Terms()
    body = body_terms(terms, nodes, inputs)
    wanted = [body[o] for o in outputs]
    for reading in _readings(terms, program, definitions):
        found = reading.values()
        if [reading.output(o, found) for o in program.outputs] == wanted:
            return True
    return False
