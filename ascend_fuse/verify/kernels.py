"""A fused model on the plugin's kernels against its original on ONNX Runtime's CPU provider."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import onnx

from ascend_fuse.each import launch_each
from ascend_fuse.error import UsageError, VerificationError
from ascend_fuse.graph.load import read_with_data
from ascend_fuse.graph.proto import copied
from ascend_fuse.preparation import Preparation
from ascend_fuse.verify.exposed import (
    FusedNode,
    constants,
    fused_nodes,
    noise_name,
    planned_chips,
    with_noise,
    with_outputs,
)
from ascend_fuse.verify.feed import Array, Feed, make_feed
from ascend_fuse.verify.inner_noise import shake_inside
from ascend_fuse.verify.inputs import read_inputs
from ascend_fuse.verify.kernel_check import check_node, check_output
from ascend_fuse.verify.kernel_result import KernelVerification, NodeCheck, OutputCheck, Traffic
from ascend_fuse.verify.kernel_run import SESSION_KEY, KernelRunner
from ascend_fuse.verify.run import Runner
from ascend_fuse.verify.seed import random_nodes

SATURATING = (1001, 2002, 3002)  # chips whose float16 has neither infinity nor NaN
GROUP = 128  # fused nodes whose values are held at once


def verify_kernels(
    path_a: str | Path,
    path_b: str | Path,
    ready: Preparation,
    sizes: Mapping[str, int] | None = None,
    seed: int = 0,
    inputs: Sequence[str] = (),
) -> KernelVerification:
    """Whether each fused node of `path_b` computes its program on the kernels, and the model what `path_a` does.

    `ready` names the chip; `inputs`: as in `verify`. Each fused node of the main graph is checked on the inputs that it
    had, within the bound of its program (`program/bound.py`); the model's outputs within what errors of that size do to
    them. The original runs on ONNX Runtime's CPU provider without optimisation.
    Raises ModelError, VerificationError where one cannot be loaded or run, UsageError where the original does not run.
    """
    path_a, path_b = Path(path_a), Path(path_b)
    model_a, model_b = read_with_data(path_a), read_with_data(path_b)
    given = read_inputs(model_a, inputs) if inputs else make_feed(model_a, sizes or {}, seed)
    feed, wanted = reference(path_a, given)
    check = KernelCheck(path_b, model_b, ready, feed)
    notes: list[str] = []
    drawn = len(random_nodes(model_a))
    found, after = check.whole()
    nodes = check.nodes()
    if drawn:
        notes.append(f"{drawn} nodes draw random numbers: outputs are not compared, fused nodes are")
    outputs = () if drawn else check.outputs(wanted, found)
    before = _each_alone(path_a, model_a, ready, feed)
    if check.left:
        notes.append(f"left to the CPU provider, as the kernels do not run them: {', '.join(check.left)}")
    if (chips := planned_chips(model_b)) and ready.options.soc not in chips:
        notes.append(f"planned for {' and '.join(chips)}, run on the kernels of {ready.options.soc}")
    inner = after.nodes - len(nodes)
    if inner > 0:
        notes.append(f"{inner} fused nodes of subgraphs and functions are compared by the model's outputs alone")
    return KernelVerification(ready.options.soc, check.backend, outputs, nodes, before, after, tuple(notes))


def reference(path: Path, feed: Feed) -> tuple[Feed, dict[str, Any]]:
    """The original's outputs on the inputs, with zeros for integers where the drawn ones are refused."""
    runner = Runner(path, str(path))
    try:
        return feed, runner.run(feed.values)
    except VerificationError as e:
        if feed.integers:
            return reference(path, replace(feed.zeroed(), integers=()))
        do = "give sizes that it takes by --dim, or other inputs"
        raise UsageError(f"the original does not run on these inputs: {e.what}", where=str(path), do=do) from e


def _each_alone(path: Path, model: onnx.ModelProto, ready: Preparation, feed: Feed) -> Traffic:
    """What the kernels count when every node that they run is a launch of its own."""
    single = copied(model)
    launch_each(single, ready)
    runner = KernelRunner(single, ready, str(path), path.parent)
    runner.run(feed.values)
    return runner.traffic()


class KernelCheck:
    """The fused model, run through the kernels and on the CPU."""

    def __init__(self, path: Path, model: onnx.ModelProto, ready: Preparation, feed: Feed) -> None:
        self.path, self.model, self.ready, self.feed = path, model, ready, feed
        self.backend = ""
        self.left: tuple[str, ...] = ()  # fused nodes of the main graph that the kernels do not run
        self.errors: dict[str, tuple[np.dtype[Any], Array]] = {}  # of the values of fused nodes: dtype, bound

    def whole(self) -> tuple[dict[str, Any], Traffic]:
        """The model's outputs through the kernels, and what was counted."""
        runner = KernelRunner(self.model, self.ready, str(self.path), self.path.parent)
        found = runner.run(self.feed.values)
        self.backend = runner.backend
        self.left = tuple(f.name for f in fused_nodes(self.model) if f.name not in runner.claimed)
        return found, runner.traffic()

    def nodes(self) -> tuple[NodeCheck, ...]:
        """Each fused node of the main graph on the inputs that it had."""
        fused = [f for f in fused_nodes(self.model) if f.name not in self.left]
        found: list[NodeCheck] = []
        for at in range(0, len(fused), GROUP):
            found += self._group(fused[at : at + GROUP])
        return tuple(found)

    def _group(self, fused: Sequence[FusedNode]) -> Iterator[NodeCheck]:
        read = {name for f in fused for name in (*f.node.input, *f.node.output) if name}
        values: dict[str, Any] = constants(self.model, sorted(read), self.path.parent)
        values |= {name: array for name, array in self.feed.values.items() if name in read}
        exposed = with_outputs(self.model, sorted(read - values.keys()))
        runner = KernelRunner(exposed, self.ready, str(self.path), self.path.parent)
        values |= runner.run(self.feed.values)
        saturates = self.ready.engine.soc.npu_arch in SATURATING
        for f in fused:
            check, bounds = check_node(f, values, SESSION_KEY, saturates)
            self.errors |= {name: (values[name].dtype, bound) for name, bound in bounds.items()}
            yield check

    def outputs(self, reference: Mapping[str, Any], found: Mapping[str, Any]) -> tuple[OutputCheck, ...]:
        """Each output beside the original's, within what errors of the nodes' bounds do to it."""
        moved = self._moved()
        return tuple(check_output(name, reference[name], found[name], moved[name]) for name in reference)

    def _moved(self) -> dict[str, Any]:
        """The outputs on the CPU with an error of the bound's size, of random sign, in each fused node's values.

        Values of nodes inside of others move by a share of themselves (`inner_noise`).
        """
        rng = np.random.default_rng(0)
        noise: dict[str, Array] = {}
        for name, (dtype, bound) in self.errors.items():
            if dtype.kind not in "iub":
                noise[name] = (bound * rng.choice((-1.0, 1.0), bound.shape)).astype(dtype)
        moved = with_noise(self.model, noise)
        shake_inside(moved, rng)
        runner = Runner(moved, str(self.path), self.path.parent)
        return runner.run({**self.feed.values, **{noise_name(n): a for n, a in noise.items()}})
