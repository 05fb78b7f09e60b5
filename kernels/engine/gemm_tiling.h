// Which blocks of a product fit on chip at once, and where the tiles of it go.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "gemm_epilogue.h"
#include "gemm_launch.h"
#include "tiling.h"

namespace ascend_fuse {

struct GemmTiling {
    int64_t block_dim = 0, buffer_num = 0;
    int64_t tile_m = 0, tile_n = 0;
    int64_t tile_k = 0;     // of A and B in L1
    int64_t step_k = 0;     // of A and B in L0
    int64_t c_buffers = 0;  // blocks of C in L0C
    int64_t ub_rows = 0;    // rows of the tile that one vector core holds in UB; 0 without vector work
    int64_t l1_bytes = 0, l1_budget = 0, l0a_bytes = 0, l0a_budget = 0, l0b_bytes = 0, l0b_budget = 0;
    int64_t l0c_bytes = 0, l0c_budget = 0, ub_bytes = 0, ub_budget = 0, bt_bytes = 0, bt_budget = 0;
    int64_t tasks = 0,
            tasks_per_core = 0;  // tile t goes to core t / tasks_per_core; n innermost, then m, then batch
    std::string fuse_tiles;      // classes that run fused: m main, r M tail, c N tail, x corner
    std::string ride;            // what FixPipe does: bias, relu, cast
};

// A product with its epilogue on a chip: all that does not depend on the tiling.
struct GemmJob {
    Gemm gemm;
    Soc soc;
    Bounds bounds;
    Epilogue epilogue;
    const CubeTable* cube = nullptr;
    Path path = Path::split;
    double depth = 16;    // multiply-adds along k in a cycle
    int64_t unit_k = 16;  // side of the squares that a transposing load takes
    int64_t in_width = 2;

    int64_t padded_k() const { return round_up(gemm.k, unit_k); }
    int64_t l1_budget() const {
        return static_cast<int64_t>(static_cast<double>(soc.l1_size) * (1 - bounds.l1_reserve));
    }
    // Vector work per tile: behind FixPipe where something is left, always where the vector pipe empties L0C.
    bool uses_ub() const { return path == Path::coupled || epilogue.vector; }
};

// What the smallest tile lacks: a buffer's name, and bytes.
struct GemmOverflow {
    std::string buffer;
    int64_t need_bytes = 0, budget = 0;
};

// Tile classes: full tiles, the last rows, the last columns, the corner of both.
struct TileClass {
    char letter = 'm';
    unsigned bit = 1;  // in a set of classes
    int64_t count = 0, rows = 0, cols = 0;

    bool in(unsigned set) const { return (set & bit) != 0; }
};

using TileClasses = std::array<TileClass, 4>;

inline TileClasses classes_of(const Gemm& gemm, int64_t tile_m, int64_t tile_n) {
    const int64_t full_m = gemm.m / tile_m, rest_m = gemm.m % tile_m;
    const int64_t full_n = gemm.n / tile_n, rest_n = gemm.n % tile_n;
    const int64_t some_m = rest_m > 0 ? 1 : 0, some_n = rest_n > 0 ? 1 : 0;
    TileClasses classes{{{'m', 1, gemm.batch * full_m * full_n, tile_m, tile_n},
                         {'r', 2, gemm.batch * some_m * full_n, rest_m, tile_n},
                         {'c', 4, gemm.batch * full_m * some_n, tile_m, rest_n},
                         {'x', 8, gemm.batch * some_m * some_n, rest_m, rest_n}}};
    // Largest first.
    if (classes[1].rows * classes[1].cols < classes[2].rows * classes[2].cols)
        std::swap(classes[1], classes[2]);
    return classes;
}

// UB of `rows` rows of the tile on one vector core.
inline int64_t epilogue_bytes(const GemmJob& job, int64_t rows, int64_t tile_n, int64_t buffers) {
    if (!job.uses_ub()) return 0;
    const Epilogue& epilogue = job.epilogue;
    const int64_t cols = std::min(tile_n, job.gemm.n);
    int64_t bytes =
        parts_of(epilogue.program, epilogue.job.grid, epilogue.job.live, rows, cols).total(buffers);
    // Out of L0C come whole fractals of four bytes an element; the vector unit lays them as rows and rounds
    // them.
    if (job.path == Path::coupled) bytes += round_up(rows, 16) * round_up(cols, 16) * 4;
    if (!job.soc.fixpipe()) bytes += device::edge_bytes;
    return bytes;
}

// Elements of k, in whole units, of which `per_k` bytes each fit `budget`; at most all of them.
inline int64_t most_k(const GemmJob& job, int64_t budget, int64_t per_k) {
    const int64_t fitting = budget / per_k / job.unit_k * job.unit_k;
    return std::min(fitting, job.padded_k());
}

// Least tile_k that the bounds allow.
inline int64_t least_k(const GemmJob& job) {
    return std::min(round_up(job.bounds.min_tile_k, job.unit_k), job.padded_k());
}

// Fills k and the bytes of a tile whose tile_m, tile_n, c_buffers, buffer_num are set; false when a block
// does not fit.
inline bool place(const GemmJob& job, GemmTiling& tiling, GemmOverflow& overflow) {
    const Soc& soc = job.soc;
    const int64_t w = job.in_width, m = tiling.tile_m, n = tiling.tile_n, buffers = tiling.buffer_num;
    const auto lacks = [&](const char* buffer, int64_t need, int64_t budget) {
        overflow = GemmOverflow{buffer, need, budget};
        return false;
    };
    tiling.l1_budget = job.l1_budget();
    tiling.l0a_budget = soc.l0_a_size;
    tiling.l0b_budget = soc.l0_b_size;
    tiling.l0c_budget = soc.l0_c_size;
    tiling.ub_budget = job.epilogue.job.ub_budget();
    tiling.bt_budget = soc.bt_size;
    // 64 B of the bias go at once, each element to four bytes.
    const int64_t bias_width = job.epilogue.bias_width;
    tiling.bt_bytes = bias_width > 0 ? round_up(n * bias_width, 64) / bias_width * 4 : 0;
    if (tiling.bt_bytes > soc.bt_size) return lacks("BT", tiling.bt_bytes, soc.bt_size);
    tiling.l0c_bytes = tiling.c_buffers * m * n * 4;
    if (tiling.l0c_bytes > soc.l0_c_size) return lacks("L0C", tiling.l0c_bytes, soc.l0_c_size);
    tiling.step_k = std::min(most_k(job, soc.l0_a_size, 2 * m * w), most_k(job, soc.l0_b_size, 2 * n * w));
    if (tiling.step_k == 0) {
        const bool left = 2 * m * w * job.unit_k > soc.l0_a_size;
        return lacks(left ? "L0A" : "L0B", 2 * (left ? m : n) * w * job.unit_k,
                     left ? soc.l0_a_size : soc.l0_b_size);
    }
    // tile_k shrinks first: it is the most that fits, and only when that is too little the tile is refused.
    const int64_t bias = tiling.bt_bytes;
    tiling.tile_k = most_k(job, tiling.l1_budget - bias, buffers * (m + n) * w);
    const int64_t least = least_k(job);
    if (tiling.tile_k < least) return lacks("L1", buffers * (m + n) * w * least + bias, tiling.l1_budget);
    tiling.step_k = std::min(tiling.step_k, tiling.tile_k);
    tiling.l1_bytes = buffers * (m + n) * w * tiling.tile_k + bias;
    tiling.l0a_bytes = 2 * m * w * tiling.step_k;
    tiling.l0b_bytes = 2 * n * w * tiling.step_k;
    return true;
}

// Rows of the largest tile that one vector core works on.
inline int64_t rows_per_vector(const GemmJob& job, int64_t rows) {
    const int64_t vectors = vectors_per_cube(job.soc);
    return (rows + vectors - 1) / vectors;
}

// Sides of a tile: powers of two and half steps, and equal shares; whole cube blocks, largest first. Does not
// depend on capacity or bandwidth, so that more of either never makes an estimate worse.
inline std::vector<int64_t> side_ladder(int64_t extent, int64_t unit) {
    std::vector<int64_t> ladder;
    const int64_t most = round_up(extent, unit);
    for (const int64_t blocks : {1, 2, 4, 6, 8, 12, 16, 24, 32})
        if (blocks * unit <= most) ladder.push_back(blocks * unit);
    for (int64_t share = 1; share <= 4; ++share) {
        const int64_t side = round_up((extent + share - 1) / share, unit);
        if (side <= 512) ladder.push_back(side);
    }
    tidy(ladder);
    return ladder;
}

// Rows in UB: all of a vector core's, a half, a quarter, …; out of L0C come whole fractals of them.
inline std::vector<int64_t> ub_ladder(const GemmJob& job, int64_t rows) {
    const int64_t unit = job.path == Path::coupled ? 16 : 1;
    std::vector<int64_t> ladder;
    for (int64_t cut = 1; cut <= 16; cut *= 2)
        ladder.push_back(std::min(rows, round_up((rows + cut - 1) / cut, unit)));
    ladder.push_back(std::min(rows, unit));
    tidy(ladder);
    return ladder;
}

// Whether a store is shorter than a block where the chip moves whole blocks, so that one core writes them all
// (tiling.h, stores_less_than_a_block).
inline bool stores_less_than_a_block(const GemmJob& job, const GemmTiling& tiling) {
    if (job.soc.copy_pad()) return false;
    const Epilogue& epilogue = job.epilogue;
    if (!epilogue.copies.empty()) return true;
    const int64_t last = (job.gemm.n - 1) % tiling.tile_n + 1;
    const auto small = [&](Dtype dtype, int64_t run) {
        const int64_t unit = align_bytes / width(dtype);
        return last < unit || (run > 0 && run % unit != 0);
    };
    for (const auto& output : epilogue.outputs)
        if (small(epilogue.program.values[static_cast<size_t>(output.value)].dtype, output.run)) return true;
    return false;
}

// Tiles over the cube cores, as evenly as they go.
inline void spread(GemmTiling& tiling, const GemmJob& job) {
    const Gemm& gemm = job.gemm;
    tiling.tasks = gemm.batch * ((gemm.m + tiling.tile_m - 1) / tiling.tile_m) *
                   ((gemm.n + tiling.tile_n - 1) / tiling.tile_n);
    const int64_t cores = stores_less_than_a_block(job, tiling) ? 1 : job.soc.cube_cores();
    tiling.tasks_per_core = (tiling.tasks + cores - 1) / cores;
    tiling.block_dim = (tiling.tasks + tiling.tasks_per_core - 1) / tiling.tasks_per_core;
}

}  // namespace ascend_fuse
