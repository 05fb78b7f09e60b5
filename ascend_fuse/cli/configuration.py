"""`ascend-fuse config show`."""

from __future__ import annotations

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
    """Print each option, its value, and where that comes from."""
    from ascend_fuse.report.configuration import config_page
    from ascend_fuse.report.render import show

    show(config_page(config), form)
