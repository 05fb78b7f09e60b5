"""`ascend-fuse doctor`."""

from __future__ import annotations

import typer

from ascend_fuse.cli.option import FormatOption
from ascend_fuse.report.page import Format

EXIT_GATE = 1


def doctor_command(form: FormatOption = Format.TEXT) -> None:
    """Tell which versions are here, whether the plugin loads, whether CANN is found, and what would run where."""
    from ascend_fuse.doctor import examine
    from ascend_fuse.report.doctor import doctor_page
    from ascend_fuse.report.render import show

    found = examine()
    show(doctor_page(found), form)
    if not found.ok:
        raise typer.Exit(EXIT_GATE)
