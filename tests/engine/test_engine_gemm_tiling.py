"""Tiles of a product cover it and fit every buffer; estimates are monotone, bounded from below and repeatable."""

from __future__ import annotations

import itertools

import pytest
from engine_gemm import SOCS, WIDTH, cases, chip, solve
from hypothesis import given, settings
from hypothesis import strategies as st

from ascend_fuse import _engine
from bench.product_case import EPILOGUES, Case

# Of k: whole columns of 32 B, and of f32 too the squares of 16 x 16 that a transposing load takes.
UNIT = {"f16": 16, "bf16": 16, "f32": 16}
DEPTH = {("f32", 2201): 4, ("f32", 3510): 1}
COUPLED = (1001, 2002, 3002)
RESERVES = st.sampled_from((0.0, 0.3, 0.5))


def up(value: int, unit: int) -> int:
    return -(-value // unit) * unit


def letters(case: Case, tile_m: int, tile_n: int) -> str:
    """The tile classes that there are."""
    m, n = (case.batch * case.m, case.n) if case.shared else (case.m, case.n)
    present = {
        "m": m >= tile_m and n >= tile_n,
        "r": m % tile_m and n >= tile_n,
        "c": m >= tile_m and n % tile_n,
        "x": m % tile_m and n % tile_n,
    }
    return "".join(letter for letter, there in present.items() if there)


@settings(max_examples=600, deadline=None)
@given(st.data(), st.sampled_from(SOCS), RESERVES, RESERVES, st.sampled_from((16, 64, 256)))
def test_tiles_cover_the_product_and_fit_every_buffer(
    draw: st.DataObject, name: str, l1: float, ub: float, least: int
) -> None:
    soc = _engine.soc(name)
    case = draw.draw(cases(soc))
    t, _ = solve(case, soc, l1_reserve=l1, ub_reserve=ub, min_tile_k=least)
    g = _engine.bind_gemm(case.program(), case.sizes)
    assert g.batch * g.m * g.n * g.k == g.macs == case.batch * case.m * case.n * case.k
    assert t.tile_m % 16 == t.tile_n % 16 == 0 and t.tile_m <= up(g.m, 16) and t.tile_n <= up(g.n, 16)
    assert t.tasks == g.batch * -(-g.m // t.tile_m) * -(-g.n // t.tile_n)
    # Every task has a core, and no core is idle.
    assert t.block_dim * t.tasks_per_core >= t.tasks > (t.block_dim - 1) * t.tasks_per_core
    assert 0 < t.block_dim <= soc.cube_cores
    unit, width = UNIT[case.dtype], WIDTH[case.dtype]
    assert t.tile_k % unit == t.step_k % unit == 0 < t.step_k <= t.tile_k <= up(g.k, unit)
    assert t.tile_k >= min(least, up(g.k, unit))
    for buffer, (used, budget) in t.buffers:
        assert 0 <= used <= budget, buffer
    held = dict(t.buffers)
    assert held["L1"][1] == t.l1_budget <= soc.l1_size * (1 - l1)
    assert held["UB"][1] == t.ub_budget <= (soc.ub_size - soc.ub_reserved) * (1 - ub)
    blocks = t.buffer_num * (t.tile_m + t.tile_n) * t.tile_k * width
    # Moves into the bias table are of 64 B, which become 4 B for each element.
    bias = 4 * up(t.tile_n, 64 // WIDTH[case.result]) if "bias" in t.ride else 0
    assert held["L1"][0] - blocks == held["BT"][0] == bias
    assert held["L0A"][0] == 2 * t.tile_m * t.step_k * width and held["L0A"][0] % 512 == 0
    assert held["L0B"][0] == 2 * t.tile_n * t.step_k * width and held["L0B"][0] % 512 == 0
    assert held["L0C"][0] == t.c_buffers * t.tile_m * t.tile_n * 4 and held["L0C"][0] % 64 == 0
    assert held["UB"][0] % 32 == 0 and (t.ub_rows == 0) == (held["UB"][0] == 0)
    assert t.c_buffers in (1, 2) and t.buffer_num in (1, 2)


@settings(max_examples=300, deadline=None)
@given(st.data(), st.sampled_from(SOCS), st.sampled_from((0.0, 0.4, 0.8)))
def test_tile_k_is_the_most_that_fits(draw: st.DataObject, name: str, reserve: float) -> None:
    soc = _engine.soc(name)
    case = draw.draw(cases(soc))
    t, _ = solve(case, soc, l1_reserve=reserve)
    unit, width = UNIT[case.dtype], WIDTH[case.dtype]
    held = dict(t.buffers)
    more = t.buffer_num * (t.tile_m + t.tile_n) * (t.tile_k + unit) * width + held["BT"][0]
    assert more > t.l1_budget or t.tile_k == up(case.k, unit)


def shapes(name: str, reserves: tuple[float, ...], **bounds: float) -> list[tuple[int, int, int]]:
    case = Case(1, 4096, 4096, 4096, EPILOGUES["relu"], shared=True)
    seen = [solve(case, _engine.soc(name), l1_reserve=r, **bounds)[0] for r in reserves]
    return [(t.tile_m, t.tile_n, t.tile_k) for t in seen]


@pytest.mark.parametrize("name", SOCS)
def test_tile_k_shrinks_first(name: str) -> None:
    seen = shapes(name, (0.0, 0.1, 0.2))
    assert len({(m, n) for m, n, _ in seen}) == 1
    assert seen[0][2] > seen[1][2] > seen[2][2]


@pytest.mark.parametrize("name", ["Ascend910A", "Ascend310P3", "Ascend910B1", "Ascend910B4"])
def test_the_sides_shrink_when_tile_k_may_not(name: str) -> None:
    wide, narrow = shapes(name, (0.0, 0.9))
    assert wide[:2] == narrow[:2] == (128, 256) and narrow[2] <= 64
    ((m, n, k),) = shapes(name, (0.9,), min_tile_k=256)
    assert k >= 256 and m + n < 384


RATES = {
    "ddr_rate": (8, 32, 64, 200),
    "l2_rate": (32, 110, 400),
    "l1_to_l0_a_rate": (64, 256, 1024),
    "l1_to_l0_b_rate": (64, 256, 1024),
    "l0_c_to_ub_rate": (32, 256, 1024),
    "ub_to_l2_rate": (16, 64, 256),
}
CAPACITIES = {
    "l1_size": (65536, 262144, 524288, 1048576),
    "l0_a_size": (16384, 65536, 131072),
    "l0_b_size": (16384, 65536, 131072),
    "l0_c_size": (32768, 131072, 262144),
    "ub_size": (65536, 196608, 262144),
    "l2_size": (1048576, 33554432, 201326592),
    "bt_size": (64, 1024, 4096),
}


@settings(max_examples=100, deadline=None)
@given(cases(chip()), st.sampled_from(sorted(RATES | CAPACITIES)))
def test_more_bandwidth_or_capacity_never_costs_more(case: Case, key: str) -> None:
    times = [solve(case, chip(**{key: value}))[1].total_us for value in (RATES | CAPACITIES)[key]]
    assert all(a >= b - 1e-9 for a, b in itertools.pairwise(times)), (key, times)


@settings(max_examples=400, deadline=None)
@given(st.data(), st.sampled_from(SOCS))
def test_cost_is_bounded_from_below(draw: st.DataObject, name: str) -> None:
    soc = _engine.soc(name)
    case = draw.draw(cases(soc))
    _, cost = solve(case, soc)
    volume = case.batch * case.m * case.n
    # A whole-tensor cast may be the last step, so at least f16 leaves.
    left, right = case.batch * case.m * case.k, (1 if case.shared else case.batch) * case.k * case.n
    distinct = (left + right) * WIDTH[case.dtype] + volume * 2
    assert cost.hbm_bytes >= distinct
    assert cost.total_us - 10 >= cost.hbm_bytes / soc.hbm_bytes_per_s * 1e6 - 1e-9
    peak = 256 * DEPTH.get((case.dtype, soc.npu_arch), 16) * soc.cube_cores * soc.freq_mhz
    assert cost.total_us - 10 >= volume * case.k / peak - 1e-9
    pipes = cost.pipes
    assert cost.total_us >= pipes["launch"] + pipes["head"] + max(pipes["cube"], pipes["mte1"], pipes["hbm"]) - 1e-9
    assert cost.total_us == pytest.approx(pipes["launch"] + pipes["head"] + cost.product_us + cost.epilogue_us)
    assert 0 <= cost.assumed_share <= 1


@settings(max_examples=100, deadline=None)
@given(st.data(), st.sampled_from(SOCS))
def test_an_estimate_is_repeatable(draw: st.DataObject, name: str) -> None:
    soc = _engine.soc(name)
    case = draw.draw(cases(soc))
    first, second = solve(case, soc), solve(case, soc)
    assert first[1].total_us == second[1].total_us and first[0].buffers == second[0].buffers
    assert first[0].tasks == second[0].tasks and first[0].fuse_tiles == second[0].fuse_tiles


@settings(max_examples=300, deadline=None)
@given(st.data(), st.sampled_from(SOCS))
def test_tile_classes_are_decided_by_time(draw: st.DataObject, name: str) -> None:
    soc = _engine.soc(name)
    case = draw.draw(cases(soc))
    program = case.program()
    t, cost = solve(case, soc)
    choices = _engine.class_choices(program, case.sizes, soc, _engine.Bounds())
    if not choices:
        return
    present = choices[0][0]
    g = _engine.bind_gemm(program, case.sizes)
    assert sorted(present) == sorted(letters(Case(g.batch, g.m, g.n, g.k), t.tile_m, t.tile_n))
    assert len(choices) == 2 ** len(present) == len({tiles for tiles, _ in choices})
    allowed = {tiles: us for tiles, us in choices if present[0] in tiles}
    assert allowed[t.fuse_tiles] == pytest.approx(cost.total_us)
    if soc.npu_arch in COUPLED:  # one core has both: its kernel runs every tile fused
        assert sorted(t.fuse_tiles) == sorted(present)
    else:
        assert cost.total_us <= min(allowed.values()) + 1e-9


def test_cores_are_balanced_over_rows_columns_and_batch() -> None:
    soc = _engine.soc("Ascend910B1")
    for batch, m, n in ((1, 12288, 128), (1, 128, 12288), (96, 128, 128)):
        t, _ = solve(Case(batch, m, n, 4096, EPILOGUES["gelu"]), soc)
        assert t.block_dim == soc.cube_cores
