// Runs a kernel on the cores of a launch: apart, by blocks, or together.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "cross.h"
#include "race.h"

namespace ascend_fuse::emulator {

using KernelEntry = void (*)(uint8_t* launch, uint8_t* tensors);
// Calls the body for each index below n, on whatever threads there are.
using ParallelFor = std::function<void(size_t n, const std::function<void(size_t)>& body)>;

inline void serial_for(size_t n, const std::function<void(size_t)>& body) {
    for (size_t i = 0; i < n; ++i) body(i);
}

// What is wrong at the end of a kernel.
inline void check_end(const Core& in) {
    check_left_over(in);
    for (const auto& [event, states] : in.events)
        for (const auto& state : states)
            if (state.set && state.owner != EventOwner::queue)
                fail(FaultKind::event_left_over, "an event is set and never waited for", state.at);
    if (!in.dirty.empty())
        fail(FaultKind::gm_not_cleaned, "a scalar store to GM is still in the data cache at the end",
             in.dirty.begin()->second.at);
}

inline void run_core(Core& on, KernelEntry kernel, void* launch, void* tensors) {
    Core* const before = running;
    running = &on;
    try {
        kernel(static_cast<uint8_t*>(launch), static_cast<uint8_t*>(tensors));
        check_end(on);
    } catch (const Fault& fault) {
        on.fault = fault.text;
    } catch (const NeedsAll&) {
        on.launch->needs_all = true;
    } catch (const std::exception& error) {
        on.fault = std::string(fault_name(FaultKind::kernel_failed)) + ": " + error.what();
    }
    running = before;
}

// What one core did.
struct Outcome {
    std::string fault;
    std::array<int64_t, pipes> instructions{};
    std::array<uint32_t, spaces> peaks{};
    Trace trace;
    bool needs_all = false;
};

inline Outcome outcome_of(Core& core) {
    Outcome outcome;
    outcome.fault = core.fault;
    outcome.instructions = core.instructions;
    outcome.peaks = core.peak;
    outcome.trace = {core.name(), std::move(core.accesses), std::move(core.states)};
    return outcome;
}

// Cores of earlier launches of the thread, kept for their memories.
inline Core& pooled_core(size_t at) {
    thread_local std::vector<std::unique_ptr<Core>> pool;
    while (pool.size() <= at) pool.push_back(std::make_unique<Core>());
    return *pool[at];
}

// Cores that do not wait for each other: vector cores of a split chip, whole cores of another.
inline std::vector<Outcome> run_apart(Launch& state, KernelEntry kernel, void* launch, void* tensors,
                                      const ParallelFor& parallel_for) {
    std::vector<Outcome> outcomes(static_cast<size_t>(state.block_dim));
    parallel_for(outcomes.size(), [&](size_t block) {
        Core& on = pooled_core(0);
        on.begin(state, static_cast<int64_t>(block), static_cast<int>(block), !state.chip.split, true, 0);
        run_core(on, kernel, launch, tensors);
        outcomes[block] = outcome_of(on);
    });
    return outcomes;
}

// The cores of `blocks` blocks from `first` on, which wait for each other: on split chips a cube core and its
// vector cores each.
inline std::vector<Outcome> run_blocks(Launch state, int64_t first, int64_t blocks, KernelEntry kernel,
                                       void* launch, void* tensors) {
    const int vectors = state.chip.split ? state.chip.vector_per_cube : 0;
    std::vector<std::function<void()>> bodies;
    for (int64_t block = first; block < first + blocks; ++block)
        for (int part = 0; part <= vectors; ++part) {
            const size_t number = state.cores.size();
            Core& on = pooled_core(number);
            const bool cube = part == 0;
            on.begin(state, cube ? block : block * vectors + part - 1, static_cast<int>(number), cube,
                     !cube || !state.chip.split, cube ? 0 : part - 1);
            state.cores.push_back(&on);
            bodies.push_back([&on, kernel, launch, tensors] { run_core(on, kernel, launch, tensors); });
        }
    Scheduler scheduler;
    state.scheduler = &scheduler;
    scheduler.run(bodies);
    std::vector<Outcome> outcomes;
    for (Core* core : state.cores) {
        for (const auto& flag : core->flags)
            if (core->fault.empty() && !flag.empty())
                core->fault = std::string(fault_name(FaultKind::cross_core_flag)) + ": " + core->name() +
                              " of kernel " + state.kernel + " ends with a flag that it did not wait for";
        outcomes.push_back(outcome_of(*core));
        Trace& trace = outcomes.back().trace;
        trace.first = first * (1 + vectors);
        for (auto& access : trace.accesses) access.core += static_cast<int32_t>(trace.first);
        outcomes.back().needs_all = state.needs_all;
    }
    return outcomes;
}

// The cores of a mixed launch: block by block, on all threads; or, where one waits for other blocks,
// together.
inline std::vector<Outcome> run_mixed(Launch& state, KernelEntry kernel, void* launch, void* tensors,
                                      const ParallelFor& parallel_for) {
    const int64_t blocks = state.block_dim;
    state.alone = blocks > 1;
    std::vector<std::vector<Outcome>> parts(static_cast<size_t>(blocks));
    parallel_for(parts.size(), [&](size_t block) {
        parts[block] = run_blocks(state, static_cast<int64_t>(block), 1, kernel, launch, tensors);
    });
    std::vector<Outcome> outcomes;
    for (auto& part : parts) std::move(part.begin(), part.end(), std::back_inserter(outcomes));
    const auto needs_all = [](const Outcome& outcome) { return outcome.needs_all; };
    if (std::none_of(outcomes.begin(), outcomes.end(), needs_all)) return outcomes;
    // From the beginning, as if nothing had been written: kernels read nothing that they did not write
    // before.
    for (auto& region : state.regions) region = std::make_shared<RegionState>(region->region());
    state.alone = false;
    return run_blocks(state, 0, blocks, kernel, launch, tensors);
}

}  // namespace ascend_fuse::emulator
