"""Every operator of ONNX's default domain: its family, chips and dtypes, or why not: `docs/operators.md`.

python bench/operators.py > docs/operators.md
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from onnx import defs

from ascend_fuse.reason import Miss
from ascend_fuse.region.absent import reason
from ascend_fuse.region.table import QUANTISED, TRAITS
from bench.operator_case import CHIPS, DTYPES, Held, held

HEAD = """\
# Operators

Written by `python bench/operators.py > docs/operators.md`. Each operator of ONNX's default domain: what it is in a
fused node, or why it stays a node of its own. A test says when the page is old.

## Held

One node of each, in each dtype, was put before the planner of each chip, and its program was lowered for the chip's
kernel, where ONNX has the operator in that dtype.

- *Family*: of its program alone. What is elementwise may stand in any family's program, rows in rowwise ones. *view*:
  the same elements on other axes, which cost nothing inside of a region.
- *Instructions*: of the program, in f32 or the first dtype that is held. Their AscendC calls, costs and the basis of
  these are in `kernels/engine/data/op.csv` and `vector_cost.csv`, what they may err by in `program/bound.py`.
- *Chips*: the dtypes that the kernel computes. 910B stands for 910_93 too. A Cast also reads i8, u8 and, where the chip
  converts them, i64. A lone Transpose is no fused node: what is beside it reads or writes in its order.
  Bernoulli is 1 where what is drawn exceeds the probability, as ONNX's own function has it and ONNX Runtime runs it;
  the operator's text says the reverse.

Forms that stay outside, with the reason that a report gives: reductions, Softmax and norms over other than the trailing
axes (`axis-not-trailing`); BatchNormalization in training; RotaryEmbedding with `position_ids`, `interleaved` or heads
that are no axis; Mod of integers by what is no constant, of i32 by no power of two; LpNormalization of a `p` other than
1 and 2 (`attribute-unsupported`); a Conv that is no matrix product (`own-kernel`).
"""

QUANTISE = """\

## Borders

Regions end at these, with the reason `quantised` and the scale tensors. A float region between a DequantizeLinear and a
QuantizeLinear fuses by itself.

"""

ABSENT = """\

## Left out

| operator | reason | why |
| --- | --- | --- |
"""


def operators() -> list[str]:
    """The default domain's, in onnx's newest opset or an older one."""
    return sorted({s.name for s in defs.get_all_schemas_with_history() if s.domain == ""})


def _row(op: str) -> str:
    cells: list[str] = []
    shown: Held | None = None
    for soc in CHIPS.values():
        found = {dtype: held(op, dtype, soc) for dtype in DTYPES}
        runs = [dtype for dtype, what in found.items() if not isinstance(what, Miss)]
        first = next((what for what in found.values() if not isinstance(what, Miss)), None)
        if soc == "Ascend910B3":
            shown = first
        cells.append("any" if first and first.family == "view" else " ".join(runs) or "-")
    family, lines = (shown.family, ", ".join(shown.lines)) if shown else ("-", "")
    return f"| {op} | {family} | {lines} | {' | '.join(cells)} |"


def table() -> Iterator[str]:
    """The rows of what is held."""
    yield f"| operator | family | instructions | {' | '.join(CHIPS)} |"
    yield "| " + " | ".join(["---"] * (3 + len(CHIPS))) + " |"
    yield from (_row(op) for op in operators() if op in TRAITS)


def page() -> str:
    """The whole page."""
    others = [op for op in operators() if op not in TRAITS and op not in QUANTISED]
    absent = "".join(f"| {op} | `{reason(op)[0]}` | {reason(op)[1].partition(': ')[2]} |\n" for op in others)
    return HEAD + "\n" + "\n".join(table()) + "\n" + QUANTISE + ", ".join(sorted(QUANTISED)) + ".\n" + ABSENT + absent


if __name__ == "__main__":
    sys.stdout.write(page())
