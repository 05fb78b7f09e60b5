"""Two models on the same random inputs, output by output."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import onnx

from ascend_fuse.error import UsageError, VerificationError
from ascend_fuse.graph.load import check_external, read_model
from ascend_fuse.verify.feed import Array, Feed, make_feed, required_inputs, size_names
from ascend_fuse.verify.interface import interface_differences
from ascend_fuse.verify.result import OutputComparison, Verification
from ascend_fuse.verify.run import Runner
from ascend_fuse.verify.seed import is_seeded, random_nodes, seed_pair

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
) -> Verification:
    """Whether `path_b` has the interface of `path_a` and bitwise its outputs, on `runs` random inputs.

    Both run on ONNX Runtime's CPU provider without optimisation.  `sizes` are symbolic sizes by name (or
    `input:axis`).  Raises ModelError for a file that is no model, VerificationError for one that cannot be loaded
    there ("not runnable") and for a `path_b` that does not run, UsageError for a `path_a` that does not run on the
    drawn inputs, `runs` below 1 and sizes over the memory.
    A `path_b` that does not take the inputs of `path_a` is not run.
    """
    if runs < 1:
        raise UsageError(f"runs={runs}", do="give at least 1 run")
    path_a, path_b = Path(path_a), Path(path_b)
    model_a, model_b = _load(path_a), _load(path_b)
    interface = list(interface_differences(model_a, model_b))
    feeds = _feeds(model_a, sizes or {}, seed, runs)
    random_count = len(random_nodes(model_a))
    a, b, seeding = _subjects((path_a, model_a), (path_b, model_b), seed, runs)
    interface += seeding.findings
    unused = sorted(sizes.keys() - size_names(model_a)) if sizes else []
    notes = [f"no input has the size {', '.join(unused)}"] if unused else []
    notes += seeding.notes
    if refused := _refused(feeds[0], model_b):
        notes.append(f"{path_b} was not run: {refused}")
    del model_a, model_b  # the sessions hold inline weights once more
    outputs = () if refused else _run_both(a, b, feeds, notes, interface)
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
    )


def check_sizes(path: Path, sizes: Mapping[str, int]) -> None:
    """Raises UsageError for a size that no input of the model in the file has, ModelError if there is none."""
    known = size_names(read_model(path))
    for name in sizes:
        if name not in known:
            do = f"the model's are: {', '.join(sorted(known)) or 'none'}"
            raise UsageError(f"no input has the size {name!r}", where="--dim", do=do)


def _load(path: Path) -> onnx.ModelProto:
    model = read_model(path)
    check_external(model, path)
    return model


def _feeds(model: onnx.ModelProto, sizes: Mapping[str, int], seed: int, runs: int) -> list[Feed]:
    try:
        return [make_feed(model, sizes, seed + k) for k in range(runs)]
    except MemoryError as e:
        raise UsageError("inputs of these sizes do not fit in memory", where="--dim", do="give smaller sizes") from e


def _refused(feed: Feed, model: onnx.ModelProto) -> str:
    """Why the model does not take the inputs, "" if their names fit."""
    taken = {value.name for value in required_inputs(model)}
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
    a: _Subject, b: _Subject, feeds: Sequence[Feed], notes: list[str], interface: Sequence[str]
) -> tuple[OutputComparison, ...]:
    """Run `a`, with zeros for its integer inputs if the drawn ones are refused, then `b` on the same.

    No comparison when `b` fails and its interface is another: that says it all.
    """
    try:
        outputs_a = a.runs(feeds)
    except VerificationError as error:
        if error.what.startswith("not runnable"):
            raise
        if not feeds[0].integers:
            raise _unaccepted(error, feeds[0].sizes) from error
        feeds = [feed.zeroed() for feed in feeds]
        try:
            outputs_a = a.runs(feeds)
        except VerificationError:
            raise _unaccepted(error, feeds[0].sizes) from error
        notes.append(f"integer inputs are zero: with drawn ones, {a.path} {error.what}")
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
        for comparison in _compare_runs(one, other):
            name = comparison.name
            merged[name] = merged[name].worse(comparison) if name in merged else comparison
    return tuple(merged.values())


def _unaccepted(error: VerificationError, sizes: Mapping[str, int]) -> UsageError:
    """The original does not take what was drawn for it: this says nothing of the other model."""
    shown = ", ".join(f"{name}={n}" for name, n in sizes.items())
    drawn = f"drawn inputs of the sizes {shown}" if shown else "drawn inputs"
    what = f"the original does not run on {drawn}: {error.what.removeprefix('does not run: ')}"
    do = "give sizes that it takes by --dim, or compare on inputs of your own"
    if ":" in shown:
        do += " (sizes input:axis are for `ascend-fuse verify` alone)"
    return UsageError(what, where=error.where, do=do if shown else "compare on inputs of your own")


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


def _compare_runs(a: Outputs, b: Outputs) -> list[OutputComparison]:
    found: list[OutputComparison] = []
    for name in a:
        if name in b:
            found += compare_values(name, a[name], b[name])
    return found


def compare_values(name: str, a: Any, b: Any) -> list[OutputComparison]:
    """One comparison for an array, one for each element of a sequence (as `name[k]`)."""
    kinds = (a.__class__, b.__class__)
    if kinds == (np.ndarray, np.ndarray):
        return [compare_arrays(name, a, b)]
    if kinds == (list, list) and len(a) == len(b):
        return [found for k in range(len(a)) for found in compare_values(f"{name}[{k}]", a[k], b[k])]
    equal = kinds[0] is kinds[1] and bool(a == b)
    note = "" if equal else "unequal"
    return [OutputComparison(name, kinds[0].__name__, (), equal, int(not equal), note=note)]


def compare_arrays(name: str, a: Array, b: Array) -> OutputComparison:
    """Bitwise, with all NaNs equal; see `OutputComparison` for the figures."""
    dtype, shape = str(a.dtype), tuple(a.shape)
    if a.dtype != b.dtype or a.shape != b.shape:
        note = f"{dtype}{list(shape)} against {b.dtype}{list(b.shape)}"
        return OutputComparison(name, dtype, shape, False, a.size, note=note)
    if a.dtype.kind not in "fiub":
        unequal = int(np.count_nonzero(a != b))
        return OutputComparison(name, dtype, shape, not unequal, unequal, note="unequal" if unequal else "")
    if a.dtype.kind != "f":
        return _compare_integers(name, a, b)
    return _compare_floats(name, a, b)


def _compare_integers(name: str, a: Array, b: Array) -> OutputComparison:
    differs = a != b
    unequal = int(np.count_nonzero(differs))
    # Python's integers: 64-bit differences overflow in NumPy.
    largest = max((abs(int(x) - int(y)) for x, y in zip(a[differs], b[differs], strict=True)), default=0)
    return OutputComparison(name, str(a.dtype), tuple(a.shape), not unequal, unequal, float(largest))


def _compare_floats(name: str, a: Array, b: Array) -> OutputComparison:
    bits = np.dtype(f"u{a.dtype.itemsize}")
    a, b = np.ascontiguousarray(a), np.ascontiguousarray(b)
    nan_a, nan_b = np.isnan(a), np.isnan(b)
    differs = (a.view(bits) != b.view(bits)) & ~(nan_a & nan_b)
    finite = differs & np.isfinite(a) & np.isfinite(b)
    infinite = differs & ~(nan_a | nan_b) & ~finite
    x, y = a[finite], b[finite]
    rank_x, rank_y = _rank(x), _rank(y)
    steps = np.maximum(rank_x, rank_y) - np.minimum(rank_x, rank_y)
    with np.errstate(over="ignore"):
        apart = np.abs(x.astype(np.float64) - y.astype(np.float64))
    return OutputComparison(
        name=name,
        dtype=str(a.dtype),
        shape=tuple(a.shape),
        equal=not differs.any(),
        unequal=int(np.count_nonzero(differs)),
        max_abs=float(apart.max(initial=0.0)),
        max_ulp=int(steps.max(initial=0)),
        nan_mismatches=int(np.count_nonzero(nan_a != nan_b)),
        inf_mismatches=int(np.count_nonzero(infinite)),
    )


def _rank(x: Array) -> npt.NDArray[np.uint64]:
    """The place of each float among all of its width: neighbours differ by 1, both zeros share one."""
    width = x.dtype.itemsize * 8
    bits = x.view(np.dtype(f"u{x.dtype.itemsize}")).astype(np.uint64)
    middle = np.uint64(1 << (width - 1))
    return np.where(bits >= middle, middle - (bits - middle), middle + bits)
