// What lowering makes of a program: one launch of a kernel.
#pragma once

#include <cstdint>
#include <vector>

#include "program.h"

namespace ascend_fuse {

struct Launch {
    std::vector<uint8_t> block;
    int64_t block_dim = 0;
    Family family = Family::elementwise;
    bool mixed = false;  // cube and vector cores in groups
    int64_t workspace_bytes = 0;
    int64_t ub_bytes = 0;
    int64_t loaded_bytes = 0, stored_bytes = 0;  // what the cores move between GM and UB, all counted
    int64_t gm_bytes = 0;  // the cost model's: distinct bytes, as often as they are swept
};

}  // namespace ascend_fuse
