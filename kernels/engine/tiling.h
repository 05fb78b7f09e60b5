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
    const int64_t most = std::min(grid.row_segment, max_blocks);
    for (int64_t rows = 1; rows <= most; rows *= 2) ladder.push_back(rows);
    for (int64_t share = 1; share <= 6; ++share) {
        const int64_t rows = (grid.rows + cores * share - 1) / (cores * share);
        if (rows <= most) ladder.push_back(rows);
    }
    if (grid.reorders()) ladder.push_back(most);
    tidy(ladder);
    const auto askew = [&](int64_t rows) { return !grid.takes_rows(rows); };
    ladder.erase(std::remove_if(ladder.begin(), ladder.end(), askew), ladder.end());
    return ladder;
}

// Cuts of a row, at least eight pads wide, in whole pads and inside a segment; empty when the row is that
// short or cannot be cut. Where tensors lie in orders of their own a cut has several rows, and may be narrow.
inline std::vector<int64_t> col_ladder(const Grid& grid, int64_t cores) {
    std::vector<int64_t> ladder;
    const int64_t least = grid.reorders() ? grid.pad : 8 * grid.pad;
    if (grid.reorders() && grid.segment < grid.cols) ladder.push_back(grid.segment);
    const int64_t most = grid.segment < grid.cols ? grid.segment : grid.cols - 1;
    for (int64_t cols = least; cols <= most && cols <= (int64_t{1} << 17); cols *= 2) {
        ladder.push_back(cols);
        const int64_t half = cols + cols / 2;
        if (half <= most && half % grid.pad == 0) ladder.push_back(half);
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
    const bool cuts = tiling.tile_cols < grid.cols;
    const int64_t last_rows = (grid.row_segment - 1) % tiling.tile_rows + 1;
    const int64_t last_cols = (std::min(grid.segment, grid.cols) - 1) % tiling.tile_cols + 1;
    for (size_t id = 0; id < job.program->values.size(); ++id) {
        const Extent& extent = grid.values[id];
        const int64_t cols = cuts ? std::min(extent.cols, last_cols) : extent.cols;
        for (const Lie& lie : grid.stores[id]) {
            // Whole rows follow each other, but for those in an order of their own. What crosses the end of a
            // run leaves whole blocks on either side.
            int64_t run = cuts && extent.wide() ? cols : last_rows * cols;
            const bool crosses =
                lie.run < (lie.turned ? grid.row_segment : std::min(grid.segment, extent.cols));
            if (lie.ordered && !extent.wide() && lie.run < grid.rows) return true;  // one by one
            if (lie.ordered && extent.wide()) run = crosses ? align_bytes : lie.turned ? last_rows : cols;
            if (run * extent.width < align_bytes) return true;
        }
    }
    return false;
}

// Tasks over at most `cores` cores, as evenly as they go.
inline void spread(Tiling& tiling, const Job& job, int64_t cores) {
    if (stores_less_than_a_block(job, tiling)) cores = 1;
    const int64_t inner = tiles_of_row(job.grid, tiling.tile_cols);
    const int64_t outer = blocks_of_rows(job.grid, tiling.tile_rows);
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
        const auto rows = row_ladder(job_.grid, cores);
        if (job_.grid.takes_whole_rows())
            for (const int64_t count : rows) try_tile(count, job_.grid.cols, 1);
        if (job_.streams.empty()) return;
        for (const int64_t cols : col_ladder(job_.grid, cores))
            for (const int64_t count : job_.grid.reorders() ? rows : std::vector<int64_t>{1})
                try_tile(count, cols, job_.sweeps());
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
