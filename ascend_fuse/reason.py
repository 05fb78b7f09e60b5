"""Rejections as values: the codes of docs/design/0001, with the node and the figures that decide."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

Figure = int | float | str

CODES: Mapping[str, str] = MappingProxyType(
    {
        "op-unsupported": "no family's table has the operator",
        "attribute-unsupported": "an attribute or operand form that the table cannot hold",
        "dtype-unsupported": "a type that the kernels or this chip do not compute in",
        "shape-unknown": "a size is needed and not known",
        "shape-mismatch": "the shape does not fit the region's iteration space",
        "axis-not-trailing": "a reduction, softmax, slice or join over other than the trailing axes",
        "crosses-reduction": "a second row length or a reduced value that the family cannot hold",
        "constant-mismatch": "an idiom but for the value of a constant",
        "condition-failed": "an idiom but for a named predicate",
        "value-escapes": "an idiom whose inner value is used elsewhere",
        "opset-out-of-range": "the rule does not hold for the model's opset",
        "input-overridable": "a constant that the caller may override",
        "not-convex": "a path leaves the region and comes back",
        "limit-instructions": "the program would be too long",
        "limit-inputs": "the program would have too many inputs",
        "limit-outputs": "the program would have too many outputs",
        "ub-overflow": "no tile fits the unified buffer",
        "l1-overflow": "no tile of a product fits L1",
        "l0-overflow": "no tile of a product fits L0A, L0B or L0C",
        "no-gain": "fused is not faster by the minimal gain",
        "parallelism-lost": "fewer cores would work, and that decides",
        "conversion-cost": "type conversions decide",
        "quantised": "a quantisation border",
        "nothing-to-join": "a single node with no neighbour that its family can take",
        "rule-ignored": "its rule was ignored or not selected",
        "not-provable": "nothing here runs the node, or rounding alone decides its result: no proof can be had",
        "function-opset": "a function whose opset differs from the model's",
        "own-kernel": "convolutions, gathers, movements and second products have kernels of their own",
    }
)


@dataclass(frozen=True, slots=True)
class Miss:
    """Why something is not fused: `code` of CODES, a sentence, the figures behind it, the node it is about."""

    code: str
    message: str
    node: int = -1
    figures: Mapping[str, Figure] = field(default_factory=dict[str, Figure])
    rule: str = ""

    def __post_init__(self) -> None:
        if self.code not in CODES:
            raise KeyError(f"unknown reason code {self.code!r}")
