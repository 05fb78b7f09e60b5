"""Twenty graphs on which public optimisers gave wrong numbers, invalid graphs or crashes, and what holds for ours.

The graphs are ONNX text; tensors named in `weights` stand among the inputs there and become initializers with random
values.  `reports` are issues and pull requests on GitHub, as owner/repository#number.
"""

from __future__ import annotations

import zlib
from dataclasses import dataclass

import numpy as np
import onnx
import onnx.parser
from onnx import numpy_helper


@dataclass(frozen=True, slots=True)
class Case:
    """`fuses`: values whose nodes have to be one region.  `alone`: values whose nodes stay as they were.

    `rule`: a code that the region has to name.  `never`: codes that no region may name.  `instructions`: lines that
    some program has to hold.  `refused`: a reason code that the report has to give.
    """

    trap: str
    reports: tuple[str, ...]
    graph: str
    opset: int = 17
    ir: int = 8
    weights: str = ""
    fuses: str = ""
    alone: str = ""
    rule: str = ""
    never: tuple[str, ...] = ()
    instructions: tuple[str, ...] = ()
    refused: str = ""

    def model(self) -> onnx.ModelProto:
        """The graph as a model, with metadata and documentation that have to survive."""
        head = f'<ir_version: {self.ir}, opset_import: ["" : {self.opset}]>\ncase '
        model = onnx.parser.parse_model(head + self.graph)
        names = self.weights.split()
        kept = [value for value in model.graph.input if value.name not in names]
        for value in (v for v in model.graph.input if v.name in names):
            shape = [d.dim_value for d in value.type.tensor_type.shape.dim]
            rng = np.random.default_rng(zlib.crc32(value.name.encode()))
            drawn = np.asarray(rng.uniform(-2, 2, shape), np.float32)
            model.graph.initializer.append(numpy_helper.from_array(drawn, value.name))
        del model.graph.input[:]
        model.graph.input.extend(kept)
        model.doc_string, model.graph.doc_string = "of the model", "of the graph"
        model.metadata_props.add(key="author", value="the exporter")
        return model


NORMS = ("AF201", "AF202", "AF203", "AF204", "AF205", "AF206")
NORM_BODY = """
  <float two = {2}, float eps = {0.00001}>
{
  mu = ReduceMean<axes = [-1], keepdims = KEEP> (x)
  centred = Sub (x, mu)
  square = Pow (centred, two)
  variance = ReduceMean<axes = [-1], keepdims = KEEP> (square)
  shifted = Add (variance, eps)
  deviation = Sqrt (shifted)
  normed = Div (centred, deviation)
  scaled = Mul (normed, gamma)
  y = Add (scaled, beta)
}"""
NORM = NORM_BODY.replace("KEEP", "1")

CASES = {
    "A01": Case(
        "the gate between two multiplications has one reader in the graph, and is a graph output beside",
        ("microsoft/onnxruntime#15109", "microsoft/onnxruntime#4110"),
        """(float[2,4] x) => (float[2,4] y, float[2,4] gate)
        <float k = {1.702}> { t = Mul (x, k) gate = Sigmoid (t) y = Mul (x, gate) }""",
        fuses="t gate y",
    ),
    "A02": Case(
        "the product is the second operand of the Add, and two nodes read the sum",
        ("inisis/OnnxSlim#160", "inisis/OnnxSlim#163"),
        """(float[3,5] x, float[5,4] w, float[4] b) => (float[3,4] y1, float[3,4] y2)
        { p = MatMul (x, w) s = Add (b, p) y1 = Relu (s) y2 = Sigmoid (s) }""",
        weights="w b",
        fuses="p s y1 y2",
        rule="AF401",
        instructions=("= matmul x0, x1", "= add x2, v0"),
    ),
    "A03": Case(
        "the addend has as many channels as the convolution and differs from pixel to pixel: no bias",
        ("microsoft/onnxruntime#12498",),
        """(float[1,8,3,3] x, float[8,2,1,1] w, float[8] b, float[1,8,3,3] k) => (float[1,8,3,3] y)
        { c = Conv<group = 4, kernel_shape = [1, 1]> (x, w, b) y = Add (c, k) }""",
        weights="w b k",
        alone="c y",
    ),
    "A04": Case(
        "the vector is as long as there are channels, and is added along the width",
        ("onnx/onnx#707", "onnx/tensorflow-onnx#2152"),
        """(float[1,2,3,4] x, float[4,2,3,3] w, float[4] v) => (float[1,4,3,4] y)
        { c = Conv<kernel_shape = [3, 3], pads = [1, 1, 1, 1]> (x, w) y = Add (c, v) }""",
        weights="w v",
        alone="c y",
    ),
    "A05": Case(
        "a constant of rank 0 behind a convolution without bias is no bias as it stands",
        ("onnx/optimizer#3",),
        """(float[2,3,2,2] x, float[5,3,1,1] w) => (float[2,5,2,2] y)
        <float s = {0.75}> { c = Conv<kernel_shape = [1, 1]> (x, w) a = Add (c, s) y = Relu (a) }""",
        weights="w",
        fuses="c a y",
        rule="AF403",
        instructions=(" = left (", "= add v0, 0.75"),
    ),
    "A06": Case(
        "the product is one column wide and the sum has the width of the addend",
        ("microsoft/onnxruntime#3764",),
        """(float[3,3] x, float[1,4] v, float[3,1] w) => (float[3,4] y)
        <float k = {0.5}> { p = MatMul (x, w) kv = Mul (k, v) y = Add (p, kv) }""",
        weights="w",
        alone="p",
    ),
    "A07": Case(
        "the addend looks like a bias but for its leading ones, which give the sum its rank",
        ("inisis/OnnxSlim#323",),
        """(float[4,8] x, float[8,6] w, float[1,1,1,1,6] b) => (float[1,1,1,4,6] y)
        { p = MatMul (x, w) y = Add (p, b) }""",
        weights="w b",
        alone="p y",
    ),
    "A08": Case(
        "a Transpose that moves nothing stands before a square product, where a wrong transA has a valid shape",
        ("microsoft/onnxruntime#32228", "microsoft/onnxruntime#32417", "microsoft/onnxruntime#32418"),
        """(float[4,4] x, float[4,4] w, float[4] b) => (float[4,4] y)
        { t = Transpose<perm = [0, 1]> (x) p = MatMul (t, w) y = Add (p, b) }""",
        weights="w b",
        fuses="p y",
        rule="AF401",
        instructions=("x0: f32[d0 | d2] = left\n", "x1: f32[d2 | d1] = right\n"),
    ),
    "A09": Case(
        "two permutations that give another one when composed the wrong way round",
        ("onnx/onnx#2446", "onnx/onnx#2471"),
        """(float[2,3,4] x, float[2] b) => (float[3,4,2] y)
        { t = Transpose<perm = [1, 0, 2]> (x) u = Transpose<perm = [0, 2, 1]> (t) y = Add (u, b) }""",
        weights="b",
        fuses="t u y",
        rule="AF501",
        instructions=("x0: f32[d0 | d1, d2] = in", "out v0 <1 2 0>"),
    ),
    "A10": Case(
        "means without their axis are added along the other axis, which a square tensor allows",
        ("microsoft/onnxruntime#30513", "microsoft/onnxruntime#31144"),
        "(float[4,4] x, float[4] gamma, float[4] beta) => (float[4,4] y)" + NORM_BODY.replace("KEEP", "0"),
        opset=13,
        weights="gamma beta",
        never=NORMS,
    ),
    "A11": Case(
        "scale and shift fit the last axis and repeat the normalised rows along another: no part of a norm of this size",
        ("microsoft/onnxruntime#31980", "microsoft/onnxruntime#32603", "microsoft/onnxruntime#25855", "onnx/onnx#8203"),
        "(float[2,1,4] x, float[3,4] gamma, float[3,4] beta) => (float[2,3,4] y)" + NORM,
        opset=13,
        weights="gamma beta",
        fuses="normed scaled y",
        instructions=("f32[d0, d1 | d2] = mul",),
    ),
    "A12": Case(
        "at rank 1 the scale cannot be told from the normalised value by its rank",
        ("microsoft/onnxruntime#31147",),
        "(float[8] x, float[8] gamma, float[8] beta) => (float[8] y)" + NORM,
        opset=11,
        ir=6,
        weights="gamma beta",
        fuses="mu centred square variance shifted deviation normed scaled y",
        rule="AF205",
    ),
    "A13": Case(
        "the sum before the norm is a graph output",
        ("microsoft/onnxruntime#17320",),
        """(float[2,3,4] x, float[2,3,4] r, float[4] gamma, float[4] beta) => (float[2,3,4] y, float[2,3,4] s)
        { s = Add (x, r) y = LayerNormalization<axis = -1, epsilon = 0.00001> (s, gamma, beta) }""",
        weights="gamma beta",
        fuses="s y",
        rule="AF202",
    ),
    "A14": Case(
        "the first operand of the residual Add is the smaller one",
        ("microsoft/onnxruntime#27488", "microsoft/onnxruntime#5123", "microsoft/onnxruntime#4980"),
        """(float[2,3,4] x, float[3,4] pos, float[4] gamma, float[4] beta) => (float[2,3,4] y)
        { s = Add (pos, x) y = LayerNormalization<axis = -1> (s, gamma, beta) }""",
        weights="pos gamma beta",
        fuses="s y",
        rule="AF201",
    ),
    "A15": Case(
        "the Softmax runs over the middle axis, a kernel for rows would take the last",
        ("microsoft/onnxruntime#12517", "microsoft/onnxruntime#11616"),
        """(float[2,3,4] x, float[1,3,4] b) => (float[2,3,4] y) { s = Add (x, b) y = Softmax<axis = 1> (s) }""",
        opset=13,
        weights="b",
        alone="s y",
        refused="axis-not-trailing",
    ),
    "A16": Case(
        "the mask of an inference Dropout is read and is a graph output: it is all true, not the data",
        ("onnx/optimizer#40", "onnx/onnx#1672", "microsoft/onnxruntime#1487"),
        """(float[2,5] x) => (float[2,5] y, bool[2,5] mask)
        <float ratio = {0.3}>
        { p = Softmax<axis = -1> (x) d, mask = Dropout (p, ratio) m = Cast<to = 1> (mask) y = Add (d, m) }""",
        opset=13,
        fuses="p d m y",
    ),
    "A17": Case(
        "a Cast to integers and back gives the first type again and cuts the fraction off",
        ("microsoft/onnxruntime#4039",),
        """(float[2,4] x, float[4] b) => (float[2,4] y)
        <float k = {3.3}> { m = Mul (x, k) i = Cast<to = 6> (m) f = Cast<to = 1> (i) y = Add (f, b) }""",
        weights="b",
        fuses="m i f y",
        instructions=("i32[d0, d1] = cast",),
    ),
    "A18": Case(
        "the Clip has no upper bound, and the tensors are of type double",
        (
            "microsoft/onnxruntime#10936",
            "microsoft/onnxruntime#11836",
            "microsoft/onnxruntime#9753",
            "microsoft/onnxscript#2836",
        ),
        "(double[2,3] x) => (double[2,3] y) <double low = {-1}> { r = Relu (x) y = Clip (r, low) }",
        opset=14,
        alone="r y",
        refused="dtype-unsupported",
    ),
    "A19": Case(
        "the second reader of the sum stands in the branches of an If",
        ("robertknight/rten#1359", "onnx/sklearn-onnx#854"),
        """(float[2,4] x, bool flag, float[4] b) => (float[2,4] y, float[2,4] z)
        <float two = {2}>
        {
          t = Add (x, b)
          y = Relu (t)
          z = If (flag) <
            then_branch = then () => (float[2,4] z1) { z1 = Mul (t, two) },
            else_branch = otherwise () => (float[2,4] z2) { z2 = Neg (t) }
          >
        }""",
        weights="b",
        fuses="t y",
    ),
    "A20": Case(
        "product and activation both have an attribute called alpha",
        ("microsoft/onnxruntime#2776", "microsoft/onnxruntime#2791"),
        """(float[3,5] x, float[4,5] w, float[4] b) => (float[3,4] y)
        { g = Gemm<alpha = 1.5, beta = 0.5, transB = 1> (x, w, b) y = LeakyRelu<alpha = 0.1> (g) }""",
        opset=13,
        weights="w b",
        fuses="g y",
        rule="AF402",
        instructions=("x1: f32[d2 | d1] = right <1 0>", "= mul v0, 1.5", "= mul x2, 0.5", "0.1"),
    ),
}  # fmt: skip
