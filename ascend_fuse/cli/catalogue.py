"""`ascend-fuse rules` and `ascend-fuse soc`: what the tool knows."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ascend_fuse.cli import complete
from ascend_fuse.cli.main import EXIT_GATE
from ascend_fuse.cli.option import FormatOption, RulesOption
from ascend_fuse.error import UsageError
from ascend_fuse.report.page import Format

LINT = "lint"  # no code is written so


def rules_command(
    words: Annotated[
        list[str] | None,
        typer.Argument(
            metavar=f"[CODE | {LINT} [DIR]...]",
            help=f"Rule or its name to print, glob to list, or `{LINT}` and folders to check (default: our rules).",
            autocompletion=complete.rules,
        ),
    ] = None,
    rules: RulesOption = None,
    form: FormatOption = Format.TEXT,
) -> None:
    """List the rules, or those that a glob matches, print one, or check rule files (exit 1 on findings)."""
    code, *rest = words or [""]
    if code == LINT:
        _lint([*map(Path, rest), *(rules or ())], form)
        return
    from ascend_fuse.report.catalogue import rule_page, rules_page
    from ascend_fuse.report.render import show
    from ascend_fuse.rule.load import load_rules

    if rest:
        raise UsageError(f"one rule at a time, not {len(rest) + 1}", where="rules", do="give a code or a glob")
    known = load_rules(tuple(rules or ()))
    if not code or any(c in code for c in "*?["):
        listed = known.choose((code,), (), "rules") if code else known
        show(rules_page(listed.rules), form)
    else:
        show(rule_page(known.by_code(code)), form)


def _lint(folders: list[Path], form: Format) -> None:
    """Print the findings as compilers do. Raises typer.Exit(1) when there are any."""
    from ascend_fuse.proof.instruction import difference
    from ascend_fuse.report.lint import lint_page, lint_summary
    from ascend_fuse.report.page import printable
    from ascend_fuse.report.render import show
    from ascend_fuse.resource import rules_dir
    from ascend_fuse.rule.lint import lint

    checked = lint(folders or [rules_dir()], difference)
    if form is Format.TEXT:  # line by line and unwrapped, so that editors find the place
        for finding in checked.findings:
            typer.echo(printable(finding.sentence()))
        typer.echo(lint_summary(checked), err=bool(checked.findings))
    else:
        show(lint_page(checked), form)
    if checked.findings:
        raise typer.Exit(EXIT_GATE)


def soc_command(
    name: Annotated[
        str | None,
        typer.Argument(
            metavar="[NAME|INI]", help="Chip, or CANN platform_config file, to print.", autocompletion=complete.chips
        ),
    ] = None,
    form: FormatOption = Format.TEXT,
) -> None:
    """List the chips, or print the figures of one."""
    from ascend_fuse import _engine
    from ascend_fuse.engine import load_soc
    from ascend_fuse.report.catalogue import soc_page, socs_page
    from ascend_fuse.report.render import show

    chips = [load_soc(n) for n in ([name] if name is not None else _engine.soc_names())]
    show(socs_page(chips) if name is None else soc_page(chips[0]), form)
