"""Models of every form that the builders lower, and the claims that planning makes of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import onnx.parser
from onnx import ModelProto

from ascend_fuse.emit.edit import Editor
from ascend_fuse.engine import Engine, bounds, load_soc
from ascend_fuse.graph.launch import launches_by_node
from ascend_fuse.graph.scope import infer, scopes
from ascend_fuse.graph.size import Sizes
from ascend_fuse.graph.view import View
from ascend_fuse.planning import Planner
from ascend_fuse.proof.trial import Claim
from ascend_fuse.rule.load import load_rules
from ascend_fuse.rule.pattern import Pattern

X = "float[batch,seq,64]"
H = "float16[batch,seq,64]"

TEXTS: Mapping[str, str] = {
    "softmax": f"""g ({X} x, {X} mask) => ({X} y) <float scale = {{0.125}}> {{
        s = Mul (x, scale) m = Add (s, mask) y = Softmax (m) }}""",
    "log-softmax": f"g ({X} x) => ({X} y) {{ a = Neg (x) y = LogSoftmax (a) }}",
    "softmax-dropout": f"""g ({X} x) => ({X} y) <float ratio = {{0.25}}, bool on = {{1}}> {{
        a = Softmax (x) y = Dropout <seed = 7> (a, ratio, on) }}""",
    "softmax-uniform": f"""g ({X} x) => ({X} y) <float keep = {{0.75}}, float zero = {{0.0}}> {{
        a = Softmax (x) u = RandomUniformLike <seed = 7.0> (a) k = LessOrEqual (u, keep)
        z = Where (k, a, zero) y = Div (z, keep) }}""",
    "uniform-between": f"""g ({X} x) => ({X} y) {{
        a = Tanh (x) u = RandomUniformLike <low = -1.0, high = 2.0> (a) y = Mul (u, a) }}""",
    "softmax-where": f"""g ({X} x, bool[batch,seq,64] keep) => ({X} y) <float fill = {{-10000.0}}> {{
        m = Where (keep, x, fill) y = Softmax (m) }}""",
    "layer-norm": f"""g ({X} x, {X} r, float[64] w, float[64] b) => ({X} y, {X} s) {{
        s = Add (x, r) y = LayerNormalization <epsilon = 0.01> (s, w, b) }}""",
    "layer-norm-spelled": f"""g ({X} x) => ({X} y)
        <float two = {{2.0}}, float eps = {{0.00001}}, int64[1] axes = {{-1}}> {{
        m = ReduceMean (x, axes) c = Sub (x, m) q = Pow (c, two) v = ReduceMean (q, axes)
        e = Add (v, eps) d = Sqrt (e) y = Div (c, d) }}""",
    "rms-norm": f"""g ({H} x, float16[64] w) => ({H} y)
        <float two = {{2.0}}, float eps = {{0.00001}}, float one = {{1.0}}, int64[1] axes = {{-1}}> {{
        f = Cast <to = 1> (x) q = Pow (f, two) m = ReduceMean (q, axes) e = Add (m, eps) d = Sqrt (e)
        i = Div (one, d) n = Mul (f, i) h = Cast <to = 10> (n) y = Mul (w, h) }}""",
    "gelu": f"""g ({X} x, float[64] b) => ({X} y)
        <float root = {{1.41421356}}, float one = {{1.0}}, float half = {{0.5}}> {{
        h = Add (x, b) s = Div (h, root) e = Erf (s) p = Add (e, one) m = Mul (h, p) y = Mul (m, half) }}""",
    "gelu-tanh": f"""g ({X} x) => ({X} y) <float three = {{3.0}}, float k = {{0.044715}}, float beta = {{0.79788456}},
        float one = {{1.0}}, float half = {{0.5}}> {{
        h = Mul (x, half) a = Pow (x, three) b = Mul (a, k) c = Add (x, b) d = Mul (c, beta) e = Tanh (d)
        f = Add (e, one) y = Mul (h, f) }}""",
    "gelu-off": f"""g ({X} x) => ({X} y) <float root = {{1.5}}, float one = {{1.0}}, float half = {{0.5}}> {{
        s = Div (x, root) e = Erf (s) p = Add (e, one) m = Mul (x, p) y = Mul (m, half) }}""",
    "silu-up": f"g ({X} x, {X} up) => ({X} y) {{ s = Sigmoid (x) g = Mul (x, s) y = Mul (g, up) }}",
    "rotary": f"""g ({X} x, float[seq,64] cos, float[seq,64] sin) => ({X} y)
        <int64[1] zero = {{0}}, int64[1] mid = {{32}},
        int64[1] end = {{9223372036854775807}}, int64[1] axis = {{-1}}> {{
        low = Slice (x, zero, mid, axis) high = Slice (x, mid, end, axis) turned = Neg (high)
        joined = Concat <axis = -1> (turned, low) a = Mul (x, cos) b = Mul (joined, sin) y = Add (a, b) }}""",
    "split": f"""g ({X} x) => (float[batch,seq,32] y) {{
        a, b = Split <axis = -1, num_outputs = 2> (x) s = Sigmoid (b) y = Mul (a, s) }}""",
    "casts": """g (int32[batch,64] n, float[batch,64] x) => (int32[batch,64] y, bool[batch,64] z)
        <float quarter = {0.25}> {
        f = Cast <to = 1> (n) s = Mul (f, quarter) t = Add (s, x) y = Cast <to = 6> (t) z = Greater (t, quarter) }""",
    "where-compare": f"""g ({X} x, {X} u) => ({X} y) <float low = {{-0.5}}, float half = {{0.5}}> {{
        a = Greater (x, low) b = LessOrEqual (u, half) c = And (a, b) d = Not (c)
        e = Where (d, x, u) y = Sub (e, u) }}""",
    "clip": f"""g ({X} x) => ({X} y) <float low = {{-0.5}}, float high = {{0.75}}> {{
        a = Abs (x) b = Clip (x, low, high) y = Div (b, a) }}""",
    "elu": f"g ({X} x) => ({X} y) {{ a = Neg (x) y = Elu <alpha = 1.5> (a) }}",
    "leaky": f"g ({X} x) => ({X} y) {{ a = Neg (x) y = LeakyRelu <alpha = 0.1> (a) }}",
    "selu": f"g ({X} x) => ({X} y) {{ a = Neg (x) y = Selu (a) }}",
    "celu": f"g ({X} x) => ({X} y) {{ a = Neg (x) y = Celu <alpha = 2.0> (a) }}",
    "hard-swish": f"g ({X} x) => ({X} y) {{ a = Neg (x) y = HardSwish (a) }}",
    "hard-sigmoid": f"g ({X} x) => ({X} y) {{ a = Neg (x) y = HardSigmoid <alpha = 0.3, beta = 0.4> (a) }}",
    "mish": f"g ({X} x) => ({X} y) {{ a = Neg (x) y = Mish (a) }}",
    "softplus": f"g ({X} x) => ({X} y) {{ a = Neg (x) y = Softplus (a) }}",
    "softsign": f"g ({X} x) => ({X} y) {{ a = Neg (x) y = Softsign (a) }}",
    "threshold": f"g ({X} x) => ({X} y) {{ a = Neg (x) y = ThresholdedRelu <alpha = 0.9> (a) }}",
    "expand": """g (float[batch,kv,seq,64] x, float[64] w, int64[5] size) => (float[batch,kv,4,seq,64] y)
        <int64[1] axis = {2}> {
        a = Mul (x, w) b = Unsqueeze (a, axis) y = Expand (b, wide) }""",
    "integers": """g (int32[batch,64] n, int32[batch,64] k) => (int32[batch,64] y)
        <int32 three = {3}> { a = Add (n, k) b = Mul (a, three) c = Max (b, n) y = Sub (c, k) }""",
    "norm-l2": f"""g ({X} x) => ({X} y) <int64[1] axes = {{-1}}, float eps = {{0.000001}}> {{
        q = Mul (x, x) s = ReduceSum (q, axes) r = Sqrt (s) m = Max (r, eps) y = Div (x, m) }}""",
    "rows": f"""g ({X} x) => ({X} y) <int64[1] axes = {{-1}}> {{
        t = ReduceMax (x, axes) b = ReduceMin (x, axes) d = Sub (t, b) c = Sub (x, b) y = Div (c, d) }}""",
    "product": """g (float[batch,seq,64] x, float[64,96] w, float[96] b, float[batch,seq,96] r)
        => (float[batch,seq,96] y, float[batch,seq,96] s) {
        p = MatMul (x, w) s = Add (b, p) t = Tanh (s) y = Sub (t, r) }""",
    "scores": """g (float[batch,8,seq,64] q, float[batch,1,64,past] k, float[batch,1,1,past] m)
        => (float[batch,8,seq,past] y) <float scale = {0.125}> {
        p = MatMul (q, k) s = Mul (p, scale) y = Sub (s, m) }""",
    "gemm": """g (float[64,seq] x, float[96,64] w, float[96] b) => (float[seq,96] y) {
        p = Gemm <transA = 1, transB = 1, alpha = 1.5, beta = 0.5> (x, w, b) y = LeakyRelu <alpha = 0.1> (p) }""",
    "convolution": """g (float[batch,16,h,w] x, float[24,16,1,1] k, float[24] b, float[batch,24,1,1] c, float[batch,24,h,w] r)
        => (float[batch,24,h,w] y) { p = Conv (x, k, b) s = Mul (p, c) t = Sub (s, r) y = Tanh (t) }""",
    "pool": """g (float[batch,24,h,w] x) => (float[batch,24,h,w] a, float[batch,24,1,1] y) {
        a = LeakyRelu <alpha = 0.2> (x) m = GlobalAveragePool (a) y = HardSigmoid <alpha = 0.3, beta = 0.4> (m) }""",
    "cache": """g (float[batch,8,past,16] c, float[batch,8,past,16] d, float[batch,8,seq,16] x, float[seq,16] cos)
        => (float[batch,8,t,16] y, float[batch,8,t,16] z, float[batch,8,seq,16] n) {
        m = Mul (x, cos) n = Neg (m) y = Concat <axis = 2> (c, n) z = Concat <axis = -2> (m, d) }""",
    "cache-product": """g (float[batch,8,past,16] c, float[batch,seq,64] x, float[64,128] w, float[128] b)
        => (float[batch,8,t,16] y) <int64[4] heads = {0, 0, 8, 16}> {
        p = MatMul (x, w) a = Add (p, b) r = Reshape (a, heads) v = Transpose <perm = [0,2,1,3]> (r)
        y = Concat <axis = 2> (c, v) }""",
    "movement": """g (float[batch,64,seq] x, float[64] c, float[seq,64] r)
        => (float[batch,seq,64] y, float[batch,64,seq] k) {
        t = Transpose <perm = [0,2,1]> (x) e = Exp (t) d = Div (e, c) y = Sub (d, r) k = Transpose <perm = [0,2,1]> (y) }""",
    "turned-rows": """g (float[batch,64,seq] x, float[seq,64] r) => (float[batch,64,seq] y) {
        t = Transpose <perm = [0,2,1]> (x) a = Sub (r, t) s = Softmax (a) y = Transpose <perm = [0,2,1]> (s) }""",
    "inverse": f"""g ({X} x) => ({X} y) <float half = {{0.5}}, float two = {{2.0}}> {{
        a = Atan (x) b = Asinh (x) c = Cosh (b) d = Sinh (a) e = Tanh (x) f = Mul (e, half) g = Asin (f) h = Acos (f)
        i = Atanh (f) j = Add (c, two) k = Acosh (j) l = Mul (g, h) m = Sub (i, k) n = Mul (d, b) o = Add (l, m)
        y = Sub (o, n) }}""",
    "bits": """g (int32[batch,64] n, int32[batch,64] k) => (int32[batch,64] y)
        <int32 six = {6}> { a = BitwiseAnd (n, k) b = BitwiseOr (a, six) c = BitwiseXor (b, n) d = BitwiseNot (c)
        y = Sub (d, k) }""",
    "remainder": f"""g ({X} x, float[64] b) => ({X} y) {{ a = Mod <fmod = 1> (x, b) c = Sub (b, a) y = Mul (c, a) }}""",
    "hardmax": f"g ({X} x) => ({X} y) {{ a = Neg (x) y = Hardmax (a) }}",
    "lengths": f"""g ({X} x) => ({X} y) <int64[1] axes = {{-1}}> {{
        a = ReduceL1 (x, axes) b = ReduceL2 (x, axes) c = ReduceSumSquare (x, axes) d = ReduceProd (x, axes)
        e = Sub (a, b) f = Mul (e, c) g = Add (f, d) y = Div (x, g) }}""",
    "batch-norm": """g (float[batch,24,h,w] x, float[24] s, float[24] b, float[24] m, float[24] v)
        => (float[batch,24,h,w] y) { n = BatchNormalization <epsilon = 0.01> (x, s, b, m, v) y = Relu (n) }""",
    "waves": f"""g ({X} x) => ({X} y) <float p = {{1.7}}> {{
        a = Sin (x) b = Cos (x) c = Floor (x) d = Ceil (a) e = Round (x) f = Sign (b) g = Add (a, b) h = Sub (c, e)
        i = Mul (d, f) j = Add (g, h) k = Add (j, i) l = Abs (k) m = Pow (l, p) n = Exp (g) o = Log (n)
        q = Reciprocal (n) r = Mul (m, o) y = Add (r, q) }}""",
}  # fmt: skip
# Sizes that shapes determine need Shape nodes, which ONNX text writes as any other.
EXPAND = """
    d = Shape <start = 0, end = 2> (x)
    e = Shape <start = 2> (x)
    wide = Concat <axis = 0> (d, four, e)
"""


@dataclass(frozen=True, slots=True)
class Sample:
    """The claims of one model, the model before and after the edit, and what the idioms' instructions mean."""

    claims: tuple[Claim, ...]
    before: ModelProto
    after: ModelProto
    definitions: Mapping[str, list[Pattern]]


def parse(name: str, texts: Mapping[str, str] = TEXTS) -> ModelProto:
    """The model of that name."""
    text = texts[name]
    if name == "expand":
        text = text.replace("{\n        a =", "{" + EXPAND + "a =").replace("int64[5] size", "float[1] unused")
        text = text.replace("int64[1] axis = {2}", "int64[1] axis = {2}, int64[1] four = {4}")
    return onnx.parser.parse_model(f'<ir_version: 10, opset_import: ["": 18]>\n{text}')


def sample(name: str, texts: Mapping[str, str] = TEXTS) -> Sample:
    """Plan, edit, and the claims of the regions; every launch that can be is in one region."""
    model = parse(name, texts)
    before = onnx.ModelProto()
    before.CopyFrom(model)
    inference = infer(model)[""]
    view = View(model.graph, 18, inference.types)
    rules = load_rules([])
    engine = Engine(load_soc("Ascend910B3"), bounds(min_gain=0.0))
    planner = Planner(view, launches_by_node(model), inference.values, rules, engine, Sizes({}))
    editor = Editor(model, "Ascend910B3")
    fused = editor.apply(scopes(model)[-1], view, planner.run().chosen, inference.hinted)
    editor.finish({})
    claims = [
        Claim(
            f.body.function.name,
            f.chosen.built,
            tuple(f.body.function.node),
            tuple(f.body.function.input),
            tuple(f.body.function.output),
            18,
            {
                k: inference.values[n]
                for k, (n, i) in enumerate(zip(f.chosen.built.inputs, f.chosen.built.program.inputs, strict=True))
                if i.host
            },
        )
        for f in fused
    ]
    definitions: dict[str, list[Pattern]] = {}
    for rule in rules.rules:
        if rule.instruction:
            definitions.setdefault(rule.instruction.split()[0], []).extend(rule.patterns)
    return Sample(tuple(claims), before, model, definitions)
