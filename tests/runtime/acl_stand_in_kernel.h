// Kernels of the stand-in libascendcl: what a launch writes, and its run on the emulator of the plugin.
#pragma once

#include <dlfcn.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <set>
#include <string>
#include <vector>

#include "acl_stand_in.h"
#include "c_api.h"
#include "gemm_launch.h"

namespace stand_in {

using ascend_fuse::device::CopyRecord;
using ascend_fuse::device::GemmHeader;
using ascend_fuse::device::LaunchHeader;
using ascend_fuse::device::StoreRecord;
using ascend_fuse::device::TransferRecord;

template <class Record>
Record record(const uint8_t* block, size_t at, size_t number = 0) {
    Record value;
    std::memcpy(&value, block + at + number * sizeof value, sizeof value);
    return value;
}

inline void add_writes(const uint8_t* block, std::set<int32_t>& writes) {
    const auto header = record<LaunchHeader>(block, 0);
    for (int32_t i = 0; i < header.stores; ++i)
        writes.insert(record<TransferRecord>(block, header.stores_at, i).tensor);
    for (int32_t i = 0; i < header.copies; ++i)
        writes.insert(record<CopyRecord>(block, header.copies_at, i).to);
}

// Which tensors of its table a launch writes.
inline std::set<int32_t> writes_of(const std::string& kernel, const uint8_t* block) {
    std::set<int32_t> writes;
    if (kernel != "ascend_fuse_matmul") {
        add_writes(block, writes);
        return writes;
    }
    const auto header = record<GemmHeader>(block, 0);
    for (int32_t i = 0; i < header.stores; ++i)
        writes.insert(record<StoreRecord>(block, header.stores_at, i).matrix.tensor);
    if (header.fused_at) add_writes(block + header.fused_at, writes);
    return writes;
}

inline const char* soc() {
    const char* const name = std::getenv("ACL_STAND_IN_SOC");
    return name ? name : "Ascend910B3";
}

// Of kernels on both kinds of cores those of 950 are handed no address at which the cores meet.
inline bool unsynchronised_product(const std::string& kernel) {
    return kernel == "ascend_fuse_matmul" && std::strncmp(soc(), "Ascend950", 9) == 0;
}

// Runs the launch on what its tensors hold by now.
inline int emulate(Device& device, const std::string& kernel, const void* at, uint32_t block_dim, bool mixed,
                   const std::vector<AscendFuseRegion>& tensors) {
    static const auto run = reinterpret_cast<decltype(&ascend_fuse_launch)>(
        dlsym(dlopen(std::getenv("ACL_STAND_IN_PLUGIN"), RTLD_NOW | RTLD_NOLOAD), "ascend_fuse_launch"));
    const char* const names[] = {"ascend_fuse_elementwise", "ascend_fuse_rowwise", "ascend_fuse_matmul",
                                 "ascend_fuse_transform"};
    const auto family = static_cast<int32_t>(std::find(names, names + 4, kernel) - names);
    const uint8_t* const block = device.content(at);
    const bool product = kernel == "ascend_fuse_matmul";
    const int32_t vector_at = product ? record<GemmHeader>(block, 0).fused_at : 0;
    const auto header = record<LaunchHeader>(block, static_cast<size_t>(vector_at));
    const auto number = [](const uint32_t* words) {
        return words[0] | static_cast<uint64_t>(words[1]) << 32;
    };
    AscendFuseLaunch launch{block,
                            record<LaunchHeader>(block, 0).bytes,
                            block_dim,
                            family,
                            mixed,
                            number(header.key),
                            number(header.run)};
    std::vector<AscendFuseRegion> regions = tensors;
    for (auto& region : regions)
        if (region.address) region.address = device.content(region.address);
    if (run(&launch, soc(), regions.data(), static_cast<int32_t>(regions.size()))) return 0;
    Device::log("HAZARD " + kernel + " failed");
    return 507015;
}

}  // namespace stand_in
