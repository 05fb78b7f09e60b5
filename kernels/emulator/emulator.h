// Runs a kernel on the cores of an emulated chip. For hosts; kernels include kernel_operator.h.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "block.h"
#include "result.h"
#include "soc.h"

namespace ascend_fuse::emulator {

// A kernel and what it is started with.
struct Call {
    KernelEntry kernel;
    const char* name;
    int64_t block_dim = 1;
    bool mixed = false;  // its cores wait for each other
    void* launch = nullptr;
    int64_t launch_bytes = 0;  // 0: the kernel does not copy it to its cores
};

// What a kernel may touch of a tensor.
struct TensorAccess {
    int64_t bytes = 0;
    bool writable = false;
};

// GM bytes of one tensor: raw, and each byte once.
struct TensorTraffic {
    int64_t loaded = 0, stored = 0, distinct_loaded = 0, distinct_stored = 0;
};

// What a launch did, summed over its cores.
struct Counters {
    int64_t launches = 0, loaded_bytes = 0, stored_bytes = 0, ub_peak = 0;
    std::array<int64_t, spaces> peaks{};        // bytes in use at once on a core, by Space
    std::array<int64_t, pipes> instructions{};  // by pipe
    std::vector<TensorTraffic> traffic;         // by tensor
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

inline Counters counters_of(const Launch& state, const std::vector<Outcome>& outcomes, size_t tensors) {
    Counters counters;
    counters.launches = 1;
    for (const auto& outcome : outcomes) {
        for (size_t i = 0; i < pipes; ++i) counters.instructions[i] += outcome.instructions[i];
        for (size_t i = 0; i < spaces; ++i)
            counters.peaks[i] = std::max<int64_t>(counters.peaks[i], outcome.peaks[i]);
    }
    counters.ub_peak = counters.peaks[static_cast<size_t>(Space::ub)];
    for (size_t i = 0; i < tensors; ++i) {
        const RegionState& region = *state.regions[i];
        counters.traffic.push_back({region.loaded, region.stored, region.read.count(),
                                    region.writable ? region.written.count() : 0});
        counters.loaded_bytes += region.loaded;
        counters.stored_bytes += region.stored;
    }
    return counters;
}

// Runs a kernel on all blocks. `tensors`: an address for each access. What the kernel reads of its launch and
// of the table of addresses is no traffic. The error is the text of the first fault: what, kernel, core,
// file:line of the call, address.
inline Result<Counters> run(const Call& call, const Soc& soc, void* const* tensors,
                            const std::vector<TensorAccess>& accesses,
                            const ParallelFor& parallel_for = serial_for) {
    Launch state;
    state.kernel = call.name;
    state.chip = chip_of(soc);
    state.block_dim = call.block_dim;
    state.mixed = call.mixed;
    std::vector<void*> table(tensors, tensors + accesses.size());
    const auto add_region = [&](void* address, int64_t bytes, bool writable) {
        state.regions.push_back(std::make_shared<RegionState>(Region{address, bytes, writable}));
    };
    for (size_t i = 0; i < accesses.size(); ++i)
        add_region(table[i], accesses[i].bytes, accesses[i].writable);
    add_region(call.launch, call.launch_bytes, false);
    add_region(table.data(), static_cast<int64_t>(table.size() * sizeof(void*)), false);
    auto outcomes = call.mixed ? run_mixed(state, call.kernel, call.launch, table.data(), parallel_for)
                               : run_apart(state, call.kernel, call.launch, table.data(), parallel_for);
    const std::string fault = fault_of(state, outcomes);
    if (!fault.empty()) return Error{0, fault};
    return counters_of(state, outcomes, table.size());
}

}  // namespace ascend_fuse::emulator
