"""A block of LLaMA-7B on Ascend 910A before and after fusion, beside the published figures: `docs/llama-7b.md`.

python bench/llama_block.py > docs/llama-7b.md
"""

from __future__ import annotations

import sys
import tempfile
import textwrap
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from onnx import ModelProto, helper

from ascend_fuse import optimize
from ascend_fuse.graph.launch import launches_by_node
from ascend_fuse.plan import Plan, Totals
from models import llama_7b, save

SOC = "Ascend910A"
TOKENS = (128, 512, 1024, 2048)
LAYERS = (2, 3)  # what the third adds is a block
BLOCK = "/layers.1/"  # has a layer on both sides
PUBLISHED = {"launches": (24, 12), "launch_us": (240, 120), "ms": (2.85, 2.65)}
KEYS_TURNED = [0, 1, 3, 2]

HEAD = """\
# A block of LLaMA-7B

Written by `python bench/llama_block.py > docs/llama-7b.md`. Every figure of ours is an estimate of the engine
([0000](design/0000-overview.md), [0007](design/0007-matmul.md)), none is measured: 4096 wide, 32 heads, inner 11008,
fp16, prefill, one batch, {soc}, default bounds. A block is what the third layer of a model adds to the first two.

"""

WHY = (
    "**{few} and {fewer} launches.** The publication does not list its kernels; ours are the nodes of an export that "
    "start one, and an export spells out norms, rotary embeddings and SiLU. Were each of them one kernel, Softmax and "
    "its casts another, and K read transposed by the product, as an operator library may have it, the same block would "
    "have {library}. The graph that we begin with has {before}, and keeps {after}: {kinds}. A launch costs "
    "{launch_us:g} µs in both accounts.",
    "**{slow} and {fast} ms.** The number of tokens is not published. {tokens} The publication saves {saved:.2f} ms, "
    "of which {saved_launch:.2f} are launches; the rest is traffic of elementwise operators. Ours saves more of both, "
    "since its graph begins with nodes that the publication's library has fused already, and since the estimate has "
    "every intermediate go through memory.",
    "**What the estimate leaves out.** Launches follow each other without overlap or gaps; every launch reads from and "
    "writes to memory what a later one could still find in L2; cores start together; rates are those of the vendor's "
    "description, with no conflict of banks or channels. Products are slower than that on a device before and after "
    "fusing alike: compare what is saved rather than the totals.",
)


@dataclass(frozen=True, slots=True)
class Estimate:
    """One block of so many tokens."""

    tokens: int
    before: Totals
    after: Totals
    launch_us: float
    model: ModelProto
    plan: Plan


def estimate(tokens: int) -> Estimate:
    """The last layer's share, and the model of all layers."""
    plans: list[Plan] = []
    models: list[ModelProto] = []
    with tempfile.TemporaryDirectory() as folder:
        for layers in LAYERS:
            models.append(llama_7b(layers=layers, seq=tokens, dtype="float16"))
            plans.append(optimize(save(models[-1], Path(folder) / f"{layers}.onnx"), soc=SOC).plan)
    few, more = plans
    launch_us = more.bounds["launch_us"]
    before, after = (more.totals_before - few.totals_before, more.totals_after - few.totals_after)
    return Estimate(tokens, before, after, launch_us, models[-1], more)


def library_launches(at: Estimate) -> int:
    """Launches of the block with a norm, a rotary embedding, an activation and a Softmax as one kernel each."""
    rotary = {n: r.name for r in at.plan.regions if "rotary" in r.label for n in r.names}
    kernels: set[str] = set()
    for node, launches in zip(at.model.graph.node, launches_by_node(at.model), strict=True):
        if not launches or BLOCK not in node.name:
            continue
        order = next((helper.get_attribute_value(a) for a in node.attribute if a.name == "perm"), [])
        scope = node.name.rpartition("/")[0]
        if "norm" in scope or scope.endswith("act_fn"):
            kernels.add(scope)
        elif node.op_type in ("Softmax", "Cast"):
            kernels.add("softmax")
        elif list(order) != KEYS_TURNED:
            kernels.add(rotary.get(node.name, node.name))
    return len(kernels)


def launched(at: Estimate) -> Iterator[tuple[str, str, float]]:
    """Each launch of the fused block: its kind, what it is, µs."""
    for region in at.plan.regions:
        if BLOCK in region.names[-1]:
            names = ", ".join(n.partition(BLOCK)[2] or n.rpartition("layers.")[2] for n in region.names)
            yield f"{region.family}: {region.label}", names, region.figures.after.time_us
    seen: set[int] = set()
    for miss in at.plan.misses:
        if BLOCK in miss.name and miss.node not in seen:
            seen.add(miss.node)
            yield miss.op, miss.name.partition(BLOCK)[2], miss.cost.time_us


def kinds(rows: Sequence[tuple[str, str, float]]) -> str:
    """How many launches there are of each kind."""
    found = Counter(kind.partition(":")[0] for kind, _, _ in rows)
    return ", ".join(f"{count} {kind}" for kind, count in found.most_common())


def bracket(estimates: Sequence[Estimate], wanted_ms: float) -> str:
    """Between which numbers of tokens the estimate before fusing is the published one."""
    below = [e.tokens for e in estimates if e.before.time_us / 1e3 <= wanted_ms]
    above = [e.tokens for e in estimates if e.before.time_us / 1e3 > wanted_ms]
    if below and above:
        return f"Our estimate before fusing reaches {wanted_ms:g} ms between {max(below)} and {min(above)} tokens."
    return f"Our estimate before fusing does not reach {wanted_ms:g} ms between {TOKENS[0]} and {TOKENS[-1]} tokens."


def row(name: str, launches: tuple[float, float], launch_us: tuple[float, float], ms: tuple[float, float]) -> str:
    """One row of the first table."""
    saved, saved_launch = ms[0] - ms[1], (launch_us[0] - launch_us[1]) / 1e3
    return (
        f"| {name} | {launches[0]:g} → {launches[1]:g} | {launch_us[0]:g} → {launch_us[1]:g} | "
        f"{ms[0]:.2f} → {ms[1]:.2f} | {saved:.2f} | {saved_launch:.2f} | {saved - saved_launch:.2f} |\n"
    )


def own_row(at: Estimate) -> str:
    """The row of an estimate."""
    both = (at.before, at.after)
    launches = (at.before.launches, at.after.launches)
    return row(
        f"ours, {at.tokens} tokens",
        launches,
        (launches[0] * at.launch_us, launches[1] * at.launch_us),
        (both[0].time_us / 1e3, both[1].time_us / 1e3),
    )


def text(estimates: Sequence[Estimate], rows: Sequence[tuple[str, str, float]]) -> str:
    """What explains the difference."""
    at = estimates[0]
    slow, fast = PUBLISHED["ms"]
    launch = PUBLISHED["launch_us"]
    values: Mapping[str, object] = {
        "few": PUBLISHED["launches"][0], "fewer": PUBLISHED["launches"][1], "library": library_launches(at),
        "before": at.before.launches, "after": at.after.launches, "kinds": kinds(rows), "launch_us": at.launch_us,
        "slow": slow, "fast": fast, "tokens": bracket(estimates, slow), "saved": slow - fast,
        "saved_launch": (launch[0] - launch[1]) / 1e3,
    }  # fmt: skip
    filled = (textwrap.fill(f"- {why.format(**values)}", 120, subsequent_indent="  ") for why in WHY)
    return "\n## Why they differ\n\n" + "\n".join(filled) + "\n"


def render() -> str:
    """The whole page."""
    estimates = [estimate(tokens) for tokens in TOKENS]
    page = HEAD.format(soc=SOC)
    page += "| | launches | launch time, µs | latency, ms | saved, ms | by launches | otherwise |\n"
    page += f"|---{'|---' * 6}|\n" + row("published", *PUBLISHED.values())
    page += "".join(map(own_row, estimates))
    rows = sorted(launched(estimates[0]), key=lambda r: (":" not in r[0], r[0]))
    page += text(estimates, rows)
    page += f"\n## What is launched, {TOKENS[0]} tokens\n\n| launch | of | µs |\n|---|---|---|\n"
    return page + "".join(f"| {kind} | {names} | {us:.1f} |\n" for kind, names, us in rows)


if __name__ == "__main__":
    sys.stdout.write(render())
