"""Each builder, in its types, sizes, opsets and spellings: valid, run by ONNX Runtime, and equal once optimised."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable
from functools import partial
from itertools import product
from pathlib import Path
from typing import get_args

import numpy as np
import onnx
import pytest
from onnx import numpy_helper

import models
from ascend_fuse import optimize
from models.__main__ import main
from models.attention_block import Drop, Mask, Scale
from models.convolution import CnnActivation, GroupNorm, Norm
from models.mlp import GATES, Plain
from tests.equal import assert_equal, feeds_of, run

Build = Callable[[], onnx.ModelProto]
PLAIN, SMALL = get_args(Plain), {"hidden": 16, "inner": 32}
BLOCK = {"hidden": 32, "heads": 4}
OPERATORS = ("relu6", "elu", "gelu_erf", "gelu_tanh", "hard_sigmoid", "hard_swish", "softplus", "mish", "geglu")
Erf = np.vectorize(math.erf)


def variants() -> dict[str, Build]:
    """What a user would choose, by a name that says it."""
    every: dict[str, Build] = {
        f"mlp {name} {spelling}": partial(models.mlp, name, spelling, seq=5, **SMALL, opset=opset)
        for spelling, names, opset in (("nodes", PLAIN, 17), ("op", OPERATORS, 20))
        for name in names
    }
    for name in GATES:
        every[f"mlp {name} packed"] = partial(
            models.mlp, name, packed=True, batch="b", seq="s", dtype="float16", **SMALL, opset=12
        )
    for name, opset in product(("gelu_erf", "silu", "hard_swish", "mish"), (13, 18, 22)):
        every[f"mlp {name} f16 opset {opset}"] = partial(
            models.mlp, name, dtype="float16", batch="b", seq="s", **SMALL, opset=opset
        )
    for scale, mask in product(get_args(Scale), get_args(Mask)):
        every[f"attention {scale} {mask}"] = partial(models.attention_block, scale, mask, seq=6, **BLOCK)
    for drop, opset in product(get_args(Drop), (12, 13, 15, 18, 22)):
        every[f"attention drop {drop} opset {opset}"] = partial(
            models.attention_block, mask="where", drop=drop, batch="b", seq="s", **BLOCK, opset=opset
        )
    for mask in get_args(Mask):
        every[f"attention f16 {mask}"] = partial(models.attention_block, "both", mask, dtype="float16", **BLOCK, seq=4)
        every[f"attention inference {mask}"] = partial(
            models.attention_block, "query", mask, training=False, **BLOCK, seq=4
        )
    for norm, activation, excite in product(get_args(Norm), get_args(CnnActivation), (False, True)):
        every[f"cnn {norm} {activation} {'excited' * excite}"] = partial(
            models.residual_cnn, 1, 8, 6, norm=norm, activation=activation, squeeze_excite=excite
        )
    every["cnn symbolic"] = partial(
        models.residual_cnn, "b", 8, "size", activation="hard_swish", spelling="op", opset=14
    )
    every["cnn f16"] = partial(models.residual_cnn, 1, 8, 6, 2, dtype="float16")
    for norm in get_args(GroupNorm):
        every[f"groupnorm {norm}"] = partial(models.groupnorm_block, 2, 16, 4, 4, 8, norm, opset=21)
    every["groupnorm symbolic"] = partial(models.groupnorm_block, "b", 16, 4, 4, 8, opset=12)
    every["groupnorm f16"] = partial(models.groupnorm_block, 1, 16, 4, 4, 8, dtype="float16")
    vit = {"image": 8, "patch": 4, "hidden": 16, "heads": 2}
    every["vit"] = partial(models.vit_layer, **vit, layers=2)
    every["vit symbolic"] = partial(models.vit_layer, "b", **vit, opset=13)
    every["vit f16"] = partial(models.vit_layer, 1, **vit, dtype="float16", embedding=False)
    decode = partial(models.llama_block, 32, 4, 2, 48, layers=2, past=5, seq=1)
    every["llama decode"], every["llama decode without casts"] = decode, partial(decode, batch="b", casts=False)
    every["gpt2"] = partial(models.gpt2_layer, 1, 6, 32, 4, layers=2)
    every["gpt2 symbolic f16"] = partial(models.gpt2_layer, "b", "s", 32, 4, dtype="float16", opset=13)
    return every


VARIANTS = variants()


@pytest.mark.parametrize("name", VARIANTS)
def test_optimised_is_equal(name: str) -> None:
    model = VARIANTS[name]()
    onnx.checker.check_model(model, full_check=True)
    result = optimize(model)
    onnx.checker.check_model(result.model, full_check=True)
    assert result.plan.totals_after.launches < result.plan.totals_before.launches
    feeds = feeds_of(model, size=4)
    assert_equal(run(model, feeds), run(result.model, feeds), name)


def spelled(x: np.ndarray) -> dict[str, np.ndarray]:
    """Every activation by its formula, in float64."""
    sigmoid = 1 / (1 + np.exp(-x))
    half, softplus = np.clip(x / 6 + 0.5, 0, 1), np.log1p(np.exp(x))
    cubic = np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x**3))
    negative = np.exp(np.minimum(x, 0)) - 1
    return {
        "relu": np.maximum(x, 0), "relu6": np.clip(x, 0, 6), "leaky_relu": np.where(x < 0, 0.1 * x, x),
        "elu": np.where(x < 0, negative, x), "sigmoid": sigmoid, "tanh": np.tanh(x),
        "selu": 1.0507009873554805 * np.where(x < 0, 1.6732632423543772 * negative, x),
        "gelu_erf": x * (1 + Erf(x / np.sqrt(2))) / 2, "gelu_tanh": x * (1 + cubic) / 2,
        "gelu_quick": x / (1 + np.exp(-1.702 * x)), "silu": x * sigmoid, "hard_sigmoid": half,
        "hard_swish": x * half, "softplus": softplus, "mish": x * np.tanh(softplus),
    }  # fmt: skip


def weight(model: onnx.ModelProto, name: str) -> np.ndarray:
    return numpy_helper.to_array(next(t for t in model.graph.initializer if t.name == name)).astype(np.float64)


@pytest.mark.parametrize("spelling", ["nodes", "op"])
@pytest.mark.parametrize("name", [name for name in PLAIN if name not in GATES])
def test_mlp_computes_its_activation(name: str, spelling: str) -> None:
    model = models.mlp(name, spelling, residual=False, seq=5, **SMALL, opset=20)
    x = feeds_of(model)["x"] * 4
    wide = x.astype(np.float64) @ weight(model, "mlp.up.weight") + weight(model, "mlp.up.bias")
    want = spelled(wide)[name] @ weight(model, "mlp.down.weight") + weight(model, "mlp.down.bias")
    np.testing.assert_allclose(run(model, {"x": x})[0], want, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("name", GATES)
def test_gate_is_the_first_half(name: str) -> None:
    model = models.mlp(name, packed=True, residual=False, seq=5, **SMALL)
    x = feeds_of(model)["x"]
    both = x.astype(np.float64) @ weight(model, "mlp.gate_up.weight") + weight(model, "mlp.gate_up.bias")
    wide = spelled(both[..., :32])[GATES[name]] * both[..., 32:]
    want = wide @ weight(model, "mlp.down.weight") + weight(model, "mlp.down.bias")
    np.testing.assert_allclose(run(model, {"x": x})[0], want, rtol=1e-4, atol=1e-4)


def test_attention_spellings_agree() -> None:
    """Without dropout, scales are equal to each other, and so are the masks for equal tokens."""
    rng = np.random.default_rng(1)
    x = rng.standard_normal((2, 4, 32)).astype(np.float32)
    allowed = np.ones((2, 1, 4, 4), bool)
    allowed[..., -1] = False
    feeds = {"x": x, "mask": allowed}
    build = partial(models.attention_block, drop="none", batch=2, seq=4, **BLOCK)
    base = run(build("scores", "where"), feeds)[0]
    for scale in ("scores_div", "query", "both"):
        np.testing.assert_allclose(run(build(scale, "where"), feeds)[0], base, rtol=1e-4, atol=1e-5)
    assert np.abs(run(build("none", "where"), feeds)[0] - base).max() > 1e-3
    for mask in ("bool", "filled"):
        np.testing.assert_allclose(run(build("scores", mask), feeds)[0], base, rtol=1e-4, atol=1e-5)
    addend = np.where(allowed[:, :, :1], 0, np.finfo(np.float32).min).astype(np.float32)
    np.testing.assert_allclose(run(build(), {"x": x, "mask": addend})[0], base, rtol=1e-4, atol=1e-5)


def test_dropout_drops_its_share() -> None:
    model = models.attention_block(mask="none", drop="output", seq=64, **BLOCK)
    x = np.zeros((1, 64, 32), np.float32)
    dropped = run(model, {"x": x})[0] == 0
    assert abs(dropped.mean() - 0.2) < 0.03
    idle = models.attention_block(mask="none", drop="output", training=False, seq=64, **BLOCK)
    assert not (run(idle, {"x": x})[0] == 0).any()


def group_norm(x: np.ndarray, groups: int) -> np.ndarray:
    rows = x.astype(np.float64).reshape(x.shape[0], groups, -1)
    rows = (rows - rows.mean(-1, keepdims=True)) / np.sqrt(rows.var(-1, keepdims=True) + 1e-5)
    return rows.reshape(x.shape)


@pytest.mark.parametrize("norm", get_args(GroupNorm))
def test_groupnorm_block_normalises_groups(norm: str) -> None:
    model = models.groupnorm_block(2, 16, 4, 4, 8, norm, opset=21)
    value = next(node.output[0] for node in model.graph.node if node.name == "/resnets.0/Sigmoid")
    source = next(node.input[0] for node in model.graph.node if node.output[0] == value)
    model.graph.output.append(onnx.ValueInfoProto(name=source))
    feeds = feeds_of(model)
    scale, bias = (weight(model, f"resnets.0.norm1.{name}").reshape(-1, 1, 1) for name in ("weight", "bias"))
    want = group_norm(feeds["x"], 4) * scale + bias
    np.testing.assert_allclose(run(model, feeds)[-1], want, rtol=1e-4, atol=1e-4)


def test_squeeze_excite_scales_channels() -> None:
    found = Counter(n.op_type for n in models.residual_cnn(1, 8, 6, squeeze_excite=True).graph.node)
    assert (found["Conv"], found["GlobalAveragePool"], found["HardSigmoid"]) == (4, 1, 1)
    folded, norm = models.residual_cnn(1, 8, 6), models.residual_cnn(1, 8, 6, norm="op")
    assert Counter(n.op_type for n in folded.graph.node) == {"Conv": 2, "Add": 1, "Relu": 2}
    assert Counter(n.op_type for n in norm.graph.node)["BatchNormalization"] == 2


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: models.mlp("swish"), "must be one of"),
        (lambda: models.mlp("mish", "op"), "opset 18"),
        (lambda: models.attention_block(opset=11), "opset 12"),
        (lambda: models.groupnorm_block(channels=10, groups=4), "multiple"),
        (lambda: models.groupnorm_block(norm="op"), "opset 21"),
        (lambda: models.vit_layer(image=30), "multiple"),
    ],
)
def test_impossible_options_are_refused(build: Build, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        build()


@pytest.mark.parametrize("name", sorted(models.BUILDERS))
def test_the_command_builds_it(name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "model.onnx"
    assert main([name, str(path)]) == 0
    assert capsys.readouterr().out.strip() == str(path)
    onnx.checker.check_model(path, full_check=True)
    assert main(["list"]) == 0
    listed = capsys.readouterr().out
    assert f"{name}: " in listed
    assert f"`{name}`" in (Path(models.__file__).parent / "README.md").read_text("utf-8")
