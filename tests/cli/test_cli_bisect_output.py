"""`bisect` by outputs: on the CPU provider and on the emulated kernels, on random inputs and on a user's."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from onnx import numpy_helper, parser

WriteModel = Callable[[str, str], Path]
Run = Callable[..., tuple[int, dict[str, Any]]]


def test_bodies_on_the_cpu_agree_bitwise(layer: Path, bisect: Run) -> None:
    code, document = bisect(layer, "--cpu")
    assert (code, document["tried"][0]["why"]) == (0, "agrees with the original")


GELU = """
<ir_version: 10, opset_import: ["" : 18]>
gelu (float16[32, 64] x, float16[32, 64] z, float16[32, 64] w) => (float16[32, 64] y, float16[32, 64] v)
{
  a = Max (z, w)
  b = Abs (a)
  v = Neg (b)
  c = Div (x, root)
  d = Erf (c)
  e = Add (d, one)
  f = Mul (x, e)
  y = Mul (f, half)
}
"""


def test_kernels_are_within_their_bounds_and_a_tight_tolerance_finds_one(write_model: WriteModel, bisect: Run) -> None:
    """One region rounds in another way than the CPU provider, the other not at all."""
    model = write_model("gelu.onnx", GELU)
    proto = onnx.load(model)
    for name, value in (("root", 1.4142), ("one", 1), ("half", 0.5)):
        proto.graph.initializer.append(numpy_helper.from_array(np.array(value, np.float16), name))
    onnx.save(proto, model)
    assert bisect(model, "--kernels")[0] == 0
    code, document = bisect(model, "--kernels", "--atol", "0")
    assert code == 1
    (culprit,) = document["culprits"]
    assert [r["outputs"] for r in culprit["regions"]] == [["y"]]
    assert "beyond the tolerance" in culprit["why"]
    assert bisect(model, "--kernels", "--atol", "0.05")[0] == 0


OVERFLOWING = """
<ir_version: 10, opset_import: ["" : 18]>
over (float16[8, 64] x, float16[8, 64] z) => (float16[8, 64] y, float16[8, 64] v) {
  a = Mul (x, x)
  b = Add (a, x)
  y = Sigmoid (b)
  c = Tanh (z)
  d = Sigmoid (c)
  v = Mul (d, z)
}
"""


def test_inputs_of_the_users_decide(write_model: WriteModel, bisect: Run, tmp_path: Path) -> None:
    """On these inputs one region rounds in another way than the CPU, on others none does."""
    model = write_model("over.onnx", OVERFLOWING)
    zeros, ramp = np.zeros((8, 64), np.float16), np.linspace(-4, 4, 512, dtype=np.float16).reshape(8, 64)
    np.savez(tmp_path / "zeros.npz", x=zeros, z=zeros)
    assert bisect(model, "--kernels", "--atol", "0", "--inputs", str(tmp_path / "zeros.npz"))[0] == 0
    np.save(tmp_path / "z.npy", ramp)
    (tmp_path / "x.pb").write_bytes(numpy_helper.from_array(zeros, "x").SerializeToString())
    given = ["--inputs", f"z={tmp_path / 'z.npy'}", "--inputs", str(tmp_path / "x.pb")]
    code, document = bisect(model, "--kernels", "--atol", "0", *given)
    assert code == 1
    (culprit,) = document["culprits"]
    assert [r["outputs"] for r in culprit["regions"]] == [["v"]]


def test_inputs_have_to_fit(write_model: WriteModel, bisect: Run, tmp_path: Path) -> None:
    model = write_model("over.onnx", OVERFLOWING)
    for arrays, said in (
        ({"x": np.zeros((8, 64), np.float16)}, "inputs z are not given"),
        ({"x": np.zeros((8, 64), np.float32), "z": np.zeros((8, 64), np.float16)}, "float32, not float16"),
        ({"x": np.zeros((8, 63), np.float16), "z": np.zeros((8, 64), np.float16)}, "[8, 63], not [8, 64]"),
        ({"q": np.zeros(1)}, "no input 'q'"),
    ):
        np.savez(tmp_path / "in.npz", **arrays)
        code, document = bisect(model, "--inputs", str(tmp_path / "in.npz"))
        assert (code, said in document["error"]) == (2, True), document
    np.save(tmp_path / "pickled.npy", np.array([{}], object), allow_pickle=True)
    code, document = bisect(model, "--inputs", f"x={tmp_path / 'pickled.npy'}")
    assert (code, "holds no arrays" in document["error"]) == (2, True)
    np.save(tmp_path / "one.npy", np.zeros(1))
    assert "does not say which input" in bisect(model, "--inputs", str(tmp_path / "one.npy"))[1]["error"]


def test_random_nodes_without_a_seed_are_refused(bisect: Run, tmp_path: Path) -> None:
    text = """<ir_version: 10, opset_import: ["" : 18]>
    r (float[4] x) => (float[4] y) { n = RandomNormalLike (x)  s = Add (n, x)  y = Relu (s) }"""
    onnx.save(parser.parse_model(text), tmp_path / "r.onnx")
    code, document = bisect(tmp_path / "r.onnx", "--cpu")
    assert (code, "without a seed" in document["error"]) == (2, True)
