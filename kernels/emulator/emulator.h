// Runs a kernel on the cores of an emulated chip. For hosts; kernels include kernel_operator.h.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "block.h"
#include "result.h"
#include "soc.h"

namespace ascend_fuse::emulator {

// GM bytes of one region: raw, and each byte once.
struct TensorTraffic {
    int64_t loaded = 0, stored = 0, distinct_loaded = 0, distinct_stored = 0;
};

// What a launch did, summed over its cores.
struct Counters {
    int64_t launches = 0, loaded_bytes = 0, stored_bytes = 0, ub_peak = 0;
    std::array<int64_t, spaces> peaks{};        // bytes in use at once on a core, by Space
    std::array<int64_t, pipes> instructions{};  // by pipe
    std::vector<TensorTraffic> traffic;         // by region
};

inline Chip chip_of(const Soc& soc) {
    Chip chip;
    chip.arch = static_cast<int>(soc.npu_arch);
    const int64_t sizes[] = {
        soc.ub_size, soc.l1_size, soc.l0_a_size, soc.l0_b_size, soc.l0_c_size, soc.bt_size, 0};
    for (size_t i = 0; i < chip.bytes.size(); ++i) chip.bytes[i] = static_cast<uint32_t>(sizes[i]);
    chip.ub_reserved = static_cast<uint32_t>(soc.ub_reserved());
    chip.split = soc.cube_vector_combine == "split";
    chip.vector_per_cube =
        chip.split ? static_cast<int>(soc.vector_cores() / std::max<int64_t>(1, soc.cube_cores())) : 0;
    return chip;
}

// The first fault; one that is not a deadlock first, for the others wait for the core that it ended.
inline std::string fault_of(const Launch& state, std::vector<Outcome>& outcomes) {
    const std::string deadlock = fault_name(FaultKind::deadlock);
    std::string found;
    for (const auto& outcome : outcomes)
        if (!outcome.fault.empty() && (found.empty() || found.rfind(deadlock, 0) == 0)) found = outcome.fault;
    if (!found.empty()) return found;
    std::vector<Trace> traces;
    for (auto& outcome : outcomes) traces.push_back(std::move(outcome.trace));
    RaceSearch search(traces, state.chip.arch == 3510 ? 128 : 64);
    for (size_t i = 0; i < state.regions.size(); ++i) {
        if (!state.regions[i]->writable) continue;
        const std::string race = search.find(static_cast<int32_t>(i), state.regions[i]->begin);
        if (!race.empty())
            return std::string(fault_name(FaultKind::gm_race)) + ": " + race + "; kernel " + state.kernel;
    }
    return "";
}

// Runs a kernel on `block_dim` blocks. The error is the text of the first fault: what, kernel, core,
// file:line of the call, address. Kernels whose cores wait for each other are `mixed`.
inline Result<Counters> run(KernelEntry kernel, const char* kernel_name, const Soc& soc, int64_t block_dim,
                            bool mixed, void* launch, void* tensors, const std::vector<Region>& regions,
                            const ParallelFor& parallel_for = serial_for) {
    Launch state;
    state.kernel = kernel_name;
    state.chip = chip_of(soc);
    state.block_dim = block_dim;
    state.mixed = mixed;
    for (const auto& region : regions) state.regions.push_back(std::make_shared<RegionState>(region));
    auto outcomes = mixed ? run_mixed(state, kernel, launch, tensors, parallel_for)
                          : run_apart(state, kernel, launch, tensors, parallel_for);
    const std::string fault = fault_of(state, outcomes);
    if (!fault.empty()) return Error{0, fault};
    Counters counters;
    counters.launches = 1;
    for (const auto& outcome : outcomes) {
        for (size_t i = 0; i < pipes; ++i) counters.instructions[i] += outcome.instructions[i];
        for (size_t i = 0; i < spaces; ++i)
            counters.peaks[i] = std::max<int64_t>(counters.peaks[i], outcome.peaks[i]);
    }
    counters.ub_peak = counters.peaks[static_cast<size_t>(Space::ub)];
    for (const auto& region : state.regions) {
        counters.traffic.push_back({region->loaded, region->stored, region->read.count(),
                                    region->writable ? region->written.count() : 0});
        counters.loaded_bytes += region->loaded;
        counters.stored_bytes += region->stored;
    }
    return counters;
}

}  // namespace ascend_fuse::emulator
