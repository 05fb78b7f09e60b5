"""`optimize` and `inline`: load, plan, edit, prove, verify, write."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from onnx import ModelProto

from ascend_fuse.delivery import Delivery, check_verifiable, compare
from ascend_fuse.emit.body import DOMAIN
from ascend_fuse.emit.inline import inline_model, is_fused
from ascend_fuse.engine import DEFAULT_SOC, Engine, bounds, check_size, is_file, load_soc
from ascend_fuse.error import UsageError, VerificationError
from ascend_fuse.graph.data_file import Weights
from ascend_fuse.graph.load import check_external, read_model
from ascend_fuse.graph.proto import copied
from ascend_fuse.graph.save import save_model, write_texts
from ascend_fuse.plan import Plan
from ascend_fuse.rule.load import load_rules
from ascend_fuse.run import Options, Progress, Run

if TYPE_CHECKING:
    from ascend_fuse.verify.result import Verification

Model = Any  # str | os.PathLike[str] | onnx.ModelProto | onnx_graphsurgeon.Graph: the last is imported by nobody here
PathText = str | os.PathLike[str]


@dataclass(frozen=True, slots=True)
class Result:
    """What `optimize` did. `model` holds no external weights; `path` is where it was written, if it was.

    `unchanged`: the model was already fused with the same options.
    """

    plan: Plan
    model: Any
    path: Path | None
    verification: Verification | None
    notes: tuple[str, ...]
    unchanged: bool = False

    def report(self, form: str = "text") -> str:
        """The report as text, markdown or json."""
        from ascend_fuse.report.render import render

        return render(self, form)


def optimize(
    model: Model,
    *,
    output: PathText | None = None,
    soc: str = DEFAULT_SOC,
    dims: Mapping[str, int] | None = None,
    select: str | Sequence[str] = (),
    ignore: str | Sequence[str] = (),
    rules: PathText | Sequence[PathText] = (),
    weights: Weights = "keep",
    verify: bool = False,
    in_place: bool = False,
    skip_unchanged: bool = False,
    reports: PathText | Sequence[PathText] = (),
    launch_us: float = 10.0,
    min_gain: float = 0.03,
    ub_reserve: float = 0.0,
    progress: Progress | None = None,
) -> Result:
    """Fuse a model given as a path, a ModelProto (copied) or a graphsurgeon Graph (comes back as one).

    `select`, `ignore` (codes or globs in any case), `rules` (folders) and `reports` (files, by their ending) take
    one item or several. Nothing is written without `output` (or `in_place` for a path) and `reports`; nothing when a
    proof fails, and the reports alone when `verify` finds a difference. A model that is already fused with these
    options is copied as it is, or, with `skip_unchanged`, not written.
    Raises UsageError, SocError, RuleError, ModelError, VerificationError, InternalError.
    """
    source = Path(os.fspath(model)) if isinstance(model, (str, os.PathLike)) else None
    target = source if in_place and source else Path(output) if output is not None else None
    delivery = Delivery(source, target, in_place and source is not None, weights, tuple(map(Path, _items(reports))))
    _check(delivery, dims or {}, verify)
    folders = [Path(r) for r in _items(rules)]
    chosen = tuple(s.upper() for s in _items(select)), tuple(s.upper() for s in _items(ignore))
    rule_set = load_rules(folders).choose(*chosen)
    engine = Engine(load_soc(soc), bounds(launch_us=launch_us, min_gain=min_gain, ub_reserve=ub_reserve))
    files = _digest([*(p for r in folders for p in sorted(r.glob("*.toml"))), *([Path(soc)] if is_file(soc) else [])])
    options = Options(engine.soc.name, dict(dims or {}), *chosen, engine.figures(), files)
    tell = progress or _silent
    tell("load", 0, 5)
    proto, surgeon = _read(model, source)
    if source is not None:
        check_external(proto, source.parent)
    run = Run(proto, engine, rule_set, options, tell)
    result = _carry_out(run, delivery, verify, skip_unchanged, surgeon or _itself)
    tell("done", 5, 5)
    return result


def _carry_out(
    run: Run, delivery: Delivery, verify: bool, skip_unchanged: bool, given_back: Callable[[ModelProto], Any]
) -> Result:
    """Fuse, verify, write. Raises what `optimize` does."""
    model, dims = run.model, run.options.dims
    placings = delivery.placings(model)
    plan, notes = run.fuse()
    # a model that is fused anew has regions, one that is not is no longer fused
    unchanged = not plan.regions and is_fused(model)
    target = None if unchanged and skip_unchanged else delivery.target
    found = compare(model, check_verifiable(delivery.source), target, dims) if verify else None
    if target is not None and (found is None or found.ok):
        notes += tuple(p.note() for p in placings)
    result = Result(plan, given_back(model), target, found, notes, unchanged)
    _deliver(result, delivery, lambda: delivery.write(model, placings, unchanged=unchanged) if target else None)
    return result


def _itself(model: ModelProto) -> ModelProto:
    return model


def _items(value: PathText | Sequence[Any]) -> tuple[Any, ...]:
    """One item is a list of one: a string is never taken letter by letter."""
    return (value,) if isinstance(value, (str, os.PathLike)) else tuple(value)


def _check(delivery: Delivery, dims: Mapping[str, int], verify: bool) -> None:
    """What can be refused before anything is read. Raises UsageError."""
    from ascend_fuse.report.render import format_of

    for path in delivery.reports:
        format_of(path)
    delivery.check()
    for name, size in dims.items():
        check_size(name, size)
    if verify:
        check_verifiable(delivery.source)


def _deliver(result: Result, delivery: Delivery, write: Callable[[], None]) -> None:
    """Reports and model, or after a failed comparison the reports alone. Raises VerificationError then."""
    from ascend_fuse.report.render import format_of, render_page, result_page

    found = result.verification
    ok = found is None or found.ok
    texts: list[tuple[Path, str]] = []
    if delivery.reports:
        page = result_page(result)
        texts = [(path, render_page(page, format_of(path))) for path in delivery.reports]
    write_texts(texts, write if ok else lambda: None)
    if found is not None and not ok:
        what = f"the fused model computes something else: {found.failures()[0]}"
        raise VerificationError(what, where=found.model_a, do="please report it", verification=found)


def _digest(paths: Sequence[Path]) -> str:
    """What the user's files hold, "" without any: their paths are nobody's business."""
    h = hashlib.sha256()
    for path in paths:
        h.update(path.read_bytes())
    return h.hexdigest()[:12] if paths else ""


def _silent(stage: str, done: int, total: int) -> None:
    """No progress wanted."""


def _read(model: Model, source: Path | None) -> tuple[ModelProto, Callable[[ModelProto], Any] | None]:
    if source is not None:
        return read_model(source), None
    if isinstance(model, ModelProto):
        return copied(model), None
    if type(model).__module__.startswith("onnx_graphsurgeon"):
        gs: Any = import_module("onnx_graphsurgeon")  # by name: it has no types, and only its users pay for it
        return gs.export_onnx(model), gs.import_onnx
    do = "give a path, an onnx.ModelProto or an onnx_graphsurgeon.Graph"
    raise UsageError(f"cannot optimise a {type(model).__name__}", where="optimize()", do=do)


def inline(model: PathText, output: PathText, *, weights: Weights = "keep", in_place: bool = False) -> int:
    """Write the model with every fused node replaced by its body; how many there were.

    Raises ModelError, UsageError.
    """
    delivery = Delivery(Path(model), Path(output), in_place, weights)
    delivery.check()
    proto = read_model(Path(model))
    check_external(proto, Path(model).parent)
    placings = delivery.placings(proto)
    count = sum(n.domain == DOMAIN for n in proto.graph.node)
    inline_model(proto)
    save_model(proto, Path(output), placings)
    return count
