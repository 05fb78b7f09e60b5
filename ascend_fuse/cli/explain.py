"""`ascend-fuse explain`."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from difflib import get_close_matches
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ascend_fuse.cli import complete
from ascend_fuse.cli.option import SETTINGS, FormatOption, ReportOption, configured
from ascend_fuse.cli.progress import progress
from ascend_fuse.cli.sweep import sweep_model
from ascend_fuse.config import Config, Settings
from ascend_fuse.error import UsageError
from ascend_fuse.reason import CODES
from ascend_fuse.report.page import Format

if TYPE_CHECKING:
    from onnx import ModelProto

    from ascend_fuse.report.explanation import Filter

RULE = re.compile(r"[A-Za-z]{2,8}([0-9]{3}|[0-9]*[*?][0-9*?]*)")  # a code or a glob of codes
WORD = re.compile(r"[A-Za-z0-9-]+")  # as rules are named; a file has a dot or a slash
CLOSE = 0.8  # how much alike a word and a reason are that is mistyped
PLANNING = [n for n in SETTINGS if n not in ("weights", "verify", "jobs", "scheduler", "cache", "cache_dir")]


@configured(*PLANNING)
def explain_command(
    what: Annotated[
        str,
        typer.Argument(
            metavar="MODEL|CODE", help="ONNX file, a rule's code or name, or a reason.", autocompletion=complete.codes
        ),
    ],
    node: Annotated[
        list[str] | None,
        typer.Option("--node", metavar="NAME", help="Only the node of that name, with all that was judged."),
    ] = None,
    rule: Annotated[
        str,
        typer.Option(
            "--rule", metavar="AF...", help="Only what this rule, or glob, is about.", autocompletion=complete.rules
        ),
    ] = "",
    code: Annotated[
        str,
        typer.Option(
            "--code", metavar="REASON", help="Only near misses for this reason.", autocompletion=complete.reasons
        ),
    ] = "",
    sweep: Annotated[
        list[str] | None,
        typer.Option("--sweep", metavar="NAME=A..B", help="Where verdicts flip with a size; A,B,... too; repeatable."),
    ] = None,
    report: ReportOption = None,
    form: FormatOption = Format.TEXT,
    *,
    config: Config,
) -> None:
    """Explain a rule, a reason code, or all that a model's plan fuses, leaves and cleans up.

    Of a node that is named: the candidates that were judged with it, tiles, buffers, pipe times before and after, what
    the gain is made of and how far assumed figures may be off; in .md and .html also as bars.
    A fused model is planned anew from its original graph. Nothing is written but reports.
    """
    is_rule = RULE.fullmatch(what) is not None or _is_name(what, config.settings)
    # a word near to a code is a code mistyped, unless there is such a file
    is_code = is_rule or bool(get_close_matches(what.lower(), CODES, 1, CLOSE))
    if not is_code or Path(what).exists():
        from ascend_fuse.report.render import format_of

        for path in report or ():
            format_of(path)
        from ascend_fuse.report.advice import check_code
        from ascend_fuse.report.explanation import Filter

        wanted = Filter(tuple(node or ()), _rule(rule, config.settings), code)
        if code:
            check_code(code)
        if sweep:
            sweep_model(Path(what), sweep, wanted, report or (), form, config)
        else:
            _model(Path(what), wanted, report or (), form, config)
        return
    if node or rule or code or sweep or report:
        raise UsageError(
            "--node, --rule, --code, --sweep and --report are for a model",
            where=what,
            do="give a model, or the code alone",
        )
    if is_rule:
        from ascend_fuse.cli.catalogue import rules_command

        rules_command([what], [Path(r) for r in config.settings.rules], form)
        return
    from ascend_fuse.report.advice import reason_page
    from ascend_fuse.report.render import show

    show(reason_page(what.lower()), form)


def _is_name(what: str, settings: Settings) -> bool:
    """Whether a word that is no file names a rule. Raises UsageError where it is near to a code or a name."""
    from ascend_fuse.rule.load import load_rules

    if what in CODES or RULE.fullmatch(what) or not WORD.fullmatch(what) or Path(what).exists():
        return False
    known = load_rules([Path(r) for r in settings.rules])
    if any(r.name == what.lower() for r in known.rules):
        return True
    if not get_close_matches(what.lower(), CODES, 1, CLOSE) and (near := known.near(what)):
        do = f"did you mean {', '.join((*near, *get_close_matches(what.lower(), CODES, 3, 0.6)))}?"
        raise UsageError("no file, rule or reason is called so", where=what, do=do)
    return False


def _model(model: Path, wanted: Filter, reports: Sequence[Path], form: Format, config: Config) -> None:
    from ascend_fuse.detail import explained
    from ascend_fuse.graph.save import write_texts
    from ascend_fuse.pipeline import deliver_to
    from ascend_fuse.preparation import prepare
    from ascend_fuse.report.explanation import explanation_page
    from ascend_fuse.report.render import format_of, render_page, show
    from ascend_fuse.task import Task, carry_out, check

    task = Task(config.settings, deliver_to(model, config.settings, None), strict=config.strict_sizes(), anew=True)
    writing = replace(task.delivery, reports=tuple(reports))
    check(replace(task, delivery=writing))
    ready = prepare(replace(config.settings, cache=False))  # which has nothing of what was judged
    with progress(quiet=False) as callback:
        result = carry_out(model, task, callback, ready)
    writing.placings(result.model)  # refuses to write over data files
    judged = explained(ready.engine, result.plan, result.candidates, wanted.nodes)
    others = partial(_others, model, result.model)
    page = explanation_page(str(model), result.plan, result.notes, wanted, others, judged)
    write_texts([(path, render_page(page, format_of(path))) for path in reports], lambda: None)
    show(page, form)


def _others(model: Path, done: ModelProto) -> dict[str, str]:
    """The nodes of the model and of what became of it, with what there is to say of those that no plan names."""
    from ascend_fuse.graph.load import read_model
    from ascend_fuse.graph.proto import node_label
    from ascend_fuse.graph.scope import scopes

    gone = "it went with a cleanup: nothing reads it any more"
    kept = "nothing is launched for it alone: it is a view, a constant or a shape, or in what is not planned"
    names = {node_label(n): gone for s in scopes(read_model(model)) for n in s.graph.node}
    return names | {node_label(n): kept for s in scopes(done) for n in s.graph.node}


def _rule(entry: str, settings: Settings) -> str:
    """The code or glob of --rule, a name's code. Raises UsageError when no rule matches."""
    from ascend_fuse.rule.load import load_rules

    if not entry:
        return ""
    known = load_rules([Path(r) for r in settings.rules])
    known.choose((entry,), (), "--rule")
    return next((r.code for r in known.rules if r.name == entry.lower()), entry.upper())
