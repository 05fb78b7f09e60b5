"""`ascend-fuse config show`."""

from __future__ import annotations

from pathlib import Path

import typer

from ascend_fuse.cli.option import SETTINGS, FormatOption, configured
from ascend_fuse.config import Config
from ascend_fuse.report.page import Format

config_app = typer.Typer(no_args_is_help=True, rich_markup_mode=None)


@config_app.callback()
def configuration() -> None:
    """Options from command line, environment and files."""


@config_app.command("show")
@configured(*SETTINGS)
def show_command(form: FormatOption = Format.TEXT, *, config: Config) -> None:
    """Print each option, its value, and where that comes from; fails where the next command would."""
    from ascend_fuse.engine import load_soc
    from ascend_fuse.report.configuration import config_page
    from ascend_fuse.report.render import show
    from ascend_fuse.rule.load import load_rules

    settings = config.settings  # as in `preparation`, without what that imports
    load_soc(settings.soc)
    if settings.profile:
        from ascend_fuse.measurement import read_measurement

        read_measurement(Path(settings.profile))
    load_rules([Path(r) for r in settings.rules]).choose(settings.select, settings.ignore)
    show(config_page(config), form)
