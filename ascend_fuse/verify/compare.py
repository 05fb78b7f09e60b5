"""Two models on the same random inputs, output by output."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import onnx

from ascend_fuse.error import UsageError, VerificationError
from ascend_fuse.graph.contract import contract_sentences, required_inputs
from ascend_fuse.graph.load import read_model, read_with_data
from ascend_fuse.graph.name import shared_names
from ascend_fuse.verify.difference import compare_values
from ascend_fuse.verify.feed import Feed, make_feed, size_names
from ascend_fuse.verify.inputs import read_inputs
from ascend_fuse.verify.result import OutputComparison, Verification
from ascend_fuse.verify.run import Runner
from ascend_fuse.verify.seed import is_seeded, random_nodes, seed_pair
from ascend_fuse.verify.tolerance import Tolerance

Outputs = dict[str, Any]


@dataclass(frozen=True, slots=True)
class _Subject:
    """One of the two models: where it is, and the copy to run instead if its seeds had to be set."""

    path: Path
    copies: tuple[onnx.ModelProto, ...]  # one per run, or none
    fresh: bool  # a session per run: random nodes repeat on the first run of a session alone

    def runs(self, feeds: Sequence[Feed]) -> list[Outputs]:
        runner: Runner | None = None
        outputs: list[Outputs] = []
        for k, feed in enumerate(feeds):
            if runner is None or self.fresh:
                runner = self._open(k)
            outputs.append(runner.run(feed.values))
        return outputs

    def _open(self, k: int) -> Runner:
        if self.copies:
            return Runner(self.copies[k], str(self.path), self.path.parent)
        return Runner(self.path, str(self.path))


def verify(
    path_a: str | Path,
    path_b: str | Path,
    sizes: Mapping[str, int] | None = None,
    seed: int = 0,
    runs: int = 1,
    inputs: Sequence[str] = (),
    tolerance: Tolerance | None = None,
) -> Verification:
    """Whether `path_b` has the interface of `path_a` and bitwise its outputs, on `runs` random inputs.

    `inputs`: files to take them from instead ([NAME=]FILE, `read_inputs`). `tolerance`: accepts outputs within it.

    Both run on ONNX Runtime's CPU provider without optimisation.  `sizes` are symbolic sizes by name (or
    `input:axis`).  Raises ModelError for a file that is no model, VerificationError for one that cannot be loaded
    there ("not runnable") and for a `path_b` that does not run, UsageError for a `path_a` that does not run on the
    drawn inputs, `runs` below 1 and sizes over the memory.
    A `path_b` that does not take the inputs of `path_a` is not run.
    """
    if runs < 1:
        raise UsageError(f"runs={runs}", do="give at least 1 run")
    path_a, path_b = Path(path_a), Path(path_b)
    model_a, model_b = read_with_data(path_a), read_with_data(path_b)
    interface = list(contract_sentences(model_a, model_b))
    feeds = [read_inputs(model_a, inputs)] * runs if inputs else _feeds(model_a, sizes or {}, seed, runs)
    random_count = len(random_nodes(model_a))
    a, b, seeding = _subjects((path_a, model_a), (path_b, model_b), seed, runs)
    interface += seeding.findings
    unused = sorted(sizes.keys() - size_names(model_a)) if sizes else []
    notes = [f"no input has the size {', '.join(unused)}"] if unused else []
    notes += seeding.notes
    if any(shared_names(model.graph) for model in (model_a, model_b)):
        notes.append("nodes share a name, which ONNX Runtime refuses: they ran under names of their own")
    if refused := _refused(feeds[0], model_b):
        notes.append(f"{path_b} was not run: {refused}")
    del model_a, model_b  # the sessions hold inline weights once more
    outputs = () if refused else _run_both(a, b, feeds, notes, interface, tolerance)
    return Verification(
        model_a=str(path_a),
        model_b=str(path_b),
        outputs=outputs,
        interface=tuple(interface),
        notes=tuple(notes),
        sizes=tuple(feeds[0].sizes.items()),
        seed=seed,
        runs=runs,
        random_nodes=random_count,
        tolerance=tolerance,
        inputs=tuple(inputs),
    )


def check_sizes(path: Path, sizes: Mapping[str, int]) -> None:
    """Raises UsageError for a size that no input of the model in the file has, ModelError if there is none."""
    known = size_names(read_model(path))
    for name in sizes:
        if name not in known:
            do = f"the model's are: {', '.join(sorted(known)) or 'none'}"
            raise UsageError(f"no input has the size {name!r}", where="--dim", do=do)


def _feeds(model: onnx.ModelProto, sizes: Mapping[str, int], seed: int, runs: int) -> list[Feed]:
    try:
        return [make_feed(model, sizes, seed + k) for k in range(runs)]
    except MemoryError as e:
        raise UsageError("inputs of these sizes do not fit in memory", where="--dim", do="give smaller sizes") from e


def _refused(feed: Feed, model: onnx.ModelProto) -> str:
    """Why the model does not take the inputs, "" if their names fit."""
    taken = {value.name for value in required_inputs(model.graph)}
    if unfed := sorted(taken - feed.values.keys()):
        return f"it has further inputs: {', '.join(unfed)}"
    if unknown := sorted(feed.values.keys() - {value.name for value in model.graph.input}):
        return f"it has no input {', '.join(unknown)}"
    return ""


@dataclass(frozen=True, slots=True)
class _Seeding:
    notes: tuple[str, ...] = ()
    findings: tuple[str, ...] = ()


def _subjects(
    a: tuple[Path, onnx.ModelProto], b: tuple[Path, onnx.ModelProto], seed: int, runs: int
) -> tuple[_Subject, _Subject, _Seeding]:
    drawing = [node for _, model in (a, b) for node in random_nodes(model)]
    if all(is_seeded(node) for node in drawing):
        return _Subject(a[0], (), bool(drawing)), _Subject(b[0], (), bool(drawing)), _Seeding()
    pairs = [seed_pair(a[1], b[1], seed + k) for k in range(runs)]
    one = _Subject(a[0], tuple(pair.a for pair in pairs), True)
    other = _Subject(b[0], tuple(pair.b for pair in pairs), True)
    return one, other, _Seeding(pairs[0].notes, pairs[0].findings)


def _run_both(
    a: _Subject,
    b: _Subject,
    feeds: Sequence[Feed],
    notes: list[str],
    interface: Sequence[str],
    tolerance: Tolerance | None,
) -> tuple[OutputComparison, ...]:
    """Run `a`, with zeros for its integer inputs if the drawn ones are refused, then `b` on the same.

    No comparison when `b` fails and its interface is another: that says it all.
    """
    outputs_a, feeds = _run_first(a, feeds, notes)
    notes += _nan_notes(outputs_a)
    try:
        outputs_b = b.runs(feeds)
    except VerificationError as error:
        if not interface or error.what.startswith("not runnable"):
            raise
        notes.append(f"{b.path} was not compared: it does not take the inputs of {a.path}")
        return ()
    merged: dict[str, OutputComparison] = {}
    for one, other in zip(outputs_a, outputs_b, strict=True):
        for comparison in _compare_runs(one, other, tolerance):
            name = comparison.name
            merged[name] = merged[name].worse(comparison) if name in merged else comparison
    return tuple(merged.values())


def _run_first(a: _Subject, feeds: Sequence[Feed], notes: list[str]) -> tuple[list[Outputs], Sequence[Feed]]:
    """The outputs of `a`, and the inputs that it took."""
    try:
        return a.runs(feeds), feeds
    except VerificationError as error:
        if error.what.startswith("not runnable"):
            raise
        if not feeds[0].integers:
            raise _unaccepted(error, feeds[0]) from error
        zeroed = [feed.zeroed() for feed in feeds]
        try:
            outputs = a.runs(zeroed)
        except VerificationError:
            raise _unaccepted(error, feeds[0]) from error
        notes.append(f"integer inputs are zero: with drawn ones, {a.path} {error.what}")
        return outputs, zeroed


def _unaccepted(error: VerificationError, feed: Feed) -> UsageError:
    """The original does not take its inputs: this says nothing of the other model."""
    if not feed.is_drawn:
        what = f"the original does not run on the inputs that were given: {error.what.removeprefix('does not run: ')}"
        return UsageError(what, where=error.where, do="give inputs that it takes")
    shown = ", ".join(f"{name}={n}" for name, n in feed.sizes.items())
    drawn = f"drawn inputs of the sizes {shown}" if shown else "drawn inputs"
    what = f"the original does not run on {drawn}: {error.what.removeprefix('does not run: ')}"
    do = "give sizes that it takes by --dim, or inputs of your own by --inputs"
    if ":" in shown:
        do += " (sizes input:axis are for `ascend-fuse verify` alone)"
    return UsageError(what, where=error.where, do=do if shown else "give inputs of your own by --inputs")


def _nan_notes(runs: Sequence[Outputs]) -> list[str]:
    """A warning for each output that is NaN for the most part: equality then proves little."""
    notes: list[str] = []
    for name in runs[0]:
        values = [outputs[name] for outputs in runs if type(outputs[name]) is np.ndarray]
        floats = [value for value in values if value.dtype.kind == "f" and value.size]
        share = max((float(np.isnan(value).mean()) for value in floats), default=0.0)
        if share > 0.5:
            notes.append(f"output {name} is {100 * share:.0f} % NaN on these inputs: its equality proves little")
    return notes


def _compare_runs(a: Outputs, b: Outputs, tolerance: Tolerance | None) -> list[OutputComparison]:
    found: list[OutputComparison] = []
    for name in a:
        if name in b:
            pairs = compare_values(name, a[name], b[name])
            if tolerance is not None:  # of elements of sequences none is asked for
                pairs = [replace(c, beyond=tolerance.beyond(a[name], b[name])) for c in pairs]
            found += pairs
    return found
