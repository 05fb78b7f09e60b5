"""Builds the cases once a session."""

from __future__ import annotations

from pathlib import Path

import pytest
from emulator_case import SOURCES, Library

from tests.compiler import compile_cpp, run

ROOT = Path(__file__).parents[2]
FLAGS = ("-std=c++17", "-O1", "-fPIC", "-Wall", "-Wextra", "-Werror", "-pthread")


@pytest.fixture(scope="session")
def library(tmp_path_factory: pytest.TempPathFactory) -> Library:
    """The cases, compiled against the emulator as kernels are."""
    build = tmp_path_factory.mktemp("emulator")
    engine, emulator = ROOT / "kernels/engine", ROOT / "kernels/emulator"
    embed = (
        "cmake",
        f"-DENGINE_DIR={engine}",
        f"-DOUT={build / 'ascend_fuse_data.h'}",
        "-P",
        str(engine / "embed.cmake"),
    )
    run(*embed)
    paths = [f"-I{path}" for path in (emulator, engine, build)]
    objects: list[Path] = []
    for source in sorted(SOURCES.glob("*.cpp")):
        objects.append(build / f"{source.stem}.o")
        compile_cpp(*FLAGS, *paths, "-c", source, "-o", objects[-1])
    path = build / "libemulator_case.so"
    compile_cpp("-shared", "-pthread", *objects, "-o", path)
    return Library(path)
