// Fuse or not: the fused program against its parts, each a launch of its own.
#pragma once

#include <cmath>
#include <cstdio>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "bind.h"
#include "tiling.h"

namespace ascend_fuse {

// What the gain is made of, µs; the five sum to it. Negative: fusing costs there.
struct Gain {
    double launch_us = 0, head_us = 0;
    double product_us = 0;   // negative when tiles had to get tighter
    double epilogue_us = 0;  // traffic and vector work
    double overlap_us = 0;   // of launches on two streams, which one launch gives up
};

// The largest term on the verdict's side; on a no whose terms all gain, the bar that they miss.
inline std::string deciding(const Gain& gain, bool fuse) {
    const std::pair<const char*, double> terms[] = {{"launch", gain.launch_us},
                                                    {"heads", gain.head_us},
                                                    {"product", gain.product_us},
                                                    {"epilogue", gain.epilogue_us},
                                                    {"overlap", gain.overlap_us}};
    const auto* found = &terms[0];
    for (const auto& term : terms)
        if (fuse ? term.second > found->second : term.second < found->second) found = &term;
    return !fuse && found->second >= 0 ? "min_gain" : found->first;
}

struct Verdict {
    bool fuse = false;
    std::string code;  // a reason code of docs/design/0001; empty when fuse
    std::string message;
    std::string decides;  // the term that decides: of `gain`, cores, casts, min_gain; UB; dtype; op
    double before_us = 0, after_us = 0;
    double before_bytes = 0, after_bytes = 0;
    double assumed_share = 0;  // of before_us + after_us
    int64_t cores_before = 0, cores_after = 0;
    int64_t need_bytes = 0, ub_budget = 0;  // ub-overflow: of the smallest tile
    double without_us = 0;                  // after_us without the deciding term
    Gain gain;                              // without product and overlap
    Tiling tiling;
    Cost cost;

    double gain_us() const { return before_us - after_us; }
};

// One program of a candidate and the sizes of its symbols; of what is launched today also the time, where it
// was measured.
struct Part {
    const Program* program = nullptr;
    std::vector<int64_t> sizes;
    std::optional<double> measured_us = {};
};

inline std::optional<Error> check_measured(const std::vector<Part>& parts) {
    for (size_t i = 0; i < parts.size(); ++i)
        if (const auto us = parts[i].measured_us; us && !(std::isfinite(*us) && *us >= 0))
            return Error{0, "part " + std::to_string(i) + ": measured_us is " + std::to_string(*us)};
    return std::nullopt;
}

inline std::string figure(double value) {
    char text[32];
    std::snprintf(text, sizeof text, "%.2f", value);
    return text;
}

// Bytes through GM and time of a node that has a kernel of its own: launch + the slower of memory and cube.
// The cube multiplies cube_m * cube_n * cube_k fp16 per cycle and core, int8 twice as deep, fp32 a quarter
// (1/16 on 3510); 1001 and 2002 have no fp32 cube and convert to fp16 (assumed).
inline double opaque_us(double bytes, double macs, Dtype dtype, const Soc& soc, const Bounds& bounds) {
    double depth = static_cast<double>(soc.cube_k);
    if (width(dtype) == 1) depth *= 2;
    if (dtype == Dtype::f32 && soc.npu_arch == 3510) depth /= 16;
    if (dtype == Dtype::f32 && soc.npu_arch == 2201) depth /= 4;
    const double per_us =
        static_cast<double>(soc.cube_m * soc.cube_n * soc.cube_cores()) * depth * soc.cycles_per_us();
    return bounds.launch_us + std::max(bytes / soc.hbm_bytes_per_s() * 1e6, macs / per_us);
}

// Time, bytes and cores of one launch of the program as it is; a program that fits no tile is taken as one
// sweep over GM by an unknown kernel.
inline Solution price(const Program& program, Grid grid, const Soc& soc, const Bounds& bounds) {
    const Job job = make_job(program, std::move(grid), soc, unreserved(bounds));
    const auto solution = job.grid.misplaced.empty() ? solve(job) : std::nullopt;
    if (solution) return *solution;
    Solution sweep;
    for (size_t id = 0; id < job.grid.values.size(); ++id)
        if (job.whole.reads[id] || job.whole.writes[id])
            sweep.cost.hbm_bytes += static_cast<double>(job.grid.values[id].bytes());
    for (const auto& copy : job.grid.copies) sweep.cost.hbm_bytes += copy.moved();
    sweep.cost.launch_us = bounds.launch_us;
    sweep.cost.hbm_us = sweep.cost.hbm_bytes / soc.hbm_bytes_per_s() * 1e6;
    sweep.cost.total_us = sweep.cost.launch_us + sweep.cost.hbm_us;
    sweep.cost.assumed_us = sweep.cost.hbm_us;
    sweep.cost.bound = sweep.cost.hbm_us > bounds.launch_us ? Limit::hbm : Limit::launch;
    sweep.tiling.block_dim = soc.vector_cores();
    return sweep;
}

inline bool pays(const Verdict& verdict, double after_us, const Bounds& bounds) {
    const double wanted = std::max(bounds.min_gain * verdict.before_us, bounds.min_gain_us);
    return verdict.before_us - after_us >= wanted;
}

inline Verdict refuse(Verdict verdict, const char* code, const std::string& decides, std::string message) {
    verdict.code = code;
    verdict.decides = decides;
    verdict.message = std::move(message);
    return verdict;
}

// Names the term that decides a no, by estimating again without it.
inline Verdict explain_no(Verdict verdict, const Job& job) {
    const std::string times =
        figure(verdict.before_us) + " us before, " + figure(verdict.after_us) + " us after";
    if (verdict.cores_after < verdict.cores_before) {
        const auto spread = solve(job, Relief{false, verdict.cores_before});
        if (spread && pays(verdict, spread->cost.total_us, job.bounds)) {
            verdict.without_us = spread->cost.total_us;
            return refuse(verdict, "parallelism-lost", "cores",
                          std::to_string(verdict.cores_after) + " cores work where " +
                              std::to_string(verdict.cores_before) + " did: " + times);
        }
    }
    if (verdict.cost.cast_us > 0) {
        const auto plain = solve(job, Relief{true, 0});
        if (plain && pays(verdict, plain->cost.total_us, job.bounds)) {
            verdict.without_us = plain->cost.total_us;
            return refuse(verdict, "conversion-cost", "casts",
                          "conversions take " + figure(verdict.cost.cast_us) + " us: " + times);
        }
    }
    return refuse(verdict, "no-gain", deciding(verdict.gain, false),
                  times + ", gain " + figure(verdict.gain_us()) + " us, wanted " +
                      figure(std::max(job.bounds.min_gain * verdict.before_us, job.bounds.min_gain_us)) +
                      " us");
}

// Adds a launch to the terms of the gain: before with sign 1, after with -1.
inline void add_launch(Gain& gain, const Cost& cost, double sign) {
    gain.launch_us += sign * cost.launch_us;
    gain.head_us += sign * cost.head_us;
    gain.epilogue_us += sign * (cost.total_us - cost.launch_us - cost.head_us);
}

// The cost as it was measured: its launch and pipe heads are estimates all the same, as far as the time
// reaches.
template <class AnyCost>
AnyCost as_measured(AnyCost cost, const std::optional<double>& measured_us) {
    if (!measured_us) return cost;
    cost.total_us = *measured_us;
    cost.launch_us = std::min(cost.launch_us, cost.total_us);
    cost.head_us = std::min(cost.head_us, cost.total_us - cost.launch_us);
    cost.assumed_us = 0;
    return cost;
}

// Adds what the parts cost on their own: measured where that is known, else estimated.
inline std::optional<Error> add_parts(Verdict& verdict, double& assumed_us, const std::vector<Part>& parts,
                                      const Soc& soc, const Bounds& bounds) {
    for (size_t i = 0; i < parts.size(); ++i) {
        auto grid = bind(*parts[i].program, parts[i].sizes);
        if (!grid) return Error{0, "part " + std::to_string(i) + ": " + grid.error().text()};
        const Solution alone = price(*parts[i].program, std::move(*grid), soc, bounds);
        const Cost own = as_measured(alone.cost, parts[i].measured_us);
        verdict.before_us += own.total_us;
        verdict.before_bytes += own.hbm_bytes;
        add_launch(verdict.gain, own, 1);
        assumed_us += own.assumed_us;
        verdict.cores_before = std::max(verdict.cores_before, alone.tiling.block_dim);
    }
    return std::nullopt;
}

// An error means that sizes do not fit a program; every no is a verdict.
inline Result<Verdict> judge(const Part& fused, const std::vector<Part>& parts, const Soc& soc,
                             const Bounds& bounds) {
    if (auto error = check(bounds)) return *error;
    auto grid = bind(*fused.program, fused.sizes);
    if (!grid) return grid.error();
    if (auto error = check_measured(parts)) return *error;
    Verdict verdict;
    double assumed_us = 0;
    if (auto error = add_parts(verdict, assumed_us, parts, soc, bounds)) return *error;
    if (const auto refusal = unsupported(*fused.program, *grid, soc))
        return refuse(verdict, refusal->code.c_str(), refusal->decides, refusal->message);
    const Job job = make_job(*fused.program, std::move(*grid), soc, bounds);
    Overflow overflow;
    const auto solution = solve(job, {}, &overflow);
    verdict.need_bytes = overflow.need_bytes;
    verdict.ub_budget = overflow.ub_budget;
    if (!solution)
        return refuse(verdict, "ub-overflow", "UB",
                      "the smallest tile needs " + std::to_string(overflow.need_bytes) + " B, UB has " +
                          std::to_string(overflow.ub_budget) + " B");
    verdict.tiling = solution->tiling;
    verdict.cost = solution->cost;
    verdict.after_us = solution->cost.total_us;
    verdict.after_bytes = solution->cost.hbm_bytes;
    verdict.cores_after = solution->tiling.block_dim;
    add_launch(verdict.gain, solution->cost, -1);
    verdict.assumed_share = (assumed_us + solution->cost.assumed_us) / (verdict.before_us + verdict.after_us);
    if (!pays(verdict, verdict.after_us, bounds)) return explain_no(verdict, job);
    verdict.fuse = true;
    verdict.decides = deciding(verdict.gain, true);
    verdict.message = "saves " + figure(verdict.gain_us()) + " of " + figure(verdict.before_us) + " us";
    return verdict;
}

// Tiling and cost of one launch, by whatever kernel; the error says what does not fit or which dtype the chip
// lacks.
inline Result<Solution> estimate(const Part& part, const Soc& soc, const Bounds& bounds) {
    if (auto error = check(bounds)) return *error;
    auto grid = bind(*part.program, part.sizes);
    if (!grid) return grid.error();
    if (const auto refusal = unsupported_dtype(*part.program, soc)) return wrong(refusal->message);
    if (!grid->misplaced.empty()) return wrong(grid->misplaced);
    Overflow overflow;
    const auto solution = solve(make_job(*part.program, std::move(*grid), soc, bounds), {}, &overflow);
    if (!solution)
        return wrong("ub-overflow: the smallest tile needs " + std::to_string(overflow.need_bytes) +
                     " B, UB has " + std::to_string(overflow.ub_budget) + " B");
    return *solution;
}

}  // namespace ascend_fuse
