// Time of one launch: launch + heads + the slowest pipe of the busiest core. Formulas and sources: README.md.
#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "bounds.h"
#include "work.h"

namespace ascend_fuse {

// How the tiles cut the space, and over how many cores they go.
struct Tiling {
    int64_t block_dim = 0;   // cores at work
    int64_t buffer_num = 0;  // 2: loads, vector work and stores of neighbouring tiles overlap
    int64_t tile_rows = 0, tile_cols = 0;
    int64_t ub_bytes = 0;   // what the tiles need
    int64_t ub_budget = 0;  // what they may use
    int64_t l1_budget = 0;
    int64_t passes = 0;          // sweeps over a row that does not fit
    int64_t tasks = 0;           // units handed to cores: core i has tasks [i * tasks_per_core, …)
    int64_t tasks_per_core = 0;  // of the busiest core
    int64_t rows = 0, cols = 0;  // the space as the engine flattened it
};

enum class Limit { launch, mte2, vector, mte3, hbm };

inline const char* name(Limit limit) {
    constexpr const char* names[] = {"launch", "mte2", "vector", "mte3", "hbm"};
    return names[static_cast<int>(limit)];
}

struct Cost {
    double launch_us = 0, head_us = 0;
    double mte2_us = 0, vector_us = 0, mte3_us = 0, hbm_us = 0;
    double total_us = 0;
    double assumed_us = 0;  // part of total_us that rests on assumed figures
    double cast_us = 0;     // vector time of conversions
    double hbm_bytes = 0;   // through GM: inputs as often as they are swept, outputs once
    Limit bound = Limit::launch;

    double assumed_share() const { return total_us > 0 ? assumed_us / total_us : 0; }
};

// What-if terms that tell which cause decides a verdict.
struct Relief {
    bool free_casts = false;
    int64_t cores = 0;  // pretend that the work spreads over that many cores at least
};

// A program at real sizes on a chip: all that does not depend on the tiling.
struct Job {
    const Program* program = nullptr;
    Soc soc;
    Bounds bounds;
    Grid grid;
    Liveness live;
    Pass whole;                 // the row is on chip
    std::vector<Pass> streams;  // it is not; empty when it cannot be cut
    Grid cut;                   // as the tiles of a cut row see it
    Liveness cut_live;
    bool row_tasks = false;  // a reduction keeps a row on one core; else each tile is a task
    const MoveTable* move = nullptr;
    double rate_scale = 1;  // the chip's GM bandwidth per vector core over that of the chip that was fitted
    bool rates_assumed = false;

    // Sweeps over the tiles of a cut row.
    int64_t sweeps() const {
        return std::count_if(streams.begin(), streams.end(), [](const Pass& pass) { return !pass.once; });
    }
    int64_t ub_budget() const {
        return static_cast<int64_t>(static_cast<double>(soc.ub_size - soc.ub_reserved()) *
                                    (1 - bounds.ub_reserve));
    }
};

// A reduction keeps a cut row on one core, and so does an output that its tiles share.
inline bool stays_on_a_core(const Program& program, const Grid& grid) {
    for (const auto& instr : program.instrs)
        if (instr.entry().kind == OpKind::reduce) return true;
    for (const auto& output : program.outputs)
        if (grid.values[static_cast<size_t>(output.value)].cols != grid.cols) return true;
    return false;
}

inline Job make_job(const Program& program, Grid grid, const Soc& soc, const Bounds& bounds) {
    Job job;
    job.program = &program;
    job.soc = soc;
    job.bounds = bounds;
    const auto steps = expand_all(program, grid, soc);
    job.live = liveness(program, grid, soc, steps);
    job.whole = passes_of(program, grid, soc, steps).front();
    if (grid.streamable) {
        job.cut = inside_segments(grid);
        const auto cut_steps = expand_all(program, job.cut, soc);
        job.cut_live = liveness(program, job.cut, soc, cut_steps);
        job.streams = passes_of(program, job.cut, soc, cut_steps);
    }
    job.grid = std::move(grid);
    job.row_tasks = stays_on_a_core(program, job.grid);
    job.move = &moves(soc.npu_arch);
    job.rate_scale = soc.vector_rate() / job.move->load.ref_rate;
    job.rates_assumed = job.move->load.assumed || job.rate_scale < 0.999 || job.rate_scale > 1.001;
    return job;
}

// Bytes of one value that one tile moves, as blocks of contiguous bytes.
struct Blocks {
    int64_t count = 0, bytes = 0, gap = 0;  // gap: bytes between blocks in GM
    int64_t copies = 1;                     // that move them
};

inline Blocks blocks_of(const Grid& grid, const Extent& extent, const Tiling& tiling) {
    const int64_t cols = extent.cols == grid.cols ? tiling.tile_cols : extent.cols;
    const bool whole_rows = cols == extent.cols;
    if (extent.span == Span::scalar) return {1, extent.width, 0};
    if (extent.span == Span::line) return {1, cols * extent.width, 0};
    if (extent.span == Span::row)
        return extent.dense ? Blocks{1, tiling.tile_rows * extent.width, 0}
                            : Blocks{tiling.tile_rows, extent.width, 0};
    const bool one = tiling.tile_rows == 1 || (whole_rows && extent.dense && grid.padded(cols) == cols);
    if (one) return {1, tiling.tile_rows * cols * extent.width, 0};
    return {tiling.tile_rows, cols * extent.width, (extent.cols - cols) * extent.width};
}

// The same bytes in blocks of at most `piece`; 0: as they are.
inline Blocks cut(const Blocks& blocks, int64_t piece) {
    if (piece == 0 || blocks.bytes <= piece) return blocks;
    return Blocks{blocks.count * ((blocks.bytes + piece - 1) / piece), piece, blocks.gap};
}

// The same for a tensor in an order of its own. Where a chip moves one block at a time, each is a copy.
inline Blocks blocks_of(const Job& job, const Grid& grid, const Extent& extent, const Lie& lie,
                        const Tiling& tiling) {
    if (!lie.ordered || !extent.wide()) return cut(blocks_of(grid, extent, tiling), lie.run * extent.width);
    const int64_t cols = extent.cols == grid.cols ? tiling.tile_cols : extent.cols;
    const int64_t rows = extent.span == Span::full ? tiling.tile_rows : 1;
    const int64_t along = lie.turned ? rows : cols, across = lie.turned ? cols : rows;
    const int64_t piece = std::min(along, std::max<int64_t>(lie.run, 1));
    const bool crosses = along % piece != 0 && lie.run % along != 0;
    const int64_t pieces = (along + piece - 1) / piece + (crosses ? 1 : 0);
    Blocks blocks{pieces * across, piece * extent.width, (lie.step - piece) * extent.width};
    blocks.copies = job.soc.copy_pad() ? pieces * ((across + lie.even - 1) / lie.even) : blocks.count;
    return blocks;
}

// Cycles = bytes / (a + b / block_dim) + h a copy, slower for short blocks, more for gaps between blocks.
inline double move_cycles(const Job& job, const Blocks& blocks, const Tiling& tiling, bool load) {
    const MoveTable& move = *job.move;
    const bool small = static_cast<double>(blocks.bytes) < move.small_block.a;
    const Move& rate = load ? (small ? move.load_small : move.load) : (small ? move.store_small : move.store);
    const Move& stride = load ? move.load_stride : move.store_stride;
    const double scale = job.soc.vector_rate() / rate.ref_rate;
    const double per_cycle = (rate.a + rate.b / static_cast<double>(tiling.block_dim)) * scale;
    const double gap = static_cast<double>(blocks.gap % 256);
    return static_cast<double>(blocks.count * blocks.bytes) / per_cycle +
           rate.h * static_cast<double>(blocks.copies) + stride.a * static_cast<double>(blocks.count) * gap;
}

// Bytes of UB through which a copy goes behind the tiles, twice for double buffering. A fixed size, so that
// more UB never makes an estimate worse.
inline int64_t copy_buffer(int64_t budget) {
    constexpr int64_t piece = 16 * 1024;
    return std::min(piece, std::max(align_bytes, budget / 2));
}

// Cycles of a core's share of a copy that `tiling.block_dim` cores make through a buffer of UB: load, store.
inline std::pair<double, double> copy_cycles(const Job& job, const Copy& copy, const Tiling& tiling,
                                             int64_t buffer) {
    const int64_t share = (copy.bytes + tiling.block_dim - 1) / tiling.block_dim;
    const int64_t moves = (share + buffer - 1) / buffer, each = (share + moves - 1) / moves;
    const int64_t block = std::min(each, copy.run);
    const double more = static_cast<double>(moves - 1);
    const Blocks stored{(share + block - 1) / block, block, copy.own};
    return {move_cycles(job, Blocks{moves, each, 0}, tiling, true) + more * job.move->load.h,
            move_cycles(job, stored, tiling, false) + more * job.move->store.h};
}

// Cycles of the busiest core, by pipe.
struct Pipes {
    double mte2 = 0, vector = 0, mte3 = 0, assumed_vector = 0, casts = 0;
    int64_t largest_load = 0;
    double hbm_bytes = 0;
};

inline void add_pass(Pipes& pipes, const Job& job, const Grid& grid, const Pass& pass, const Tiling& tiling,
                     double tiles) {
    for (size_t id = 0; id < grid.values.size(); ++id) {
        if (!pass.reads[id] && !pass.writes[id]) continue;
        const Extent& extent = grid.values[id];
        if (pass.reads[id]) {
            const Blocks blocks = blocks_of(job, grid, extent, grid.loads[id], tiling);
            const double times = resident(grid, extent, tiling.tile_cols) ? 1 : tiles;
            pipes.mte2 += times * move_cycles(job, blocks, tiling, true);
            pipes.largest_load = std::max(pipes.largest_load, blocks.count * blocks.bytes);
            pipes.hbm_bytes += static_cast<double>(extent.bytes());
        }
        if (!pass.writes[id]) continue;
        for (const Lie& lie : grid.stores[id]) {
            const Blocks blocks = blocks_of(job, grid, extent, lie, tiling);
            pipes.mte3 += tiles * move_cycles(job, blocks, tiling, false);
            pipes.hbm_bytes += static_cast<double>(extent.bytes());
        }
    }
    pipes.vector += tiles * pass.all.at(grid, tiling.tile_rows, tiling.tile_cols);
    pipes.assumed_vector += tiles * pass.assumed.at(grid, tiling.tile_rows, tiling.tile_cols);
    pipes.casts += tiles * pass.casts.at(grid, tiling.tile_rows, tiling.tile_cols);
}

inline void add_copy(Pipes& pipes, const Job& job, const Copy& copy, const Tiling& tiling) {
    const auto [load, store] = copy_cycles(job, copy, tiling, copy_buffer(tiling.ub_budget));
    pipes.mte2 += load;
    pipes.mte3 += store;
    pipes.hbm_bytes += copy.moved();
}

inline Pipes measure(const Job& job, const Tiling& tiling) {
    Pipes pipes;
    if (tiling.tile_cols == job.grid.cols) {
        add_pass(pipes, job, job.grid, job.whole, tiling, static_cast<double>(tiling.tasks_per_core));
    } else {
        const int64_t inner = tiles_of_row(job.grid, tiling.tile_cols);
        const int64_t tiles = tiling.tasks_per_core * (job.row_tasks ? inner : 1);
        for (const auto& pass : job.streams)
            add_pass(pipes, job, job.cut, pass, tiling,
                     static_cast<double>(pass.once ? tiling.tasks_per_core : tiles));
    }
    for (const auto& copy : job.grid.copies) add_copy(pipes, job, copy, tiling);
    return pipes;
}

inline double head_cycles(const Job& job, const Pipes& pipes, const Tiling& tiling) {
    const MoveTable& move = *job.move;
    const bool small = static_cast<double>(pipes.largest_load) < move.load_small_limit.a;
    const Move& load = small ? move.head_load_small : move.head_load_large;
    const double load_head = pipes.mte2 > 0 ? load.a + load.b * static_cast<double>(tiling.block_dim) : 0;
    return load_head + move.head_vector.a + move.head_store.a + move.head_kernel.a;
}

// Sets total, bound and assumed time from the pipes.
inline void sum_up(Cost& cost, const Job& job, const Tiling& tiling, double assumed_vector_us) {
    const double by_limit[] = {0, cost.mte2_us, cost.vector_us, cost.mte3_us, cost.hbm_us};
    const double moved_assumed = job.rates_assumed ? 1 : 0;
    const double assumed[] = {0, cost.mte2_us * moved_assumed, assumed_vector_us,
                              cost.mte3_us * moved_assumed, 0};
    int slowest = 1;
    for (int i = 2; i < 5; ++i)
        if (by_limit[i] > by_limit[slowest]) slowest = i;
    double busy = by_limit[slowest], busy_assumed = assumed[slowest];
    const double serial = cost.mte2_us + cost.vector_us + cost.mte3_us;
    if (tiling.buffer_num == 1 && serial > busy) {
        busy = serial;
        busy_assumed = assumed[1] + assumed[2] + assumed[3];
    }
    cost.bound = cost.launch_us + cost.head_us > busy ? Limit::launch : static_cast<Limit>(slowest);
    cost.total_us = cost.launch_us + cost.head_us + busy;
    cost.assumed_us = busy_assumed + (job.move->head_kernel.assumed ? cost.head_us : 0);
}

inline Cost cost_of(const Job& job, const Tiling& tiling, const Relief& relief) {
    const Pipes pipes = measure(job, tiling);
    double us = 1 / job.soc.cycles_per_us();
    Cost cost;
    cost.launch_us = job.bounds.launch_us;
    cost.head_us = head_cycles(job, pipes, tiling) * us;
    if (relief.cores > tiling.block_dim)
        us *= static_cast<double>(tiling.block_dim) / static_cast<double>(relief.cores);
    cost.mte2_us = pipes.mte2 * us;
    cost.mte3_us = pipes.mte3 * us;
    cost.vector_us = (pipes.vector - (relief.free_casts ? pipes.casts : 0)) * us;
    cost.cast_us = pipes.casts * us;
    cost.hbm_bytes = pipes.hbm_bytes;
    cost.hbm_us = pipes.hbm_bytes / job.soc.hbm_bytes_per_s() * 1e6;
    sum_up(cost, job, tiling, pipes.assumed_vector * us);
    return cost;
}

}  // namespace ascend_fuse
