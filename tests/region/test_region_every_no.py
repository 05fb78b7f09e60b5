"""Every kind of no in its own words: the code, the sentence and the figures that a user reads, for a real graph.

`#` in a sentence stands for a figure of the engine's, which calibration moves; the figures are those of the miss.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from pathlib import Path

import pytest
from region_case import LATE_RULE, Case, T, told
from test_region_reason import CASES as NODE_CASES
from test_region_reason import ident

from ascend_fuse.reason import CODES
from tests.engine.engine_program import INI

X, Y = "float[4,128,768]", "float[4,128,512]"
HEAD = f"g ({X} x, float[768,512] w, float[512] b, {Y} r) => "
BIAS = HEAD + f"({Y} y) {{ p = MatMul (x, w)\n y = Add (p, b) }}"
ACTIVATED = BIAS.replace("Add (p, b)", "Tanh (p)")
HALF = "float16[4,401,154]"
RESIDUAL = (
    f"g (float16[4,401,369] x, float16[4,369,154] w, {HALF} r) => ({HALF} y) {{ p = MatMul (x, w)\n y = Add (p, r) }}"
)
DEEP = (
    "g (float16[4096,262144] x, float16[262144,4096] w) => (float16[4096,4096] y) { p = MatMul (x, w)\n y = Relu (p) }"
)
CALL = f"""g ({T} x) => ({T} y) {{ y = com.example.F (x) }}
<opset_import: ["" : 16], domain: "com.example">
F (x) => (y) {{ a = Relu (x)
 y = Tanh (a) }}"""


@dataclass(frozen=True, slots=True)
class Chip:
    """A chip with one capacity of its own: `soc` of a case, as a platform file."""

    key: str
    size: int

    def file(self, folder: Path) -> str:
        """Writes the file."""
        text, count = re.subn(rf"^{self.key}=\d+$", f"{self.key}={self.size}", INI, flags=re.MULTILINE)
        assert count == 1
        path = folder / "chip.ini"
        path.write_text(text)
        return str(path)


def small(key: str, size: int, code: str, graph: str = ACTIVATED) -> Case:
    """A buffer in which no tile fits, and one in which it does."""
    return Case(code, "p", graph, {"soc": "Ascend910B2"}, {}, {"soc": Chip(key, size)}, label=f"product-{key}")


PRODUCT_CASES = (
    small("l1_size", 1024, "l1-overflow"),
    small("l0_a_size", 512, "l0-overflow"),
    small("l0_b_size", 512, "l0-overflow"),
    small("l0_c_size", 512, "l0-overflow"),
    small("ub_size", 8480, "ub-overflow"),
    Case(
        "dtype-unsupported", "p", BIAS, {"soc": "Ascend910B3"}, {"dtype": "f32"}, {"soc": "Ascend910A"}, label="product"
    ),
    Case(
        "dtype-unsupported", "p", BIAS.replace("float", "double"), ("double", "float"), {"dtype": "f64"},
        label="product-of-doubles",
    ),
    Case(
        "crosses-reduction", "p", BIAS.replace("Add (p, b)", "Softmax (p)"), ("Softmax", "Tanh"), {"row": 1},
        label="product",
    ),
    Case(
        "nothing-to-join", "y", BIAS.replace("Add (p, b)", "Softmax (p)"), ("Softmax", "Tanh"),
        {"neighbour": "MatMul(p)"}, label="rows-behind-a-product",
    ),
    Case(
        "shape-mismatch", "y", BIAS.replace(X, "float[128,768]").replace("(p, b)", "(p, r)"), ("(p, r)", "(p, b)"),
        {"shape": "[4, 128, 512]", "space": "[128, 512]"}, label="product",
    ),
    Case(
        "nothing-to-join", "a", BIAS.replace("p = MatMul (x, w)", "a = Relu (x)\n p = MatMul (a, w)"),
        ("p = MatMul (a, w)", "q = Tanh (a)\n p = MatMul (q, w)"), {"neighbour": "MatMul(p)"}, label="operand",
    ),
    Case(
        "attribute-unsupported", "p",
        "g (float[768] x, float[768,512] w, float[512] b) => (float[512] y) { p = MatMul (x, w)\n y = Add (p, b) }",
        ("float[768] x, float[768,512] w, float[512] b) => (float[512] y)",
         "float[1,768] x, float[768,512] w, float[512] b) => (float[1,512] y)"),
        {"attribute": "rank"}, label="product",
    ),
    Case(
        "no-gain", "p", DEEP, ("262144", "4096"), {"before_us": ..., "after_us": ..., "gain_us": ...},
        {"soc": "Ascend910B1"}, label="deep-product",
    ),
    Case(
        "parallelism-lost", "p", RESIDUAL, {"launch_us": 10.0}, {"cores_before": 48, "cores_after": ...},
        {"soc": "Ascend910B1", "launch_us": 1.0}, label="product",
    ),
    Case(
        "function-opset", "y", CALL, ('["" : 16]', '["" : 17]'), {"opset": 16},
    ),
)  # fmt: skip
# What the language says and no kernel of the chip runs: each step is refused by itself or, where only the region makes
# it so, by the region's verdict. What is around it fuses.
LACKING_CASES = (
    Case(
        "dtype-unsupported", "a",
        "g (int16[4,256,1024] x) => (float16[4,256,1024] y) { a = Cast <to = 10> (x)\n b = Relu (a)\n y = Tanh (b) }",
        {"soc": "Ascend910B3"}, {"dtype": "i16"}, {"soc": "Ascend910A"}, label="cast",
    ),
    Case(
        "op-unsupported", "a",
        f"g ({T} x, float[256,1024] r) => ({T} y) <float ratio = {{0.3}}, bool train = {{1}}> "
        "{ a = Dropout <seed = 3> (r, ratio, train)\n b = Add (x, a)\n y = Tanh (b) }",
        ("float[256,1024] r", f"{T} r"), {"op": "random_keep"}, label="repeated-mask",
    ),
)  # fmt: skip
# What nothing here runs: the first is no normalisation by channels, the second has no meaning before opset 28.
STOPPED_CASES = (
    Case(
        "not-provable", "a",
        "g (float[64,512] x, float[64,512] s) => (float[64,512] y) "
        "{ a = BatchNormalization (x, s, s, s, s)\n b = Relu (a)\n y = Tanh (b) }",
        ("float[64,512] s", "float[512] s"), {"op": "BatchNormalization"},
    ),
    Case(
        "attribute-unsupported", "a",
        f"g ({T} x, {T} r) => ({T} y) {{ a = Mod (x, r)\n b = Relu (a)\n y = Tanh (b) }}",
        ("Mod", "Mod <fmod = 1>"), {"attribute": "fmod", "value": 0}, label="floor-of-floats",
    ),
)  # fmt: skip
CASES = (*NODE_CASES, *PRODUCT_CASES, *LACKING_CASES, *STOPPED_CASES)

SENTENCES = {
    "op-unsupported-domain": "com.example.Odd is not ours",
    "op-unsupported-operator": "BitCast is in no family's table: it reads bits of one type as another",
    "op-unsupported-newer-than-opset": "opset 8 has no Erf",
    "op-unsupported-repeated-mask": "random_keep of a repeated draw on Ascend910B3",
    "dtype-unsupported-cast": "i16 cast to f16 on Ascend910A",
    "attribute-unsupported": "the axes are not constant",
    "attribute-unsupported-product": "MatMul of a vector",
    "dtype-unsupported-no-type-of-ours": "Relu on f64",
    "dtype-unsupported-not-on-this-chip": "bf16 on Ascend310P3",
    "dtype-unsupported-product": "f32 in the cube of Ascend910A, which multiplies float16 and int8: export in float16",
    "dtype-unsupported-product-of-doubles": "MatMul on f64",
    "shape-unknown": "the wanted shape is not known",
    "shape-mismatch": "z is narrower than the region",
    "shape-mismatch-product": "Add(y) spreads p behind the product MatMul(p) over a wider shape",
    "axis-not-trailing": "Softmax runs over axis 1 of 3",
    "crosses-reduction": "the region's row has another number of axes",
    "crosses-reduction-product": "Softmax needs whole rows, a tile of the product MatMul(p) has a part of them",
    "constant-mismatch": "the constant one is 2.0, not 1 in float32",
    "condition-failed": "same-value: x and u where the rule has x twice",
    "value-escapes": "the inner value e is used elsewhere",
    "opset-out-of-range": "the rule holds for opset 20 on",
    "input-overridable": "the caller may override the constant half",
    "not-convex": "a path leaves the region through Trilu(c) and comes back",
    "limit-instructions": "the program would be too long",
    "limit-inputs": "too many inputs",
    "limit-outputs": "too many outputs",
    "ub-overflow-long-row": "the smallest tile needs # B, UB has # B",
    "ub-overflow-reserve": "the smallest tile needs # B, UB has # B",
    "ub-overflow-product-ub_size": "the smallest tile needs # B of UB, which has # B",
    "l1-overflow-product-l1_size": "the smallest tile needs # B of L1, which has # B",
    "l0-overflow-product-l0_a_size": "the smallest tile needs # B of L0A, which has # B",
    "l0-overflow-product-l0_b_size": "the smallest tile needs # B of L0B, which has # B",
    "l0-overflow-product-l0_c_size": "the smallest tile needs # B of L0C, which has # B",
    "no-gain": "# us before, # us after, gain # us, wanted # us",
    "no-gain-deep-product": "# us before, # us after, wanted # us less",
    "parallelism-lost": "1 cores work where # did: # us before, # us after",
    "parallelism-lost-product": "# vector cores work where 48 did: # us before, # us after",
    "conversion-cost": "conversions take # us: # us before, # us after",
    "quantised": "QuantizeLinear borders a quantised part, scaled by s",
    "nothing-to-join": "its nearest neighbour Trilu(y) cannot join: Trilu has a kernel of its own: it moves data alone",
    "nothing-to-join-operand": "its only neighbour is a product, MatMul(p): operands of a product are read as they are",
    "nothing-to-join-rows-behind-a-product": "its only neighbour is a product, MatMul(p): Softmax needs whole rows, "
    "a tile of the product MatMul(p) has a part of them",
    "rule-ignored": "rule AF301 was not chosen, which covers Softmax",
    "own-kernel": "Trilu has a kernel of its own: it moves data alone",
    "not-provable": "nothing here runs BatchNormalization as it stands: Invalid input scale: NumDimensions() != 1",
    "attribute-unsupported-floor-of-floats": "Mod with fmod 0",
    "function-opset": "the function is written in another opset than the model's 17",
}


def test_every_code_has_a_case_and_every_case_a_sentence() -> None:
    assert {c.code for c in CASES} == set(CODES)
    assert {ident(c) for c in CASES} == set(SENTENCES)


@pytest.fixture(scope="module")
def late(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a user's rule that holds from opset 20 on."""
    folder = tmp_path_factory.mktemp("rules")
    (folder / "USER001.toml").write_text(LATE_RULE)
    return folder


def on_its_chip(case: Case, folder: Path) -> Case:
    """The case with its platform file written."""
    chip = case.options.get("soc")
    return replace(case, options={**case.options, "soc": chip.file(folder)}) if isinstance(chip, Chip) else case


@pytest.mark.parametrize("case", CASES, ids=ident)
def test_the_sentence_and_its_figures(case: Case, late: Path, tmp_path: Path) -> None:
    rules = late if case.code == "opset-out-of-range" else None
    miss = told(on_its_chip(case, tmp_path).plan(rules), case.node)[case.code].miss
    pattern = re.escape(SENTENCES[ident(case)]).replace(r"\#", r"(-?\d+(?:\.\d+)?)")
    found = re.fullmatch(pattern, miss.message)
    assert found, miss.message
    held = [round(v, 2) for v in miss.figures.values() if isinstance(v, (int, float))]
    told_figures = [float(text) for text in found.groups()]
    # The bar is the user's bound, not a figure; every other number in the sentence is one.
    bar = 1 if "wanted" in miss.message else 0
    for figure in told_figures[: len(told_figures) - bar]:
        assert any(abs(figure - v) <= 0.011 for v in held), (figure, miss.figures)


@pytest.mark.parametrize("case", (*LACKING_CASES, *STOPPED_CASES), ids=ident)
def test_what_is_around_a_step_that_no_kernel_runs_fuses(case: Case) -> None:
    (region,) = case.plan().regions
    assert [name[-2] for name in region.names] == ["b", "y"]
    (region,) = case.changed().regions
    assert [name[-2] for name in region.names] == ["a", "b", "y"]


@pytest.mark.parametrize("case", (*PRODUCT_CASES, *LACKING_CASES, *STOPPED_CASES), ids=ident)
def test_one_change_and_it_goes(case: Case, tmp_path: Path) -> None:
    miss = told(on_its_chip(case, tmp_path).plan(), case.node)[case.code].miss
    fixed = {k: v for k, v in case.figures.items() if v is not ...}
    assert {k: miss.figures[k] for k in fixed} == fixed and case.figures.keys() <= miss.figures.keys()
    assert case.code not in told(on_its_chip(case, tmp_path).changed(), case.node)


@pytest.mark.parametrize("case", [c for c in PRODUCT_CASES if "overflow" in c.code], ids=ident)
def test_what_overflows_is_larger_than_the_buffer(case: Case, tmp_path: Path) -> None:
    figures = told(on_its_chip(case, tmp_path).plan(), case.node)[case.code].miss.figures
    have = figures["ub_bytes"] if case.code == "ub-overflow" else figures["budget_bytes"]
    assert int(figures["need_bytes"]) > int(have)
