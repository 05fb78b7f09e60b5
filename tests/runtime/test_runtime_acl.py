"""The acl backend against a libascendcl that has no device, runs kernels late and writes down what it is asked."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import onnxruntime
import pytest

from ascend_fuse import runtime
from ascend_fuse.error import UsageError
from tests.runtime.acl_process import Log, compile_stand_in, run_process
from tests.runtime.runtime_model import ADD_RELU

ONE = ["claimed ['Fused_0']", *["same True"] * 3, "launches 3", "left"]
WAITS = {"aclrtSynchronizeStream", "aclrtSynchronizeDevice", "aclrtSynchronizeEvent"}
# All but those that look for the library and its errors.
CALLS = (
    "aclrtSetDevice aclrtCreateStream aclrtDestroyStream aclrtSynchronizeStream aclrtSynchronizeDevice "
    "aclrtCreateEventExWithFlag aclrtDestroyEvent aclrtRecordEvent aclrtSynchronizeEvent aclrtMalloc aclrtFree "
    "aclrtMemcpy aclrtBinaryLoadFromFile aclrtBinaryUnLoad aclrtBinaryGetFunction aclrtKernelArgsInit "
    "aclrtKernelArgsAppend aclrtKernelArgsAppendPlaceHolder aclrtKernelArgsGetPlaceHolderBuffer "
    "aclrtKernelArgsFinalize aclrtLaunchKernelWithConfig"
).split()


@pytest.fixture(scope="session")
def stand_in(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return compile_stand_in(tmp_path_factory.mktemp("acl"))


def has_sync() -> bool:
    """Whether ONNX Runtime has OrtEp::Sync."""
    return int(onnxruntime.__version__.split(".")[1]) >= 25


def reads_devices() -> bool:
    """Whether OrtValue.numpy() copies from devices of plugins."""
    return int(onnxruntime.__version__.split(".")[1]) >= 30


def _balanced(log: Log) -> bool:
    """Whether all that was made went."""
    pairs = (
        ("aclrtMalloc", "aclrtFree"),
        ("aclrtCreateStream", "aclrtDestroyStream"),
        ("aclrtCreateEventExWithFlag", "aclrtDestroyEvent"),
        ("aclrtBinaryLoadFromFile", "aclrtBinaryUnLoad"),
    )
    return all(log.count(made) == log.count(gone) for made, gone in pairs)


def test_launches_arguments_and_streams(stand_in: Path, tmp_path: Path) -> None:
    run = run_process(stand_in, tmp_path, "acl_scenario", "one")
    assert (run.said, run.hazards) == (ONE, [])
    assert run.of("aclInit") == [""]
    assert run.of("aclrtBinaryLoadFromFile") == ["ascend_fuse_2201.o 0x2001"]
    functions = run.of("aclrtBinaryGetFunction")
    assert functions == ["0x2001 ascend_fuse_elementwise 0x3001", "0x2001 ascend_fuse_elementwise 0x3002"]  # two sizes
    launches = [line.split() for line in run.of("aclrtLaunchKernelWithConfig")]
    assert [launch[0] for launch in launches] == ["0x3001", "0x3001", "0x3002"]
    assert {launch[2] for launch in launches} == {"0x1002"}  # ONNX Runtime's; 0x1001 is for callers without one
    assert {(launch[3], launch[5]) for launch in launches} == {("version=1", "tensors=ddd")}  # all on the device
    arguments = [c for c in run.calls if c[0].startswith("aclrtKernelArgs")]
    assert [rest for _, rest in arguments[1:5]] == ["8 device", "", "24", ""]  # the launch block, a table of three
    assert [name.removeprefix("aclrtKernelArgs") for name, _ in arguments] == 3 * [
        "Init",
        "Append",
        "AppendPlaceHolder",
        "GetPlaceHolderBuffer",
        "Finalize",
    ]
    assert _balanced(run)


@pytest.mark.parametrize(("soc", "synchronised"), [("Ascend910B3", True), ("Ascend950PR_9599", False)])
def test_a_kernel_on_both_kinds_of_cores(stand_in: Path, tmp_path: Path, soc: str, synchronised: bool) -> None:
    """910B has it told where its cores meet, as the first argument; 950 does not need that."""
    run = run_process(stand_in, tmp_path, "acl_scenario", "product", ACL_STAND_IN_SOC=soc)
    assert (run.said, run.hazards) == ([*["same True"] * 3, "left"], [])
    assert (run.count("aclrtGetHardwareSyncAddr") > 0) == synchronised
    assert ("8 other" in run.of("aclrtKernelArgsAppend")) == synchronised


def _between_launches(calls: Sequence[str]) -> set[str]:
    at = [i for i, name in enumerate(calls) if name == "aclrtLaunchKernelWithConfig"]
    return set(calls[at[0] : at[-1]])


def test_a_row_of_nodes_is_queued_without_a_wait(stand_in: Path, tmp_path: Path) -> None:
    run = run_process(stand_in, tmp_path, "acl_scenario", "row")
    assert (run.said, run.hazards) == ([*["same True"] * 4, "left"], [])
    *runs, _ = run.marked()
    for calls in runs:
        assert calls.count("aclrtLaunchKernelWithConfig") == 8
        assert not _between_launches(calls) & WAITS
        behind = calls[len(calls) - calls[::-1].index("aclrtLaunchKernelWithConfig") :]
        # The output's copy waits; the end of the run, and then ONNX Runtime itself, find nothing left to wait for.
        waits = [name for name in behind if name in WAITS or name == "aclrtMemcpy"]
        # Where ONNX Runtime (before 1.29) allocates outputs on no stream, all of them are waited for.
        kinds = [name.replace("Device", "Stream") for name in waits]
        assert kinds == ["aclrtSynchronizeStream", "aclrtMemcpy", *["aclrtSynchronizeStream"] * 2]
    for calls in runs[2:]:  # sizes and blocks are known
        assert not {"aclrtMalloc", "aclrtFree", "aclrtBinaryGetFunction"} & set(calls)
        assert calls.count("aclrtMemcpy") == 3  # two inputs, one output
    assert _balanced(run)


@pytest.mark.parametrize(
    ("scenario", "said"),
    [
        ("between", ["same True"] * 3),  # nodes of the CPU read what was queued
        ("sizes", ["done"]),
        ("beside", ["same True"]),
        ("draw", ["same True of [0.0, 4.0]"] * 3),
        ("steps", [*["same True"] * 3, "launches 18"]),
        ("kept", ["npu same True"] * 3),
        ("product", ["same True"] * 3),
        ("apart", ["same True"] * 4),
        ("branch", ["claimed 5", *["same True"] * 3]),
    ],
)
def test_what_is_queued_computes_the_same(stand_in: Path, tmp_path: Path, scenario: str, said: list[str]) -> None:
    if scenario in ("kept", "apart") and not reads_devices():
        pytest.skip("onnxruntime before 1.30 has no copies from devices of plugins for Python")
    run = run_process(stand_in, tmp_path, "acl_scenario", scenario)
    assert (run.said, run.hazards) == ([*said, "left"], [])
    assert _balanced(run)


def test_a_launch_that_draws_waits_for_none_before_it(stand_in: Path, tmp_path: Path) -> None:
    run = run_process(stand_in, tmp_path, "acl_scenario", "draw")
    for calls in run.marked():
        assert "aclrtMemcpy" in _between_launches(calls)  # the key and number of the run
        assert not _between_launches(calls) & WAITS


@pytest.mark.skipif(not has_sync(), reason="onnxruntime 1.24 does not ask providers to wait")
def test_a_run_that_need_not_wait_does_not(stand_in: Path, tmp_path: Path) -> None:
    run = run_process(stand_in, tmp_path, "acl_scenario", "late")
    assert (run.said, run.hazards) == ([*["same True"] * 2, "left"], [])
    for part, calls in enumerate(run.marked()):
        waits = [name for name in calls if name in WAITS]
        if part % 3 == 0:  # the run
            assert calls.count("aclrtLaunchKernelWithConfig") == 4
            assert waits == []
        elif part % 3 == 1:  # synchronize_outputs
            assert waits == ["aclrtSynchronizeDevice"]


def test_streams_wait_for_each_other_on_the_device(stand_in: Path, tmp_path: Path) -> None:
    run = run_process(stand_in, tmp_path, "acl_scenario", "streams")
    assert (run.said, run.hazards) == ([*["same True"] * 4, "left"], [])
    assert len({line.split()[2] for line in run.of("aclrtLaunchKernelWithConfig")}) == 2
    assert run.count("aclrtStreamWaitEvent") == 4 * 5
    assert run.count("aclrtSynchronizeEvent") == 0
    # Blocks of streams that use each other's are handed on when the device has ended.
    assert run.count("aclrtSynchronizeDevice") > 8
    assert _balanced(run)


def test_a_wait_that_fails_ends_the_run(stand_in: Path, tmp_path: Path) -> None:
    run = run_process(stand_in, tmp_path, "acl_scenario", "streams", ACL_STAND_IN_FAIL="aclrtStreamWaitEvent")
    assert "aclrtStreamWaitEvent failed with 507035" in "".join(_failures(run))


def test_blocks_are_used_again_and_go_back_in_the_end(stand_in: Path, tmp_path: Path) -> None:
    run = run_process(stand_in, tmp_path, "acl_scenario", "sizes")
    one_size, end = run.marked()
    many = run.names()[: run.names().index("MARK")]
    assert many.count("aclrtBinaryGetFunction") == 3 * 78  # each size was prepared twice
    assert many.count("aclrtMalloc") < 100  # of launch blocks alone there were 234
    assert many.count("aclrtFree") == 0
    assert one_size.count("aclrtFree") > 10  # what 64 runs had no use for
    assert one_size.count("aclrtMalloc") <= 2
    assert end.count("aclrtFree") > 0
    assert _balanced(run)


def test_where_memory_ends_blocks_are_taken_back(stand_in: Path, tmp_path: Path) -> None:
    """Not all sizes fit side by side, so that what was left of one is given up for the next."""
    ample = run_process(stand_in, tmp_path, "acl_scenario", "sizes")
    short = run_process(stand_in, tmp_path, "acl_scenario", "sizes", ACL_STAND_IN_MEMORY="90000")
    assert (short.said, short.hazards) == (ample.said, [])
    assert short.count("aclrtMalloc") > ample.count("aclrtMalloc")
    assert _failures(short) == []


def _failures(log: Log) -> list[str]:
    return [line for line in log.said if line.startswith("stopped")]


@pytest.mark.parametrize("bytes_there", [0, 1200, 1600, 2100, 3000])
def test_without_memory_a_run_ends_with_an_error(stand_in: Path, tmp_path: Path, bytes_there: int) -> None:
    run = run_process(stand_in, tmp_path, "acl_scenario", "row", ACL_STAND_IN_MEMORY=str(bytes_there))
    (said,) = _failures(run)
    assert re.search(r"Allocation failed|no (device )?memory is left for \d+ B", said), said
    assert run.said[-1] == "left"
    assert run.hazards == []


@pytest.mark.parametrize("at", ["", "2"])
@pytest.mark.parametrize("call", CALLS)
def test_a_call_that_fails_ends_the_run(stand_in: Path, tmp_path: Path, call: str, at: str) -> None:
    settings = {"ACL_STAND_IN_FAIL": call} | ({"ACL_STAND_IN_FAIL_AT": at} if at else {})
    run = run_process(stand_in, tmp_path, "acl_scenario", "between", **settings)
    assert run.said[-1] == "left"
    assert run.hazards == []
    assert "same False" not in run.said
    ends = {"aclrtDestroyStream", "aclrtDestroyEvent", "aclrtFree", "aclrtBinaryUnLoad", "aclrtSynchronizeDevice"}
    told = [line for line in _failures(run) if re.search("failed with 507035|Allocation failed", line)]
    again = call == "aclrtMalloc" and at  # what was left is given back, and it is tried once more
    assert told or again or call in ends or run.count(call) < int(at or 1), run.said


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        (
            {"ACL_STAND_IN_FAIL": "aclInit"},
            "stopped session: aclInit failed with 507035: the stand-in was told to fail",
        ),
        ({"ACL_STAND_IN_FAIL": "aclrtSetDevice"}, "stopped session: aclrtSetDevice(0) failed with 507035"),
        ({"ACL_STAND_IN_SOC": "Ascend9000"}, "stopped session: unknown SoC 'Ascend9000'; near names: "),
        ({"ACL_STAND_IN_SOC": "Ascend310P3"}, "ascend_fuse_2002.o failed with 107000"),
    ],
)
def test_what_the_device_answers_is_told(stand_in: Path, tmp_path: Path, settings: dict[str, str], said: str) -> None:
    assert said in "\n".join(run_process(stand_in, tmp_path, "acl_scenario", "one", **settings).said)


def test_a_program_without_a_model_stays_on_the_host() -> None:
    x = np.ones((2, 16), np.float32)
    with pytest.raises(UsageError, match="a program without a model runs on the emulator"):
        runtime.run(ADD_RELU, [x, x[0]], backend="acl", kernels_dir="somewhere")


def test_without_cann_there_is_no_device(tmp_path: Path) -> None:
    line, _ = run_process(None, tmp_path, "acl_scenario", "one").said
    assert line.startswith("stopped no device for backend acl: ONNX Runtime found emulator; source CANN's set_env.sh")


def test_without_kernels_there_is_no_session(stand_in: Path, tmp_path: Path) -> None:
    line, _ = run_process(stand_in, tmp_path, "acl_scenario", "nowhere").said
    assert line == "stopped session: option backend is acl, which needs kernels_dir: the folder of the built kernels"
