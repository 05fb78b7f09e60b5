"""One model on its way through: infer, clean, plan, edit, prove."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from onnx import ModelProto

from ascend_fuse import __version__
from ascend_fuse.cleanup import SHAPE_SOURCE, Redirect, find_redirects, redirect
from ascend_fuse.emit.edit import OPTIONS_KEY, Fused, apply, describe_redirects
from ascend_fuse.emit.inline import inline_model, is_fused
from ascend_fuse.engine import DEFAULT_SOC, Engine
from ascend_fuse.error import InternalError, UsageError
from ascend_fuse.graph.launch import launches_by_node
from ascend_fuse.graph.load import normalise
from ascend_fuse.graph.shape import Inference, infer
from ascend_fuse.graph.size import Sizes, by_use
from ascend_fuse.graph.view import View, model_opset
from ascend_fuse.plan import Cleanup, NearMiss, Plan, Region, Totals
from ascend_fuse.planning import Outcome, Planner
from ascend_fuse.proof.program import Claim, prove_programs
from ascend_fuse.proof.structure import prove_structure, signature
from ascend_fuse.resource import rules_dir
from ascend_fuse.rule.load import RuleSet
from ascend_fuse.rule.pattern import Pattern

Progress = Callable[[str, int, int], None]


@dataclass(frozen=True, slots=True)
class Options:
    """What decides the result; recorded in the model's metadata."""

    soc: str = DEFAULT_SOC
    dims: Mapping[str, int] = field(default_factory=dict[str, int])
    select: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()
    bounds: Mapping[str, float] = field(default_factory=dict[str, float])
    files: str = ""  # digest of the user's rules and platform file

    def record(self) -> dict[str, object]:
        """As written to the metadata."""
        return {
            "version": __version__, "soc": self.soc, "dims": dict(sorted(self.dims.items())),
            "select": list(self.select), "ignore": list(self.ignore), "bounds": dict(sorted(self.bounds.items())),
            "files": self.files,
        }  # fmt: skip


class Run:
    """One model on its way through."""

    def __init__(self, model: ModelProto, engine: Engine, rules: RuleSet, options: Options, tell: Progress) -> None:
        self.model = model
        self.engine = engine
        self.rules = rules
        self.options = options
        self.tell = tell
        self.sizes = Sizes(options.dims)

    def fuse(self) -> tuple[Plan, tuple[str, ...]]:
        """Plan, edit and prove; the model is edited in place."""
        if is_fused(self.model):
            if self._same_options():
                return self._nothing_to_do(), ("the model is already fused with these options: nothing to do",)
            inline_model(self.model)
        notes = normalise(self.model)
        self.tell("infer", 1, 5)
        inference = infer(self.model)
        _check_sizes(self.options.dims, inference)
        self.sizes = Sizes(self.options.dims, by_use(self.model.graph))
        digest = _digest(self.model)
        nodes = len(self.model.graph.node)
        redirects: tuple[Redirect, ...] = ()
        if any(r.code == SHAPE_SOURCE for r in self.rules.rules):
            redirects = find_redirects(self._view(inference), inference)
        before = signature(self.model, {r.output: r.new for r in redirects})
        redirect(self.model, redirects)
        self.tell("plan", 2, 5)
        view = self._view(inference)
        outcome = self._planner(view, inference).run()
        if not outcome.chosen:  # nothing to make room for
            redirect(self.model, redirects, back=True)
            before, redirects = signature(self.model), ()
        self.tell("edit", 3, 5)
        fused = apply(self.model, view, outcome.chosen, self.options.soc, self.options.record())
        describe_redirects(self.model, {r.output: r.old for r in redirects})
        self.tell("prove", 4, 5)
        prove_structure(before, signature(self.model))
        prove_programs([self._claim(f, inference, view.opset) for f in fused], self._definitions())
        return self._plan(view, outcome, fused, tuple(r.cleanup for r in redirects), nodes, digest), notes

    def _view(self, inference: Inference) -> View:
        return View(self.model.graph, model_opset(self.model), inference.types, overridable=self.model.ir_version >= 4)

    def _planner(self, view: View, inference: Inference) -> Planner:
        return Planner(view, launches_by_node(self.model), inference.values, self.rules, self.engine, self.sizes)

    def _claim(self, fused: Fused, inference: Inference, opset: int) -> Claim:
        built, function = fused.chosen.built, fused.body.function
        hosts = {
            k: inference.values[name]
            for k, (name, line) in enumerate(zip(built.inputs, built.program.inputs, strict=True))
            if line.host and name in inference.values
        }
        missing = [i.name for k, i in enumerate(built.program.inputs) if i.host and k not in hosts]
        if missing:
            raise InternalError(f"host input {missing[0]} of {function.name} has no known value", where="program proof")
        return Claim(
            function.name,
            built,
            tuple(function.node),
            tuple(function.input),
            tuple(function.output),
            opset,
            hosts,
            fused.chosen.rules[0],
        )

    def _definitions(self) -> dict[str, list[Pattern]]:
        """A shipped idiom's pattern defines its instruction; a user's has to be shown equal by running it."""
        found: dict[str, list[Pattern]] = {}
        for rule in self.rules.rules:
            if rule.instruction and rule.path.parent == rules_dir():
                found.setdefault(rule.instruction.split()[0], []).extend(rule.patterns)
        return found

    def _same_options(self) -> bool:
        text = next((p.value for p in self.model.metadata_props if p.key == OPTIONS_KEY), "")
        return text == json.dumps(self.options.record(), sort_keys=True, separators=(",", ":"))

    def _plan(
        self,
        view: View,
        outcome: Outcome,
        fused: Sequence[Fused],
        cleanups: tuple[Cleanup, ...],
        nodes: int,
        digest: str,
    ) -> Plan:
        names = {r.code: r.name for r in self.rules.rules}
        regions = tuple(_region(view, f, names.get(f.chosen.rules[0], "")) for f in fused)
        return self._filled(nodes, digest, cleanups, regions, outcome.misses, outcome.before, outcome.after)

    def _nothing_to_do(self) -> Plan:
        launches = sum(launches_by_node(self.model))
        totals = Totals(launches, 0, 0.0)
        plan = self._filled(len(self.model.graph.node), _digest(self.model), (), (), (), totals, totals)
        return replace(plan, already_fused=True)

    def _filled(
        self,
        nodes: int,
        digest: str,
        cleanups: tuple[Cleanup, ...],
        regions: tuple[Region, ...],
        misses: tuple[NearMiss, ...],
        before: Totals,
        after: Totals,
    ) -> Plan:
        return Plan(
            __version__, nodes, model_opset(self.model), digest, self.options.soc,
            dict(sorted((self.sizes.given | self.sizes.declared).items())), tuple(sorted(self.sizes.declared)),
            self.options.bounds, self.options.select, self.options.ignore, cleanups, regions, misses, before, after,
            {r.code: r.name for r in self.rules.rules}, self.sizes.undeclared,
        )  # fmt: skip


def _check_sizes(dims: Mapping[str, int], inference: Inference) -> None:
    """Raises UsageError for a size that no input declares or that is not positive."""
    for name, size in dims.items():
        if name not in inference.symbols:
            known = ", ".join(sorted(inference.symbols)) or "none"
            raise UsageError(f"no size is called {name!r}", where="--dim", do=f"the model's are: {known}")
        if size < 1:
            raise UsageError(f"{name}={size}", where="--dim", do="give a positive number")


def _region(view: View, fused: Fused, label: str) -> Region:
    c = fused.chosen
    program = c.built.program
    return Region(
        "", fused.node.name, fused.body.function.name, program.family, label, c.rules, c.nodes,
        tuple(view.nodes[k].label for k in c.nodes), c.built.inputs, c.built.outputs, c.part[0],
        dict(zip(program.symbols, c.part[1], strict=True)), c.tiling, c.figures,
    )  # fmt: skip


def _digest(model: ModelProto) -> str:
    """SHA-256 over the nodes: the weights stay unread."""
    h = hashlib.sha256()
    for node in model.graph.node:
        h.update(node.SerializeToString(deterministic=True))
    return h.hexdigest()
