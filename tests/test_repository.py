"""The repository holds itself to its conventions: layers, sizes, the README, what ships."""

from __future__ import annotations

import ast
import os
import re
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PACKAGE = ROOT / "ascend_fuse"
MAX_LINES = 300
SOURCES = ("*.py", "*.pyi", "*.h", "*.hpp", "*.cc", "*.cpp", "*.js", "*.css", "*.html")
SKIPPED = {"vendor", ".git", ".venv", ".venv-np1", "build", "dist", "demo", ".cache", "__pycache__", "node_modules"}

# Which parts of the package may import a library. "" is the modules at its top.
MAY_IMPORT = {
    "typer": {"cli"},
    "rich": {"cli", "report"},
    "jinja2": {"report"},
    "onnx": {"", "cleanup", "graph", "rule", "match", "region", "emit", "proof", "verify"},
    "onnxruntime": {"proof", "runtime", "verify"},
    "onnx_graphsurgeon": {"", "graph"},
}
# Which parts a part must not know, however indirectly that would be convenient.
MUST_NOT_KNOW = {
    "graph": {"cli", "report", "region", "rule", "match", "emit", "proof", "verify", "program"},
    "program": {"cli", "report", "region", "rule", "match", "emit", "proof", "verify", "graph"},
    "rule": {"cli", "report", "region", "emit", "proof", "verify"},
    "region": {"cli", "report", "emit", "proof", "verify"},
    "report": {"cli", "region", "match", "emit", "proof"},
    "verify": {"cli", "report", "region", "rule", "match", "emit"},
    "gate": {"cli", "region", "rule", "match", "emit", "proof", "verify", "program"},
    "emit": {"cli", "report", "verify"},
    "proof": {"cli", "report"},
    "": {"cli"},
}


def sources() -> Iterator[Path]:
    for top, folders, names in os.walk(ROOT):
        folders[:] = [f for f in folders if f not in SKIPPED and not f.endswith(".egg-info")]
        for name in names:
            path = Path(top) / name
            if any(path.match(pattern) for pattern in SOURCES):
                yield path


def part(path: Path) -> str:
    """The sub-package that a module belongs to."""
    inside = path.relative_to(PACKAGE).parts
    return inside[0] if len(inside) > 1 else ""


def imports(path: Path) -> Iterator[tuple[str, int]]:
    """Every module that the file imports, wherever in it, with the line; imports for types alone are not."""
    tree = ast.parse(path.read_text("utf-8"))
    typed = {
        id(inner)
        for node in ast.walk(tree)
        if isinstance(node, ast.If) and ast.unparse(node.test) in ("TYPE_CHECKING", "typing.TYPE_CHECKING")
        for inner in ast.walk(node)
    }
    for node in ast.walk(tree):
        if id(node) in typed:
            continue
        if isinstance(node, ast.Import):
            yield from ((alias.name, node.lineno) for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield from ((f"{node.module}.{alias.name}", node.lineno) for alias in node.names)


def package_modules() -> list[Path]:
    return sorted(PACKAGE.rglob("*.py"))


def test_the_package_is_where_the_tests_look() -> None:
    assert {"cli", "graph", "report"} <= {part(p) for p in package_modules()}


def test_libraries_are_imported_where_they_belong() -> None:
    found = [
        f"{path.relative_to(ROOT)}:{line} imports {name}"
        for path in package_modules()
        for name, line in imports(path)
        if part(path) not in MAY_IMPORT.get(name.split(".")[0], {part(path)}) and path.name != "__main__.py"
    ]
    assert found == []


def test_layers() -> None:
    found = [
        f"{path.relative_to(ROOT)}:{line} imports {name}"
        for path in package_modules()
        for name, line in imports(path)
        if name.startswith("ascend_fuse.")
        and name.split(".")[1] in MUST_NOT_KNOW.get(part(path), set())
        and path.name != "__main__.py"
    ]
    assert found == []


def test_the_engine_knows_nothing_of_onnx() -> None:
    engine = ROOT / "kernels" / "engine"
    found = [
        f"{path.relative_to(ROOT)}: {line}"
        for path in sorted(engine.rglob("*.h")) + sorted(engine.rglob("*.cpp"))
        for line in path.read_text("utf-8").splitlines()
        if re.match(r"\s*#\s*include.*(onnx|protobuf)", line)
    ]
    assert found == []


def test_only_cli_and_report_print() -> None:
    found = [
        f"{path.relative_to(ROOT)}:{node.lineno}"
        for path in package_modules()
        if part(path) not in ("cli", "report")
        for node in ast.walk(ast.parse(path.read_text("utf-8")))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "print"
    ]
    assert found == []


def test_files_stay_short() -> None:
    lengths = {p.relative_to(ROOT): len(p.read_text("utf-8").splitlines()) for p in sources()}
    assert len(lengths) > 20
    assert {str(p): n for p, n in lengths.items() if n > MAX_LINES} == {}


def test_importing_the_package_is_cheap() -> None:
    script = f"import sys, ascend_fuse\nprint(sorted({set(MAY_IMPORT) | {'numpy'}!r} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


def test_links_lead_somewhere() -> None:
    pages = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *(ROOT / "docs").rglob("*.md")]
    links = [
        (page, target)
        for page in pages
        for target in re.findall(r"\]\(([^)#\s]+)[^)]*\)", page.read_text("utf-8"))
        if "://" not in target
    ]
    assert len(links) > 30
    assert [(str(page.relative_to(ROOT)), t) for page, t in links if not (page.parent / t).exists()] == []


@pytest.fixture(scope="session")
def wheel_names(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """The files in the wheel that `make wheel` built, if that is newer than its sources, else in a new one."""
    built = sorted((ROOT / "build" / "wheel").glob("*.whl"), key=lambda p: p.stat().st_mtime)
    tops = [p for name in ("ascend_fuse", "rules", "kernels", "cmake") for p in (ROOT / name).rglob("*") if p.is_file()]
    tops += [ROOT / "pyproject.toml", ROOT / "CMakeLists.txt"]
    newest = max(p.stat().st_mtime for p in tops if "__pycache__" not in p.parts)
    if not built or built[-1].stat().st_mtime < newest:
        folder = tmp_path_factory.mktemp("wheel")
        command = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "-w", str(folder), str(ROOT)]
        subprocess.run(command, check=True)
        built = list(folder.glob("*.whl"))
    with zipfile.ZipFile(built[-1]) as archive:
        return archive.namelist()


def test_the_wheel_holds_what_runs(wheel_names: list[str]) -> None:
    expected = {
        *(str(p.relative_to(ROOT)) for pattern in ("*.py", "*.json") for p in PACKAGE.rglob(pattern)),
        *(str(p.relative_to(ROOT)) for p in (PACKAGE / "report" / "asset").iterdir()),
        *(f"ascend_fuse/{p.relative_to(ROOT)}" for p in (ROOT / "rules").rglob("*.toml")),
        *(f"ascend_fuse/{p.relative_to(ROOT)}" for p in (ROOT / "kernels").rglob("*.h")),
    }
    assert expected - set(wheel_names) == set()
    assert "ascend_fuse/libascend_fuse_plugin.so" in wheel_names
    assert any(re.fullmatch(r"ascend_fuse/_engine\..*(so|pyd)", name) for name in wheel_names)
    assert any(name.endswith("licenses/LICENSE") for name in wheel_names)


def test_the_wheel_holds_the_web_libraries_with_their_licences(wheel_names: list[str]) -> None:
    folder = "ascend_fuse/report/vendor/"
    found = {name.removeprefix(folder) for name in wheel_names if name.startswith(folder)}
    if not found:
        pytest.skip("built without a network: HTML reports of this wheel have no graph and no charts")
    assert found == {"d3.js", "d3.LICENSE.txt", "dagre.js", "dagre.LICENSE.txt"}


def test_the_wheel_holds_nothing_else(wheel_names: list[str]) -> None:
    tops = {name.split("/")[0] for name in wheel_names}
    assert {re.sub(r"-\d+\.\d+\.\d+", "", top) for top in tops} == {"ascend_fuse", "ascend_fuse.dist-info"}
    unwanted = re.compile(r"__pycache__|\.pyc$|(^|/)tests?/|\.onnx$|\.o$|\.cache")
    assert [name for name in wheel_names if unwanted.search(name)] == []
