"""The page that bench/traffic.py writes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ascend_fuse.program.program import Shape
from ascend_fuse.program.text import parse_program
from bench.traffic_case import Case, Row, size

HEAD = """\
# Traffic of fused nodes

Written by `python bench/traffic.py > docs/traffic.md`. Each distinct fused node of two layers of the blocks of
[fusion.md](fusion.md), at their sizes, ran once through the kernels on the emulated chip, on random inputs. Nothing
here is timed, so the figures repeat on any machine.

Bytes are of GM, loaded + stored. *Promised*: what the engine says before the launch. *Moved*: what the cores moved,
each transfer counted. *Distinct*: each byte of a tensor once. *Least*: inputs and outputs once. *UB*: bytes that the
engine promised, and the peak on the busiest core. *Launches*: of the nodes before, of the fused one. *Error*: the
largest |kernel - reference|, as a share of its bound (`ascend_fuse/program/bound.py`); no more than 1 is right.
"""

MORE = """\
Why more than the least is moved: what all tiles share is loaded once by each core; a product loads a block of an
operand once for each tile that it meets, and hands a tile to the vector cores through a workspace, which is counted
too; a row that does not fit UB is swept several times; one row of a product is loaded twice (docs/design/0008).
"""

COLUMNS = (
    "block", "rules", "space", "launches", "promised B", "moved B", "distinct B", "least B", "UB promised", "UB peak",
    "error",
)  # fmt: skip


def space(case: Case) -> str:
    """The iteration space at the case's sizes, as programs write it."""
    program = parse_program(case.program)

    def text(dims: Shape) -> str:
        return ", ".join(str(size(e, case.sizes)) for e in dims)

    return f"{program.family} [{text(program.rows)}{'' if program.cols is None else ' / ' + text(program.cols)}]"


def cells(row: Row) -> tuple[str, ...]:
    """A row of the table."""
    case, promised, moved = row.case, row.promised, row.moved
    both = [f"{b.loaded} + {b.stored}" for b in (promised, moved, row.distinct, row.least)]
    return (
        case.block, f"{', '.join(case.rules)} {case.label}", space(case), f"{case.launches} to {row.launches}",
        *(("apart", *both[1:]) if row.refused else both), str(promised.ub), str(moved.ub), f"{row.share:.2f}",
    )  # fmt: skip


def table(rows: Sequence[Row]) -> Iterator[str]:
    """Markdown lines."""
    yield f"| {' | '.join(COLUMNS)} |"
    yield "| " + " | ".join(["---"] * len(COLUMNS)) + " |"
    for row in rows:
        yield f"| {' | '.join(cells(row))} |"


def verdict(rows: Sequence[Row]) -> str:
    """How many rows hold, and which do not."""
    bad = [row for row in rows if not row.kept or row.share > 1]
    told = f"{len(rows) - len(bad)} of {len(rows)} moved what was promised and lie within their bounds"
    apart = [f"{space(row.case)}: {row.refused}" for row in rows if row.refused]
    return "; ".join([told, *(f"not {space(row.case)}" for row in bad), *apart]) + "."


def page(runs: Sequence[tuple[str, str, Sequence[Row]]]) -> str:
    """`runs`: chip, dtype, rows."""
    parts = [HEAD, MORE]
    for soc, dtype, rows in runs:
        parts += [f"## {soc}, {dtype}\n", verdict(rows) + "\n", "\n".join(table(rows)) + "\n"]
    return "\n".join(parts)
