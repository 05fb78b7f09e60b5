"""Views that regroup axes (docs/design/0005): what becomes one node, what is refused and why, and that nothing changes."""

from __future__ import annotations

import copy
import math
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import onnx.parser
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from region_case import Case, told
from view_graph import ViewGraph

import ascend_fuse
from ascend_fuse.graph.dim import Dim, mul, symbol
from ascend_fuse.graph.launch import launch_counts
from ascend_fuse.reason import Miss
from ascend_fuse.region.regroup import Run, regroup, runs
from ascend_fuse.region.space import Space
from tests.equal import assert_equal, feeds_of, run

ONE, ZERO = ("float[4] one = {1,1,1,1}", "float[4] zero = {0,0,0,0}")


@dataclass(frozen=True, slots=True)
class Form:
    """A graph that becomes one node, and the header and the lines of `in` that its program has."""

    graph: str
    head: str
    lines: tuple[str, ...]
    opset: int = 17


FORMS = {
    "group-norm": Form(
        f"""g (float[2,8,4,6] x, float[8,1,1] w, float[8,1,1] b) => (float[2,8,4,6] y)
        <int64[3] s = {{0,4,-1}}, int64[4] t = {{2,8,4,6}}, {ONE}, {ZERO}> {{
        r = Reshape (x, s)
        i = InstanceNormalization (r, one, zero)
        q = Reshape (i, t)
        m = Mul (q, w)
        y = Add (m, b) }}""",
        "rowwise 1 [d0, d1 | 2, 4, 6]", ("in (d0, d1, 2*4*6)", "in (d1*2, 1, 1)", "out v10 (d0, d1*2, 4, 6)"),
    ),
    "group-norm-of-any-size": Form(
        f"""g (float[N,8,H,W] x, float[8,1,1] w, float[8,1,1] b) => (float[N,8,H,W] y)
        <int64[3] s = {{0,4,-1}}, {ONE}, {ZERO}> {{
        r = Reshape (x, s)
        i = InstanceNormalization (r, one, zero)
        h = Shape (x)
        q = Reshape (i, h)
        m = Mul (q, w)
        a = Add (m, b)
        g = Sigmoid (a)
        y = Mul (a, g) }}""",
        "rowwise 1 [d0, d1 | 2, d2, d3]", ("in (d0, d1*2, d2, d3)", "in (d1*2, 1, 1)", "in (d1)"),
    ),
    "heads": Form(
        """g (float[B,S,768] x) => (float[B,S,768] y) <int64[4] s = {0,0,12,64}, int64[3] t = {0,0,768}> {
        a = Relu (x)
        r = Reshape (a, s)
        m = Softmax (r)
        q = Reshape (m, t)
        y = Tanh (q) }""",
        "rowwise 1 [d0, d1, 12 | 64]", ("in (d0, d1, 12*64)", "out v6 (d0, d1, 12*64)"),
    ),
    "rows-of-several-axes": Form(
        """g (float[B,16,10,10] x, float[1600] w) => (float[B,16,10,10] y) <int64[2] s = {0,1600}> {
        a = Relu (x)
        f = Reshape (a, s)
        n = LayerNormalization (f, w)
        h = Shape (x)
        q = Reshape (n, h)
        y = Add (q, x) }""",
        "rowwise 1 [d0 | d1, d2, d3]", ("in (d1*d2*d3)",),
    ),
    "rows-kept-in-front": Form(
        """g (float[B,S,64] x, float[B,S,1] z) => (float[B,S,64] y) {
        a = Relu (x)
        f = Flatten <axis = 2> (a)
        m = Softmax (f)
        h = Shape (x)
        q = Reshape (m, h)
        y = Add (q, z) }""",
        "rowwise 1 [d0, d1 | d2]", ("x0: f32[d0, d1 | d2] = in\n",),
    ),
    "split-of-a-reduced-row": Form(
        """g (float[6,40] x, float[5,8] w) => (float[6,5,8] y) <int64[3] s = {6,5,8}> {
        n = Softmax (x)
        r = Reshape (n, s)
        y = Mul (r, w) }""",
        "rowwise 1 [d0 | d1, d2]", ("in (d0, d1*d2)",),
    ),
    "ones-come-and-go": Form(
        """g (float[4,1,6] x, float[1,4,2,3] w) => (float[24,1] y) <int64[4] s = {1,4,2,3}, int64[2] t = {24,1}> {
        a = Relu (x)
        r = Reshape (a, s)
        m = Mul (r, w)
        q = Reshape (m, t)
        y = Tanh (q) }""",
        "elementwise 1 [1, d0, 1, d1, d2, 1]", ("in (d0, 1, d1*d2)", "out v2 (d0*d1*d2, 1)"),
    ),
    "names-that-multiply": Form(
        """g (float[B,S,8] x, float[8] w) => (float[n,8] y) <int64[2] s = {-1,8}> {
        a = Relu (x)
        r = Reshape (a, s)
        y = Mul (r, w) }""",
        "elementwise 1 [d0, d1, d2]", ("out v1 (d0*d1, d2)",),
    ),
}  # fmt: skip


def model(form: Form) -> onnx.ModelProto:
    return onnx.parser.parse_model(f'<ir_version: 10, opset_import: ["": {form.opset}]> {form.graph}')


@pytest.mark.parametrize("name", FORMS)
def test_a_form_is_one_node(name: str) -> None:
    form = FORMS[name]
    result = ascend_fuse.optimize(model(form), min_gain=0.0)
    assert launch_counts(result.model).total() == 1
    (region,) = result.plan.regions
    assert region.program.startswith(form.head + "\n")
    for line in form.lines:
        assert line in region.program
    feeds = feeds_of(model(form), 4)
    assert_equal(run(model(form), feeds), run(result.model, feeds), name)


REFUSED = (
    Case(
        "shape-mismatch", "y",
        "g (float[6,4] x, float[4] w, float[6] v) => (float[4,6] y) <int64[2] s = {4,6}> "
        "{ a = Mul (x, w)\n r = Reshape (a, s)\n y = Mul (r, v) }",
        ("float[6] v) => (float[4,6] y) <int64[2] s = {4,6}", "float[4] v) => (float[3,2,4] y) <int64[3] s = {3,2,4}"),
        {}, label="sizes-that-do-not-divide",
    ),
    Case(
        "shape-mismatch", "y",
        "g (float[A,B] x, float[B] w) => (float[B,A] y) <int64[1] at = {0}, int64[1] to = {1}, int64[1] end = {2}> "
        "{ a = Mul (x, w)\n h = Shape (x)\n p = Slice (h, at, to)\n q = Slice (h, to, end)\n s = Concat <axis = 0> "
        "(q, p)\n r = Reshape (a, s)\n y = Tanh (r) }",
        ("(q, p)", "(p, q)"), {}, label="names-in-another-order",
    ),
    Case(
        "shape-mismatch", "y",
        "g (float[4,8] x, float[4,2,4] z) => (float[4,2,4] y) <int64[3] s = {4,2,4}> "
        "{ c, d = Split <axis = 1> (x)\n e = Concat <axis = 1> (d, c)\n r = Reshape (e, s)\n y = Add (r, z) }",
        ("Concat <axis = 1> (d, c)", "Sum (x)"), {}, label="a-row-that-moves", opset=13,
    ),
    Case(
        "crosses-reduction", "y",
        "g (float[4,6,8] x) => (float[4,48] y) <int64[2] s = {4,48}> "
        "{ a = Softmax (x)\n r = Reshape (a, s)\n y = Softmax (r) }",
        ("y = Softmax (r)", "y = Tanh (r)"), {}, label="another-row",
    ),
)  # fmt: skip


@pytest.mark.parametrize("case", REFUSED, ids=lambda c: c.label)
def test_a_view_that_does_not_fit_is_refused(case: Case) -> None:
    """The steps on both sides stay, told why; with one change they fuse."""
    plan = case.plan()
    reasons = {code for m in plan.misses for code in (m.miss.code, m.miss.figures.get("why"))}
    assert case.code in reasons
    assert plan.regions == () or case.label == "a-row-that-moves"
    changed = case.changed()
    assert len(changed.regions) == 1
    assert told(changed, case.node) == {}


def test_an_axis_of_one_behind_the_row_moves_nothing() -> None:
    """A split runs along the last axis; where a view put a 1 behind it, the parts are another region's."""
    text = (
        '<ir_version: 10, opset_import: ["": 17]> g (float[4,8] x, float[4,8,1] z) => (float[4,8,1] m, float[4,8] y) '
        "<int64[3] s = {4,8,1}> { a = Relu (x)\n r = Reshape (a, s)\n m = Mul (r, z)\n c, d = Split <axis = 1> (a)\n "
        "e = Concat <axis = 1> (d, c)\n y = Neg (e) }"
    )
    result = ascend_fuse.optimize(onnx.parser.parse_model(text), min_gain=0.0)
    assert [r.family for r in result.plan.regions] == ["elementwise", "rowwise"]
    feeds = feeds_of(onnx.parser.parse_model(text))
    assert_equal(run(onnx.parser.parse_model(text), feeds), run(result.model, feeds))


def test_sizes_that_meet_only_in_products_are_not_bound() -> None:
    """[n, 48] as [n / 4, 4, 48]: no input has n / 4 by itself."""
    text = (
        "g (float[n,8] x, float[8] w, int64[3] s) => (float[a,b,8] y) "
        "{ p = Mul (x, w)\n r = Reshape (p, s)\n y = Tanh (r) }"
    )
    plan = Case("shape-mismatch", "y", text, ("", ""), {}).plan()
    assert plan.regions == ()
    assert "not known to be equal" in next(iter(told(plan, "y").values())).miss.message


@pytest.mark.parametrize("batch", range(6))
def test_random_views(batch: int) -> None:
    """Elementwise steps, rows and views in any order: the fused model gives the same bits, each program is proved."""
    products = 0
    for seed in range(batch * 25, batch * 25 + 25):
        source = ViewGraph(seed).model()
        result = ascend_fuse.optimize(copy.deepcopy(source), min_gain=0.0)
        feeds = feeds_of(source)
        assert_equal(run(source, feeds), run(result.model, feeds), f"seed {seed}")
        products += sum("*" in r.program for r in result.plan.regions)
    assert products


N, M = symbol("n"), symbol("m")


@pytest.mark.parametrize(
    ("before", "after", "found"),
    [
        ((2, 3, 4), (6, 4), [((0, 1), (0,)), ((2,), (1,))]),
        ((6, 4), (4, 6), [((0, 1), (0, 1))]),
        ((2, 1, 3), (1, 2, 3), [((0,), (1,)), ((2,), (2,))]),
        ((N, 4, 9), (N, 36), [((0,), (0,)), ((1, 2), (1,))]),
        ((N, M, 4), (mul(N, M), 4), [((0, 1), (0,)), ((2,), (1,))]),
        ((N, M), (M, N), [((0, 1), (0, 1))]),
        ((N, 4), (M, 4), None),
        ((2, 3), (7,), None),
        ((), (1, 1), []),
    ],
)
def test_runs_of_equal_products(before: tuple[Dim, ...], after: tuple[Dim, ...], found: object) -> None:
    wanted = None if found is None else [Run(*r) for r in found]  # type: ignore[attr-defined]
    assert runs(before, after) == wanted


@st.composite
def _shapes(draw: st.DrawFn) -> tuple[tuple[int, ...], ...]:
    """Up to four shapes of the same elements: the primes in order, joined and with ones between."""
    primes = draw(st.lists(st.sampled_from((2, 3)), min_size=1, max_size=5))
    out: list[tuple[int, ...]] = []
    for _ in range(draw(st.integers(2, 4))):
        cuts = sorted(draw(st.sets(st.integers(1, max(len(primes) - 1, 1)), max_size=len(primes) - 1)))
        sizes = [math.prod(primes[a:b]) for a, b in zip([0, *cuts], [*cuts, len(primes)], strict=True)]
        for _ in range(draw(st.integers(0, 2))):
            sizes.insert(draw(st.integers(0, len(sizes))), 1)
        out.append(tuple(sizes))
    return tuple(out)


@settings(max_examples=200, deadline=None)
@given(_shapes())
def test_places_hold_the_same_elements(shapes: tuple[tuple[int, ...], ...]) -> None:
    """However views follow each other, each dimension is the product of its axes and the axes stay in order."""
    space = Space()
    frame = space.frame([], shapes[0])
    assert not isinstance(frame, Miss)
    assert space.put("0", frame, shapes[0]) is None
    for k, (before, after) in enumerate(pairwise(shapes)):
        placed = regroup(space, space.places[str(k)], before, after)
        assert not isinstance(placed, Miss)
        assert space.put(str(k + 1), placed, after) is None
    elements = math.prod(shapes[0])
    assert np.prod(list(space.sizes)) == elements
    for k, shape in enumerate(shapes):
        axes = [space.order.index(a) for group in space.places[str(k)] for a in group]
        assert axes == sorted(set(axes))
        for group, size in zip(space.places[str(k)], shape, strict=True):
            assert size in (1, space.size(group))
        assert np.prod(list(space.extents(str(k), shape).values())) == elements
