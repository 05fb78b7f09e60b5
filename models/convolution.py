"""Residual blocks of convolutional networks: ResNet, MobileNetV3, and the U-Nets of diffusion models."""

from typing import Literal

import onnx

from models.activation import Spelling, activate
from models.build import Builder, Dim, DType
from models.layer import reduce_mean, unsqueeze

CnnActivation = Literal["relu", "hard_swish", "silu"]
Norm = Literal["folded", "op"]
GroupNorm = Literal["instance", "nodes", "op"]


def residual_cnn(
    batch: Dim = 1,
    channels: int = 64,
    size: Dim = 56,
    blocks: int = 1,
    norm: Norm = "folded",
    activation: CnnActivation = "relu",
    spelling: Spelling = "nodes",
    squeeze_excite: bool = False,
    dtype: DType = "float32",
    opset: int = 17,
) -> onnx.ModelProto:
    """`blocks` blocks of two 3x3 convolutions and a residual Add: x [batch, channels, size, size] in and out.

    norm: `folded` into the convolutions as an exporter in eval mode does, or an inference BatchNormalization (`op`).
    squeeze_excite scales the channels by their gated means before the Add, as in MobileNetV3
    (https://arxiv.org/abs/1905.02244).
    """
    b = Builder("residual_cnn", dtype, opset)
    shape: list[Dim] = [batch, channels, size, size]
    x = b.input("x", shape)
    for index in range(blocks):
        with b.scope(f"layer.{index}"):
            y = activate(b, _conv_norm(b, x, "conv1", channels, norm), activation, spelling)
            y = _conv_norm(b, y, "conv2", channels, norm)
            if squeeze_excite:
                y = _squeeze_excite(b, y, channels)
            x = activate(b, b.node("Add", y, x), activation, spelling)
    b.output(x, "y", shape)
    return b.model()


def resnet_bottleneck(
    batch: Dim = 1,
    channels: int = 256,
    inner: int = 64,
    size: Dim = 56,
    blocks: int = 1,
    dtype: DType = "float32",
    opset: int = 17,
) -> onnx.ModelProto:
    """ResNet-50's block (https://arxiv.org/abs/1512.03385): x [batch, channels, size, size] in and out.

    1x1 to `inner` channels, 3x3, 1x1 back, the residual; norms are folded into the convolutions.
    """
    b = Builder("resnet_bottleneck", dtype, opset)
    shape: list[Dim] = [batch, channels, size, size]
    x = b.input("x", shape)
    for index in range(blocks):
        with b.scope(f"layer.{index}"):
            y = b.node("Relu", conv(b, x, "conv1", inner, channels, width=1))
            y = b.node("Relu", conv(b, y, "conv2", inner, inner))
            y = conv(b, y, "conv3", channels, inner, width=1)
            x = b.node("Relu", b.node("Add", y, x))
    b.output(x, "y", shape)
    return b.model()


def mobilenet_block(
    batch: Dim = 1,
    channels: int = 80,
    inner: int = 480,
    size: Dim = 14,
    blocks: int = 1,
    dtype: DType = "float32",
    opset: int = 13,
) -> onnx.ModelProto:
    """MobileNetV3's block (https://arxiv.org/abs/1905.02244): x [batch, channels, size, size] in and out.

    1x1 to `inner` channels, 3x3 for each channel by itself, squeeze-excite, 1x1 back, the residual. From opset 14 on
    hard-swish is one operator, before PyTorch's exporter writes two.
    """
    b = Builder("mobilenet_block", dtype, opset)
    shape: list[Dim] = [batch, channels, size, size]
    x = b.input("x", shape)
    for index in range(blocks):
        with b.scope(f"block.{index}"):
            y = _hard_swish(b, conv(b, x, "expand", inner, channels, width=1))
            y = _hard_swish(b, conv(b, y, "depthwise", inner, inner, group=inner))
            y = conv(b, _squeeze_excite(b, y, inner), "project", channels, inner, width=1)
            x = b.node("Add", y, x)
    b.output(x, "y", shape)
    return b.model()


def _hard_swish(b: Builder, x: str) -> str:
    if b.opset >= 14:
        return activate(b, x, "hard_swish", "op")
    return b.node("Mul", x, activate(b, x, "hard_sigmoid", "op"))


def conv(b: Builder, x: str, name: str, rows: int, cols: int, width: int = 3, group: int = 1) -> str:
    """x: [batch, cols, h, w] to [batch, rows, h, w]."""
    with b.scope(name):
        cols //= group
        weight = b.weight("weight", [rows, cols, width, width], std=(cols * width * width) ** -0.5)
        shape = {"kernel_shape": [width, width], "pads": [width // 2] * 4, "group": group}
        return b.node("Conv", x, weight, b.weight("bias", [rows], std=0.02), **shape)


def _conv_norm(b: Builder, x: str, name: str, channels: int, norm: Norm) -> str:
    x = conv(b, x, name, channels, channels)
    if norm == "folded":
        return x
    with b.scope(f"{name}/bn"):
        scale, bias = b.weight("weight", [channels], 1.0, 0.1), b.weight("bias", [channels], std=0.02)
        mean, variance = b.weight("running_mean", [channels], std=0.1), b.weight("running_var", [channels], 1.0, 0.05)
        return b.node("BatchNormalization", x, scale, bias, mean, variance, epsilon=1e-5, momentum=0.9)


def _squeeze_excite(b: Builder, x: str, channels: int) -> str:
    with b.scope("se"):
        squeezed = conv(b, b.node("GlobalAveragePool", x), "fc1", max(channels // 4, 1), channels, width=1)
        gate = conv(b, activate(b, squeezed, "relu"), "fc2", channels, max(channels // 4, 1), width=1)
        return b.node("Mul", activate(b, gate, "hard_sigmoid", "op"), x)


def groupnorm_block(
    batch: Dim = 1,
    channels: int = 64,
    size: int = 32,
    groups: int = 8,
    time: int = 128,
    norm: GroupNorm = "instance",
    blocks: int = 1,
    scaled: bool = True,
    dtype: DType = "float32",
    opset: int = 17,
) -> onnx.ModelProto:
    """Residual blocks of a diffusion U-Net: x [batch, channels, size, size] and time [batch, time] in.

    GroupNorm, SiLU, convolution twice, the projected time step added between.  norm: through InstanceNormalization
    (`instance`, PyTorch's exporter), spelled out (`nodes`), or GroupNormalization (`op`, opset 21). scaled: divide by
    diffusers' output_scale_factor, 1.
    """
    if channels % groups:
        raise ValueError(f"channels {channels} must be a multiple of groups {groups}")
    if norm == "op" and opset < 21:
        raise ValueError(f"GroupNormalization needs opset 21, not {opset}")
    b = Builder("groupnorm_block", dtype, opset)
    shape: list[Dim] = [batch, channels, size, size]
    x, step = b.input("x", shape), b.input("time", [batch, time])
    step = activate(b, step, "silu")  # all blocks have it, exporters keep one
    for index in range(blocks):
        with b.scope(f"resnets.{index}"):
            y = activate(b, _group_norm(b, x, "norm1", channels, size, groups, norm), "silu")
            y = conv(b, y, "conv1", channels, channels)
            with b.scope("time_emb_proj"):
                weight, bias = b.weight("weight", [channels, time]), b.weight("bias", [channels], std=0.02)
                shift = b.node("Gemm", step, weight, bias, alpha=1.0, beta=1.0, transB=1)
            y = b.node("Add", y, unsqueeze(b, unsqueeze(b, shift, [2]), [3]))
            y = activate(b, _group_norm(b, y, "norm2", channels, size, groups, norm), "silu")
            x = b.node("Add", x, conv(b, y, "conv2", channels, channels))
            x = b.node("Div", x, b.scalar(1.0)) if scaled else x
    b.output(x, "y", shape)
    return b.model()


def _group_norm(b: Builder, x: str, name: str, channels: int, size: int, groups: int, norm: GroupNorm) -> str:
    with b.scope(name):
        if norm == "op":
            scale, bias = b.weight("weight", [channels], 1.0, 0.1), b.weight("bias", [channels], std=0.02)
            return b.node("GroupNormalization", x, scale, bias, num_groups=groups, epsilon=1e-5)
        scale, bias = b.weight("weight", [channels, 1, 1], 1.0, 0.1), b.weight("bias", [channels, 1, 1], std=0.02)
        rows = b.node("Reshape", x, b.int64([0, groups, -1]))
        normed = _instance_norm(b, rows, groups) if norm == "instance" else _spelled_norm(b, rows)
        y = b.node("Reshape", normed, b.int64([-1, channels, size, size]))
        return b.node("Add", b.node("Mul", y, scale), bias)


def _instance_norm(b: Builder, rows: str, groups: int) -> str:
    ones, zeros = b.filled(1.0, [groups]), b.filled(0.0, [groups])
    return b.node("InstanceNormalization", rows, ones, zeros, epsilon=1e-5)


def _spelled_norm(b: Builder, rows: str) -> str:
    centred = b.node("Sub", rows, reduce_mean(b, rows))
    variance = reduce_mean(b, b.node("Mul", centred, centred))
    return b.node("Div", centred, b.node("Sqrt", b.node("Add", variance, b.scalar(1e-5))))
