"""Tiling, cost and verdict of programs on Ascend chips (kernels/engine). Bad input raises ValueError."""

from collections.abc import Sequence
from typing import Final

class Soc:
    """One chip. Sizes in bytes, rates in bytes per cycle per AI core; 0 where the source does not say."""

    name: Final[str]
    family: Final[str]
    cube_vector_combine: Final[str]  # how cube and vector share cores; empty: one core has both
    npu_arch: Final[int]
    ai_core_cnt: Final[int]
    cube_core_cnt: Final[int]
    vector_core_cnt: Final[int]
    ai_cores: Final[int]
    cube_cores: Final[int]
    vector_cores: Final[int]  # `vector_core_cnt`, or the AI cores where that is 0
    memory_size: Final[int]
    l2_size: Final[int]
    cube_freq_mhz: Final[int]
    freq_mhz: Final[int]
    l1_size: Final[int]
    l0_a_size: Final[int]
    l0_b_size: Final[int]
    l0_c_size: Final[int]
    ub_size: Final[int]
    ub_reserved: Final[int]  # bytes of UB that the system keeps
    bt_size: Final[int]
    ubblock_size: Final[int]
    ubbank_size: Final[int]
    ubbank_num: Final[int]
    cube_m: Final[int]
    cube_n: Final[int]
    cube_k: Final[int]
    vec_calc_size: Final[int]
    supports_fixpipe: Final[bool]
    supports_bf16: Final[bool]
    ddr_rate: Final[int]
    l2_rate: Final[int]
    l1_to_l0_a_rate: Final[int]
    l1_to_l0_b_rate: Final[int]
    l0_c_to_ub_rate: Final[int]
    ub_to_l2_rate: Final[int]
    ub_to_ddr_rate: Final[int]
    hbm_bytes_per_s: Final[float]

class Bounds:
    """What the user bounds. A value out of range raises ValueError with the field's name."""

    def __init__(
        self,
        *,
        launch_us: float = 10.0,
        min_gain: float = 0.03,
        min_gain_us: float = 1.0,
        ub_reserve: float = 0.0,
        l1_reserve: float = 0.0,
        min_tile_k: int = 16,
        streams: int = 1,
    ) -> None: ...
    launch_us: Final[float]
    min_gain: Final[float]
    min_gain_us: Final[float]
    ub_reserve: Final[float]
    l1_reserve: Final[float]
    min_tile_k: Final[int]
    streams: Final[int]  # 2: launches that use cores of their own overlap

class Program:
    """A checked program (docs/design/0001). ValueError: `line N: …`."""

    def __init__(self, text: str) -> None: ...
    def text(self) -> str:
        """The bytes that were parsed."""
    family: Final[str]
    symbols: Final[list[str]]
    n_instr: Final[int]
    n_inputs: Final[int]  # `in` and `host` lines
    n_outputs: Final[int]

class Tiling:
    """How tiles cut the space. Core i runs tasks [i · tasks_per_core, (i + 1) · tasks_per_core)."""

    block_dim: Final[int]
    buffer_num: Final[int]
    tile_rows: Final[int]
    tile_cols: Final[int]
    ub_bytes: Final[int]
    ub_budget: Final[int]
    l1_budget: Final[int]
    passes: Final[int]
    tasks: Final[int]
    tasks_per_core: Final[int]
    rows: Final[int]  # rows of the space, as the engine flattened it
    cols: Final[int]

class Cost:
    """One launch: total = launch + head + the slowest of the pipes (their sum without double buffering)."""

    launch_us: Final[float]
    head_us: Final[float]
    mte2_us: Final[float]
    vector_us: Final[float]
    mte3_us: Final[float]
    hbm_us: Final[float]
    cast_us: Final[float]  # vector time of conversions, contained in `vector_us`
    total_us: Final[float]
    hbm_bytes: Final[float]
    assumed_share: Final[float]  # the share of `total_us` that rests on assumed figures
    bound: Final[str]  # launch, mte2, vector, mte3 or hbm

class Gain:
    """What the gain is made of; the five sum to it, negative where fusing costs."""

    launch_us: Final[float]
    head_us: Final[float]
    product_us: Final[float]
    epilogue_us: Final[float]  # of programs without a product: all of their work and traffic
    overlap_us: Final[float]

class Verdict:
    """Fuse or not. Tiling and cost are zero when nothing was solved."""

    fuse: Final[bool]
    code: Final[str]  # a reason code; empty when `fuse`
    message: Final[str]
    decides: Final[str]  # launch, heads, epilogue, cores, casts, min_gain; UB; dtype
    gain: Final[Gain]  # product and overlap are 0
    before_us: Final[float]
    after_us: Final[float]
    gain_us: Final[float]
    before_bytes: Final[float]
    after_bytes: Final[float]
    assumed_share: Final[float]
    cores_before: Final[int]
    cores_after: Final[int]
    need_bytes: Final[int]  # of the smallest tile
    ub_budget: Final[int]
    without_us: Final[float]  # `after_us` without the term that decides; 0 when none does
    tiling: Final[Tiling]
    cost: Final[Cost]

def data(name: str) -> str:
    """The CSV text `op`, `soc`, `vector_cost`, `move_cost` or `cube_cost`, as compiled in."""

def soc_names() -> list[str]: ...
def soc(name: str) -> Soc:
    """ValueError lists near names."""

def soc_from_ini(text: str, name: str = "") -> Soc:
    """A CANN platform_config file; `name` replaces its SoC_version unless empty. ValueError: `line N: …`."""

def estimate(program: Program, sizes: Sequence[int], soc: Soc, bounds: Bounds) -> Cost:
    """One launch at `sizes`, in symbol order. ValueError when no tile fits or the chip lacks a dtype."""

def solve(program: Program, sizes: Sequence[int], soc: Soc, bounds: Bounds) -> Tiling:
    """The tiling of `estimate`."""

def price(program: Program, sizes: Sequence[int], soc: Soc, bounds: Bounds) -> tuple[Tiling, Cost]:
    """A part as `judge` takes it: where no tile fits, one sweep over GM by an unknown kernel."""

def unsupported(program: Program, sizes: Sequence[int], soc: Soc) -> tuple[str, str] | None:
    """Why no kernel of the chip runs the program, whatever it costs: reason code and sentence."""

def judge(
    fused: Program,
    sizes: Sequence[int],
    parts: Sequence[tuple[Program, Sequence[int]]],
    soc: Soc,
    bounds: Bounds,
    measured: Sequence[float | None] = ...,
) -> Verdict:
    """One launch of `fused` against a launch for each part; `measured`: µs of each part, None where estimated."""

def opaque_us(bytes: float, macs: float, dtype: str, soc: Soc, bounds: Bounds) -> float:
    """The roofline of a node with a kernel of its own, launch included, µs."""

class Launch:
    """What a vector kernel is launched with (docs/design/0008)."""

    block: Final[bytes]  # header and records of kernels/engine/launch.h
    block_dim: Final[int]
    family: Final[str]
    mixed: Final[bool]
    workspace_bytes: Final[int]
    ub_bytes: Final[int]
    loaded_bytes: Final[int]  # from GM into UB, by all cores
    stored_bytes: Final[int]
    gm_bytes: Final[int]  # distinct bytes, as often as they are swept

def lower(
    program: Program,
    sizes: Sequence[int],
    soc: Soc,
    bounds: Bounds,
    tile: tuple[int, int, int, int] | None = None,
) -> Launch:
    """The launch of the fastest tile, or of `tile`: rows, cols, buffers, cores (0: all).

    ValueError: what does not fit, or what the kernels do not do.
    """

# The matmul family (docs/design/0007)

class Gemm:
    """A product at real sizes; `*_run`: contiguous elements along n or k (m of left, k of right where transposed)."""

    batch: Final[int]
    m: Final[int]
    n: Final[int]
    k: Final[int]
    dtype: Final[str]
    result: Final[str]
    left_transposed: Final[bool]
    right_transposed: Final[bool]
    left_run: Final[int]
    right_run: Final[int]
    macs: Final[float]

class GemmTiling:
    """How a product is cut. Tile t, n innermost, then m, then batch, goes to core t // tasks_per_core."""

    block_dim: Final[int]
    buffer_num: Final[int]
    tile_m: Final[int]
    tile_n: Final[int]
    tile_k: Final[int]
    step_k: Final[int]
    c_buffers: Final[int]
    ub_rows: Final[int]
    tasks: Final[int]
    tasks_per_core: Final[int]
    fuse_tiles: Final[str]  # of m main, r M tail, c N tail, x corner; empty for a product alone
    ride: Final[str]  # what FixPipe does: of "bias relu cast"
    l1_budget: Final[int]
    ub_budget: Final[int]
    buffers: Final[list[tuple[str, tuple[int, int]]]]  # name, bytes, capacity: L1 L0A L0B L0C BT UB

class GemmCost:
    """One launch: total = launch + head + product + epilogue, µs. `pipes`: of the busiest core, by name."""

    product_us: Final[float]
    epilogue_us: Final[float]
    cast_us: Final[float]
    total_us: Final[float]
    hbm_bytes: Final[float]
    assumed_share: Final[float]
    bound: Final[str]
    pipes: Final[dict[str, float]]

class GemmVerdict:
    """Fuse or not. `alone_*`: the product's own launch, zero where no part is one."""

    fuse: Final[bool]
    code: Final[str]
    message: Final[str]
    # launch, heads, product, epilogue, overlap, cores, casts, min_gain; a buffer; dtype, row, quantised
    decides: Final[str]
    before_us: Final[float]
    after_us: Final[float]
    gain_us: Final[float]
    before_bytes: Final[float]
    after_bytes: Final[float]
    assumed_share: Final[float]
    without_us: Final[float]
    cores_before: Final[int]  # vector cores
    cores_after: Final[int]
    need_bytes: Final[int]
    budget_bytes: Final[int]
    gain: Final[Gain]
    tiling: Final[GemmTiling]
    alone_tiling: Final[GemmTiling]
    cost: Final[GemmCost]
    alone_cost: Final[GemmCost]

def bind_gemm(program: Program, sizes: Sequence[int]) -> Gemm:
    """ValueError: sizes that do not fit."""

def solve_gemm(program: Program, sizes: Sequence[int], soc: Soc, bounds: Bounds) -> tuple[GemmTiling, GemmCost]:
    """One launch of a matmul program. ValueError, `code: …`, where the chip cannot run it."""

def price_gemm(program: Program, sizes: Sequence[int], soc: Soc, bounds: Bounds) -> tuple[GemmTiling, GemmCost]:
    """A product alone as `judge_gemm` takes it: without reserves; a roofline where the chip has no figures for it."""

def class_choices(program: Program, sizes: Sequence[int], soc: Soc, bounds: Bounds) -> list[tuple[str, float]]:
    """(fuse_tiles, total µs) for each choice of tile classes, with the tiles of `solve_gemm`; all classes first."""

def judge_gemm(
    fused: Program,
    sizes: Sequence[int],
    parts: Sequence[tuple[Program, Sequence[int]]],
    soc: Soc,
    bounds: Bounds,
    measured: Sequence[float | None] = ...,
) -> GemmVerdict:
    """One launch of a matmul program against a launch for each part: the product alone and programs of any family."""
