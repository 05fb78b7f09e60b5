// From a program at real sizes to the launch that a kernel reads (docs/design/0008).
#pragma once

#include "lower_gemm.h"
#include "lower_vector.h"

namespace ascend_fuse {

// The launch with a tile of one's own, whether it pays or not: `tile` says rows, cols, buffers and, but for
// 0, cores. Precondition: cols are the space's, or whole pads inside of a segment and one row, where
// nothing is in an order of its own; rows stay inside of theirs.
inline Result<Launch> lower(const Program& program, const std::vector<int64_t>& sizes, const Soc& soc,
                            const Bounds& bounds, const Tiling& tile) {
    auto job = job_of(program, sizes, soc, bounds);
    if (!job) return job.error();
    const bool whole = tile.tile_cols == job->grid.cols;
    const Grid& grid = job->grid;
    const bool cut = grid.streamable && tile.tile_cols > 0 && (grid.reorders() || tile.tile_rows == 1) &&
                     tile.tile_cols <= grid.segment &&
                     (tile.tile_cols % grid.pad == 0 || tile.tile_cols == grid.segment);
    if (!(whole ? grid.takes_whole_rows() : cut) || !grid.takes_rows(tile.tile_rows))
        return wrong("lower: no tile of " + std::to_string(tile.tile_rows) + " x " +
                     std::to_string(tile.tile_cols));
    Tiling tiling = tile;
    tiling.rows = job->grid.rows;
    tiling.cols = job->grid.cols;
    tiling.passes = whole ? 1 : job->sweeps();
    tiling.ub_budget = job->ub_budget();
    tiling.ub_bytes = parts_of(program, whole ? job->grid : job->cut, whole ? job->live : job->cut_live,
                               tile.tile_rows, tile.tile_cols)
                          .total(tile.buffer_num);
    if (tiling.ub_bytes > tiling.ub_budget) return wrong("lower: the tile does not fit UB");
    spread(tiling, *job, tile.block_dim > 0 ? tile.block_dim : soc.vector_cores());
    return Lowering(*job, sizes, tiling).run();
}

// The launch with the fastest tile. An error says what does not fit or what the kernels do not do.
inline Result<Launch> lower(const Program& program, const std::vector<int64_t>& sizes, const Soc& soc,
                            const Bounds& bounds) {
    if (program.family == Family::matmul) return lower_gemm(program, sizes, soc, bounds);
    auto job = job_of(program, sizes, soc, bounds);
    if (!job) return job.error();
    Overflow overflow;
    const auto solution = solve(*job, {}, &overflow);
    if (!solution)
        return wrong("ub-overflow: the smallest tile needs " + std::to_string(overflow.need_bytes) +
                     " B, UB has " + std::to_string(overflow.ub_budget) + " B");
    return Lowering(*job, sizes, solution->tiling).run();
}

}  // namespace ascend_fuse
