// Time of one launch of a product with its epilogue. Formulas and sources: docs/design/0007, README.md.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string_view>
#include <utility>

#include "gemm_stage.h"

namespace ascend_fuse {

// Busy times of the busiest core by pipe, and what they add up to.
struct GemmCost {
    double launch_us = 0, head_us = 0;
    double mte2_us = 0, mte1_us = 0, cube_us = 0, fixpipe_us = 0;
    double aiv_mte2_us = 0, vector_us = 0, mte3_us = 0, flag_us = 0;
    double apart_us = 0;    // SyncAll and the epilogue of tile classes that do not run fused
    double copy_us = 0;     // of the other parts of outputs, by the vector cores
    double hbm_us = 0;      // all cores' bytes through GM
    double product_us = 0;  // busy time of the product and of loading A and B; the rest is `epilogue_us`
    double epilogue_us = 0;
    double total_us = 0;
    double assumed_us = 0, cast_us = 0;
    double hbm_bytes = 0;
    const char* bound = "launch";  // the slowest: launch, or a pipe

    double assumed_share() const { return total_us > 0 ? assumed_us / total_us : 0; }
};

// A core's tiles as a pipeline of product -> out -> vector stages.
class CoreSchedule {
  public:
    CoreSchedule(const GemmJob& job, const GemmTiling& tiling, const Relief& relief)
        : job_(job), tiling_(tiling) {
        casts_ = relief.free_casts ? 0 : 1;
        const double vectors = static_cast<double>(tiling.block_dim * vectors_per_cube(job.soc));
        if (static_cast<double>(relief.cores) > vectors)
            spread_ = vectors / static_cast<double>(relief.cores);
    }

    void add(const Stages& stages, double times) {
        const bool coupled = job_.path == Path::coupled, serial = tiling_.buffer_num == 1;
        const double mte2 = stages.mte2 + (coupled ? stages.aiv_mte2 : 0);
        const double fed = std::max(stages.mte1, stages.cube);
        double product = serial ? mte2 + fed : std::max(mte2, fed);
        const double aiv_mte2 = coupled ? 0 : stages.aiv_mte2 * spread_;
        const double vector = (stages.vector - (1 - casts_) * stages.casts) * spread_,
                     mte3 = stages.mte3 * spread_;
        const double most = std::max({aiv_mte2, vector, mte3}), sum = aiv_mte2 + vector + mte3;
        const double all =
            product + stages.out + stages.flag + most + (sum - most) / static_cast<double>(stages.chunks);
        // A flag delays a tile; with two buffers the next tile hides it.
        double behind = serial ? sum + stages.flag : most;
        double out = stages.out;
        // One block of C: it is emptied before the next product starts.
        if (tiling_.c_buffers == 1) {
            product += coupled ? behind : out;
            (coupled ? behind : out) = 0;
        }
        const double step = std::max({product, out, behind});
        product_ += times * product;
        steps_ += times * step;
        drain_ = std::max(drain_, all - step);
        sum_.add(stages, times);
    }

    double cycles() const { return steps_ + std::max(drain_, 0.0); }
    double product_cycles() const { return std::min(product_, cycles()); }
    const Stages& sum() const { return sum_; }

  private:
    const GemmJob& job_;
    const GemmTiling& tiling_;
    double casts_ = 1, spread_ = 1;
    double product_ = 0, steps_ = 0, drain_ = 0;
    Stages sum_;
};

// Cycles of the epilogue of the classes in `apart`, by all vector cores, behind a SyncAll.
inline double apart_cycles(const GemmJob& job, const GemmTiling& tiling, const TileClasses& classes,
                           unsigned apart) {
    if (apart == 0) return 0;
    const int64_t cores = job.path == Path::coupled ? job.soc.cube_cores() : job.soc.vector_cores();
    GemmTiling shape = tiling;
    shape.block_dim = cores / vectors_per_cube(job.soc);
    double cycles = job.cube->sync;
    for (const auto& one : classes) {
        if (one.count == 0 || !one.in(apart)) continue;
        Stages stages;
        VectorStage(job, shape, true).add(stages, (one.count * one.rows + cores - 1) / cores, one.cols);
        cycles += tiling.buffer_num == 1 ? stages.aiv_mte2 + stages.vector + stages.mte3
                                         : std::max({stages.aiv_mte2, stages.vector, stages.mte3});
    }
    return cycles;
}

// Cycles until every pipe has started: the first tile passes them one after another.
inline double gemm_head(const GemmJob& job, const GemmTiling& tiling, bool vector) {
    const MoveTable& move = *job.epilogue.job.move;
    const auto load = [&](const Move& head, int64_t cores) {
        return head.a + head.b * static_cast<double>(cores);
    };
    double cycles = move.head_kernel.a + load(move.head_load_large, tiling.block_dim) + move.head_store.a;
    if (job.path == Path::coupled || vector) cycles += move.head_vector.a;
    if (job.path != Path::split || !vector) return cycles;
    const int64_t bytes = tiling.ub_rows * std::min(tiling.tile_n, job.gemm.n) * width(job.epilogue.leaves);
    const bool small = static_cast<double>(bytes) < move.load_small_limit.a;
    return cycles + move.head_store.a +
           load(small ? move.head_load_small : move.head_load_large,
                tiling.block_dim * vectors_per_cube(job.soc));
}

// Bytes of A and B through GM. Tiles run along n first: each core sweeps B while it keeps its rows of A. An A
// that the batches share (a convolution's weight) stays in L2 between them, or comes again for each.
inline double operand_bytes(const GemmJob& job, const GemmTiling& tiling) {
    const double left = static_cast<double>(job.gemm.left.elements * job.in_width);
    const double right = static_cast<double>(job.gemm.right.elements * job.in_width);
    const int64_t across = (job.gemm.n + tiling.tile_n - 1) / tiling.tile_n;
    const int64_t own = std::min(tiling.tasks_per_core, tiling.tasks / job.gemm.batch);
    const double l2 = static_cast<double>(job.soc.l2_size);
    const double rows = static_cast<double>(tiling.block_dim * tiling.tile_m * job.padded_k() * job.in_width);
    const double kept = std::min(rows, left);
    const double one = static_cast<double>(job.gemm.n * job.gemm.k * job.in_width);
    const double uses = static_cast<double>(job.gemm.batch * job.gemm.m * job.gemm.k) /
                        static_cast<double>(job.gemm.left.elements);
    const double again = left + one <= l2 ? 1 : uses;
    if (kept + one <= l2) return left * again + right;
    const double sweeps = static_cast<double>((own + across - 1) / across);
    return right * sweeps + left * again * (kept <= l2 ? 1 : static_cast<double>(std::min(own, across)));
}

// Bytes through GM of all cores. What split chips write and read back stays in L2 when two tiles a core fit
// it.
inline double gemm_bytes(const GemmJob& job, const GemmTiling& tiling, const TileClasses& classes,
                         unsigned apart) {
    const Epilogue& epilogue = job.epilogue;
    const auto elements = static_cast<double>(job.gemm.batch * job.gemm.m * job.gemm.n);
    const double w = width(epilogue.leaves);
    double bytes = operand_bytes(job, tiling) + static_cast<double>(job.gemm.n * epilogue.bias_width);
    for (const auto& load : epilogue.loads)
        bytes += static_cast<double>(epilogue.job.grid.values[static_cast<size_t>(load.value)].bytes());
    for (const auto& store : epilogue.stores)
        bytes += static_cast<double>(epilogue.job.grid.values[static_cast<size_t>(store.value)].bytes());
    for (const auto& copy : epilogue.copies) bytes += copy.moved();
    bytes += static_cast<double>(epilogue.stored) * elements * w;
    double written = 0;  // products of tiles that are not fused, to GM and back
    for (const auto& one : classes)
        if (one.in(apart)) written += static_cast<double>(one.count * one.rows * one.cols) * w;
    bytes += written * (epilogue.stored > 0 ? 1 : 2);
    const double tiles = static_cast<double>(2 * tiling.block_dim * tiling.tile_m * tiling.tile_n) * w;
    if (job.path == Path::split && epilogue.vector && tiles > static_cast<double>(job.soc.l2_size))
        bytes += (elements * w - written) * (epilogue.stored > 0 ? 1 : 2);
    return bytes;
}

// The share of GM bandwidth that `cores` cube cores reach, as the fit of a vector core's loads has it: a + b
// / cores each.
inline double bandwidth_share(const GemmJob& job, int64_t cores) {
    const Move& load = job.epilogue.job.move->load;
    const double vectors = static_cast<double>(vectors_per_cube(job.soc));
    const auto all = [&](int64_t count) { return load.a * static_cast<double>(count) * vectors + load.b; };
    return std::min(1.0, all(cores) / all(job.soc.cube_cores()));
}

// Fewer cores than all do not draw all of the bandwidth when they load A and B.
inline double hbm_us(const GemmJob& job, const GemmTiling& tiling, double bytes) {
    const double operands = operand_bytes(job, tiling) / bandwidth_share(job, tiling.block_dim);
    return std::max(bytes, operands) / job.soc.hbm_bytes_per_s() * 1e6;
}

inline void name_bound(GemmCost& cost) {
    const std::pair<const char*, double> pipes[] = {{"launch", cost.launch_us + cost.head_us},
                                                    {"hbm", cost.hbm_us},
                                                    {"cube", cost.cube_us},
                                                    {"mte2", cost.mte2_us},
                                                    {"mte1", cost.mte1_us},
                                                    {"fixpipe", cost.fixpipe_us},
                                                    {"vector", cost.vector_us},
                                                    {"mte3", cost.mte3_us},
                                                    {"aiv_mte2", cost.aiv_mte2_us}};
    const auto* slowest = &pipes[0];
    for (const auto& pipe : pipes)
        if (pipe.second > slowest->second) slowest = &pipe;
    cost.bound = slowest->first;
}

// Heads, loads and out of a cube core rest on figures of a vector core; flags on none.
inline double assumed_of(const GemmCost& cost, const Stages& sum, double us, bool move_assumed) {
    const std::string_view bound = cost.bound;
    double slowest = 0;
    if (bound == "mte2" || bound == "fixpipe") slowest = std::max(cost.mte2_us, cost.fixpipe_us);
    if (bound == "vector") slowest = sum.assumed_vector * us;
    if (move_assumed && (bound == "mte3" || bound == "aiv_mte2"))
        slowest = std::max(cost.mte3_us, cost.aiv_mte2_us);
    if (move_assumed) slowest += cost.copy_us;
    return std::min(cost.total_us, cost.head_us + slowest + cost.flag_us + cost.apart_us);
}

// All vector cores copy what is not the node's own, a share each.
inline void add_copies(GemmCost& cost, const GemmJob& job, const GemmTiling& tiling) {
    const Epilogue& epilogue = job.epilogue;
    if (epilogue.copies.empty()) return;
    const MoveTable& move = *epilogue.job.move;
    Tiling shape;
    shape.block_dim = job.path == Path::coupled ? job.soc.cube_cores() : job.soc.vector_cores();
    double load = 0, store = 0;
    for (const auto& copy : epilogue.copies) {
        const auto cycles = copy_cycles(epilogue.job, copy, shape, copy_buffer(tiling.ub_budget));
        load += cycles.first;
        store += cycles.second;
    }
    const double us = 1 / job.soc.cycles_per_us();
    cost.aiv_mte2_us += load * us;
    cost.mte3_us += store * us;
    const bool idle = job.path != Path::coupled && !epilogue.vector;  // they start for the copy alone
    const double heads = move.head_load_large.a +
                         move.head_load_large.b * static_cast<double>(shape.block_dim) + move.head_store.a;
    cost.copy_us = (std::max(load, store) + (idle ? heads : 0)) * us;
}

// The busiest core has tasks_per_core tiles, the largest that there are.
inline GemmCost gemm_cost(const GemmJob& job, const GemmTiling& tiling, unsigned apart,
                          const Relief& relief = {}) {
    const TileClasses classes = classes_of(job.gemm, tiling.tile_m, tiling.tile_n);
    CoreSchedule core(job, tiling, relief);
    int64_t left = tiling.tasks_per_core;
    for (const auto& one : classes) {
        const int64_t count = std::min(one.count, left);
        if (count == 0) continue;
        const bool fused = !one.in(apart);
        core.add(stages_of(job, tiling, one.rows, one.cols, fused), static_cast<double>(count));
        left -= count;
    }
    const double us = 1 / job.soc.cycles_per_us();
    GemmCost cost;
    const Stages& sum = core.sum();
    cost.launch_us = job.bounds.launch_us;
    cost.head_us = gemm_head(job, tiling, job.epilogue.vector) * us;
    cost.mte2_us = sum.mte2 * us;
    cost.mte1_us = sum.mte1 * us;
    cost.cube_us = sum.cube * us;
    cost.fixpipe_us = sum.out * us;
    cost.aiv_mte2_us = sum.aiv_mte2 * us;
    cost.vector_us = (sum.vector - (relief.free_casts ? sum.casts : 0)) * us;
    cost.cast_us = sum.casts * us;
    cost.mte3_us = sum.mte3 * us;
    cost.flag_us = sum.flag * us;
    cost.apart_us = apart_cycles(job, tiling, classes, apart) * us;
    cost.hbm_bytes = gemm_bytes(job, tiling, classes, apart);
    cost.hbm_us = hbm_us(job, tiling, cost.hbm_bytes);
    add_copies(cost, job, tiling);
    const double tiles = core.cycles() * us + cost.apart_us;
    const bool beside = job.path != Path::coupled && !job.epilogue.vector;  // vector cores have nothing else
    const double busy = std::max(beside ? std::max(tiles, cost.copy_us) : tiles + cost.copy_us, cost.hbm_us);
    cost.product_us = std::min(busy, std::max(core.product_cycles() * us, hbm_us(job, tiling, 0)));
    cost.epilogue_us = busy - cost.product_us;
    cost.total_us = cost.launch_us + cost.head_us + busy;
    name_bound(cost);
    cost.assumed_us = assumed_of(cost, sum, us, job.epilogue.job.rates_assumed);
    return cost;
}

}  // namespace ascend_fuse
