"""`optimize`, `apply`, `plan` and `inline` for Python: the arguments as a task, and the task carried out."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from onnx import ModelProto

from ascend_fuse.config import DEFAULT_SOC, Settings, Verify, Weights, check_settings
from ascend_fuse.delivery import Delivery
from ascend_fuse.emit.inline import count_fused, inline_model, recorded
from ascend_fuse.error import UsageError
from ascend_fuse.graph.load import check_external, read_model
from ascend_fuse.graph.save import save_model
from ascend_fuse.plan import Plan
from ascend_fuse.plan_file import read_plan
from ascend_fuse.review import Review
from ascend_fuse.run import Progress
from ascend_fuse.task import Model, Result, Task, carry_out, source_of

PathText = str | os.PathLike[str]


def optimize(
    model: Model,
    *,
    output: PathText | None = None,
    soc: str = DEFAULT_SOC,
    dims: Mapping[str, int] | None = None,
    select: str | Sequence[str] = (),
    ignore: str | Sequence[str] = (),
    rules: PathText | Sequence[PathText] = (),
    weights: Weights = "copy",
    cleanup: bool = True,
    inline_functions: bool = False,
    verify: Verify = False,
    in_place: bool = False,
    skip_unchanged: bool = False,
    reports: PathText | Sequence[PathText] = (),
    plan: PathText | None = None,
    launch_us: float = 10.0,
    min_gain: float = 0.03,
    min_gain_us: float = 1.0,
    ub_reserve: float = 0.0,
    l1_reserve: float = 0.0,
    min_tile_k: int = 16,
    streams: int = 1,
    profile: PathText = "",
    progress: Progress | None = None,
) -> Result:
    """Fuse a model given as a path, a ModelProto (copied) or a graphsurgeon Graph (comes back as one).

    `select`, `ignore` (codes or globs in any case), `rules` (folders) and `reports` (files, by their ending) take
    one item or several. `cleanup=False` keeps every node that is not fused; `inline_functions` expands model-local
    functions first; `profile` is a file with measured times of the nodes. Nothing is written without `output` (or
    `in_place` for a path), `plan` (a file for the plan's JSON, which `apply` takes) and `reports`; nothing when a proof
    fails, and the reports alone when `verify` finds a difference. A model that is already fused with these options is
    copied as it is, or, with `skip_unchanged`, not written.
    Raises UsageError, SocError, RuleError, ModelError, VerificationError, InternalError.
    """
    settings = Settings(
        soc, dims or {}, _items(select), _items(ignore), _folders(rules), launch_us,
        min_gain, min_gain_us, ub_reserve, l1_reserve, min_tile_k, streams, os.fspath(profile), weights,
        cleanup, inline_functions, verify,
    )  # fmt: skip
    check_settings(settings, "optimize()")
    delivery = deliver_to(model, settings, output, in_place, reports, plan)
    return carry_out(model, Task(settings, delivery, skip_unchanged=skip_unchanged), progress)


def apply(
    model: Model,
    plan: Plan | PathText,
    *,
    output: PathText | None = None,
    soc: str = "",
    rules: PathText | Sequence[PathText] = (),
    profile: PathText = "",
    weights: Weights = "copy",
    verify: Verify = False,
    in_place: bool = False,
    reports: PathText | Sequence[PathText] = (),
    progress: Progress | None = None,
) -> Result:
    """Fuse exactly the regions of a plan (or of the plan in a file), with its options and its cleanups.

    Regions and cleanups may have been deleted from it; what rests on a deleted cleanup is left out, with a note.
    `rules` (folders), `profile` and `soc` (a platform_config file) are needed when the plan was made with such. The
    rest is as in `optimize`.
    Raises UsageError also for a plan of another model, of other rules, or with a region that planning does not find.
    """
    file = None if isinstance(plan, Plan) else Path(plan)
    review = Review(plan) if isinstance(plan, Plan) else Review(read_plan(Path(plan)), os.fspath(plan))
    settings = replace(
        review.settings(soc), rules=_folders(rules), profile=os.fspath(profile), weights=weights, verify=verify
    )
    delivery = replace(deliver_to(model, settings, output, in_place, reports), reviewed=file)
    return carry_out(model, Task(settings, delivery, review), progress)


def deliver_to(
    model: Model,
    settings: Settings,
    output: PathText | None,
    in_place: bool = False,
    reports: PathText | Sequence[PathText] = (),
    plan: PathText | None = None,
) -> Delivery:
    """What a run for that model reads and writes; nothing is checked yet."""
    source = source_of(model)
    over = in_place and source is not None
    target = source if over else Path(output) if output is not None else None
    return Delivery(
        source, target, over, settings.weights, tuple(Path(r) for r in _items(reports)),
        None if plan is None else Path(plan),
    )  # fmt: skip


def _folders(value: PathText | Sequence[PathText]) -> tuple[str, ...]:
    return tuple(str(Path(item)) for item in _items(value))


def _items(value: PathText | Sequence[Any]) -> tuple[Any, ...]:
    """One item is a list of one: a string is never taken letter by letter."""
    return (value,) if isinstance(value, (str, os.PathLike)) else tuple(value)


@dataclass(frozen=True, slots=True)
class Inlined:
    """How many fused nodes `inline` replaced, in all scopes; `notes`: what does not come back."""

    count: int
    notes: tuple[str, ...] = ()


def inline(
    model: PathText, output: PathText | None = None, *, weights: Weights = "copy", in_place: bool = False
) -> Inlined:
    """Write the model with every fused node replaced by its body.

    Raises ModelError, UsageError.
    """
    target = Path(model) if in_place or output is None else Path(output)
    if in_place == (output is not None):
        raise UsageError("one of output and in_place is needed", where="inline()", do="give either")
    delivery = Delivery(Path(model), target, in_place, weights)
    delivery.check()
    proto = read_model(Path(model))
    check_external(proto, Path(model))
    placings = delivery.placings(proto)
    inlined = Inlined(count_fused(proto), _not_undone(proto))
    inline_model(proto)
    save_model(proto, target, placings)
    return inlined


def _not_undone(model: ModelProto) -> tuple[str, ...]:
    """What the options that the model was fused with have changed for good."""
    options = recorded(model)
    notes: list[str] = []
    if options.get("cleanup") is True:
        notes.append("it was fused with cleanups: what they removed, if anything, does not come back (see its report)")
    if options.get("inline_functions") is True:
        notes.append("it was fused with its functions expanded: they stay so")
    return tuple(notes)
