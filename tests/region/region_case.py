"""Graphs with one node that is not fused, and the one change with which its reason goes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import onnx.parser

import ascend_fuse
from ascend_fuse.plan import NearMiss, Plan

T = "float[4,256,1024]"
NO_GAIN = {"min_gain": 0.9}  # nothing pays: the reasons of idioms show
# A rule of the user's, for what no rule of ours can show: GELU's division form, said to hold from opset 20 on.
LATE_RULE = """
code = "USER001"
name = "late-silu"
status = "preview"
since = "0.1.0"
role = "idiom"
family = "elementwise"
opset = [20]
instruction = "silu x"
doc = "SiLU."
example = \"\"\"
<ir_version: 8, opset_import: ["" : 21]>
graph (float[2,8] x) => (float[2,8] y)
{
  a = Sigmoid (x)
  y = Mul (x, a)
}
\"\"\"
pattern = \"\"\"
product (x) => (y)
{
  gate = Sigmoid (x)
  y = Mul (x, gate)
}
\"\"\"
"""


@dataclass(frozen=True, slots=True)
class Case:
    """`node` (by the value that it makes) gets `code` with `figures` in `graph`; not in the other.

    The other is the graph, or the options, with one thing changed: `swap` is (old, new) text or options. A figure `...`
    is the engine's and only has to be there.
    """

    code: str
    node: str
    graph: str
    swap: tuple[str, str] | Mapping[str, object]
    figures: Mapping[str, object]
    options: Mapping[str, Any] = field(default_factory=dict[str, Any])
    opset: int = 17
    label: str = ""

    def plan(self, rules: Path | None = None) -> Plan:
        """The plan of the graph."""
        return _plan(self.graph, self.opset, dict(self.options), rules)

    def changed(self, rules: Path | None = None) -> Plan:
        """The plan with the one thing changed."""
        if not isinstance(self.swap, tuple):
            options = {**self.options, **self.swap}
            return _plan(self.graph, int(options.pop("opset", self.opset)), options, rules)
        assert self.graph.count(self.swap[0]) >= 1
        return _plan(self.graph.replace(*self.swap), self.opset, dict(self.options), rules)


def _plan(graph: str, opset: int, options: dict[str, Any], rules: Path | None) -> Plan:
    head = f'<ir_version: 10, opset_import: ["": {opset}, "com.example": 1]>'
    model = onnx.parser.parse_model(f"{head}\n{graph}")
    if rules is not None:
        options["rules"] = [rules]
    return ascend_fuse.optimize(model, **options).plan


def told(plan: Plan, node: str) -> dict[str, NearMiss]:
    """The misses of the node that makes the value, by code."""
    return {m.miss.code: m for m in plan.misses if m.name.endswith(f"({node})")}


def gelu() -> str:
    """GELU by the error function over T."""
    return f"""g ({T} x) => ({T} y) <float half = {{0.5}}, float one = {{1.0}}, float root = {{1.41421356}}> {{
        s = Div (x, root)
        e = Erf (s)
        p = Add (e, one)
        m = Mul (x, p)
        y = Mul (m, half)
    }}"""


def chain(length: int) -> str:
    """Tanh upon Tanh."""
    body = "\n".join(f"t{k + 1} = Tanh (t{k})" for k in range(length - 1))
    return f"g ({T} t0) => ({T} y) {{ {body}\n y = Tanh (t{length - 1}) }}"


def sums(count: int) -> str:
    """x0 + x1 + …"""
    inputs = ", ".join(f"{T} x{k}" for k in range(count))
    body = "\n".join(f"a{k} = Add ({'x0' if k == 1 else f'a{k - 1}'}, x{k})" for k in range(1, count - 1))
    return f"g ({inputs}) => ({T} y) {{ {body}\n y = Add (a{count - 2}, x{count - 1}) }}"


def taps(count: int) -> str:
    """A chain of which every value is an output."""
    outputs = ", ".join(f"{T} a{k}" for k in range(count))
    body = "\n".join(f"a{k} = Tanh ({'x' if k == 0 else f'a{k - 1}'})" for k in range(count))
    return f"g ({T} x) => ({outputs}) {{ {body} }}"


def casts(count: int) -> str:
    """To i32 and back, again and again: no pair of them is nothing."""
    size = "[4096,4096]"
    body = "\n".join(f"t{k + 1} = Cast <to = {1 if k % 2 else 6}> (t{k})" for k in range(count - 1))
    return f"g (float{size} t0) => (int32{size} y) {{ {body}\n y = Cast <to = 6> (t{count - 1}) }}"


ROTARY = """g (float[64,65536] x, float[64,65536] c, float[64,65536] s) => (float[64,65536] y) {
    a, b = Split <axis = 1> (x)
    n = Neg (b)
    r = Concat <axis = 1> (n, a)
    p = Mul (x, c)
    q = Mul (r, s)
    y = Add (p, q)
}"""
