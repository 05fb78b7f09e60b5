"""`verify` on a user's inputs and within a tolerance: what was asked for is said, and bitwise stays the default."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import numpy_helper

from ascend_fuse.cli.main import app_main

WriteModel = Callable[[str, str], Path]
TEXT = """
<ir_version: 10, opset_import: ["" : 18]>
g (float[rows, 64] x, int64[rows] n) => (float[rows, 64] y, int64[rows] m) {
  a = Tanh (x)
  y = Mul (a, k)
  m = Add (n, n)
}
"""


@pytest.fixture
def pair(write_model: WriteModel) -> tuple[Path, Path]:
    """A model, and one whose first output is a ten-thousandth larger."""
    paths: list[Path] = []
    for name, factor in (("a.onnx", 1.0), ("b.onnx", 1.0001)):
        path = write_model(name, TEXT)
        model = onnx.load(path)
        model.graph.initializer.append(numpy_helper.from_array(np.float32(factor), "k"))
        onnx.save(model, path)
        paths.append(path)
    return paths[0], paths[1]


@pytest.fixture
def told(capsys: pytest.CaptureFixture[str]) -> Callable[..., tuple[int, dict[str, Any], str]]:
    """Runs `verify`; its exit code, its document and its text."""

    def call(*arguments: object) -> tuple[int, dict[str, Any], str]:
        words = ["verify", *map(str, arguments)]
        code = app_main(words)
        text = capsys.readouterr()
        assert app_main([*words, "--format", "json"]) == code
        found = capsys.readouterr().out
        return code, json.loads(found) if found else {}, " ".join((text.out + text.err).split())

    return call


def test_without_a_tolerance_it_is_bitwise(pair: tuple[Path, Path], told: Callable[..., Any]) -> None:
    code, document, text = told(*pair)
    assert (code, document["ok"], document["tolerance"], document["inputs"]) == (4, False, None, [])
    assert [o["beyond"] for o in document["outputs"]] == [None, None] and "Different." in text


@pytest.mark.parametrize(
    ("options", "code"),
    [(("--rtol", "2e-4"), 0), (("--rtol", "5e-5"), 4), (("--atol", "2e-4"), 0), (("--atol", "1e-6"), 4), (("--atol", "0"), 4)],
)  # fmt: skip
def test_a_tolerance_is_said_beside_the_verdict(
    pair: tuple[Path, Path], told: Callable[..., Any], options: tuple[str, str], code: int
) -> None:
    found, document, text = told(*pair, *options)
    kept = {"--atol": "absolute", "--rtol": "relative"}
    assert found == code and document["ok"] is (code == 0)
    assert document["tolerance"] == {"absolute": 0.0, "relative": 0.0, kept[options[0]]: float(options[1])}
    y, m = document["outputs"]
    assert (y["equal"], y["beyond"] > 0, m["equal"], m["beyond"]) == (False, code == 4, True, 0)
    verdict = "Not bitwise equal, but within the tolerance that was given" if code == 0 else "beyond the tolerance"
    assert verdict in text and "Equal:" not in text


def test_what_is_equal_all_the_same_is_called_equal(pair: tuple[Path, Path], told: Callable[..., Any]) -> None:
    code, document, text = told(pair[0], pair[0], "--atol", "1")
    assert code == 0 and "Equal: same interface, bitwise the same outputs." in text
    assert [o["beyond"] for o in document["outputs"]] == [0, 0]


def test_a_tolerance_covers_neither_types_nor_the_interface(
    pair: tuple[Path, Path], told: Callable[..., Any], write_model: WriteModel
) -> None:
    model = onnx.load(pair[0])
    model.graph.node[1].output[0] = "z"
    model.graph.node.append(onnx.helper.make_node("Cast", ["z"], ["y"], to=onnx.TensorProto.DOUBLE))
    model.graph.output[0].type.tensor_type.elem_type = onnx.TensorProto.DOUBLE
    other = pair[0].with_name("c.onnx")
    onnx.save(model, other)
    code, document, _ = told(pair[0], other, "--atol", "1e9")
    assert (code, document["ok"], document["outputs"][0]["beyond"]) == (4, False, None)


def test_numbers_that_only_one_has_are_beyond_any(
    pair: tuple[Path, Path], told: Callable[..., Any], tmp_path: Path
) -> None:
    model = onnx.load(pair[0])
    model.graph.initializer[0].CopyFrom(numpy_helper.from_array(np.float32(np.nan), "k"))
    onnx.save(model, pair[1])
    code, document, _ = told(*pair, "--atol", "1e30", "--rtol", "1e30")
    assert code == 4 and document["outputs"][0]["beyond"] == document["outputs"][0]["nan_mismatches"] > 0


def test_inputs_of_the_user(pair: tuple[Path, Path], told: Callable[..., Any], tmp_path: Path) -> None:
    """Zeros are equal in both: only these inputs can say so."""
    zeros, some = tmp_path / "zeros.npz", tmp_path / "some.npz"
    n = np.arange(3)
    np.savez(zeros, x=np.zeros((3, 64), np.float32), n=n)
    np.savez(some, x=np.ones((3, 64), np.float32), n=n)
    code, document, text = told(*pair, "--inputs", zeros)
    assert (code, document["inputs"], document["sizes"]) == (0, [str(zeros)], {})
    assert document["outputs"][0]["shape"] == [3, 64] and f"inputs from {zeros}" in text and "seed" not in text
    assert told(*pair, "--inputs", some)[0] == 4
    assert told(*pair, "--inputs", some, "--rtol", "1e-3")[0] == 0


def test_inputs_go_through_the_kernels_too(pair: tuple[Path, Path], told: Callable[..., Any], tmp_path: Path) -> None:
    fused, held = tmp_path / "f.onnx", tmp_path / "some.npz"
    assert app_main(["optimize", str(pair[1]), "-o", str(fused), "-q", "--min-gain", "0", "--dim", "rows=4096"]) == 0
    np.savez(held, x=np.full((5, 64), 0.5, np.float32), n=np.arange(5))
    code, document, _ = told(pair[1], fused, "--inputs", held, "--kernels")
    assert code == 0 and document["kernels"]["nodes"][0]["elements"] == 5 * 64


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (("--inputs", "absent.npz"), "cannot be read"),
        (("--inputs", "held.npz", "--dim", "rows=3"), "--dim: the inputs that are given have sizes of their own"),
        (("--inputs", "few.npz"), "the inputs n are not given"),
        (("--inputs", "wrong.npz"), "the original does not run on the inputs that were given"),
        (("--atol", "inf"), "--atol: inf is no distance"),
        (("--rtol", "-1"), "--rtol"),
    ],
)
def test_what_cannot_be_meant_is_refused(
    pair: tuple[Path, Path],
    options: tuple[str, ...],
    says: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(pair[0].parent)
    x = np.ones((3, 64), np.float32)
    np.savez("held.npz", x=x, n=np.arange(3))
    np.savez("few.npz", x=x)
    np.savez("wrong.npz", x=x, n=np.arange(3))
    if "wrong.npz" in options:
        model = onnx.load(pair[0])
        shape = numpy_helper.from_array(np.array([7]), "shape")
        model.graph.initializer.append(shape)
        model.graph.node[2].CopyFrom(onnx.helper.make_node("Reshape", ["n", "shape"], ["m"]))
        onnx.save(model, pair[0])
    assert app_main(["verify", *map(str, pair), *options]) == 2
    assert says in capsys.readouterr().err
