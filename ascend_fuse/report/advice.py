"""What each reason code means to a reader: the report of `explain CODE`."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from ascend_fuse.config import nearest
from ascend_fuse.error import UsageError
from ascend_fuse.reason import CODES
from ascend_fuse.report.page import Page, Section

REASONS_SCHEMA = "ascend-fuse/reasons/1"

ADVICE: Mapping[str, str] = MappingProxyType(
    {
        "op-unsupported": (
            "Export the operator as a composition of supported ones if the exporter can, or leave it: it keeps the "
            "kernel that its provider has. Its neighbours fuse without it."
        ),
        "attribute-unsupported": (
            "Look at the attribute or operand in the figures: often another export setting, or a constant instead of "
            "a computed operand, gives a form that the table holds."
        ),
        "dtype-unsupported": (
            "Export the model in a type that the chip computes in, or plan for a chip that computes in this one: "
            "`ascend-fuse soc NAME` lists what its cube multiplies and what its vector unit adds. Where the type is "
            "unknown, the reason names the node that makes it so."
        ),
        "shape-unknown": (
            "Give a symbolic size of an input by --dim; without one, mend the node that a note of the report names, or "
            "export with fixed sizes on the axis that the figures name. A function that is called with several shapes "
            "has none: --inline-functions gives each call its own."
        ),
        "shape-mismatch": "Nothing to do: the shapes differ, and one kernel covers one iteration space.",
        "axis-not-trailing": (
            "Move the axis to the end in the exporting code (channels last): the kernels reduce along trailing axes. A "
            "Concat of two tensors joins along any axis where the node before one of them is in a region and the other "
            "comes from elsewhere."
        ),
        "crosses-reduction": "Nothing to do: one kernel holds rows of one length. The nodes fuse on either side.",
        "constant-mismatch": (
            "If the constant in the figures is meant, write a rule of your own with it (`--rules DIR`); if it is an "
            "accident of the export, correct it there."
        ),
        "condition-failed": (
            "Read the predicate in the rule (`ascend-fuse explain AFnnn`): it says what the graph has to have for the "
            "nodes to be that idiom. They still fuse one by one where they can."
        ),
        "value-escapes": (
            "Remove the other use of the value (an extra graph output, say) if it is not needed. The nodes fuse one by "
            "one all the same."
        ),
        "opset-out-of-range": "Convert the model to an opset in the range that the figures give.",
        "input-overridable": (
            "Take the initializer out of the graph inputs: a constant that a caller may replace decides nothing."
        ),
        "not-convex": (
            "Nothing to do: a node between waits for the region and is waited for by it. Look at the node in the "
            "figures; if it fuses or goes, so does the obstacle."
        ),
        "limit-instructions": "Nothing to do: the chain is cut where a kernel's program ends.",
        "limit-inputs": "Nothing to do: the chain is cut where a kernel has all the inputs that it can have.",
        "limit-outputs": "Remove graph outputs or uses that are not needed, so that fewer values leave the region.",
        "ub-overflow": (
            "Lower --ub-reserve, give smaller sizes with --dim if the assumed ones are too large, or plan for a chip "
            "with a larger unified buffer."
        ),
        "l1-overflow": "Plan for a chip with a larger L1, or correct assumed sizes with --dim.",
        "l0-overflow": "Plan for a chip with larger L0 buffers.",
        "no-gain": (
            "The figures say by how much. Check --dim (small sizes gain least) and --launch-us; --min-gain lowers "
            "the bar, and cannot make a loss fuse."
        ),
        "parallelism-lost": (
            "Check --dim: with more rows or a larger batch all cores work. The figures say how many do before and "
            "after."
        ),
        "conversion-cost": "Keep one type along the chain: the casts between types cost more than fusing saves.",
        "quantised": "Nothing to do: fusion stops at Quantize and DequantizeLinear, whose scales belong to kernels.",
        "nothing-to-join": (
            "Look at the neighbour in the figures: its own reason (`ascend-fuse explain MODEL --node NAME`) is what "
            "stands in the way."
        ),
        "rule-ignored": "Select the rule: take it out of --ignore, or add it to --select.",
        "function-opset": (
            "Export functions in the model's opset, or convert them first with onnx.inliner.inline_local_functions("
            "onnx.shape_inference.infer_shapes(model), convert_version=True): --inline-functions leaves them in place."
        ),
        "not-provable": (
            "Read what ONNX Runtime says in the sentence: as a rule the node breaks ONNX's specification, and the "
            "export needs mending. Where rounding decides, the model compares or truncates numbers that only rounding "
            "makes unequal. What surrounds it fuses without it."
        ),
        "own-kernel": (
            "Nothing to do: convolutions, gathers, movements and second products keep their kernels in this version, "
            "and what stands beside them fuses without them. Where the report finds a Transpose or Gather expensive, "
            "look for an export in the layout that its reader wants."
        ),
    }
)


def reason_page(code: str) -> Page:
    """What a reason code means, and what to do. Raises UsageError for an unknown one."""
    check_code(code)
    document = {
        "schema": REASONS_SCHEMA,
        "reasons": [{"code": code, "meaning": CODES[code], "advice": ADVICE[code]}],
    }
    meaning = f"{CODES[code][0].upper()}{CODES[code][1:]}."
    return Page(code, (Section("", (meaning,)), Section("What to do", (ADVICE[code],))), document)


def check_code(code: str) -> None:
    """Raises UsageError unless it is a reason code."""
    if code not in CODES:
        raise UsageError(f"no reason code {code!r}", where="explain", do=nearest(code, CODES))
