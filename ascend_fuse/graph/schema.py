"""Whether a node is one that its operator's schema allows: operands, results and attributes by number and type.

What ONNX Runtime refuses when it loads a model is refused here with the node's name, so that nothing behind this has to
ask whether an operand is there. Operators that onnx does not know are nobody's business.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache

from onnx import AttributeProto, NodeProto, defs

from ascend_fuse.graph.tensor import fault

Option = defs.OpSchema.FormalParameterOption


@dataclass(frozen=True, slots=True)
class Signature:
    """What a schema says of a node: counts are inclusive; `required`: which operands must have a name."""

    operands: tuple[int, int]
    results: tuple[int, int]
    required: frozenset[int]
    all_required: bool  # a list of operands of one type: none of them can be left out
    attributes: Mapping[str, int]
    needed: frozenset[str]


@cache
def signature(op: str, opset: int) -> Signature | None:
    """The default domain's operator at an opset; None for one that onnx does not have there."""
    try:
        schema = defs.get_schema(op, opset, "")
    except defs.SchemaError:
        return None
    if schema.deprecated:
        return None
    single = frozenset(k for k, p in enumerate(schema.inputs) if p.option == Option.Single)
    last = schema.inputs[-1] if schema.inputs else None
    return Signature(
        (schema.min_input, schema.max_input),
        (schema.min_output, schema.max_output),
        single,
        last is not None and last.option == Option.Variadic and last.is_homogeneous,
        {name: int(getattr(a.type, "value")) for name, a in schema.attributes.items()},  # noqa: B009 - untyped enum
        frozenset(name for name, a in schema.attributes.items() if a.required),
    )


def misuse(node: NodeProto, inputs: Sequence[str], known: Signature, in_function: bool) -> str:
    """What of the node its operator does not allow, "" for nothing; `inputs` are its operands."""
    count = len(inputs)
    while count and not inputs[count - 1]:
        count -= 1
    results = len(node.output)
    while results and not node.output[results - 1]:
        results -= 1
    if not known.operands[0] <= count <= known.operands[1]:
        return f"{node.op_type} takes {_range(known.operands, 'operand')}, not {count}"
    if not known.results[0] <= results <= known.results[1]:
        return f"{node.op_type} makes {_range(known.results, 'result')}, not {results}"
    if "" in inputs[:count]:
        absent = next((k for k in range(count) if not inputs[k] and (known.all_required or k in known.required)), -1)
        if absent >= 0:
            return f"{node.op_type} needs its operand {absent + 1}, which has no name"
    return _attributes(node, known, in_function)


def _range(bounds: tuple[int, int], what: str) -> str:
    least, most = bounds
    if most > 1 << 20:
        return f"at least {least} {what}{'' if least == 1 else 's'}"
    number = str(most) if least == most else f"{least} to {most}"
    return f"{number} {what}{'' if number == '1' else 's'}"


def _attributes(node: NodeProto, known: Signature, in_function: bool) -> str:
    seen: set[str] = set()
    for a in node.attribute:
        name = a.name
        if name in seen:
            return f"attribute {name!r} of {node.op_type} is given twice"
        seen.add(name)
        if a.ref_attr_name and not in_function:
            return f"attribute {name!r} refers to {a.ref_attr_name!r} of a function, but the node is in none"
        wanted = known.attributes.get(name)
        if wanted is None:
            if name.startswith("__"):  # reserved for what tools note down
                continue
            return f"{node.op_type} has no attribute {name!r}"
        if a.type != wanted:
            kinds = AttributeProto.AttributeType
            found = kinds.Name(a.type) if a.type in kinds.values() else f"type {a.type}"
            return f"attribute {name!r} of {node.op_type} is {found}, not {kinds.Name(wanted)}"
        if wanted == AttributeProto.TENSOR and not a.ref_attr_name and (wrong := fault(a.t)):
            return f"attribute {name!r} of {node.op_type} {wrong}"
    missing = known.needed - seen
    return f"{node.op_type} needs its attribute {min(missing)!r}" if missing else ""
