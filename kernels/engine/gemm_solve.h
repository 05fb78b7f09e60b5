// The fastest tiling of a product with its epilogue that fits every buffer.
#pragma once

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "gemm_cost.h"

namespace ascend_fuse {

struct GemmSolution {
    GemmTiling tiling;
    GemmCost cost;
};

// A best-first search: tiles by what they cost at least, until the next costs more than the best found.
class GemmSearch {
  public:
    GemmSearch(const GemmJob& job, const Relief& relief) : job_(job), relief_(relief) {}

    void run() {
        const auto sides_m = side_ladder(job_.gemm.m, std::max(job_.soc.cube_m, job_.unit_k));
        const auto sides_n = side_ladder(job_.gemm.n, std::max(job_.soc.cube_n, job_.unit_k));
        for (const int64_t m : sides_m)
            for (const int64_t n : sides_n)
                for (const int64_t c_buffers : {2, 1})
                    for (const int64_t buffers : {2, 1}) propose(m, n, c_buffers, buffers);
        const auto less = [](const Candidate& a, const Candidate& b) { return a.least_us() < b.least_us(); };
        std::stable_sort(candidates_.begin(), candidates_.end(), less);
        for (const auto& candidate : candidates_) {
            if (candidate.least_us() >= limit()) break;
            try_tile(candidate);
        }
    }

    const std::optional<GemmSolution>& best() const { return best_; }
    // Of the last candidate, the smallest tile.
    const GemmOverflow& overflow() const { return overflow_; }

  private:
    struct Candidate {
        GemmTiling tiling;
        double fused_us = 0, hybrid_us = 0;  // at least, with all classes fused or some apart

        double least_us() const { return std::min(fused_us, hybrid_us); }
    };

    void propose(int64_t m, int64_t n, int64_t c_buffers, int64_t buffers) {
        GemmTiling tiling;
        tiling.tile_m = m;
        tiling.tile_n = n;
        tiling.c_buffers = c_buffers;
        tiling.buffer_num = buffers;
        GemmOverflow lack;
        if (!place(job_, tiling, lack)) {
            overflow_ = lack;
            return;
        }
        tiling.ub_rows = ub_ladder(job_, std::min(m, job_.gemm.m)).back();
        tiling.ub_bytes = epilogue_bytes(job_, tiling.ub_rows, n, buffers);
        if (tiling.ub_bytes > tiling.ub_budget) {
            overflow_ = GemmOverflow{"UB", tiling.ub_bytes, tiling.ub_budget};
            return;
        }
        spread(tiling, job_);
        candidates_.push_back(bounded(std::move(tiling)));
    }

    void try_tile(const Candidate& candidate) {
        GemmTiling tiling = candidate.tiling;
        tiling.ub_rows = 0;
        if (!job_.uses_ub()) {
            offer(tiling, 0);
            return;
        }
        for (const int64_t rows :
             ub_ladder(job_, rows_per_vector(job_, std::min(tiling.tile_m, job_.gemm.m)))) {
            tiling.ub_rows = rows;
            tiling.ub_bytes = epilogue_bytes(job_, rows, tiling.tile_n, tiling.buffer_num);
            if (tiling.ub_bytes > tiling.ub_budget) continue;
            if (candidate.fused_us < limit()) offer(tiling, 0);
            if (candidate.hybrid_us < limit()) try_apart(tiling);
        }
    }

    double limit() const { return best_ ? best_->cost.total_us : 1e300; }

    // What the busiest core needs at least: its slowest pipe, with the vector stage in one go or apart.
    Candidate bounded(GemmTiling tiling) const {
        Candidate candidate{tiling, 0, 1e300};
        const double head =
            gemm_head(job_, tiling, job_.epilogue.vector);  // with ub_rows 1: the smaller head
        int64_t left = tiling.tasks_per_core;
        double product = 0, all = 0, drain = 0;
        size_t classes = 0;
        for (const auto& one : classes_of(job_.gemm, tiling.tile_m, tiling.tile_n)) {
            classes += one.count > 0 ? 1 : 0;
            const int64_t count = std::min(one.count, left);
            if (count == 0) continue;
            tiling.ub_rows = one.rows;
            const Stages stages = stages_of(job_, tiling, one.rows, one.cols, true);
            const double own = std::max({stages.mte2, stages.mte1, stages.cube});
            const double vector =
                relief_.cores > 0 ? 0 : stages.vector - (relief_.free_casts ? stages.casts : 0);
            const double moves = relief_.cores > 0 ? 0 : std::max(stages.aiv_mte2, stages.mte3);
            const double most = std::max(vector, moves), step = std::max({own, stages.out, most});
            product += static_cast<double>(count) * own;
            all += static_cast<double>(count) * step;
            drain = std::max(drain, own + stages.out + stages.flag + most - step);
            left -= count;
        }
        const TileClasses all_classes = classes_of(job_.gemm, tiling.tile_m, tiling.tile_n);
        const double moved = hbm_us(job_, tiling, gemm_bytes(job_, tiling, all_classes, 0));
        const double us = 1 / job_.soc.cycles_per_us();
        const double start = job_.bounds.launch_us + head * us;
        candidate.fused_us = start + std::max((all + drain) * us, moved);
        // In a coupled core nothing is gained by tails apart: the cube and the vector unit share them anyway.
        if (classes > 1 && job_.epilogue.vector && job_.path != Path::coupled)
            candidate.hybrid_us = start + std::max((product + job_.cube->sync) * us, moved);
        return candidate;
    }

    // Tails that the busiest core has, apart: their epilogue then spreads over all cores. The largest class
    // stays fused (else hardly anything would stay on chip): whether it should is the verdict's question.
    void try_apart(const GemmTiling& tiling) {
        unsigned tails = 0;
        bool largest = true;
        int64_t left = tiling.tasks_per_core;
        for (const auto& one : classes_of(job_.gemm, tiling.tile_m, tiling.tile_n)) {
            if (one.count == 0) continue;
            if (left > 0 && !largest) tails |= one.bit;
            largest = false;
            left -= one.count;
        }
        for (unsigned apart = 1; apart < 16; ++apart)
            if ((apart & ~tails) == 0) offer(tiling, apart);
    }

    void offer(const GemmTiling& tiling, unsigned apart) {
        const GemmCost cost = gemm_cost(job_, tiling, apart, relief_);
        if (cost.total_us >= limit()) return;
        best_ = GemmSolution{tiling, cost};
        best_->tiling.fuse_tiles.clear();
        if (job_.epilogue.program.instrs.empty() && job_.epilogue.ride.last == 0) return;
        for (const auto& one : classes_of(job_.gemm, tiling.tile_m, tiling.tile_n))
            if (one.count > 0 && !one.in(apart)) best_->tiling.fuse_tiles += one.letter;
    }

    const GemmJob& job_;
    Relief relief_;
    std::vector<Candidate> candidates_;
    std::optional<GemmSolution> best_;
    GemmOverflow overflow_;
};

inline std::string ride_text(const Ride& ride) {
    std::string text;
    for (const auto& [on, word] :
         {std::pair(ride.bias, "bias"), std::pair(ride.relu, "relu"), std::pair(ride.cast, "cast")})
        if (on) text += (text.empty() ? "" : " ") + std::string(word);
    return text;
}

// The matmul program, ready to be tiled in one of its forms.
inline Result<GemmJob> make_gemm_job(const Program& program, const std::vector<int64_t>& sizes,
                                     const Gemm& gemm, const Ride& ride, const Soc& soc,
                                     const Bounds& bounds) {
    auto epilogue = make_epilogue(program, sizes, ride, soc, bounds);
    if (!epilogue) return epilogue.error();
    GemmJob job;
    job.gemm = gemm;
    job.soc = soc;
    job.bounds = bounds;
    job.epilogue = std::move(*epilogue);
    job.cube = &cube_table(soc.npu_arch);
    job.path = path_of(soc);
    const auto depth = job.cube->depth.find(gemm.in);
    job.depth = depth == job.cube->depth.end() ? 0 : depth->second * static_cast<double>(soc.cube_k);
    job.in_width = width(gemm.in);
    job.unit_k = std::max<int64_t>(16, align_bytes / job.in_width);
    return job;
}

// With what FixPipe can take, then with the bias left to the vector unit (a bias table holds few columns,
// that of 910B none of bf16).
inline std::vector<Ride> rides_of(const Program& program, const Soc& soc) {
    if (path_of(soc) == Path::coupled) return {Ride{}};
    const bool table = soc.bf16_bias_table() || program.instrs.front().type.dtype != Dtype::bf16;
    std::vector<Ride> rides{ride_of(program, table)};
    if (rides.front().bias) rides.push_back(ride_of(program, false));
    return rides;
}

// Precondition: the chip's cube takes the operands' dtype.
inline Result<std::optional<GemmSolution>> solve_gemm(const Program& program,
                                                      const std::vector<int64_t>& sizes, const Gemm& gemm,
                                                      const Soc& soc, const Bounds& bounds,
                                                      const Relief& relief = {},
                                                      GemmOverflow* overflow = nullptr) {
    std::optional<GemmSolution> best;
    for (const Ride& ride : rides_of(program, soc)) {
        const auto job = make_gemm_job(program, sizes, gemm, ride, soc, bounds);
        if (!job) return job.error();
        GemmSearch search(*job, relief);
        search.run();
        if (overflow) *overflow = search.overflow();
        if (!search.best() || (best && best->cost.total_us <= search.best()->cost.total_us)) continue;
        best = search.best();
        best->tiling.ride = ride_text(ride);
    }
    return best;
}

// One choice of the tile classes that run fused, and its time with the tiles that `solve_gemm` took.
struct ClassChoice {
    std::string fuse_tiles;
    double total_us = 0;
};

// Every choice, all classes first; the solver takes the best of those that hold the largest class.
inline std::vector<ClassChoice> class_choices(const GemmJob& job, const GemmTiling& tiling) {
    const TileClasses classes = classes_of(job.gemm, tiling.tile_m, tiling.tile_n);
    unsigned present = 0;
    for (const auto& one : classes) present |= one.count > 0 ? one.bit : 0;
    std::vector<ClassChoice> choices;
    for (unsigned apart = 0; apart < 16; ++apart) {
        if ((apart & ~present) != 0) continue;
        ClassChoice choice;
        for (const auto& one : classes)
            if (one.count > 0 && !one.in(apart)) choice.fuse_tiles += one.letter;
        choice.total_us = gemm_cost(job, tiling, apart).total_us;
        choices.push_back(std::move(choice));
    }
    return choices;
}

}  // namespace ascend_fuse
