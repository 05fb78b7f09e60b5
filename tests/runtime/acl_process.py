"""Processes on a libascendcl that has no device, and the calls that they made."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from ascend_fuse.runtime import get_library_path
from tests.compiler import compile_cpp

SOURCE = Path(__file__).parent / "acl_stand_in.cpp"
KERNELS = Path(__file__).parent.parent.parent / "kernels"


def compile_stand_in(folder: Path) -> Path:
    """A folder with libascendcl.so in it."""
    includes = (f"-I{KERNELS / 'engine'}", f"-I{KERNELS / 'runtime'}")
    compile_cpp("-std=c++17", "-shared", "-fPIC", *includes, "-o", folder / "libascendcl.so", SOURCE)
    return folder


@dataclass(frozen=True, slots=True)
class Log:
    """What a process said, and its calls in order: name and the rest of the line."""

    said: list[str]
    calls: list[tuple[str, str]]

    def of(self, call: str) -> list[str]:
        return [rest for name, rest in self.calls if name == call]

    def count(self, call: str) -> int:
        return len(self.of(call))

    def names(self) -> list[str]:
        return [name for name, _ in self.calls]

    def marked(self) -> list[list[str]]:
        """Names of the calls behind each MARK."""
        parts: list[list[str]] = []
        for name, _ in self.calls:
            if name == "MARK":
                parts.append([])
            elif parts:
                parts[-1].append(name)
        return parts

    @property
    def hazards(self) -> list[str]:
        """What was done before the work that it depends on."""
        return self.of("HAZARD")


def run_process(library: Path | None, folder: Path, module: str, *arguments: str, **settings: str) -> Log:
    """Runs a module of the tests; `library`: where libascendcl.so lies. It must end well."""
    kernels, log = folder / "kernels", folder / "log"
    kernels.mkdir(exist_ok=True)
    for arch in (2201, 3510):
        (kernels / f"ascend_fuse_{arch}.o").write_bytes(b"a kernel")
    log.unlink(missing_ok=True)
    environment = {
        **os.environ,
        "ACL_STAND_IN_LOG": str(log),
        "ACL_STAND_IN_PLUGIN": get_library_path(),
        **settings,
    }
    if library:
        environment["LD_LIBRARY_PATH"] = str(library)
    command = [sys.executable, "-m", f"tests.runtime.{module}", *arguments, str(kernels)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, env=environment)
    assert done.returncode == 0, done.stderr
    lines = log.read_text().splitlines() if log.exists() else []
    return Log(done.stdout.splitlines(), [(name, rest) for name, _, rest in (line.partition(" ") for line in lines)])
