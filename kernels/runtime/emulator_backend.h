// Launches on the emulated chip, on the CPU.
#pragma once

#include <memory>
#include <new>
#include <string>
#include <utility>
#include <vector>

#include "backend.h"
#include "emulator.h"
#include "soc.h"

// The kernels of kernels/op_kernel, built once for each chip.
#define ASCEND_FUSE_KERNELS_OF(arch)                                                   \
    extern "C" void ascend_fuse_elementwise_##arch(uint8_t* launch, uint8_t* tensors); \
    extern "C" void ascend_fuse_rowwise_##arch(uint8_t* launch, uint8_t* tensors);     \
    extern "C" void ascend_fuse_transform_##arch(uint8_t* launch, uint8_t* tensors);   \
    extern "C" void ascend_fuse_matmul_##arch(uint8_t* launch, uint8_t* tensors);
ASCEND_FUSE_KERNELS_OF(1001)
ASCEND_FUSE_KERNELS_OF(2002)
ASCEND_FUSE_KERNELS_OF(2201)
ASCEND_FUSE_KERNELS_OF(3002)
ASCEND_FUSE_KERNELS_OF(3510)
#undef ASCEND_FUSE_KERNELS_OF

namespace ascend_fuse {

struct EmulatedKernel {
    int64_t arch;
    Family family;
    const char* name;
    emulator::KernelEntry entry;
};

// clang-format off
#define ASCEND_FUSE_KERNELS_OF(arch)                                                        \
    {arch, Family::elementwise, "ascend_fuse_elementwise", ascend_fuse_elementwise_##arch}, \
    {arch, Family::rowwise, "ascend_fuse_rowwise", ascend_fuse_rowwise_##arch},             \
    {arch, Family::transform, "ascend_fuse_transform", ascend_fuse_transform_##arch},       \
    {arch, Family::matmul, "ascend_fuse_matmul", ascend_fuse_matmul_##arch}
// clang-format on
inline constexpr EmulatedKernel emulated_kernels[] = {
    ASCEND_FUSE_KERNELS_OF(1001), ASCEND_FUSE_KERNELS_OF(2002), ASCEND_FUSE_KERNELS_OF(2201),
    ASCEND_FUSE_KERNELS_OF(3002), ASCEND_FUSE_KERNELS_OF(3510),
};
#undef ASCEND_FUSE_KERNELS_OF

inline Result<EmulatedKernel> find_kernel(int64_t arch, Family family) {
    for (const auto& kernel : emulated_kernels)
        if (kernel.arch == arch && kernel.family == family) return kernel;
    return Error{0, "no kernel is built for npu_arch " + std::to_string(arch)};
}

class EmulatedLaunch : public PreparedLaunch {
  public:
    EmulatedLaunch(Launch launch, const std::vector<TensorAccess>& accesses, Soc soc,
                   const EmulatedKernel& kernel)
        : launch_(std::move(launch)), draws_(draws(launch_)), soc_(std::move(soc)), kernel_(kernel) {
        for (const auto& access : accesses) accesses_.push_back({access.bytes, access.writable});
    }

    std::optional<Error> run(const Draw& draw, void* const* tensors, const Caller& caller,
                             Traffic& traffic) override {
        if (!draws_) return run(launch_.block, tensors, caller, traffic);
        auto drawn = launch_.block;  // others may be reading ours
        write_draw(launch_, drawn, draw);
        return run(drawn, tensors, caller, traffic);
    }

  private:
    std::optional<Error> run(std::vector<uint8_t>& block, void* const* tensors, const Caller& caller,
                             Traffic& traffic) const {
        const emulator::Call call{kernel_.entry, kernel_.name, launch_.block_dim,
                                  launch_.mixed, block.data(), static_cast<int64_t>(block.size())};
        const auto counters = emulator::run(call, soc_, tensors, accesses_, caller.parallel);
        if (!counters) return counters.error();
        traffic.launches += counters->launches;
        for (const auto& tensor : counters->traffic) {
            traffic.loaded_bytes += tensor.loaded;
            traffic.stored_bytes += tensor.stored;
            traffic.distinct_loaded_bytes += tensor.distinct_loaded;
            traffic.distinct_stored_bytes += tensor.distinct_stored;
        }
        traffic.ub_peak = std::max(traffic.ub_peak, counters->ub_peak);
        return std::nullopt;
    }

    Launch launch_;
    std::vector<emulator::TensorAccess> accesses_;
    const bool draws_;
    const Soc soc_;
    const EmulatedKernel kernel_;
};

class EmulatorBackend : public Backend {
  public:
    const char* name() const override { return "emulator"; }
    void* allocate(int64_t bytes, void*, Writer) override {
        return ::operator new(static_cast<size_t>(std::max<int64_t>(bytes, 1)), std::align_val_t{gm_align},
                              std::nothrow);
    }
    void release(void* address) override { ::operator delete(address, std::align_val_t{gm_align}); }
    Result<std::shared_ptr<PreparedLaunch>> prepare(Launch launch, std::vector<TensorAccess> accesses,
                                                    const Soc& soc) override {
        const auto kernel = find_kernel(soc.npu_arch, launch.family);
        if (!kernel) return kernel.error();
        return std::shared_ptr<PreparedLaunch>(
            std::make_shared<EmulatedLaunch>(std::move(launch), accesses, soc, *kernel));
    }

  private:
    static constexpr size_t gm_align = 512;  // as aclrtMalloc gives it
};

}  // namespace ascend_fuse
