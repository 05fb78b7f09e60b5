// Fuse a product with what follows it or not: one launch against the product alone and a launch for each
// part.
#pragma once

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "lower_gemm.h"

namespace ascend_fuse {

struct GemmVerdict {
    bool fuse = false;
    std::string code;  // a reason code of docs/design/0001; empty when fuse
    std::string message;
    std::string decides;  // the term that decides: launch, heads, product, epilogue; a buffer; dtype; op; …
    double before_us = 0, after_us = 0;
    double before_bytes = 0, after_bytes = 0;
    double assumed_share = 0;
    double without_us = 0;                      // after_us without the deciding term
    int64_t cores_before = 0, cores_after = 0;  // vector cores
    int64_t need_bytes = 0, budget_bytes = 0;   // of `decides`, when a buffer does
    Gain gain;
    GemmTiling tiling, alone_tiling;  // fused; the product alone
    GemmCost cost, alone_cost;

    double gain_us() const { return before_us - after_us; }
};

inline std::string overflow_code(const std::string& buffer) {
    return buffer == "UB" ? "ub-overflow" : buffer == "L1" ? "l1-overflow" : "l0-overflow";
}

inline GemmVerdict refuse(GemmVerdict verdict, const Refusal& refusal) {
    verdict.code = refusal.code;
    verdict.message = refusal.message;
    verdict.decides = refusal.decides;
    return verdict;
}

inline bool pays(const GemmVerdict& verdict, double after_us, const Bounds& bounds) {
    return verdict.before_us - after_us >= std::max(bounds.min_gain * verdict.before_us, bounds.min_gain_us);
}

struct GemmCase {
    const Program* program = nullptr;
    const std::vector<int64_t>* sizes = nullptr;
    Gemm gemm;
    Soc soc;
    Bounds bounds;
};

// After_us without one term, when it would pay then.
inline std::optional<double> relieved(const GemmCase& at, const GemmVerdict& verdict, const Relief& relief) {
    const auto own = solve_gemm(*at.program, *at.sizes, at.gemm, at.soc, at.bounds, relief);
    if (!own || !*own || !pays(verdict, (*own)->cost.total_us, at.bounds)) return std::nullopt;
    return (*own)->cost.total_us;
}

inline GemmVerdict explain_no(GemmVerdict verdict, const GemmCase& at) {
    const std::string times =
        figure(verdict.before_us) + " us before, " + figure(verdict.after_us) + " us after";
    const double wanted = std::max(at.bounds.min_gain * verdict.before_us, at.bounds.min_gain_us);
    const double serial_us =
        verdict.gain_us() - verdict.gain.overlap_us;  // gained if launches did not overlap
    if (verdict.gain.overlap_us < 0 && serial_us >= wanted)
        return refuse(verdict, {"parallelism-lost",
                                "on two streams " + figure(-verdict.gain.overlap_us) +
                                    " us of the launches overlap: " + times,
                                "overlap"});
    if (verdict.cores_after < verdict.cores_before)
        if (const auto us = relieved(at, verdict, Relief{false, verdict.cores_before})) {
            verdict.without_us = *us;
            return refuse(verdict, {"parallelism-lost",
                                    std::to_string(verdict.cores_after) + " vector cores work where " +
                                        std::to_string(verdict.cores_before) + " did: " + times,
                                    "cores"});
        }
    if (verdict.cost.cast_us > 0)
        if (const auto us = relieved(at, verdict, Relief{true, 0})) {
            verdict.without_us = *us;
            return refuse(verdict,
                          {"conversion-cost",
                           "conversions take " + figure(verdict.cost.cast_us) + " us: " + times, "casts"});
        }
    return refuse(verdict, {"no-gain", times + ", wanted " + figure(wanted) + " us less",
                            deciding(verdict.gain, false)});
}

inline void compare(GemmVerdict& verdict, const Before& before, const GemmSolution& own, const Soc& soc) {
    verdict.tiling = own.tiling;
    verdict.cost = own.cost;
    verdict.after_us = own.cost.total_us;
    verdict.after_bytes = own.cost.hbm_bytes;
    const int64_t cores = own.tiling.block_dim * vectors_per_cube(soc);
    verdict.cores_after = own.tiling.ub_rows > 0 ? cores : verdict.cores_before;
    verdict.assumed_share =
        (before.assumed_us + own.cost.assumed_us) / (verdict.before_us + verdict.after_us);
    verdict.gain = Gain{before.launch_us - own.cost.launch_us, before.head_us - own.cost.head_us,
                        before.product_us - own.cost.product_us, before.epilogue_us - own.cost.epilogue_us,
                        verdict.before_us - before.serial_us()};
}

// Whether one launch of `fused`, a matmul program, beats a launch for each of `parts`, one of which is the
// product alone. An error means that sizes do not fit a program; every no is a verdict.
inline Result<GemmVerdict> judge_gemm(const Part& fused, const std::vector<Part>& parts, const Soc& soc,
                                      const Bounds& bounds) {
    if (auto error = check(bounds)) return *error;
    if (fused.program->family != Family::matmul) return wrong("wanted a matmul program");
    const auto gemm = bind_gemm(*fused.program, fused.sizes);
    if (!gemm) return gemm.error();
    GemmVerdict verdict;
    const auto before = price_parts(parts, soc, bounds);
    if (!before) return before.error();
    verdict.before_us = before->total_us(soc, bounds);
    verdict.before_bytes = before->bytes;
    verdict.cores_before = before->vector_cores;
    verdict.alone_tiling = before->alone.tiling;
    verdict.alone_cost = before->alone.cost;
    if (const auto refusal = refusal_of(*fused.program, soc)) return refuse(verdict, *refusal);
    if (const auto refusal = scattered(*fused.program, fused.sizes, *gemm)) return refuse(verdict, *refusal);
    GemmOverflow overflow;
    const auto own = solve_gemm(*fused.program, fused.sizes, *gemm, soc, bounds, {}, &overflow);
    if (!own) return own.error();
    if (!*own) {
        verdict.need_bytes = overflow.need_bytes;
        verdict.budget_bytes = overflow.budget;
        return refuse(verdict, {overflow_code(overflow.buffer),
                                "the smallest tile needs " + std::to_string(overflow.need_bytes) + " B of " +
                                    overflow.buffer + ", which has " + std::to_string(overflow.budget) + " B",
                                overflow.buffer});
    }
    compare(verdict, *before, **own, soc);
    const auto plan = plan_of(*fused.program, fused.sizes, *gemm, **own, soc, bounds);
    if (!plan) return plan.error();
    if (const auto refusal = unsupported(*plan)) return refuse(verdict, *refusal);
    if (!pays(verdict, verdict.after_us, bounds))
        return explain_no(verdict, GemmCase{fused.program, &fused.sizes, *gemm, soc, bounds});
    verdict.fuse = true;
    verdict.decides = deciding(verdict.gain, true);
    verdict.message = "saves " + figure(verdict.gain_us()) + " of " + figure(verdict.before_us) + " us, " +
                      verdict.decides + " most";
    return verdict;
}

// Tiling and cost of one launch, by whatever kernel; the error says what does not fit or which dtype the chip
// lacks.
inline Result<GemmSolution> estimate_gemm(const Part& part, const Soc& soc, const Bounds& bounds) {
    if (auto error = check(bounds)) return *error;
    if (part.program->family != Family::matmul) return wrong("wanted a matmul program");
    const auto gemm = bind_gemm(*part.program, part.sizes);
    if (!gemm) return gemm.error();
    auto refusal = refusal_of(*part.program, soc);
    if (!refusal) refusal = scattered(*part.program, part.sizes, *gemm);
    if (refusal) return wrong(refusal->code + ": " + refusal->message);
    GemmOverflow overflow;
    const auto own = solve_gemm(*part.program, part.sizes, *gemm, soc, bounds, {}, &overflow);
    if (!own) return own.error();
    if (!*own)
        return wrong(overflow_code(overflow.buffer) + ": the smallest tile needs " +
                     std::to_string(overflow.need_bytes) + " B of " + overflow.buffer + ", which has " +
                     std::to_string(overflow.budget) + " B");
    return **own;
}

// What each choice of fused tile classes would cost; empty when nothing vector follows the product.
inline Result<std::vector<ClassChoice>> choices_of(const Part& part, const Soc& soc, const Bounds& bounds) {
    const auto own = estimate_gemm(part, soc, bounds);
    if (!own) return own.error();
    const auto gemm = bind_gemm(*part.program, part.sizes);
    for (const Ride& ride : rides_of(*part.program, soc)) {
        if (ride_text(ride) != own->tiling.ride) continue;
        const auto job = make_gemm_job(*part.program, part.sizes, *gemm, ride, soc, bounds);
        if (!job) return job.error();
        if (job->epilogue.vector) return class_choices(*job, own->tiling);
    }
    return std::vector<ClassChoice>{};
}

}  // namespace ascend_fuse
