"""The report of `verify`."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING

from ascend_fuse.report import quantity
from ascend_fuse.report.kernels import kernel_lines, kernel_sections, kernels_json
from ascend_fuse.report.page import Page, Section, Table

if TYPE_CHECKING:
    from ascend_fuse.verify.result import OutputComparison, Verification

SCHEMA = "ascend-fuse/verification/1"


def _output_json(o: OutputComparison) -> dict[str, object]:
    return {
        "name": o.name, "dtype": o.dtype, "shape": list(o.shape), "equal": o.equal, "unequal": o.unequal,
        "max_abs": o.max_abs, "max_ulp": o.max_ulp, "nan_mismatches": o.nan_mismatches,
        "inf_mismatches": o.inf_mismatches, "note": o.note, "beyond": o.beyond,
    }  # fmt: skip


def verification_json(v: Verification) -> dict[str, object]:
    """The verification as `ascend-fuse/verification/1`."""
    return {
        "schema": SCHEMA,
        "ok": v.ok,
        "a": v.model_a,
        "b": v.model_b,
        "sizes": dict(v.sizes),
        "seed": v.seed,
        "runs": v.runs,
        "random_nodes": v.random_nodes,
        "interface": list(v.interface),
        "outputs": [_output_json(o) for o in v.outputs],
        "notes": list(v.notes),
        "tolerance": None if v.tolerance is None else asdict(v.tolerance),
        "inputs": list(v.inputs),
        "kernels": None if v.kernels is None else kernels_json(v.kernels),
    }


def _outputs(v: Verification) -> Section:
    rows = tuple(
        (o.name, o.dtype, str(list(o.shape)), "equal" if o.equal else "different", quantity.count(o.unequal),
         f"{o.max_abs:.3g}", quantity.count(o.max_ulp), o.note)
        for o in v.outputs
    )  # fmt: skip
    columns = ("output", "type", "shape", "bitwise", "unequal elements", "largest difference", "ulp", "note")
    if v.tolerance is None:
        return Section("Outputs", (), Table(columns, rows, frozenset(columns[4:7])))
    beyond = ("" if o.beyond is None else quantity.count(o.beyond) for o in v.outputs)
    rows = tuple((*row[:7], count, row[7]) for row, count in zip(rows, beyond, strict=True))
    columns = (*columns[:7], "beyond the tolerance", "note")
    return Section("Outputs", (), Table(columns, rows, frozenset(columns[4:8])))


def _sizes(v: Verification) -> str:
    return f"sizes {', '.join(f'{name}={n}' for name, n in v.sizes)}" if v.sizes else ""


def summary(v: Verification) -> Section:
    """The verdict in a line, for the report of a run that was verified; what differs below it."""
    how = "; ".join(filter(None, (_sizes(v), quantity.counted(v.runs, "run"), f"seed {v.seed}")))
    bitwise = all(o.equal for o in v.outputs) and not v.interface
    verdict = "Verified: bitwise equal" if bitwise else "NOT equal, no model written"
    through = () if v.kernels is None else kernel_lines(v.kernels)
    return Section("Verification", (f"{verdict} on ONNX Runtime; {how}.", *through, *v.failures(), *v.notes))


def _verdict(v: Verification) -> str:
    """Equal and within a tolerance are two things."""
    if v.equal and v.ok:
        return "Equal: same interface, bitwise the same outputs."
    if v.tolerance is None:
        return "Different."
    given = f"{v.tolerance.absolute:g} + {v.tolerance.relative:g} times the original's"
    if v.ok:
        return f"Not bitwise equal, but within the tolerance that was given ({given}): same interface."
    return f"Different: beyond the tolerance that was given ({given}), or in another way."


def verification_page(v: Verification) -> Page:
    """What was compared, how, and what differs."""
    source = f"inputs from {', '.join(v.inputs)}" if v.inputs else f"seed {v.seed}"
    how = f"ONNX Runtime, CPU, optimisations off; {quantity.counted(v.runs, 'run')}, {source}"
    if v.sizes:
        how += f"; {_sizes(v)}"
    sections = [Section("", (f"a: {v.model_a}", f"b: {v.model_b}", f"{how}.", _verdict(v)))]
    if v.interface:
        sections.append(Section("Interface", v.interface))
    if v.outputs:
        sections.append(_outputs(v))
    if v.kernels is not None:
        sections += kernel_sections(v.kernels)
    if v.notes:
        sections.append(Section("Notes", v.notes))
    return Page("ascend-fuse: verification", tuple(sections), verification_json(v))
