"""Models planned and judged by gates; nothing is written but reports and, when asked for, the baseline."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from ascend_fuse.batch import Batch, Told, absent, find_models
from ascend_fuse.config import Gates, Settings, check_settings
from ascend_fuse.delivery import Delivery
from ascend_fuse.error import UsageError
from ascend_fuse.gate.baseline import UPDATE, Baseline, Expectation, changed_options, expectation, read_baseline
from ascend_fuse.gate.limit import Judgement, judge
from ascend_fuse.gate.regression import Compared, compare
from ascend_fuse.gate.result import EXPECT, Checked, CheckedModel
from ascend_fuse.graph.save import write_texts
from ascend_fuse.graph.target import check_apart, check_file
from ascend_fuse.plan import Plan
from ascend_fuse.preparation import prepare
from ascend_fuse.shard import Shard, Share, file_bytes, part, share
from ascend_fuse.task import Task
from ascend_fuse.task import check as check_task
from ascend_fuse.worker import Failure, Outcome, run_all

EXIT_USAGE = 2
MORE = 5  # fusions beyond the baseline that a note lists


def check(
    inputs: Sequence[str | os.PathLike[str]],
    settings: Settings | None = None,
    gates: Gates | None = None,
    *,
    update_baseline: bool = False,
    exit_zero: bool = False,
    reports: Sequence[str | os.PathLike[str]] = (),
    strict: frozenset[str] | None = None,
    shard: Shard | None = None,
    progress: Told | None = None,
) -> Checked:
    """Plan each model, and every *.onnx under folders, as `optimize` would, and hold it against the gates.

    No model is written. `update_baseline` makes the baseline `gates.expect` what is found now, unless a model could
    not be planned. `strict`: the sizes that a model has to have, one at least of several, None for all of
    `settings.dims`. With `shard` it is that part of the models.
    Raises UsageError for what can be refused before anything runs, such as a baseline that is not there.
    """
    settings, gates = replace(settings or Settings(), verify=False), gates or Gates()
    check_settings(settings, "settings")
    given, files = [Path(i) for i in inputs], tuple(map(Path, reports))
    sources = _sources(given)
    if settings.profile and len(sources) > 1:
        raise UsageError("a profile is of one model", where="--profile", do="give the models one by one")
    mine, whole = _part(sources, shard)
    wanted = strict if len(sources) == 1 else frozenset[str]()
    tasks = [_task(source, settings, files, wanted) for source in mine]
    baseline = _baseline(gates, update_baseline, [*sources, *files])
    ready = prepare(settings)
    outcomes, interrupted = run_all([(task,) for task in tasks], settings, ready, progress or _silent)
    lacking = absent(settings, outcomes) if len(sources) > 1 and not interrupted and whole is None else ()
    gone = () if baseline is None else baseline.gone(given, sources)
    held = None if update_baseline else baseline
    models = tuple(_judged(o, gates, held) for o in outcomes)
    needed = tuple(n for n in lacking if strict is None or n in strict)
    batch = Batch(outcomes, interrupted, needed, whole)
    unknown = tuple(n for n in lacking if n not in needed)
    checked = Checked(batch, models, gates, () if update_baseline else gone, None, exit_zero, unknown)
    if interrupted:
        return checked
    texts: list[tuple[Path, str]] = []
    if baseline is not None and update_baseline and not checked.errors:
        plans = {o.source: o.plan for o in outcomes if o.plan is not None}
        texts.append((baseline.file, baseline.updated(plans, gone).render()))
        checked = replace(checked, updated=baseline.file)
    _write(checked, files, texts)
    return checked


def _silent(path: str, done: int, total: int) -> None:
    """No progress wanted."""


def _sources(inputs: Sequence[Path]) -> tuple[Path, ...]:
    """The models, each once."""
    found: dict[Path, Path] = {}
    for given in inputs:
        for source in find_models(given, None) if given.is_dir() else [given]:
            found.setdefault(source.resolve(), source)
    return tuple(found.values())


def _part(sources: tuple[Path, ...], shard: Shard | None) -> tuple[tuple[Path, ...], Share | None]:
    """The shard's models, and what that is of the whole; all of them without one."""
    if shard is None:
        return sources, None
    sized = [[(source.as_posix(), file_bytes(source))] for source in sources]
    mine = part(sized, shard)
    return tuple(source for k, source in enumerate(sources) if k in mine), share(sized, shard)


def _task(source: Path, settings: Settings, reports: tuple[Path, ...], strict: frozenset[str] | None) -> Task:
    """Plans the model from its original graph; that reports can be written is checked. Raises UsageError."""
    check_task(Task(settings, Delivery(source, None, reports=reports)))
    return Task(settings, Delivery(source, None), strict=strict, anew=True)


def _baseline(gates: Gates, update: bool, others: Sequence[Path]) -> Baseline | None:
    """The baseline, without entries where it is yet to be made. Raises UsageError."""
    if not gates.expect:
        if update:
            raise UsageError("there is no baseline to update", where="--update-baseline", do="name it with --expect")
        return None
    file = Path(gates.expect)
    check_apart([("the baseline", file)], [("a model or a report", path) for path in others])
    if update:
        check_file(file, "baseline")
    return Baseline(file) if update and not file.exists() else read_baseline(file)


def _judged(o: Outcome, gates: Gates, baseline: Baseline | None) -> CheckedModel:
    if o.plan is None or o.growth is None:
        return CheckedModel(o)
    numbers = CheckedModel(o, tuple(judge(gates, o.plan, o.growth)))
    if baseline is None:
        return numbers
    name, found = baseline.name(o.source), expectation(o.plan)
    expected = baseline.entries.get(name)
    if expected is None:
        what = f"{o.source}: {baseline.file} has no entry {name!r}; {UPDATE} to add it"
        return replace(numbers, error=Failure(what, EXIT_USAGE))
    if changes := changed_options(expected, found):
        do = f"give the options of the baseline, or {UPDATE}"
        what = f"{o.source}: {baseline.file} was made with other options: {'; '.join(changes)}; {do}"
        return replace(numbers, error=Failure(what, EXIT_USAGE))
    return _held_against(numbers, o.plan, expected, found, str(baseline.file))


def _held_against(
    numbers: CheckedModel, plan: Plan, expected: Expectation, found: Expectation, file: str
) -> CheckedModel:
    compared = compare(expected.fusions, plan)
    count, lost = len(expected.fusions), len(compared.lost)
    message = f"{count - lost} of {count} expected fusions are there"
    judgement = Judgement(EXPECT, file, count - lost, not lost, message)
    return replace(
        numbers, judgements=(*numbers.judgements, judgement), lost=compared.lost, expected=expected.fusions,
        notes=_notes(compared, expected, found),
    )  # fmt: skip


def _notes(compared: Compared, expected: Expectation, found: Expectation) -> tuple[str, ...]:
    """What is better than the baseline, and figures that have changed."""
    notes: list[str] = []
    if compared.more:
        shown = compared.more[:MORE]
        named = ", ".join(f"{f.rules[0]} {f.label} at {f.nodes[-1] if f.nodes else f.graph}" for f in shown)
        more = f" and {len(compared.more) - MORE} more" if len(compared.more) > MORE else ""
        count = f"{len(compared.more)} fusion{'s' if len(compared.more) > 1 else ''}"
        notes.append(f"{count} more than the baseline, {named}{more}; run with --update-baseline to expect them")
    for name in ("launches", "hbm_bytes", "time_us"):
        before, after = getattr(expected, name), getattr(found, name)
        if before != after:
            notes.append(f"{name}: {after:,} after fusion, {before:,} in the baseline")
    return tuple(notes)


def _write(checked: Checked, reports: Sequence[Path], texts: list[tuple[Path, str]]) -> None:
    from ascend_fuse.report.check import check_page
    from ascend_fuse.report.render import format_of, render_page

    if reports:
        page = check_page(checked, in_full=True)
        texts += [(path, render_page(page, format_of(path, findings=True))) for path in reports]
    write_texts(texts, lambda: None)
