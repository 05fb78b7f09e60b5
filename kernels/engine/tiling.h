// Which tile, how many cores, one buffer or two: the fastest of a fixed ladder of candidates that fits UB.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "cost.h"

namespace ascend_fuse {

struct Solution {
    Tiling tiling;
    Cost cost;
};

// Why no tile fits.
struct Overflow {
    int64_t need_bytes = 0;  // of the smallest tile
    int64_t ub_budget = 0;
};

// DataCopyPad moves at most 4095 blocks at once (AscendC).
inline constexpr int64_t max_blocks = 4095;

inline void tidy(std::vector<int64_t>& ladder) {
    std::sort(ladder.begin(), ladder.end(), std::greater<>());
    ladder.erase(std::unique(ladder.begin(), ladder.end()), ladder.end());
}

// Candidates do not depend on UB or bandwidth, so that more of either never makes an estimate worse.
inline std::vector<int64_t> row_ladder(const Grid& grid, int64_t cores) {
    std::vector<int64_t> ladder;
    const int64_t most = std::min(grid.rows, max_blocks);
    for (int64_t rows = 1; rows <= most; rows *= 2) ladder.push_back(rows);
    for (int64_t share = 1; share <= 6; ++share) {
        const int64_t rows = (grid.rows + cores * share - 1) / (cores * share);
        if (rows <= most) ladder.push_back(rows);
    }
    tidy(ladder);
    return ladder;
}

// Cuts of a row, at least eight pads wide, in whole pads and inside a segment; empty when the row is that
// short or cannot be cut.
inline std::vector<int64_t> col_ladder(const Grid& grid, int64_t cores) {
    std::vector<int64_t> ladder;
    const int64_t least = 8 * grid.pad;
    const int64_t most = grid.segment < grid.cols ? grid.segment : grid.cols - 1;
    for (int64_t cols = least; cols <= most && cols <= (int64_t{1} << 17); cols *= 2) {
        ladder.push_back(cols);
        if (cols + cols / 2 <= most) ladder.push_back(cols + cols / 2);
    }
    for (int64_t share = 1; share <= 4; ++share) {
        const int64_t cols = grid.padded((grid.segment + cores * share - 1) / (cores * share));
        if (cols >= least && cols <= most) ladder.push_back(cols);
    }
    tidy(ladder);
    return ladder;
}

// Whether a store is shorter than a block where the chip moves whole blocks. The scalar unit then writes it,
// by lines of the cache, which no other core may write.
inline bool stores_less_than_a_block(const Job& job, const Tiling& tiling) {
    const Grid& grid = job.grid;
    if (job.soc.copy_pad()) return false;
    if (!grid.copies.empty()) return true;
    const int64_t last_rows = (grid.rows - 1) % tiling.tile_rows + 1;
    const int64_t last_cols = (std::min(grid.segment, grid.cols) - 1) % tiling.tile_cols + 1;
    for (size_t id = 0; id < job.program->values.size(); ++id) {
        if (!job.program->is_output(static_cast<int>(id))) continue;
        const Extent& extent = grid.values[id];
        const int64_t cols = tiling.tile_cols < grid.cols ? std::min(extent.cols, last_cols) : extent.cols;
        if (last_rows * cols * extent.width < align_bytes) return true;
    }
    return false;
}

// Tasks over at most `cores` cores, as evenly as they go.
inline void spread(Tiling& tiling, const Job& job, int64_t cores) {
    if (stores_less_than_a_block(job, tiling)) cores = 1;
    const int64_t inner = tiles_of_row(job.grid, tiling.tile_cols);
    const int64_t outer = (job.grid.rows + tiling.tile_rows - 1) / tiling.tile_rows;
    tiling.tasks = job.row_tasks ? outer : outer * inner;
    tiling.tasks_per_core = (tiling.tasks + cores - 1) / cores;
    tiling.block_dim = (tiling.tasks + tiling.tasks_per_core - 1) / tiling.tasks_per_core;
    if (!job.grid.copies.empty()) tiling.block_dim = cores;  // those without a tile have a share of a copy
}

class Search {
  public:
    Search(const Job& job, const Relief& relief) : job_(job), relief_(relief) {}

    // Rows of a tile with whole rows, then cuts of single rows.
    void run() {
        const int64_t cores = job_.soc.vector_cores();
        for (const int64_t rows : row_ladder(job_.grid, cores)) try_tile(rows, job_.grid.cols, 1);
        if (job_.streams.empty()) return;
        for (const int64_t cols : col_ladder(job_.grid, cores)) try_tile(1, cols, job_.sweeps());
    }

    bool found() const { return found_; }
    const Solution& best() const { return best_; }
    int64_t least_bytes() const { return least_bytes_; }

  private:
    void try_tile(int64_t rows, int64_t cols, int64_t passes) {
        for (const int64_t buffers : {2, 1}) {
            Tiling tiling;
            tiling.buffer_num = buffers;
            tiling.rows = job_.grid.rows;
            tiling.cols = job_.grid.cols;
            tiling.tile_rows = rows;
            tiling.tile_cols = cols;
            tiling.passes = passes;
            tiling.ub_budget = job_.ub_budget();
            tiling.l1_budget =
                static_cast<int64_t>(static_cast<double>(job_.soc.l1_size) * (1 - job_.bounds.l1_reserve));
            const bool whole = cols == job_.grid.cols;
            tiling.ub_bytes = parts_of(*job_.program, whole ? job_.grid : job_.cut,
                                       whole ? job_.live : job_.cut_live, rows, cols)
                                  .total(buffers);
            if (least_bytes_ == 0 || tiling.ub_bytes < least_bytes_) least_bytes_ = tiling.ub_bytes;
            if (tiling.ub_bytes > tiling.ub_budget) continue;
            // Fewer cores can be faster: heads grow with the cores that load.
            for (int64_t cores = job_.soc.vector_cores(); cores > 0; cores /= 2) try_cores(tiling, cores);
        }
    }

    void try_cores(Tiling tiling, int64_t cores) {
        spread(tiling, job_, cores);
        const Cost cost = cost_of(job_, tiling, relief_);
        if (found_ && cost.total_us >= best_.cost.total_us) return;
        best_ = Solution{tiling, cost};
        found_ = true;
    }

    const Job& job_;
    Relief relief_;
    bool found_ = false;
    Solution best_;
    int64_t least_bytes_ = 0;
};

// The fastest tiling, or none with the bytes that the smallest tile would need.
inline std::optional<Solution> solve(const Job& job, const Relief& relief = {},
                                     Overflow* overflow = nullptr) {
    Search search(job, relief);
    search.run();
    if (overflow) *overflow = Overflow{search.least_bytes(), job.ub_budget()};
    if (!search.found()) return std::nullopt;
    return search.best();
}

}  // namespace ascend_fuse
