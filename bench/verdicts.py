"""Verdicts on products with what follows them, chip by chip, as Markdown: `docs/verdicts.md`.

python bench/verdicts.py > docs/verdicts.md
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from ascend_fuse import _engine
from bench.product_case import EPILOGUES, Case, judge

SHAPES = {
    "4096 x 4096 x 4096": (1, 4096, 4096, 4096),
    "128 x 4096 x 11008": (1, 128, 11008, 4096),
    "1 x 4096 x 4096": (1, 1, 4096, 4096),
    "64 x 64 x 64, batch 1024": (1024, 64, 64, 64),
    "197 x 768 x 3072": (1, 197, 3072, 768),
}
SHOWN = ("relu", "gelu", "sigmoid", "tanh", "bias", "residual")
CHIPS = ("Ascend910A", "Ascend310P3", "Ascend910B1", "Ascend910B3", "Ascend910B4", "Ascend910_9391", "Ascend950PR_9599")

HEAD = """\
# Verdicts on products

Written by `python bench/verdicts.py > docs/verdicts.md`. Every figure is an estimate of the engine
([design note](design/0007-matmul.md)), none is measured. M x K x N in fp16, one right operand for all rows (one each in
the batch of 1024), default bounds: a launch costs 10 µs, a fusion has to save 3 % and 1 µs.

**Cells**: µs of the product and the epilogue as launches of their own → µs of one launch, and the verdict: *fuse*, or a
reason code. Behind it the term that decides: on a fusion the largest part of the gain, `launch`, `heads` (of pipes),
`product` (its tiles) or `epilogue` (traffic and vector work); on a refusal what stands against it.
"""

COUNTER = """\

## Published counter-examples

Two articles on fusion in CANN (ops-elementwise with graph-autofusion; ops-nn with fused_matmul_relu) say when not to
fuse. Beside each case stand their verdict and ours, with launches of 10 µs and of 1 µs (as
in graph mode); no term of the model exists only to agree. `streams = 2` lets launches overlap that use cores of their
own: before is then the slower of product and epilogue. Reserves bind the fused node; the product alone has all of L1.

| case | published | chip | launch | before → after | ours | decides |
|---|---|---|---|---|---|---|
"""

FOOT = """\

- **64 x 64 x 64, batch 1024.** The articles count lost parallelism and tighter tiles against it. Here neither appears:
  1024 products fill every core with or without an epilogue, and 64 x 64 blocks leave L1 nearly empty. Fusing saves a
  sweep of 8 MB out and back, which costs more than the launch. With two streams, where cube and vector units are cores
  of their own, that sweep hides behind other work, and our verdict is theirs.
- **fp32 into fp16.** On split chips FixPipe rounds for nothing; on coupled ones the vector unit rounds what
  leaves L0C whether fused or not. So conversion does not decide; fp32 *operands* are another matter: the cube of 910A
  has none, and its time before takes the product as if it were fp16, which is an assumption.
- **Row reductions** are refused by form, whatever they would gain: a tile has a part of the row.
- **tile_k forced down.** We do not hold the epilogue's block in L1, so an epilogue never forces tile_k down. A reserve
  that the user sets does, and then the product's loss decides as published. With 5 % of L1 left the region would
  pay on 910A, whose L1 is twice that of 910B and 950, and not there.
"""


@dataclass(frozen=True, slots=True)
class Counter:
    """A published case: what it is, what they say, what we judge with which bounds."""

    name: str
    published: str
    case: Case
    bounds: tuple[tuple[str, float], ...] = ()
    text: str = ""  # of another program than the case's, and of the parts behind its product
    steps: tuple[str, ...] = ()


REDUCED = """\
matmul 1 [d0, d1 | d2]
x0: f16[d0, d1 | d3] = left
x1: f16[d3 | d2] = right
v0: f16[d0, d1 | d2] = matmul x0, x1
v1: f16[d0, d1 | 1] = reduce_max v0
v2: f16[d0, d1 | d2] = sub v0, v1
out v2"""

STEPS = (
    "rowwise 1 [d0, d1 | d2]\nx0: f16[d0, d1 | d2] = in\nv0: f16[d0, d1 | 1] = reduce_max x0\nout v0",
    "rowwise 1 [d0, d1 | d2]\nx0: f16[d0, d1 | d2] = in\nx1: f16[d0, d1 | 1] = in\n"
    "v0: f16[d0, d1 | d2] = sub x0, x1\nout v0",
)

SMALL = (1024, 64, 64, 64)
CUBE = (1, 4096, 4096, 4096)
THOUSAND = (1, 1024, 1024, 1024)
TIGHT = ("l1_reserve", 0.95)
COUNTERS = (
    Counter("64³ x 1024, ReLU", "no", Case(*SMALL, EPILOGUES["relu"])),
    Counter("64³ x 1024, GELU", "no", Case(*SMALL, EPILOGUES["gelu"])),
    Counter("the same, streams = 2", "no", Case(*SMALL, EPILOGUES["gelu"]), (("streams", 2),)),
    Counter("1024³, fp16 to fp32, cast, Tanh", "no", Case(*THOUSAND, ("cast f16", "tanh"), "f16", "f32", True)),
    Counter("1024³ of fp32, cast, Tanh", "no", Case(*THOUSAND, ("cast f16", "tanh"), "f32", "f32", True)),
    Counter("1024³ of int8, cast to fp32, ReLU", "no", Case(*THOUSAND, ("cast f32", "relu"), "i8", "i32", True)),
    Counter("4096³ less its row maximum", "no", Case(*CUBE, shared=True), (), REDUCED, STEPS),
    Counter("4096³, ReLU, 95 % of L1 reserved", "no", Case(*CUBE, EPILOGUES["relu"], shared=True), (TIGHT,)),
    Counter(
        "the same, min_tile_k = 256", "no", Case(*CUBE, EPILOGUES["relu"], shared=True), (TIGHT, ("min_tile_k", 256))
    ),
)


def cell(v: _engine.GemmVerdict) -> str:
    """One verdict of the tables of shapes."""
    times = f"{v.before_us:.1f} → {v.after_us:.1f}" if v.after_us else f"{v.before_us:.1f} → -"
    return f"{times} {'fuse' if v.fuse else '**' + v.code + '**'}: {v.decides}"


def shape_table(name: str, shape: tuple[int, int, int, int]) -> Iterator[str]:
    """The table of one shape."""
    yield f"\n## {name}\n\n| chip | {' | '.join(SHOWN)} |\n|---{'|---' * len(SHOWN)}|\n"
    for chip in CHIPS:
        verdicts = [judge(Case(*shape, EPILOGUES[e], shared=shape[0] == 1), chip) for e in SHOWN]
        yield f"| {chip.removeprefix('Ascend')} | " + " | ".join(map(cell, verdicts)) + " |\n"


def counter_row(counter: Counter, chip: str, launch_us: float) -> str:
    """One row of the table of counter-examples."""
    limits = _engine.Bounds(launch_us=launch_us, **dict(counter.bounds))  # pyright: ignore[reportArgumentType]
    program = _engine.Program(counter.text) if counter.text else counter.case.program()
    parts = counter.case.parts() + [(_engine.Program(step), counter.case.sizes[:3]) for step in counter.steps]
    v = _engine.judge_gemm(program, counter.case.sizes, parts, _engine.soc(chip), limits)
    times = f"{v.before_us:.1f} → " + (f"{v.after_us:.1f}" if v.after_us else "-")
    ours = "fuse" if v.fuse else f"no: `{v.code}`"
    name = chip.removeprefix("Ascend")
    return f"| {counter.name} | {counter.published} | {name} | {launch_us:.0f} | {times} | {ours} | {v.decides} |\n"


def render() -> str:
    """The whole page."""
    page = HEAD
    for name, shape in SHAPES.items():
        page += "".join(shape_table(name, shape))
    page += COUNTER
    for counter in COUNTERS:
        for chip in ("Ascend910A", "Ascend910B1", "Ascend950PR_9599"):
            page += "".join(counter_row(counter, chip, launch) for launch in (10.0, 1.0))
    return page + FOOT


if __name__ == "__main__":
    sys.stdout.write(render())
