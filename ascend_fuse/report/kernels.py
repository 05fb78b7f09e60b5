"""The part of a verification's report that tells what the kernels did."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING

from ascend_fuse.report import quantity
from ascend_fuse.report.page import Section, Table

if TYPE_CHECKING:
    from ascend_fuse.verify.kernel_result import KernelVerification, Traffic


def kernels_json(k: KernelVerification) -> dict[str, object]:
    """The `kernels` of `ascend-fuse/verification/1`."""
    return {
        "ok": k.ok, "soc": k.soc, "backend": k.backend, "before": asdict(k.before), "after": asdict(k.after),
        "outputs": [{**asdict(o), "ok": o.ok} for o in k.outputs],
        "nodes": [{**asdict(n), "ok": n.ok} for n in k.nodes], "notes": list(k.notes),
    }  # fmt: skip


def kernel_lines(k: KernelVerification) -> tuple[str, ...]:
    """What came out, in sentences."""
    return (
        f"Kernels for {k.soc} on the {k.backend}: {_verdict(k)}.",
        f"Launches on kernels {quantity.count(k.before.launches)} to {quantity.count(k.after.launches)}, GM bytes "
        f"{quantity.size(_moved(k.before))} to {quantity.size(_moved(k.after))} (before: each node that a kernel runs "
        f"by itself; counted, not estimated).",
        *k.notes,
    )


def _verdict(k: KernelVerification) -> str:
    if not k.nodes:
        return "the main graph has no fused node that they run, so none was compared"
    good = sum(n.ok for n in k.nodes)
    worst = max(n.share for n in k.nodes)
    counted = quantity.counted(len(k.nodes), "fused node")
    return f"{good} of {counted} within their bounds, at most {100 * worst:.0f} % of one"


def kernel_sections(k: KernelVerification) -> list[Section]:
    """The sentences, the outputs and the nodes that matter most."""
    sections = [Section("Kernels", kernel_lines(k), _traffic(k))]
    if k.outputs:
        columns = ("output", "type", "shape", "verdict", "largest difference", "allowed", "largest value", "note")
        rows = tuple(
            (o.name, o.dtype, str(list(o.shape)), "within" if o.ok else "BEYOND", f"{o.max_abs:.3g}",
             f"{o.allowed:.3g}", f"{o.largest:.3g}", o.note)
            for o in k.outputs
        )  # fmt: skip
        sections.append(Section("Outputs through the kernels", (), Table(columns, rows, frozenset(columns[4:7]))))
    if k.nodes:
        sections.append(_nodes(k))
    return sections


def _moved(t: Traffic) -> int:
    return t.loaded_bytes + t.stored_bytes


def _traffic(k: KernelVerification) -> Table:
    columns = ("", "before", "after", "change")
    rows = [
        ("nodes on kernels", k.before.nodes, k.after.nodes),
        ("launches", k.before.launches, k.after.launches),
        ("GM bytes loaded", k.before.loaded_bytes, k.after.loaded_bytes),
        ("GM bytes stored", k.before.stored_bytes, k.after.stored_bytes),
    ]
    told = tuple((name, quantity.count(a), quantity.count(b), quantity.share(a - b, a)) for name, a, b in rows)
    return Table(columns, told, frozenset(columns[1:]))


SHOWN = 10


def _nodes(k: KernelVerification) -> Section:
    """The nodes that differ in order, then those nearest to their bounds."""
    wrong = [n for n in k.nodes if not n.ok]
    near = sorted((n for n in k.nodes if n.ok), key=lambda n: -n.share)
    shown = [*wrong, *near][: max(SHOWN, len(wrong))]
    columns = ("node", "family", "elements", "beyond", "unbounded", "share of bound", "largest difference", "note")
    rows = tuple(
        (n.name, n.family, quantity.count(n.elements), quantity.count(n.outside), quantity.count(n.free),
         f"{n.share:.2f}", f"{n.max_abs:.3g}", n.note)
        for n in shown
    )  # fmt: skip
    title = "Fused nodes on kernels"
    lines = () if len(shown) == len(k.nodes) else (f"The {len(shown)} nearest to their bounds of {len(k.nodes)}.",)
    return Section(title, lines, Table(columns, rows, frozenset(columns[2:7])))
