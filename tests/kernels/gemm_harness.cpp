// A matmul program of constant sizes on the emulator, for ctypes: lowered for a chip, run on its cores,
// counted.
#include <algorithm>
#include <cstdio>
#include <string>
#include <vector>

#include "emulator.h"
#include "engine.h"

extern "C" void ascend_fuse_matmul_1001(uint8_t*, uint8_t*);
extern "C" void ascend_fuse_matmul_2002(uint8_t*, uint8_t*);
extern "C" void ascend_fuse_matmul_2201(uint8_t*, uint8_t*);
extern "C" void ascend_fuse_matmul_3002(uint8_t*, uint8_t*);
extern "C" void ascend_fuse_matmul_3510(uint8_t*, uint8_t*);

namespace {

using namespace ascend_fuse;

// `stored` without what is stored again, where the chip moves whole blocks.
struct Figures {
    int64_t loaded, stored, predicted_loaded, predicted_stored;
    int64_t peaks[6], buffers[6];  // of UB, L1, L0A, L0B, L0C, BT: measured, and what the engine promised
    int64_t block_dim, apart;
};

emulator::KernelEntry kernel_of(int64_t arch) {
    switch (arch) {
        case 1001:
            return ascend_fuse_matmul_1001;
        case 2002:
            return ascend_fuse_matmul_2002;
        case 3002:
            return ascend_fuse_matmul_3002;
        case 3510:
            return ascend_fuse_matmul_3510;
        default:
            return ascend_fuse_matmul_2201;
    }
}

int fail(const std::string& what, char* text, size_t room) {
    std::snprintf(text, room, "%s", what.c_str());
    return 1;
}

}  // namespace

// `tensors`: addresses of inputs, of which there are `inputs`, then of outputs; `bytes` of each.
// `fuse_tiles`: classes that run fused; "": those that the engine chose.
extern "C" int run_gemm(const char* source, const char* soc_name, const char* fuse_tiles,
                        void* const* tensors, const int64_t* bytes, size_t inputs, size_t n_tensors,
                        Figures* figures, char* text, size_t room) {
    const auto program = parse(source);
    if (!program) return fail(program.error().text(), text, room);
    const auto soc = find_soc(soc_name);
    if (!soc) return fail(soc.error().text(), text, room);
    const std::vector<int64_t> sizes;
    auto plan = plan_gemm(*program, sizes, *soc, Bounds{});
    if (!plan) return fail(plan.error().text(), text, room);
    const std::string wanted = fuse_tiles;
    if (!wanted.empty()) plan->tiling.fuse_tiles = wanted == "-" ? "" : wanted;
    auto launch = lower_gemm(*plan);
    if (!launch) return fail(launch.error().text(), text, room);
    std::vector<void*> table(tensors, tensors + n_tensors);
    std::vector<emulator::TensorAccess> accesses;
    for (size_t i = 0; i < n_tensors; ++i) accesses.push_back({bytes[i], i >= inputs});
    std::vector<uint8_t> workspace(static_cast<size_t>(launch->workspace_bytes));
    if (!workspace.empty()) {
        table.push_back(workspace.data());
        accesses.push_back({launch->workspace_bytes, true});
    }
    const auto counters = emulator::run({kernel_of(soc->npu_arch), "ascend_fuse_matmul", launch->block_dim,
                                         launch->mixed, launch->block.data()},
                                        *soc, table.data(), accesses);
    if (!counters) return fail(counters.error().text(), text, room);
    const GemmTiling& tiling = plan->tiling;
    int64_t distinct = 0;
    for (const auto& traffic : counters->traffic) distinct += traffic.distinct_stored;
    *figures = {counters->loaded_bytes,
                soc->copy_pad() ? counters->stored_bytes : distinct,
                launch->loaded_bytes,
                launch->stored_bytes,
                {},
                {launch->ub_bytes, tiling.l1_bytes, tiling.l0a_bytes, tiling.l0b_bytes, tiling.l0c_bytes,
                 tiling.bt_bytes},
                launch->block_dim,
                static_cast<int64_t>(plan->apart())};
    std::copy_n(counters->peaks.begin(), 6, figures->peaks);
    return 0;
}
