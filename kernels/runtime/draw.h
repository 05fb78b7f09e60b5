// What the runtime writes into a launch for each run: Philox's key and the number of the run.
#pragma once

#include <cstdint>
#include <cstring>
#include <vector>

#include "gemm_launch.h"
#include "launch.h"
#include "lowered.h"

namespace ascend_fuse {

struct Draw {
    uint64_t key = 0, run = 0;
};

// Where vector launches begin in a block: it is one, or it stands behind its product.
inline std::vector<size_t> vector_launches(const Launch& launch) {
    if (launch.family != Family::matmul) return {0};
    device::GemmHeader header;
    std::memcpy(&header, launch.block.data(), sizeof header);
    if (header.fused_at == 0) return {};
    return {static_cast<size_t>(header.fused_at)};
}

// Whether another run is another result.
inline bool draws(const Launch& launch) {
    for (const size_t at : vector_launches(launch)) {
        device::LaunchHeader header;
        std::memcpy(&header, launch.block.data() + at, sizeof header);
        for (int32_t i = 0; i < header.steps; ++i) {
            device::Step step;
            std::memcpy(&step,
                        launch.block.data() + at + static_cast<size_t>(header.steps_at) + i * sizeof step,
                        sizeof step);
            if (step.code == device::StepCode::random_keep || step.code == device::StepCode::random_uniform)
                return true;
        }
    }
    return false;
}

inline void write_draw(const Launch& launch, std::vector<uint8_t>& block, const Draw& draw) {
    const auto write = [&](size_t at, uint64_t value) {
        const uint32_t words[] = {static_cast<uint32_t>(value), static_cast<uint32_t>(value >> 32)};
        std::memcpy(block.data() + at, words, sizeof words);
    };
    for (const size_t at : vector_launches(launch)) {
        write(at + offsetof(device::LaunchHeader, key), draw.key);
        write(at + offsetof(device::LaunchHeader, run), draw.run);
    }
}

}  // namespace ascend_fuse
