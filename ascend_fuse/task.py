"""One model's run from its file to its outputs: load, plan, edit, prove, verify, write."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from onnx import ModelProto

from ascend_fuse.cache import Kept
from ascend_fuse.candidate import Candidate
from ascend_fuse.claim import Refused, UnprovableError
from ascend_fuse.config import Settings
from ascend_fuse.delivery import Delivery, check_verifiable, compare
from ascend_fuse.emit.inline import is_fused
from ascend_fuse.error import ModelError, UsageError, VerificationError
from ascend_fuse.graph.load import check_external, read_model
from ascend_fuse.graph.outline import Outline, outline
from ascend_fuse.graph.proto import copied
from ascend_fuse.graph.save import write_texts
from ascend_fuse.growth import Growth, growth
from ascend_fuse.plan import Plan, rounded, to_json
from ascend_fuse.preparation import Preparation, declared_sizes, own_files, prepare, without_absent
from ascend_fuse.review import Review
from ascend_fuse.roofline import Roofs, roofs
from ascend_fuse.run import Progress, Run

if TYPE_CHECKING:
    from ascend_fuse.verify.result import Verification

Model = Any  # str | os.PathLike[str] | onnx.ModelProto | onnx_graphsurgeon.Graph: the last is imported by nobody here
GivenBack = Callable[[ModelProto], Any]
CACHED = "from the cache: an earlier run of this version planned and proved this model with these options"


@dataclass(frozen=True, slots=True)
class Drawing:
    """The graphs before and after, and the roofs of the chip: what no plan holds and a picture needs."""

    before: Outline
    after: Outline
    roofs: Roofs


@dataclass(frozen=True, slots=True)
class Result:
    """What `optimize` or `apply` did. `model` holds no external weights; `path` is where it was written, if it was.

    `unchanged`: the model was already fused with the same options. `candidates`: all regions that were judged, none
    when the result is `cached`: planned and proved by an earlier run. `source`: the file that was read; `growth`: from
    its size to that of the fused model, written or not. `drawing`: what an HTML report draws of the graphs and the
    chip; None where nothing was planned.
    """

    plan: Plan = field(repr=False)
    model: Any = field(repr=False)
    path: Path | None
    verification: Verification | None
    notes: tuple[str, ...]
    unchanged: bool = False
    candidates: tuple[Candidate, ...] = field(default=(), repr=False)
    source: Path | None = None
    growth: Growth | None = None
    cached: bool = False
    drawing: Drawing | None = field(default=None, repr=False)

    def report(self, form: str = "text") -> str:
        """The report as text, markdown, html or json."""
        from ascend_fuse.report.render import render

        return render(self, form)


@dataclass(frozen=True, slots=True)
class Task:
    """What is to be done with one model.

    `review`: the plan to apply, instead of planning freely. `strict`: the sizes that the model has to have, None for
    all. `skip_unchanged`: a model that is already fused with these options is not written. `anew`: it is planned from
    its original graph all the same.
    """

    settings: Settings
    delivery: Delivery
    review: Review | None = None
    strict: frozenset[str] | None = None
    skip_unchanged: bool = False
    anew: bool = False


def carry_out(model: Model, task: Task, progress: Progress | None = None, ready: Preparation | None = None) -> Result:
    """Do it; `ready` is what the task's settings give, for several tasks that were checked together.

    Raises UsageError, SocError, RuleError, ModelError, VerificationError, InternalError.
    """
    tell = progress or _silent
    if ready is None:
        check(task)
        ready = prepare(task.settings)
    if task.review is not None:
        task.review.check(ready)
    tell("load", 0, 5)
    source = task.delivery.source
    proto, given_back = opened(model, source)
    notes: tuple[str, ...] = ()
    try:
        if source is not None:
            check_external(proto, source)
        if task.strict is not None:
            dims, notes = without_absent(task.settings.dims, declared_sizes(proto), task.strict)
            ready = replace(ready, options=replace(ready.options, dims=dims))
        result = _fuse(proto, task, ready, notes, tell, lambda: opened(model, source)[0])
    except ModelError as e:
        raise e.of(source) from e
    result = replace(result, model=given_back(result.model))
    tell("done", 5, 5)
    return result


@dataclass(frozen=True, slots=True)
class _Fused(Kept):
    """The model with its plan; `before`: the graph that was planned; `candidates`: what was judged, unless it was kept
    from an earlier run.
    """

    before: Outline | None = None
    candidates: tuple[Candidate, ...] = ()
    cached: bool = False


def _kept(model: ModelProto, task: Task, ready: Preparation, tell: Progress, again: Callable[[], ModelProto]) -> _Fused:
    """The model fused, from the cache where it is there, else fused and kept there."""
    options = {**ready.options.record(), "anew": task.anew}
    wanted = ready.cache if task.review is None else None
    entry = wanted.entry(model, options, ready.rules_digest) if wanted is not None else None
    found = entry.read(model) if entry is not None else None
    if found is not None:
        run = Run(model, ready.engine, ready.rules, ready.options, tell)
        before = None if found.plan.already_fused else run.outlined(task.anew)
        return _Fused(found.model, found.plan, (*found.notes, CACHED), before, cached=True)
    fused = _planned(model, task, ready, tell, again)
    fused = replace(fused, plan=ready.stamped(fused.plan))
    if entry is None:
        return fused
    fused = replace(fused, plan=rounded(fused.plan))  # as it will be read, so that both reports are the same
    why = entry.write(fused)
    return replace(fused, notes=(*fused.notes, why)) if why else fused


def _planned(
    model: ModelProto, task: Task, ready: Preparation, tell: Progress, again: Callable[[], ModelProto]
) -> _Fused:
    """The model fused and what was judged; begun `again` without what rests on deleted cleanups or does not run."""
    review, left_out, refused = task.review, tuple[str, ...](), Refused()
    while True:
        run = Run(model, ready.engine, ready.rules, ready.options, tell, ready.measurement, refused)
        try:
            plan, notes = run.fuse(review, task.anew)
        except UnprovableError as e:
            refused, model = e.beside(refused), again()
            continue
        if review is None:
            return _Fused(model, plan, notes, run.outline, run.candidates)
        followed, more = review.followed(plan, run.deleted)
        left_out += more
        if len(followed.plan.regions) == len(review.plan.regions):
            own = "only the nodes of the plan were planned: the plan itself has the reasons why others stay"
            return _Fused(model, plan, (*notes, *left_out, own), run.outline, run.candidates)
        review, model = followed, again()


def _fuse(
    model: ModelProto,
    task: Task,
    ready: Preparation,
    notes: tuple[str, ...],
    tell: Progress,
    again: Callable[[], ModelProto],
) -> Result:
    """Fuse, verify, write; `again` reads the model anew."""
    delivery = task.delivery
    placings = delivery.placings(model)
    fused = _kept(model, task, ready, tell, again)
    model, notes = fused.model, notes + fused.notes
    # a model that is fused anew has regions, one that is not is no longer fused
    unchanged = not fused.plan.regions and is_fused(model)
    target = None if unchanged and task.skip_unchanged else delivery.target
    verification = None
    if task.settings.verify:
        kernels = ready if task.settings.verify == "kernels" else None
        verification = compare(model, check_verifiable(delivery.source), target, fused.plan.dims, kernels)
    if target is not None and (verification is None or verification.ok):
        notes += tuple(p.note() for p in placings)
    source = delivery.source
    grown = None if source is None else growth(source, model, unchanged=unchanged)
    drawing = None if fused.before is None else Drawing(fused.before, outline(model), roofs(ready.engine))
    result = Result(
        fused.plan,
        model,
        target,
        verification,
        notes,
        unchanged,
        fused.candidates,
        source,
        grown,
        fused.cached,
        drawing,
    )
    _deliver(result, delivery, lambda: delivery.write(model, placings, unchanged=unchanged) if target else None)
    return result


def check(task: Task) -> None:
    """What can be refused before anything is read. Raises UsageError."""
    from ascend_fuse.report.render import format_of

    for path in task.delivery.reports:
        format_of(path, findings=True)
    task.delivery.check(own_files(task.settings))
    if task.settings.verify:
        check_verifiable(task.delivery.source)


def _deliver(result: Result, delivery: Delivery, write: Callable[[], None]) -> None:
    """Reports, plan and model, or after a failed comparison the reports alone. Raises VerificationError then."""
    from ascend_fuse.report.render import format_of, render_page, result_page

    found = result.verification
    ok = found is None or found.ok
    texts: list[tuple[Path, str]] = []
    if delivery.plan is not None and ok:
        texts.append((delivery.plan, json.dumps(to_json(result.plan), indent=2, allow_nan=False) + "\n"))
    if delivery.reports:
        page = result_page(result)
        texts += [(path, render_page(page, format_of(path, findings=True))) for path in delivery.reports]
    write_texts(texts, write if ok else lambda: None)
    if found is not None and not ok:
        what = f"the fused model computes something else: {found.failures()[0]}"
        raise VerificationError(what, where=found.model_a, do="please report it", verification=found)


def _silent(stage: str, done: int, total: int) -> None:
    """No progress wanted."""


def _itself(model: ModelProto) -> ModelProto:
    return model


def opened(model: Model, source: Path | None) -> tuple[ModelProto, GivenBack]:
    """The model as a proto of our own, and what makes the caller's kind of model of it."""
    if source is not None:
        return read_model(source), _itself
    if isinstance(model, ModelProto):
        return copied(model), _itself
    if type(model).__module__.startswith("onnx_graphsurgeon"):
        gs: Any = import_module("onnx_graphsurgeon")  # by name: it has no types, and only its users pay for it
        return gs.export_onnx(model), gs.import_onnx
    do = "give a path, an onnx.ModelProto or an onnx_graphsurgeon.Graph"
    raise UsageError(f"cannot optimise a {type(model).__name__}", where="optimize()", do=do)


def source_of(model: Model) -> Path | None:
    """The model's file, None for one in memory."""
    return Path(os.fspath(model)) if isinstance(model, (str, os.PathLike)) else None
