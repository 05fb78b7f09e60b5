"""Text of matmul programs both ways, what it refuses, and how the product lies in memory."""

from __future__ import annotations

import pytest
from engine_gemm import chip
from engine_program import CHAIN, SOFTMAX

from ascend_fuse import _engine

LINEAR = """\
matmul 1 [d0, d1 | 12, 64]
x0: f16[d0, d1 | d2] = left
x1: f16[d2 | 12, 64] = right (d2, 12*64)
x2: f16[12, 64] = in (12*64)
v0: f16[d0, d1 | 12, 64] = matmul x0, x1
v1: f16[d0, d1 | 12, 64] = add v0, x2
out v1 <0 2 1 3>, v0 (d0, d1, 12*64)"""

HEADS = """\
matmul 1 [d0, 12, d1 | d2]
x0: f16[d0, 12, d1 | 64] = left <0 2 1 3> (d0, d1, 12*64)
x1: f16[d0, 12, 64 | d2] = right <0 3 1 2> (d0, d2, 12*64)
v0: f32[d0, 12, d1 | d2] = matmul x0, x1
v1: f32[d0, 12, d1 | d2] = mul v0, 0.125
out v1"""

MERGE = """\
matmul 1 [d0, d1 | d2]
x0: f16[d0, d1 | d3, 64] = left <0 2 1 3>
x1: f16[d3, 64 | d2] = right (d3*64, d2)
v0: f16[d0, d1 | d2] = matmul x0, x1
out v0"""

GROUPED = """\
matmul 1 [d0, d1, d2, d3 | d4]
x0: f16[d0, d1, d2, d3 | 64] = left
x1: f16[d0, d1, 1, 64 | d4] = right
v0: f16[d0, d1, d2, d3 | d4] = matmul x0, x1
out v0"""

GEMM = """\
matmul 1 [d0 | d1]
x0: f32[d0 | d2] = left <1 0>
x1: f32[d2 | d1] = right <1 0>
x2: f32[1 | d1] = in (d1)
v0: f32[d0 | d1] = matmul x0, x1
v1: f32[d0 | d1] = mul v0, 0.5
v2: f32[d0 | d1] = add v1, x2
out v2"""

# A 1x1 convolution: one left operand for every image, its bias along m; SiLU by a gate, and a dropout mask.
CONV = """\
matmul 1 [d0, 64 | d1, d2]
x0: f16[64 | 32] = left (64, 32, 1, 1)
x1: f16[d0, 32 | d1, d2] = right
x2: f16[64 | 1, 1] = in (64)
x3: f16[d0, 64 | d1, d2] = in
x4: bool[d0, 64 | d1, d2] = in
v0: f16[d0, 64 | d1, d2] = matmul x0, x1
v1: f16[d0, 64 | d1, d2] = add v0, x2
v2: f16[d0, 64 | d1, d2] = silu x3
v3: f16[d0, 64 | d1, d2] = mul v1, v2
v4: f16[d0, 64 | d1, d2] = where x4, v3, 0.0
m0: bool[d0, 64 | d1, d2] = random_keep {ratio=0.1}
v5: f16[d0, 64 | d1, d2] = where m0, v4, 0.0
out v5, v0"""

ALL = (LINEAR, HEADS, MERGE, GROUPED, GEMM, CONV)


@pytest.mark.parametrize("text", ALL)
def test_text_reads_back(text: str) -> None:
    program = _engine.Program(text)
    assert program.text() == text
    assert program.family == "matmul"


def shape(text: str, *sizes: int) -> tuple[int, int, int, int]:
    g = _engine.bind_gemm(_engine.Program(text), list(sizes))
    return g.batch, g.m, g.n, g.k


def test_lead_axes_of_a_shared_right_operand_are_rows() -> None:
    # v0 is written as it lies, v1 head by head: its rows are not evenly spaced over the batch.
    assert shape(LINEAR, 2, 128, 768) == (2, 128, 768, 768)
    assert shape(LINEAR.replace("out v1 <0 2 1 3>, v0", "out v1"), 2, 128, 768) == (1, 256, 768, 768)
    assert shape(MERGE, 2, 128, 768, 12) == (2, 128, 768, 768)
    assert shape(MERGE, 1, 128, 768, 12) == (1, 128, 768, 768)


def test_heads_are_a_batch_and_grouped_heads_share_their_right_operand() -> None:
    assert shape(HEADS, 2, 128, 197) == (24, 128, 197, 64)
    assert shape(GROUPED, 2, 4, 8, 128, 256) == (8, 8 * 128, 256, 64)
    # Read from [b, s, h, d], the rows of one group's heads do not follow evenly: each head is a product.
    permuted = GROUPED.replace("= left", "= left <0 3 1 2 4>")
    assert shape(permuted, 2, 4, 8, 128, 256) == (64, 128, 256, 64)


def test_a_pointwise_convolution_shares_its_left_operand() -> None:
    assert shape(CONV, 8, 14, 14) == (8, 64, 196, 32)
    _, cost = _engine.solve_gemm(_engine.Program(CONV), [8, 14, 14], _engine.soc("Ascend910B1"), _engine.Bounds())
    image = 8 * 196 * 2
    assert (
        cost.hbm_bytes == 64 * 32 * 2 + 32 * image + 64 * 2 + 64 * image * 3.5
    )  # the gate, both outputs, half for the mask


@pytest.mark.parametrize(("l2_mib", "weights"), [(64, 1), (4, 32)])
def test_a_weight_that_leaves_l2_comes_again_for_each_image(l2_mib: int, weights: int) -> None:
    """8 MiB of it, 32 images of 392 KiB; what is kept of it in flight is never more than all of it."""
    program = _engine.Program("""\
matmul 1 [d0, 2048 | d1, d2]
x0: f16[2048 | 2048] = left (2048, 2048, 1, 1)
x1: f16[d0, 2048 | d1, d2] = right
v0: f16[d0, 2048 | d1, d2] = matmul x0, x1
out v0""")
    soc = chip(l2_size=l2_mib << 20)
    _, cost = _engine.solve_gemm(program, [32, 7, 7], soc, _engine.Bounds())
    weight, images = 2048 * 2048 * 2, 32 * 2048 * 49 * 2
    assert cost.hbm_bytes >= weight * weights + 2 * images
    assert weights > 1 or cost.hbm_bytes == weight + 2 * images


def test_one_row_folds_the_batch() -> None:
    assert shape(LINEAR.replace("out v1 <0 2 1 3>, v0", "out v1"), 16, 1, 768) == (1, 16, 768, 768)


def layout(text: str, *sizes: int) -> tuple[bool, int, bool, int]:
    g = _engine.bind_gemm(_engine.Program(text), list(sizes))
    return g.left_transposed, g.left_run, g.right_transposed, g.right_run


def test_what_is_contiguous_follows_from_the_order() -> None:
    assert layout(GEMM, 100, 200, 300) == (True, 100, True, 300)
    assert layout(GEMM.replace(" <1 0>", ""), 100, 200, 300) == (False, 300, False, 200)
    assert layout(HEADS, 2, 128, 197) == (False, 64, True, 64)
    assert layout(MERGE, 2, 128, 768, 12) == (False, 64, False, 768)


def test_an_operand_that_lies_along_no_axis_of_its_matrix_is_refused() -> None:
    text = HEADS.replace("<0 2 1 3> (d0, d1, 12*64)", "<0 2 3 1>")
    with pytest.raises(ValueError, match="axis-not-trailing: x0 has no run of elements"):
        _engine.solve_gemm(_engine.Program(text), [2, 128, 197], _engine.soc("Ascend910B3"), _engine.Bounds())


def test_an_output_that_no_block_transfer_could_write_is_refused() -> None:
    text = GEMM.replace("\nout v2", "\nout v2 <1 0>")
    assert text != GEMM
    with pytest.raises(ValueError, match="axis-not-trailing: v2 has no run of elements"):
        _engine.solve_gemm(_engine.Program(text), [100, 200, 300], _engine.soc("Ascend910B3"), _engine.Bounds())


def test_sizes_are_checked() -> None:
    with pytest.raises(ValueError, match="3 symbols, found 1"):
        _engine.bind_gemm(_engine.Program(LINEAR), [2])
    with pytest.raises(ValueError, match="d1 is 0"):
        _engine.bind_gemm(_engine.Program(LINEAR), [2, 0, 768])
    with pytest.raises(ValueError, match="2\\^48"):
        _engine.bind_gemm(_engine.Program(GEMM), [2**30, 2**30, 8])
    with pytest.raises(ValueError, match="wanted a matmul program"):
        _engine.bind_gemm(_engine.Program(CHAIN), [1, 1, 1])


PRODUCT = "v0: f16[d0, d1 | 12, 64] = matmul x0, x1"


@pytest.mark.parametrize(
    ("old", "new", "error"),
    [
        ("matmul 1 [d0, d1 | 12, 64]", "matmul 1 [d0, d1, 12]", "line 1: a matmul space needs a |"),
        ("matmul 1 [d0, d1 | 12, 64]", "matmul 1 [| d0]", "line 1: a matmul space needs an m axis"),
        ("x0: f16[d0, d1 | d2] = left", "x0: f16[d0, d1, d2] = left", "line 2: the type of left needs a |"),
        ("= right", "= left", "line 3: a second left"),
        ("(d2, 12*64)", "(12, d2*64)", "line 3: shape"),
        ("x1: f16[d2 | 12, 64] = right (d2, 12*64)", "x1: f16[d2 | 12, 32] = right", "line 5: the n axes"),
        ("x1: f16[d2 | 12, 64] = right (d2, 12*64)", "x1: f16[d1 | 12, 64] = right", "line 5: the k axes"),
        ("x0: f16[d0, d1 | d2] = left", "x0: f16[d0, d0 | d2] = left", "line 5: the m axis"),
        ("x0: f16[d0, d1 | d2] = left", "x0: f16[d1, d1 | d2] = left", "line 5: extent d1"),
        ("x1: f16[d2", "x1: f32[d2", "line 5: x1 is f32, wanted f16"),
        (PRODUCT, PRODUCT.replace("x0, x1", "x1, x0"), "line 5: matmul takes left, then right"),
        (PRODUCT, PRODUCT.replace("x0, x1", "x0"), "line 5: matmul takes 2 operands"),
        (PRODUCT, PRODUCT.replace("[d0, d1", "[1, d1"), "line 5: matmul gives the whole space"),
        (PRODUCT, PRODUCT.replace("f16", "i32"), "line 5: a product of f16 is not i32"),
        ("v1: f16[d0, d1 | 12, 64] = add v0, x2", "v1: f16[d0, d1 | 12, 64] = matmul x0, x1", "line 6: matmul is the first"),
        ("add v0, x2", "add v0, x1", "line 6: x1 is an operand of the product"),
        ("out v1 <0 2 1 3>", "out v1 <0 2 1>", "line 7: wanted another order of all 4"),
        ("out v1 <0 2 1 3>", "out v1 <0 1 2 3>", "line 7: wanted another order"),
        ("out v1 <0 2 1 3>", "out v1 <0 2 1 4>", "line 7: wanted an order of 4 axes"),
        ("out v1 <0 2 1 3>", "out v1 <0 2 1 3", "line 7: "),
        ("out v1 <0 2 1 3>", "out x0", "line 7: x0 is an operand"),
        (PRODUCT + "\n", "v0: f16[12, 64] = relu x2\n", "line 6: "),
    ],
)  # fmt: skip
def test_bad_text_names_its_line(old: str, new: str, error: str) -> None:
    assert old in LINEAR
    with pytest.raises(ValueError, match=r"line \d+: ") as raised:
        _engine.Program(LINEAR.replace(old, new, 1))
    assert str(raised.value).startswith(error)


@pytest.mark.parametrize("text", [SOFTMAX, CHAIN])
def test_other_families_have_no_operands(text: str) -> None:
    with pytest.raises(ValueError, match="left needs a matmul program"):
        _engine.Program(text.replace("= in", "= left", 1))


def test_elementwise_has_no_order() -> None:
    with pytest.raises(ValueError, match="an order needs a transform, rowwise or matmul program"):
        _engine.Program(CHAIN.replace("= in", "= in <0 2 1>", 1))


def test_a_program_without_its_product_is_refused() -> None:
    with pytest.raises(ValueError, match="no matmul instruction"):
        _engine.Program("matmul 1 [d0 | d1]\nx0: f16[d0 | d1] = in\nv0: f16[d0 | d1] = relu x0\nout v0")
