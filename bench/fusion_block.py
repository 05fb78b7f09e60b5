"""The blocks that bench/fusion.py counts, and the cost of one: what a further layer adds to a model."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from onnx import ModelProto

LAYERS = (2, 3)  # a first and a last layer border inputs and outputs; the one between stands for all


@dataclass(frozen=True, slots=True)
class Block:
    """A layer of a sample model: `builder` of models.BUILDERS, whose option `repeated` says how many there are.

    `aim`: launches that this version is meant to reach.
    """

    name: str
    builder: str
    aim: int
    options: Mapping[str, Any] = field(default_factory=dict[str, Any])
    repeated: str = "layers"

    def available(self) -> bool:
        """Whether the sample models have its builder, for any number of layers."""
        from models import BUILDERS

        return self.builder in BUILDERS and self.repeated in inspect.signature(BUILDERS[self.builder]).parameters

    def build(self, layers: int) -> ModelProto:
        """A model of so many layers."""
        from models import BUILDERS

        return BUILDERS[self.builder](**{**self.options, self.repeated: layers})


LLAMA = {"kv_heads": 32, "casts": False}
UNET = {"channels": 320, "groups": 32, "time": 1280, "scaled": False}
BLOCKS = (
    Block("BERT layer", "bert-layer", 11),
    Block("GPT-2 layer", "gpt2-layer", 9),
    Block("LLaMA layer, prefill", "llama-block", 13, LLAMA),
    Block("LLaMA layer, decode", "llama-block", 13, {**LLAMA, "seq": 1, "past": 127}),
    Block("ViT layer", "vit-layer", 11, {"hidden": 768, "heads": 12, "embedding": False}),
    Block("ResNet bottleneck", "resnet-bottleneck", 4, {}, "blocks"),
    Block("MobileNetV3 block", "mobilenet-block", 9, {}, "blocks"),
    Block("U-Net residual block", "groupnorm-block", 5, UNET, "blocks"),
)
