"""One model on its way through: infer, clean, plan, edit, prove."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from onnx import ModelProto

from ascend_fuse import __version__
from ascend_fuse.account import Outcome
from ascend_fuse.candidate import Candidate
from ascend_fuse.claim import Refused, prove
from ascend_fuse.cleanup.claim import cleanups
from ascend_fuse.cleanup.find import restricted
from ascend_fuse.cleanup.model import Cleaned, clean_all, find_all
from ascend_fuse.cleanup.redirect import SHAPE_SOURCE, Redirect, find_redirects, redirect
from ascend_fuse.cleanup.unused import drop_unused, find_unused
from ascend_fuse.collector import collecting_seldom
from ascend_fuse.emit.edit import OPTIONS_KEY, Editor, describe_redirects
from ascend_fuse.emit.inline import inline_model, is_fused
from ascend_fuse.engine import DEFAULT_SOC, Engine
from ascend_fuse.graph.function import Functions, inline_functions, left_in_place
from ascend_fuse.graph.launch import launches_by_node, launches_by_scope
from ascend_fuse.graph.load import normalise
from ascend_fuse.graph.outline import Outline, outline
from ascend_fuse.graph.scope import Scope, first_stop, infer, scopes, view_of
from ascend_fuse.graph.shape import Inference
from ascend_fuse.graph.size import Sizes, by_use, check_sizes
from ascend_fuse.graph.view import View, model_opset
from ascend_fuse.measurement import Matched, Measurement
from ascend_fuse.plan import Cleanup, NearMiss, Plan, Region, Totals
from ascend_fuse.planning import Planner
from ascend_fuse.proof.cleanup import prove_claims
from ascend_fuse.proof.structure import Numbers, prove_structure, signature
from ascend_fuse.review import Review
from ascend_fuse.rule.load import RuleSet
from ascend_fuse.summary import Planned, candidates, digest, misses, regions, removed, times_of, totals
from ascend_fuse.wanted import wanted

Progress = Callable[[str, int, int], None]
Survey = Callable[[Mapping[str, int]], tuple[Sizes, list[Planned]]]  # sizes that differ from those of the options


@dataclass(frozen=True, slots=True)
class Options:
    """What decides the result; recorded in the model's metadata."""

    soc: str = DEFAULT_SOC
    dims: Mapping[str, int] = field(default_factory=dict[str, int])
    select: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()
    bounds: Mapping[str, float] = field(default_factory=dict[str, float])
    files: str = ""  # digest of the user's rules and platform file
    cleanup: bool = True
    inline_functions: bool = False
    profile: str = ""  # digest of the measured times

    def record(self) -> dict[str, object]:
        """As written to the metadata."""
        return {
            "version": __version__, "soc": self.soc, "dims": dict(sorted(self.dims.items())),
            "select": list(self.select), "ignore": list(self.ignore), "bounds": dict(sorted(self.bounds.items())),
            "files": self.files, "cleanup": self.cleanup, "inline_functions": self.inline_functions,
            "profile": self.profile,
        }  # fmt: skip


class Run:
    """One model on its way through."""

    def __init__(
        self,
        model: ModelProto,
        engine: Engine,
        rules: RuleSet,
        options: Options,
        tell: Progress,
        measurement: Measurement | None = None,
        refused: Refused | None = None,
    ) -> None:
        self.model = model
        self.engine = engine
        self.rules = rules
        self.options = options
        self.tell = tell
        self.measurement = measurement
        self.measured = Matched()
        self.refused = refused or {}
        self.sizes = Sizes(options.dims)
        self.numbers = Numbers()
        self._views: dict[str, View] = {}  # by path, of scopes that are as they were when it was made
        self.deleted: list[Cleanup] = []  # what changes nodes and the plan to apply no longer lists
        self.candidates: tuple[Candidate, ...] = ()  # all regions that were judged
        self.outline: Outline | None = None  # of the graph that was planned, before any edit

    @collecting_seldom()
    def fuse(self, review: Review | None = None, anew: bool = False) -> tuple[Plan, tuple[str, ...]]:
        """Plan, edit and prove; the model is edited in place.

        `review`: the regions and cleanups of its plan alone. `anew`: also what was fused with these options.
        Raises UnprovableError for nodes that no region may have: begin again with these `refused`.
        """
        only = review.plan if review is not None else None
        if is_fused(self.model) and only is None and not anew and self._same_options():
            return self._nothing_to_do(), ("the model is already fused with these options: nothing to do",)
        notes = self._open(anew)
        self.tell("infer", 1, 5)
        inferred = infer(self.model)
        source = digest(self.model), len(self.model.graph.node)
        self.outline = outline(self.model, inferred)
        if review is not None:
            review.check_model(*source, model_opset(self.model))
        check_sizes(self.options.dims, inferred[""].symbols)
        self.sizes = Sizes(self.options.dims, by_use(self.model.graph))
        cleaned, inferred = self._clean(inferred, only)
        redirects = self._redirects(inferred[""], only)
        before = signature(self.model, self.numbers, {r.output: r.new for r in redirects})
        redirect(self.model, redirects)
        if redirects:
            self._views.clear()
        self.tell("plan", 2, 5)
        planned = self._plan_scopes(inferred, cleaned.positions, only)
        if not any(p.outcome.chosen for p in planned):  # nothing to make room for
            redirect(self.model, redirects, back=True)
            before, redirects = signature(self.model, self.numbers), ()
        self.tell("edit", 3, 5)
        self._edit(planned, redirects)
        self.tell("prove", 4, 5)
        prove_structure(before, signature(self.model, self.numbers))
        prove(planned, self.rules)
        notes += first_stop(inferred)
        return self._summary(source, cleaned, tuple(r.cleanup for r in redirects), planned), notes

    @collecting_seldom()
    def fuse_by(self, plan: Callable[[Planner], Outcome]) -> int:
        """Fuse what `plan` chooses in each scope of the original graph, and prove it; how many nodes are fused."""
        self._open(anew=True)
        inferred = infer(self.model)
        self.sizes = Sizes(self.options.dims, by_use(self.model.graph))
        before = signature(self.model, self.numbers)
        planned = self._plan_scopes(inferred, {}, None, plan)
        self._edit(planned, ())
        prove_structure(before, signature(self.model, self.numbers))
        prove(planned, self.rules)
        return sum(len(p.fused) for p in planned)

    def outlined(self, anew: bool) -> Outline:
        """The graph that `fuse` would plan, where the plan is known already; the model is opened for it."""
        self._open(anew)
        return outline(self.model, infer(self.model))

    def survey(self) -> tuple[Survey, tuple[str, ...]]:
        """Clean the model and give what plans it at any sizes, as `fuse` would; nothing is fused. With notes."""
        notes = self._open(anew=True)
        inferred = infer(self.model)
        check_sizes(self.options.dims, inferred[""].symbols)
        used = by_use(self.model.graph)
        self.sizes = Sizes(self.options.dims, used)
        cleaned, inferred = self._clean(inferred, None)
        redirect(self.model, self._redirects(inferred[""], None))
        self._views.clear()

        def plan(sizes: Mapping[str, int]) -> tuple[Sizes, list[Planned]]:
            check_sizes(sizes, inferred[""].symbols, "--sweep")
            self.sizes = Sizes({**self.options.dims, **sizes}, used)
            return self.sizes, self._plan_scopes(inferred, cleaned.positions, None)

        return plan, notes

    def _open(self, anew: bool) -> tuple[str, ...]:
        """The model as planning takes it, without fused nodes; with notes."""
        notes = normalise(self.model)  # before anything expands functions: one that calls itself would have no end
        if is_fused(self.model):
            notes += ("the model is fused already: this is planned anew from its original graph",) if anew else ()
            inline_model(self.model)
        if self.options.inline_functions:
            inline_functions(self.model)
            notes += left_in_place(self.model)
        if self.measurement is not None:
            self.measured = self.measurement.matched(self.model, self.engine.limits.launch_us)
        return (*notes, *self.measured.notes)

    def _clean(self, inferred: Mapping[str, Inference], only: Plan | None) -> tuple[Cleaned, Mapping[str, Inference]]:
        """Clean the model, proved (edited in place); with what is inferred of the result."""
        cleaned = self._cleaned(inferred, only) if self.options.cleanup else Cleaned()
        if cleaned.positions and len(inferred) > 1:  # bodies read other values than before
            inferred = infer(self.model)
        return cleaned, inferred

    def _cleaned(self, inferred: Mapping[str, Inference], only: Plan | None) -> Cleaned:
        found = find_all(self.model, inferred, self.rules)
        if only is not None:
            self.deleted += (c for f in found for c in cleanups(f.claims, f.scope.path) if c not in only.cleanups)
            found = [replace(f, claims=restricted(f.claims, f.view, f.scope.path, only.cleanups)) for f in found]
        self._views = {f.scope.path: f.view for f in found}
        positions: Mapping[str, Sequence[int]] = {}
        saved = Totals()
        if any(f.claims for f in found):
            saved = removed(found, self.model, self.engine, self.sizes, self.measured.times)
            before = signature(self.model, self.numbers, claims={f.scope.path: f.claims for f in found})
            prove_claims(found)
            positions = clean_all(found)
            self._views.clear()
            prove_structure(before, signature(self.model, self.numbers))
        unused = [u for u in find_unused(self.model, self.rules) if only is None or u.cleanup in only.cleanups]
        if unused:
            drop_unused(self.model, unused)
            self._views.clear()
        listed = [c for f in found for c in cleanups(f.claims, f.scope.path)]
        return Cleaned((*listed, *(u.cleanup for u in unused)), positions, saved)

    def _redirects(self, inference: Inference, only: Plan | None) -> tuple[Redirect, ...]:
        if not self.options.cleanup or not any(r.code == SHAPE_SOURCE for r in self.rules.rules):
            return ()
        scope = scopes(self.model)[-1]
        found = find_redirects(self._view(scope, inference), inference)
        if only is None:
            return found
        if not self.deleted:  # else some may be there only because of that
            self.deleted += (r.cleanup for r in found if r.cleanup not in only.cleanups)
        return tuple(r for r in found if r.cleanup in only.cleanups)

    def _view(self, scope: Scope, inference: Inference) -> View:
        """The scope's view; from IR 4 on callers may override initializers that are graph inputs as well."""
        if scope.path not in self._views:
            self._views[scope.path] = view_of(scope, inference, self.model.ir_version >= 4)
        return self._views[scope.path]

    def _plan_scopes(
        self,
        inferred: Mapping[str, Inference],
        positions: Mapping[str, Sequence[int]],
        only: Plan | None,
        plan: Callable[[Planner], Outcome] = Planner.run,
    ) -> list[Planned]:
        launches = launches_by_scope(self.model)
        functions = Functions(self.model)
        times = functions.times(self.model)
        planned: list[Planned] = []
        for scope in scopes(self.model):
            inference, own = inferred.get(scope.path), launches.get(scope.path)
            if inference is None or own is None:  # a function in another opset, or one that nothing calls
                continue
            view = self._view(scope, inference)
            at = positions.get(scope.path, range(len(view.nodes)))
            planner = Planner(
                view, own, inference.sure_values, self.rules, self.engine, self.sizes, self.measured.times
            )
            planner.grower.programs.refused = self.refused.get(scope.path, {})
            outcome = plan(planner) if only is None else planner.run(wanted(only, scope.path, at))
            planned.append(Planned(scope, view, inference, outcome, at, times_of(scope.path, functions, times)))
        return planned

    def _edit(self, planned: Sequence[Planned], redirects: Sequence[Redirect]) -> None:
        editor = Editor(self.model, self.options.soc)
        for p in planned:
            p.fused = editor.apply(p.scope, p.view, p.outcome.chosen, p.inference.hinted)
        editor.finish(self.options.record())
        describe_redirects(self.model, {r.output: r.old for r in redirects})

    def _same_options(self) -> bool:
        text = next((p.value for p in self.model.metadata_props if p.key == OPTIONS_KEY), "")
        return text == json.dumps(self.options.record(), sort_keys=True, separators=(",", ":"))

    def _summary(
        self, source: tuple[str, int], cleaned: Cleaned, redirected: tuple[Cleanup, ...], planned: Sequence[Planned]
    ) -> Plan:
        names = {r.code: r.name for r in self.rules.rules}
        functions = Functions(self.model)
        main_first = [*planned[-1:], *planned[:-1]]
        before, after = totals(planned)
        self.candidates = tuple(c for p in main_first for c in candidates(p))
        plan = self._filled(
            source, (*cleaned.cleanups, *redirected), tuple(r for p in main_first for r in regions(p, names)),
            tuple(m for p in main_first for m in misses(p, functions)), (before + cleaned.removed, after),
        )  # fmt: skip
        return replace(plan, passed=tuple(m for p in main_first for m in misses(p, functions, passed=True)))

    def _nothing_to_do(self) -> Plan:
        launches = sum(launches_by_node(self.model))
        known = Totals(launches, 0, 0.0)
        plan = self._filled((digest(self.model), len(self.model.graph.node)), (), (), (), (known, known))
        return replace(plan, already_fused=True)

    def _filled(
        self,
        source: tuple[str, int],
        cleaned: tuple[Cleanup, ...],
        fused: tuple[Region, ...],
        left: tuple[NearMiss, ...],
        estimate: tuple[Totals, Totals],
    ) -> Plan:
        return Plan(
            __version__, source[1], model_opset(self.model), source[0], self.options.soc,
            dict(sorted((self.sizes.given | self.sizes.declared).items())), tuple(sorted(self.sizes.declared)),
            self.options.bounds, self.options.select, self.options.ignore, cleaned, fused, left, *estimate,
            {r.code: r.name for r in self.rules.rules}, self.sizes.undeclared,
        )  # fmt: skip
