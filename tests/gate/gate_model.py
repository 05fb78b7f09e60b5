"""A model with a rule of its own: what a row has above its least magnitude, doubled; in layers."""

from __future__ import annotations

from pathlib import Path

import onnx
from onnx.parser import parse_model

RULE = """
code = "MY001"
name = "row-floor"
status = "preview"
since = "0.1.0"
role = "anchor"
family = "rowwise"
opset = [7]
doc = "Above its least magnitude, doubled."
example = '''
<ir_version: 8, opset_import: ["" : 17]>
graph (float[2,8] x) => (float[2,8] y)
<float two = {2}>
{ a = Abs (x) m = ReduceMin <axes = [-1], keepdims = 1> (a) d = Sub (x, m) y = Mul (d, two) }
'''
where = [{is = "value", of = "scale", equals = 2.0}]
pattern = '''
row_floor (x, scale) => (y)
{ a = Abs (x) m = ReduceMin <axes = [-1], keepdims = 1> (a) d = Sub (x, m) y = Mul (d, scale) }
'''
"""
NAMES = ("abs", "min", "sub", "mul")
LAYER = """
  a{k} = Abs (x{k}) m{k} = ReduceMin <axes = [-1], keepdims = 1> (a{k}) d{k} = Sub (x{k}, m{k}) x{j} = Mul (d{k}, two)
"""


def write_model(path: Path, layers: int = 2, prefix: str = "/layer.") -> Path:
    """The layers one behind the other, with a Gemm between so that each is a fusion of its own."""
    body = "".join(
        LAYER.format(k=k, j=k + 1).replace(f"(x{k}", f"(g{k}") + f"  g{k + 1} = Gemm (x{k + 1}, w)\n"
        for k in range(layers)
    )
    text = (
        '<ir_version: 10, opset_import: ["" : 17]>\n'
        f"rows (float[64, 512] g0, float[512, 512] w) => (float[64, 512] g{layers})\n"
        f"<float two = {{2}}> {{\n{body}}}"
    )
    model = parse_model(text)
    for k, node in enumerate(model.graph.node):
        name = (*NAMES, "gemm")[k % 5]
        node.name = f"{prefix}{k // 5}/{name}"
    onnx.save(model, path)
    return path


def write_rule(folder: Path, text: str = RULE) -> Path:
    """A folder with the rule alone."""
    folder.mkdir(exist_ok=True)
    (folder / "MY001.toml").write_text(text)
    return folder
