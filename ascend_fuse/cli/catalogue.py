"""`ascend-fuse rules` and `ascend-fuse soc`: what the tool knows."""

from __future__ import annotations

from typing import Annotated

import typer

from ascend_fuse.cli.option import FormatOption, RulesOption
from ascend_fuse.report.page import Format


def rules_command(
    code: Annotated[str | None, typer.Argument(metavar="[CODE]", help="Rule to print, or glob to list.")] = None,
    rules: RulesOption = None,
    form: FormatOption = Format.TEXT,
) -> None:
    """List the rules, or those that a glob matches, or print one."""
    from ascend_fuse.report.catalogue import rule_page, rules_page
    from ascend_fuse.report.render import show
    from ascend_fuse.rule.load import load_rules

    known = load_rules(tuple(rules or ()))
    if code is None or any(c in code for c in "*?["):
        listed = known if code is None else known.choose((code.upper(),), ())
        show(rules_page(listed.rules), form)
    else:
        show(rule_page(known.by_code(code.upper())), form)


def soc_command(
    name: Annotated[
        str | None, typer.Argument(metavar="[NAME|INI]", help="Chip, or CANN platform_config file, to print.")
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
