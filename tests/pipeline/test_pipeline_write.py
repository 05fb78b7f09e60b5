"""What is written, and when nothing is."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import onnx
import pytest
from onnx import TensorProto
from pipeline_model import parse, save

import ascend_fuse
from ascend_fuse import RuleError, UsageError

X = "float[4,256,1024]"
WRONG = """
code = "USER001"
name = "false-silu"
status = "preview"
since = "0.1.0"
role = "idiom"
family = "elementwise"
opset = [7]
instruction = "silu x"
doc = "It says SiLU and is x · tanh(x)."
example = \"\"\"
<ir_version: 8, opset_import: ["" : 17]>
graph (float[2,8] x) => (float[2,8] y)
{
  a = Tanh (x)
  y = Mul (x, a)
}
\"\"\"
pattern = \"\"\"
product (x) => (y)
{
  gate = Tanh (x)
  y = Mul (x, gate)
}
\"\"\"
"""
LIE = f"g ({X} x) => ({X} y) {{ a = Tanh (x) b = Mul (x, a) y = Relu (b) }}"


@pytest.fixture
def wrong(tmp_path: Path) -> Path:
    """A folder with a user's rule whose instruction is not its pattern."""
    folder = tmp_path / "rules"
    folder.mkdir()
    (folder / "USER001.toml").write_text(WRONG, "utf-8")
    return folder


def names(folder: Path) -> set[str]:
    return {p.name for p in folder.iterdir()}


def test_nothing_is_written_when_the_proof_fails(wrong: Path, tmp_path: Path) -> None:
    path = save(parse(LIE), tmp_path / "a.onnx")
    with pytest.raises(RuleError, match="USER001: the instruction does not compute what the pattern does") as caught:
        ascend_fuse.optimize(path, rules=[wrong], output=tmp_path / "b.onnx")
    assert caught.value.where == str(wrong / "USER001.toml")
    assert caught.value.do.startswith(f"`ascend-fuse rules lint {wrong}`")
    assert names(tmp_path) == {"a.onnx", "rules"}
    assert ascend_fuse.optimize(path, output=tmp_path / "b.onnx").path == tmp_path / "b.onnx"


def test_the_command_exits_2_and_writes_nothing(wrong: Path, tmp_path: Path) -> None:
    path = save(parse(LIE), tmp_path / "a.onnx")
    arguments = ["optimize", path, "-o", tmp_path / "b.onnx", "--rules", wrong]
    done = subprocess.run(
        [sys.executable, "-m", "ascend_fuse", *map(str, arguments)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 2, done.stderr
    assert "USER001" in done.stderr
    assert "Traceback" not in done.stderr
    assert "report" not in done.stderr  # neither our bug nor the model's
    assert names(tmp_path) == {"a.onnx", "rules"}


def test_the_input_in_place_stays_when_the_proof_fails(wrong: Path, tmp_path: Path) -> None:
    path = save(parse(LIE), tmp_path / "a.onnx")
    before = path.read_bytes()
    with pytest.raises(RuleError):
        ascend_fuse.optimize(path, rules=[wrong], in_place=True)
    assert path.read_bytes() == before


def test_without_an_output_nothing_is_written(tmp_path: Path) -> None:
    path = save(parse(LIE), tmp_path / "a.onnx")
    assert ascend_fuse.optimize(path).path is None
    assert names(tmp_path) == {"a.onnx"}


def test_in_place_and_verified(tmp_path: Path) -> None:
    path = save(parse(LIE.replace("4,256,1024", "2,8,64")), tmp_path / "a.onnx")
    result = ascend_fuse.optimize(path, in_place=True, verify=True)
    assert result.verification is not None and result.verification.ok
    assert names(tmp_path) == {"a.onnx"}
    assert onnx.load(path).functions


def test_the_output_is_never_the_input_by_another_name(tmp_path: Path) -> None:
    path = save(parse(LIE), tmp_path / "a.onnx")
    os.link(path, tmp_path / "b.onnx")
    for target in (path, tmp_path / "." / "a.onnx", tmp_path / "b.onnx"):
        with pytest.raises(UsageError, match="the output is the input"):
            ascend_fuse.optimize(path, output=target)


# VmHWM, as getrusage's maximum begins with that of the process that forked.
LIMITED = """
import sys
import ascend_fuse
result = ascend_fuse.optimize(sys.argv[1], output=sys.argv[2])
peak = next(line for line in open("/proc/self/status") if line.startswith("VmHWM"))
print(int(peak.split()[1]) // 1024, len(result.plan.regions))
"""


def test_four_gigabytes_of_weights_are_never_read(tmp_path: Path) -> None:
    """A sparse file of the size of a 1-G-parameter model: copied beside the output, read by nobody."""
    side, layers = 16384, 4
    body = "".join(f"m{k} = MatMul (x{k}, w{k}) r{k} = Relu (m{k}) x{k + 1} = Tanh (r{k})\n" for k in range(layers))
    model = parse(f"g (float[1,{side}] x0) => (float[1,{side}] x{layers}) {{ {body} }}")
    for k in range(layers):
        tensor = TensorProto(name=f"w{k}", data_type=TensorProto.FLOAT, dims=[side, side])
        tensor.data_location = TensorProto.EXTERNAL
        at = {"location": "weights.bin", "offset": str(k * side * side * 4), "length": str(side * side * 4)}
        tensor.external_data.extend([onnx.StringStringEntryProto(key=key, value=value) for key, value in at.items()])
        model.graph.initializer.append(tensor)
    source, target = tmp_path / "in", tmp_path / "out"
    source.mkdir()
    target.mkdir()
    (source / "a.onnx").write_bytes(model.SerializeToString())
    with open(source / "weights.bin", "wb") as f:
        f.truncate(layers * side * side * 4)
    done = subprocess.run(
        [sys.executable, "-c", LIMITED, source / "a.onnx", target / "b.onnx"],
        capture_output=True,
        text=True,
        check=True,
    )
    megabytes, regions = map(int, done.stdout.split())
    assert regions == layers
    assert megabytes < 300
    assert names(target) == {"b.onnx", "weights.bin"}
    there = (target / "weights.bin").stat()
    assert there.st_size == layers * side * side * 4
    assert there.st_blocks * 512 < 1 << 20  # a copy that kept the holes
    assert (target / "b.onnx").stat().st_size < 100_000
