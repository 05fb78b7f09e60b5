"""The plugin's view of ONNX Runtime's C interface, and what it says to versions that it does not know."""

from __future__ import annotations

import ctypes
import os
import re
import subprocess
from pathlib import Path

import onnxruntime
import pytest

from ascend_fuse import runtime
from ascend_fuse.error import UsageError
from ascend_fuse.runtime.library import get_library_path
from tests.compiler import environment

PLUGIN = Path(__file__).parent.parent.parent / "kernels" / "ort_plugin"
# Set by hand (CONTRIBUTING.md): a folder of ONNX Runtime's C headers, which no Python package ships.
OFFICIAL = os.environ.get("ORT_INCLUDE_DIR", "")


def _compile(folder: Path, *options: str) -> str:
    source = folder / "abi.cpp"
    source.write_text('#include "ort_abi.h"\nint main() {}\n')
    command = ["g++", "-std=c++17", "-fsyntax-only", f"-I{PLUGIN}", *options, str(source)]
    done = subprocess.run(command, capture_output=True, text=True, env=environment())
    return done.stderr if done.returncode else ""


def test_our_header_has_the_offsets_of_the_table(tmp_path: Path) -> None:
    assert _compile(tmp_path) == ""


@pytest.mark.skipif(not OFFICIAL, reason="no ORT_INCLUDE_DIR")
def test_the_official_headers_have_the_offsets_of_the_table(tmp_path: Path) -> None:
    assert _compile(tmp_path, "-DASCEND_FUSE_ORT_HEADERS", f"-isystem{OFFICIAL}", "-Wno-attributes") == ""


def test_every_member_that_we_declare_is_in_the_table() -> None:
    header = (PLUGIN / "ort_abi.h").read_text("utf-8")
    table = (PLUGIN / "ort_offsets.inc").read_text("utf-8")
    members = 0
    for name, body in re.findall(r"^struct (\w+) \{\n(.*?)^\};", header, re.S | re.M):
        for member in re.findall(r"\(\*(\w+)\)\(|^    (?:uint32_t|bool) (\w+)(?: = \w+)?;", body, re.M):
            found = member[0] or member[1]
            if found != "task":  # a parameter that is a function
                assert f"ORT_OFFSET({name}, {found}, " in table, (name, found)
                members += 1
    assert members == table.count("ORT_OFFSET(")


Text = ctypes.CFUNCTYPE(ctypes.c_void_p)
Status = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_int, ctypes.c_char_p)
Api = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_uint32)


class _Base(ctypes.Structure):
    _fields_ = (("get_api", Api), ("version", Text))


@pytest.mark.parametrize("version", ["1.23.2", "1.9.0", "2.0.0"])
def test_an_old_onnxruntime_is_refused_with_its_version(version: str) -> None:
    said: list[str] = []

    def create(_: int, text: bytes) -> int:
        said.append(text.decode())
        return 4711

    status = Status(create)
    table = (ctypes.c_void_p * 4)(ctypes.cast(status, ctypes.c_void_p))  # CreateStatus is the first entry
    asked: list[int] = []
    name = ctypes.create_string_buffer(version.encode())
    base = _Base(Api(lambda v: asked.append(v) or ctypes.addressof(table)), Text(lambda: ctypes.addressof(name)))
    library = ctypes.CDLL(get_library_path())
    library.CreateEpFactories.restype = ctypes.c_void_p
    count = ctypes.c_size_t(99)
    factories = (ctypes.c_void_p * 4)()
    answer = library.CreateEpFactories(
        b"x", ctypes.byref(base), None, factories, ctypes.c_size_t(4), ctypes.byref(count)
    )
    assert answer == 4711
    assert said == [f"ascend-fuse: ONNX Runtime {version} is not supported, wanted 1.24 or newer"]
    assert asked == [1]


def test_python_says_so_first(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(onnxruntime, "__version__", "1.20.1")
    with pytest.raises(
        UsageError, match=r"onnxruntime 1.20.1 cannot load the plugin; install onnxruntime 1.24 or newer"
    ):
        runtime.session(b"")


def test_the_library_exports_its_surface_alone() -> None:
    symbols = subprocess.run(
        ["nm", "-D", "--defined-only", get_library_path()], capture_output=True, text=True, check=True
    )
    names = {line.split()[2] for line in symbols.stdout.splitlines() if line.split()[1] in "TDB"}
    assert {"CreateEpFactories", "ReleaseEpFactory", "ascend_fuse_counters"} <= names
    assert not {n for n in names if not n.startswith(("ascend_fuse_", "CreateEp", "ReleaseEp"))}
