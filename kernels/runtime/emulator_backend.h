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
    EmulatedLaunch(Launch launch, Soc soc, const EmulatedKernel& kernel)
        : launch_(std::move(launch)), draws_(draws(launch_)), soc_(std::move(soc)), kernel_(kernel) {}

    std::optional<Error> run(const Draw& draw, const std::vector<Buffer>& tensors, const Caller& caller,
                             Traffic& traffic) override {
        const Stopwatch watch(traffic.kernel_ticks);
        // Kept between calls of a thread; a launch that draws has a block of its own in each.
        thread_local std::vector<uint8_t> drawn;
        thread_local std::vector<void*> table;
        thread_local std::vector<emulator::Region> regions;
        auto* block = &launch_.block;
        if (draws_) {
            drawn = launch_.block;
            write_draw(launch_, drawn, draw);
            block = &drawn;
        }
        table.clear();
        regions.clear();
        for (const auto& tensor : tensors) {
            table.push_back(tensor.address);
            regions.push_back({tensor.address, tensor.bytes, tensor.writable});
        }
        regions.push_back({block->data(), static_cast<int64_t>(block->size()), false});
        regions.push_back({table.data(), static_cast<int64_t>(table.size() * sizeof(void*)), false});
        auto counters = emulator::run(kernel_.entry, kernel_.name, soc_, launch_.block_dim, launch_.mixed,
                                      block->data(), table.data(), regions, caller.parallel);
        if (!counters) return counters.error();
        add(*counters, tensors.size(), traffic);
        return std::nullopt;
    }

  private:
    // Bytes of tensors alone: what a kernel reads of its launch is no traffic of the program.
    static void add(const emulator::Counters& counters, size_t tensors, Traffic& traffic) {
        traffic.launches += counters.launches;
        for (size_t i = 0; i < tensors; ++i) {
            traffic.loaded_bytes += counters.traffic[i].loaded;
            traffic.stored_bytes += counters.traffic[i].stored;
            traffic.distinct_loaded_bytes += counters.traffic[i].distinct_loaded;
            traffic.distinct_stored_bytes += counters.traffic[i].distinct_stored;
        }
        traffic.ub_peak = std::max(traffic.ub_peak, counters.ub_peak);
    }

    Launch launch_;
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
    Result<std::shared_ptr<PreparedLaunch>> prepare(Launch launch, const Soc& soc) override {
        const auto kernel = find_kernel(soc.npu_arch, launch.family);
        if (!kernel) return kernel.error();
        return std::shared_ptr<PreparedLaunch>(
            std::make_shared<EmulatedLaunch>(std::move(launch), soc, *kernel));
    }

  private:
    static constexpr size_t gm_align = 512;  // as aclrtMalloc gives it
};

}  // namespace ascend_fuse
