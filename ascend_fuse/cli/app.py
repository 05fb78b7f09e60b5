"""The commands as one typer application; docs/design/0002 has what a script may rely on."""

from __future__ import annotations

from typing import Annotated

import typer

from ascend_fuse.cli.bisect import bisect_command
from ascend_fuse.cli.catalogue import rules_command, soc_command
from ascend_fuse.cli.check import check_command
from ascend_fuse.cli.compare import diff_command, verify_command
from ascend_fuse.cli.configuration import config_app
from ascend_fuse.cli.doctor import doctor_command
from ascend_fuse.cli.explain import explain_command
from ascend_fuse.cli.inline import inline_command
from ascend_fuse.cli.main import DEBUG
from ascend_fuse.cli.optimize import apply_command, optimize_command
from ascend_fuse.cli.schema import schema_command

# Plain help: rich would double the time until it is shown.
app = typer.Typer(
    name="ascend-fuse", no_args_is_help=True, rich_markup_mode=None,
    pretty_exceptions_enable=False, context_settings={"help_option_names": ["-h", "--help"]},
)  # fmt: skip


def _version(wanted: bool) -> None:
    if wanted:
        from importlib.metadata import version

        typer.echo(f"ascend-fuse {version('ascend-fuse')}")
        raise typer.Exit


@app.callback()
def root(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version and exit.")
    ] = False,
    debug: Annotated[bool, typer.Option(DEBUG, help="Print a traceback with every error.")] = False,
) -> None:
    """Fuse the small operators of an ONNX model into few AscendC kernels, where it is estimated to pay.

    Exit codes: 0 done, 1 a gate failed, 2 usage or configuration, 3 the input model is bad,
    4 verification failed, 5 internal error.
    """


app.command("optimize")(optimize_command)
app.command("apply")(apply_command)
app.command("check")(check_command)
app.command("explain")(explain_command)
app.command("diff")(diff_command)
app.command("bisect")(bisect_command)
app.command("inline")(inline_command)
app.command("verify")(verify_command)
app.command("rules")(rules_command)
app.command("soc")(soc_command)
app.command("schema")(schema_command)
app.command("doctor")(doctor_command)
app.add_typer(config_app, name="config")
