"""A plan that comes back from review: whether it fits the model and the rules, and was followed."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from ascend_fuse import __version__
from ascend_fuse.cleanup.redirect import SHAPE_SOURCE
from ascend_fuse.config import BOUNDS, Settings, checked
from ascend_fuse.error import UsageError
from ascend_fuse.plan import Cleanup, Plan, Region

if TYPE_CHECKING:
    from ascend_fuse.preparation import Preparation

AGAIN = "plan again with `ascend-fuse optimize --plan`"


@dataclass(frozen=True, slots=True)
class Review:
    """The plan to apply and where it is from, for errors."""

    plan: Plan
    where: str = "the plan"

    def settings(self, soc: str = "") -> Settings:
        """What the plan was made with; `soc` may name the platform file. Raises UsageError.

        Assumed sizes are assumed again, so that the result is that of planning.
        """
        p = self.plan
        if p.already_fused:
            raise self._refused("it has nothing to apply: its model was already fused", "plan the original model")
        if p.platform_digest and not soc:
            raise self._refused(f"it was made for the platform file {p.soc}", "give that file with --soc")
        if missing := [n for n in BOUNDS if n not in p.bounds]:
            raise self._refused(f"its bounds lack {missing[0]}", AGAIN)
        dims = {name: n for name, n in p.dims.items() if name not in p.assumed_dims}
        limits = {n: checked(n, p.bounds[n], f"{self.where}: $.bounds") for n in BOUNDS}
        return Settings(
            soc or p.soc, dims, p.select, p.ignore, cleanup=p.cleanup, inline_functions=p.inline_functions,
            **limits,  # pyright: ignore[reportArgumentType]
        )  # fmt: skip

    def check(self, ready: Preparation) -> None:
        """Rules, chip and bounds are those that the plan was made by. Raises UsageError."""
        p, o = self.plan, ready.options
        if p.tool != __version__:
            raise self._refused(f"it was made by ascend-fuse {p.tool}, this is {__version__}", AGAIN)
        if p.rules_digest != ready.rules_digest:
            do = f"give the same --rules folders, or {AGAIN}"
            raise self._refused("it was made with other rules", do)
        if p.soc != o.soc:
            raise self._refused(f"it was made for {p.soc}, not for {o.soc}", f"leave --soc out, or {AGAIN}")
        if p.platform_digest != ready.platform_digest:
            do = f"give that file with --soc, or {AGAIN}"
            raise self._refused(f"it was made with another platform file of {p.soc}", do)
        if p.profile_digest != o.profile:
            do = f"give that file with --profile, or {AGAIN}" if p.profile_digest else "leave --profile out"
            raise self._refused("it was made with other measured times", do)
        for name, value in o.bounds.items():
            if p.bounds.get(name) != value:
                raise self._refused(f"bounds.{name} is {p.bounds.get(name)}, not {value:g}", AGAIN)
        if p.settings_digest != ready.settings_digest:
            what = "its soc, dims, bounds, rules, cleanup or inline_functions were changed after planning"
            raise self._refused(what, "plan again with the options that it shall have")

    def check_model(self, digest: str, nodes: int, opset: int) -> None:
        """The model is the one that was planned. Raises UsageError."""
        p = self.plan
        if (p.digest, p.nodes, p.opset) != (digest, nodes, opset):
            raise self._refused("it was made for another model", f"give that model, or {AGAIN}")

    def followed(self, done: Plan, deleted: Sequence[Cleanup]) -> tuple[Review, tuple[str, ...]]:
        """The review of what can be done of the plan, and a note for each of its entries that cannot.

        `deleted`: cleanups that the plan no longer lists; what rests on one is left out. Raises UsageError for an
        entry that planning does not find although nothing was deleted.
        """
        found = {_place(r): r for r in done.regions}
        regions: list[Region] = []
        cleanups: list[Cleanup] = []
        notes: list[str] = []
        for k, region in enumerate(self.plan.regions):
            refused = self._compare(k, region, found.pop(_place(region), None))
            if refused is None:
                regions.append(region)
            elif deleted:
                notes.append(f"{region.name} is left out: it rests on {_one_of(deleted)}")
            else:
                raise refused
        lacking = set(self.plan.cleanups) - set(done.cleanups)
        for k, cleanup in enumerate(self.plan.cleanups):
            # AF001 only makes room for regions: without any, it has nothing to do
            if cleanup not in lacking or (not regions and cleanup.rule == SHAPE_SOURCE):
                cleanups.append(cleanup)
            elif deleted:
                notes.append(f"{_told(cleanup)} is left out: it rests on {_one_of(deleted)}")
            else:
                raise self._refused(f"planning does not find the cleanup {_told(cleanup)}", AGAIN, f"cleanups[{k}]")
        return replace(self, plan=replace(self.plan, regions=tuple(regions), cleanups=tuple(cleanups))), tuple(notes)

    def _compare(self, k: int, given: Region, found: Region | None) -> UsageError | None:
        """Why the plan's region is none that planning found; None when it is."""
        if found is None:
            return self._refused(f"planning does not find the region {given.name}", AGAIN, f"regions[{k}]")
        for name, value in _content(given).items():
            if value != _content(found)[name]:
                what = f"`{name}` of {given.name} is not what planning finds"
                do = f"a plan may lose regions, not change them: delete it, or {AGAIN}"
                return self._refused(what, do, f"regions[{k}].{name}")
        return None

    def _refused(self, what: str, do: str, path: str = "") -> UsageError:
        return UsageError(what, where=f"{self.where}: $.{path}" if path else self.where, do=do)


def _place(region: Region) -> tuple[str, tuple[int, ...]]:
    return region.graph, region.nodes


def _content(region: Region) -> Mapping[str, object]:
    """What decides the fused node."""
    return {
        "op_type": region.op_type, "family": region.family, "rules": region.rules, "inputs": region.inputs,
        "outputs": region.outputs, "program": region.program, "sizes": dict(region.sizes), "tiling": region.tiling,
        "name": re.sub(r"_\d+$", "", region.name),  # its number counts the regions, which may be fewer
    }  # fmt: skip


def _told(cleanup: Cleanup) -> str:
    inside = f"{cleanup.graph}: " if cleanup.graph else ""
    return f"{cleanup.rule} of {inside}{cleanup.node}"


def _one_of(deleted: Sequence[Cleanup]) -> str:
    if len(deleted) > 1:
        return f"one of {len(deleted)} deleted cleanups ({_told(deleted[0])}, …)"
    return f"a deleted cleanup, {_told(deleted[0])}"
