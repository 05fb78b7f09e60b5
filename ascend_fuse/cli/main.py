"""Runs the command line: exit codes, interrupts, streams. The commands are imported when all that is in place."""

from __future__ import annotations

import io
import os
import signal
import sys
from collections.abc import Generator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from types import FrameType
from typing import Any

from ascend_fuse.cli.stream import say, silence

EXIT_DONE = 0
EXIT_GATE = 1
EXIT_USAGE = 2
EXIT_INTERNAL = 5
EXIT_INTERRUPTED = 130  # 128 + SIGINT, as shells have it
DEBUG = "--debug"
INTERRUPTED = "interrupted; nothing is half-written"


def _open_streams() -> None:
    """A stream that the caller closed goes nowhere; without it, the next file opened would get its number."""
    for fd in range(3):
        try:
            os.fstat(fd)
        except OSError:
            os.open(os.devnull, os.O_RDWR)
    # open until the process ends, as standard streams are
    if sys.stdout is None:  # pyright: ignore[reportUnnecessaryComparison]
        sys.stdout = open(1, "w", encoding="utf-8", closefd=False)  # noqa: SIM115
    if sys.stderr is None:  # pyright: ignore[reportUnnecessaryComparison]
        sys.stderr = open(2, "w", encoding="utf-8", closefd=False)  # noqa: SIM115


def _encode_anything() -> None:
    """Names of any script reach a terminal or pipe of any encoding: as escapes where it lacks them."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


# What ends a run, and what it does where nobody has asked for something else.
_ENDINGS = ((signal.SIGINT, signal.default_int_handler), (signal.SIGTERM, signal.SIG_DFL))


@dataclass(slots=True)
class _Interrupt:
    """Whether a signal has come, and which: a library's import may turn it into an error of its own."""

    seen: bool = False
    number: int = signal.SIGINT

    def take(self, number: int, frame: FrameType | None) -> None:
        self.seen, self.number = True, number
        raise KeyboardInterrupt

    @contextmanager
    def watched(self) -> Generator[None]:
        """Signals go to `take` meanwhile, but for those that the caller ignores, or all in another thread."""
        taken: list[tuple[signal.Signals, Any]] = []
        for number, usual in _ENDINGS:
            if signal.getsignal(number) is usual:
                with suppress(ValueError):  # not the main thread
                    signal.signal(number, self.take)
                    taken.append((number, usual))
        try:
            yield
        finally:
            for number, usual in taken:
                signal.signal(number, usual)


def _traceback(wanted: bool) -> None:
    if wanted:
        import traceback

        traceback.print_exc()


def _run(args: list[str]) -> int:
    """The command's own exit code. Raises whatever it raises."""
    from ascend_fuse.cli.app import app

    code = 0
    try:  # not standalone: click's errors come out, and are told as ours are
        code = app(args=args, prog_name="ascend-fuse", standalone_mode=False) or 0
    except SystemExit as done:
        code = done.code if isinstance(done.code, int) else int(done.code is not None)
    sys.stdout.flush()
    if code == EXIT_INTERRUPTED:
        raise KeyboardInterrupt
    return code


def _spelled(args: Sequence[str]) -> list[str]:
    """The arguments as typer takes them: no --debug, and a value for --verify, which may stand without one."""
    plain = args.index("--") if "--" in args else len(args)
    short = {"--verify": "--verify=cpu", "--no-verify": "--verify=no"}
    return [short.get(a, a) if k < plain else a for k, a in enumerate(args) if a != DEBUG]


def _misused(error: Any) -> int:
    """Tells an error of the command line itself; without any arguments, the help."""
    if type(error).__name__ == "NoArgsIsHelpError":
        error.show()
    else:
        what = str(error.format_message()).rstrip(".").replace(": Value error, ", ": ")  # pydantic's, in some versions
        command = error.ctx.command_path if getattr(error, "ctx", None) else "ascend-fuse"
        say(f"error: {what[:1].lower()}{what[1:]}; see `{command} --help`")
    return EXIT_USAGE


def _failed(error: BaseException, debug: bool) -> int:
    """Tells the error in one line; its exit code."""
    from ascend_fuse.error import AscendFuseError

    _traceback(debug)
    if isinstance(error, AscendFuseError):
        say(f"error: {error.sentence()}")
        return error.exit_code
    if isinstance(error, MemoryError):
        say("error: not enough memory; give smaller sizes, or more memory")
        return EXIT_USAGE
    if hasattr(error, "format_message"):  # click's, which typer has under a name of its own in some versions
        return _misused(error)
    if isinstance(error, OSError):
        # what fails in a file names it (graph/save.py); without a name it is the stream
        where, do = error.filename, "check the path, the rights and the space left"
        if not where:
            where, do = "standard output", "files that were written before are whole"
        say(f"error: {where}: {error.strerror or error}; {do}")
        silence(sys.stdout)
        return EXIT_USAGE
    say(
        f"internal error: {type(error).__name__}: {error}; nothing is half-written; "
        f"please report it with the output of the same command with {DEBUG}"
    )
    return EXIT_INTERNAL


def app_main(argv: Sequence[str] | None = None) -> int:
    """Runs the command line and returns its exit code; every failure is one line on standard error."""
    interrupt = _Interrupt()
    try:
        with interrupt.watched():
            _open_streams()
            _encode_anything()
            args = list(sys.argv[1:] if argv is None else argv)
            debug = DEBUG in args  # taken out here, so that it may stand anywhere
            try:
                return _run(_spelled(args))
            except BrokenPipeError:  # the reader has what it wanted (`| head`)
                silence(sys.stdout)
                return EXIT_DONE
            except Exception as error:  # the boundary: whatever was not foreseen is our bug and says so
                if interrupt.seen:
                    raise KeyboardInterrupt from error
                return _failed(error, debug)
    except KeyboardInterrupt:
        say(INTERRUPTED)
        return 128 + interrupt.number
