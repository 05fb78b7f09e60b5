"""The acl backend against a libascendcl that has no device and writes down what it is asked."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.compiler import compile_cpp

SOURCE = Path(__file__).parent / "acl_stand_in.cpp"
SCRIPT = """
import sys
import numpy as np
from ascend_fuse import runtime
from ascend_fuse.error import AscendFuseError
from tests.runtime.runtime_model import arrays, claimed, fused_model, open_session
try:
    session = open_session(fused_model(), backend="acl", kernels_dir=sys.argv[1])
    print("claimed", claimed(session))
    for rows in (5, 5, 3):
        print("zeros", not session.run(None, arrays(rows))[0].any())
    print("launches", runtime.counters().total.launches)
    del session
except AscendFuseError as e:
    print("refused", e)
except Exception as e:
    print("stopped", e)
"""

PRODUCT = """
import sys
import numpy as np
from ascend_fuse import runtime
from tests.runtime.runtime_model import fused_model, open_session
program = "\\n".join((
    "matmul 1 [d0 | 8]", "x0: f32[d0 | 16] = left", "x1: f32[16 | 8] = right",
    "v0: f32[d0 | 8] = matmul x0, x1", "v1: f32[d0 | 8] = relu v0", "out v1",
))
graph, body = "(float[N,16] x, float[16,8] b) => (float[N,8] y)", "(a, b) => (y) { c = MatMul(a, b) y = Relu(c) }"
session = open_session(fused_model(program, graph, body=body, soc=sys.argv[2]), backend="acl", kernels_dir=sys.argv[1])
session.run(None, {"x": np.ones((5, 16), np.float32), "b": np.ones((16, 8), np.float32)})
print("launches", runtime.counters().total.launches)
"""


@pytest.fixture(scope="session")
def stand_in(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with libascendcl.so in it."""
    folder = tmp_path_factory.mktemp("acl")
    compile_cpp("-std=c++17", "-shared", "-fPIC", "-o", folder / "libascendcl.so", SOURCE)
    return folder


class _Run:
    def __init__(self, said: str, log: Path) -> None:
        self.said = said.splitlines()
        self.calls = [line.split(" ", 1) for line in log.read_text().splitlines()] if log.exists() else []

    def of(self, call: str) -> list[str]:
        return [rest for name, rest in self.calls if name == call]


def _run(folder: Path | None, tmp_path: Path, script: str = SCRIPT, **settings: str) -> _Run:
    kernels = tmp_path / "kernels"
    kernels.mkdir()
    for arch in (2201, 3510):
        (kernels / f"ascend_fuse_{arch}.o").write_bytes(b"a kernel")
    log = tmp_path / "log"
    environment = {**os.environ, "ACL_STAND_IN_LOG": str(log), **settings}
    if folder:
        environment["LD_LIBRARY_PATH"] = str(folder)
    done = subprocess.run(
        [sys.executable, "-c", script, str(kernels), settings.get("ACL_STAND_IN_SOC", "")],
        capture_output=True, text=True, timeout=120, env=environment,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return _Run(done.stdout, log)


def test_launches_arguments_and_streams(stand_in: Path, tmp_path: Path) -> None:
    run = _run(stand_in, tmp_path)
    assert run.said == ["claimed ['Fused_0']", "zeros True", "zeros True", "zeros True", "launches 3"]
    assert run.of("aclInit") == [""]
    assert run.of("aclrtBinaryLoadFromFile") == ["ascend_fuse_2201.o 0x2001"]
    functions = run.of("aclrtBinaryGetFunction")
    assert functions == ["0x2001 ascend_fuse_elementwise 0x3001", "0x2001 ascend_fuse_elementwise 0x3002"]  # two sizes
    launches = [line.split() for line in run.of("aclrtLaunchKernelWithConfig")]
    assert [launch[0] for launch in launches] == ["0x3001", "0x3001", "0x3002"]
    assert {launch[2] for launch in launches} == set(run.of("aclrtCreateStream")) == {"0x1001"}
    assert {(launch[3], launch[5]) for launch in launches} == {("version=1", "tensors=ddd")}  # all on the device
    assert run.of("aclrtKernelArgsAppend") == ["8 device", "8 device"] * 3  # launch block, table of addresses
    names = [name for name, _ in run.calls]
    for at, name in enumerate(names):
        if name == "aclrtLaunchKernelWithConfig":
            assert names[at - 1] == "aclrtKernelArgsFinalize"
            assert names[at + 1] == "aclrtSynchronizeStream"
            assert "aclrtSynchronizeDevice" in names[at - 8 : at]  # other providers' work has ended
    assert run.of("aclrtDestroyStream") == ["0x1001"]
    assert run.of("aclrtBinaryUnLoad") == ["0x2001"]
    assert len(run.of("aclrtMalloc")) == len(run.of("aclrtFree"))


@pytest.mark.parametrize(("soc", "synchronised"), [("Ascend910B3", True), ("Ascend950PR_9599", False)])
def test_a_kernel_on_both_kinds_of_cores(stand_in: Path, tmp_path: Path, soc: str, synchronised: bool) -> None:
    """910B has it told where its cores meet, as the first argument; 950 does not need that."""
    run = _run(stand_in, tmp_path, PRODUCT, ACL_STAND_IN_SOC=soc)
    assert run.said == ["launches 1"]
    assert [line.split()[1] for line in run.of("aclrtBinaryGetFunction")] == ["ascend_fuse_matmul"]
    assert len(run.of("aclrtGetHardwareSyncAddr")) == synchronised
    assert run.of("aclrtKernelArgsAppend") == [*(["8 other"] if synchronised else []), "8 device", "8 device"]


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        (
            {"ACL_STAND_IN_FAIL": "aclInit"},
            "refused session: aclInit failed with 507035: the stand-in was told to fail",
        ),
        ({"ACL_STAND_IN_FAIL": "aclrtSetDevice"}, "refused session: aclrtSetDevice(0) failed with 507035"),
        ({"ACL_STAND_IN_SOC": "Ascend9000"}, "refused session: unknown SoC 'Ascend9000'; near names: "),
        ({"ACL_STAND_IN_SOC": "Ascend310P3"}, "ascend_fuse_2002.o failed with 107000"),
        ({"ACL_STAND_IN_FAIL": "aclrtLaunchKernelWithConfig"}, "aclrtLaunchKernelWithConfig failed with 507035"),
        ({"ACL_STAND_IN_FAIL": "aclrtSynchronizeStream"}, "aclrtSynchronizeStream failed with 507035"),
    ],
)
def test_what_the_device_answers_is_told(stand_in: Path, tmp_path: Path, settings: dict[str, str], said: str) -> None:
    assert said in "\n".join(_run(stand_in, tmp_path, **settings).said)


def test_without_cann_there_is_no_device(tmp_path: Path) -> None:
    (line,) = _run(None, tmp_path).said
    assert line.startswith("refused no device for backend acl: ONNX Runtime found emulator; source CANN's set_env.sh")


def test_without_kernels_there_is_no_session(stand_in: Path, tmp_path: Path) -> None:
    script = SCRIPT.replace(", kernels_dir=sys.argv[1]", "")
    (line,) = _run(stand_in, tmp_path, script).said
    assert line == "refused session: option backend is acl, which needs kernels_dir: the folder of the built kernels"
