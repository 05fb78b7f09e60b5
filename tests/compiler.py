"""The C++ compiler of tests that build their own library, with the sanitizers that ASCEND_FUSE_SANITIZE names.

Their run-time library is loaded into Python by LD_PRELOAD (`make sanitize`); the compiler itself runs without it.
"""

from __future__ import annotations

import os
import subprocess

_SANITIZE = os.environ.get("ASCEND_FUSE_SANITIZE", "")
SANITIZE_FLAGS: tuple[str, ...] = (
    (f"-fsanitize={_SANITIZE}", "-fno-sanitize-recover=all", "-fno-omit-frame-pointer", "-g") if _SANITIZE else ()
)


def environment() -> dict[str, str]:
    """The variables of a compiler."""
    return {name: value for name, value in os.environ.items() if name != "LD_PRELOAD"}


def run(*command: object) -> None:
    """Runs a command of a build. Raises subprocess.CalledProcessError where it fails."""
    subprocess.run([str(part) for part in command], check=True, env=environment())


def compile_cpp(*arguments: object) -> None:
    """Runs g++ with these arguments. Raises subprocess.CalledProcessError where it fails."""
    run("g++", *SANITIZE_FLAGS, *arguments)
