"""The page that bench/fusion.py writes."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from bench.fusion_count import Count
from bench.fusion_tool import EXPORTED, OURS

SHOWN = 100  # characters of what a runtime says

HEAD = """\
# Launches and bytes, beside other tools

Written by `python bench/fusion.py --models DIR > docs/fusion.md` with the other tools installed
(`pip install -e '.[bench]'`); the folder holds the models of the last section. Nothing here is timed, so the figures
repeat on any machine, but for what a tool decides by the CPU at hand.

One rule counts for all. **A launch** is a node that starts a kernel: not a view, a constant or a computation on shapes;
a contrib operator of ONNX Runtime, a fused node of ours and a kernel that OpenVINO's CPU plugin executes are one each.
**Bytes**: each launch reads its inputs and writes its outputs once; sizes are those of a run, in float32. **Valid** is
a result that runs and has the outputs of the original (to {exact} of the largest magnitude, {coarse} with 8- or 16-bit
values), or as many nodes that draw random numbers where there are such. Ours is for {soc}.

Versions: {versions}.
"""

BLOCKS = """\

## Blocks

What a further layer adds: launches, and MB in brackets. *Aim*: launches that this version is meant to reach.
*Compulsory*: weights, input and output of the block alone. Shapes: BERT, GPT-2 and ViT 768 wide with 12 heads and 128
(197) tokens; LLaMA 1024 wide, 32 heads, inner 2816, 128 tokens, decode with a cache of 127; ResNet 256 channels at
56 x 56; MobileNetV3 80 to 480 channels at 14 x 14; U-Net 320 channels at 32 x 32.

"""

KINDS = """\

What ours launches:

"""

MODELS = """\

## Whole models

Launches after to before, geometric mean over {count} models as exported and as shipped, of {least} to {most} launches.
A result that is invalid or missing counts as the original. *Best other*: for each model the fewest launches of a valid
result of another tool.

"""


@dataclass(frozen=True, slots=True)
class BlockRow:
    """The cost of a block with each tool; `compulsory`: the bytes that no fusion saves."""

    name: str
    aim: int
    compulsory: int
    found: Mapping[str, Count]


@dataclass(frozen=True, slots=True)
class ModelRow:
    """A model's launches with each tool."""

    name: str
    found: Mapping[str, Count]

    def launches(self, tool: str) -> int:
        """Those of the original where the tool's result is not valid; a model of none would have no mean."""
        count = self.found[tool]
        return max(self.found[EXPORTED].launches if count.problem else count.launches, 1)

    def ratio(self, launches: int) -> float:
        """Of launches to the original's."""
        return launches / self.launches(EXPORTED)

    def best_other(self) -> int:
        """The fewest launches of a tool that is not ours."""
        return min(self.launches(tool) for tool in self.found if tool != OURS)


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Markdown."""
    lines = [head, ["---"] * len(head), *rows]
    return "".join("| " + " | ".join(line) + " |\n" for line in lines)


def _cell(count: Count) -> str:
    moved = f" ({count.hbm_bytes / 1e6:.1f})" if count.hbm_bytes else ""
    shown = f"{count.launches}{moved}" if count.launches else "-"
    return f"{shown} invalid" if count.problem and count.launches else shown


def _blocks(rows: Sequence[BlockRow], tools: Sequence[str]) -> Iterator[str]:
    yield BLOCKS
    head = ["block", *tools[:2], "aim", "compulsory", *tools[2:]]
    lines = []
    for row in rows:
        cells = [_cell(row.found[tool]) for tool in tools]
        lines.append([row.name, *cells[:2], str(row.aim), f"({row.compulsory / 1e6:.1f})", *cells[2:]])
    yield table(head, lines)
    yield KINDS
    for row in rows:
        kinds = sorted(row.found[OURS].kinds.items(), key=lambda kind: (-kind[1], kind[0]))
        yield f"- {row.name}: {', '.join(f'{n} {op}' for op, n in kinds)}\n"
    yield from _problems([(row.name, row.found) for row in rows])


def _problems(rows: Sequence[tuple[str, Mapping[str, Count]]]) -> Iterator[str]:
    """Each reason once, with the models that it holds for."""
    found: dict[tuple[str, str], list[str]] = {}
    for name, counts in rows:
        for tool, count in counts.items():
            if count.problem:
                problem = textwrap.shorten(count.problem, SHOWN, placeholder=" …")
                found.setdefault((tool, problem), []).append(name)
    if found:
        yield "\nNot valid:\n\n"
    for (tool, problem), names in found.items():
        shown = ", ".join(names[:3]) + (f" and {len(names) - 3} more" if len(names) > 3 else "")
        yield f"- {tool}, {shown}: {problem}\n"


def mean(rows: Sequence[ModelRow], launches: Callable[[ModelRow], int]) -> float:
    """The geometric mean of what is left of the launches."""
    return math.exp(sum(math.log(row.ratio(launches(row))) for row in rows) / len(rows))


def _models(rows: Sequence[ModelRow], tools: Sequence[str]) -> Iterator[str]:
    sizes = [row.launches(EXPORTED) for row in rows]
    yield MODELS.format(count=len(rows), least=min(sizes), most=max(sizes))
    lines = []
    for tool in tools:
        if tool != EXPORTED:
            bad = sum(bool(row.found[tool].problem) for row in rows)
            lines.append([tool, f"{mean(rows, lambda row, tool=tool: row.launches(tool)):.3f}", str(bad or "")])
    lines.append(["best other", f"{mean(rows, ModelRow.best_other):.3f}", ""])
    yield table(["tool", "after / before", "not valid"], lines)
    behind = [row for row in rows if row.best_other() < row.launches(OURS)]
    yield f"\nFewer launches than ours, on {len(behind)} of {len(rows)}:\n\n"
    head = ["model", EXPORTED, OURS, "best other"]
    counts = [[str(n) for n in (r.launches(EXPORTED), r.launches(OURS), r.best_other())] for r in behind]
    others = [", ".join(t for t in tools if t != OURS and r.launches(t) == r.best_other()) for r in behind]
    yield (
        table([*head, "whose"], [[r.name, *c, o] for r, c, o in zip(behind, counts, others, strict=True)])
        if behind
        else "None.\n"
    )
    yield from _problems([(row.name, row.found) for row in rows])


def page(
    blocks: Sequence[BlockRow],
    models: Sequence[ModelRow],
    versions: Mapping[str, str],
    bounds: tuple[float, float],
    soc: str,
) -> str:
    """All of it, as Markdown; `versions` by tool, "" for one that is not installed; `bounds` as in fusion_count."""
    tools = list(versions)
    told = ", ".join(f"{tool} {v or 'not installed'}" for tool, v in versions.items() if tool != EXPORTED)
    text = HEAD.format(soc=soc, versions=told, exact=f"{bounds[0]:g}", coarse=f"{bounds[1]:g}")
    if blocks:
        text += "".join(_blocks(blocks, tools))
    if models:
        text += "".join(_models(models, tools))
    return text
