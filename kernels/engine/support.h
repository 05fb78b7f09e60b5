// Whether the chip's kernels run a program, whatever it costs.
#pragma once

#include <optional>

#include "bind.h"
#include "gemm_support.h"

namespace ascend_fuse {

// An error means that sizes do not fit the program.
inline Result<std::optional<Refusal>> unsupported(const Part& part, const Soc& soc) {
    if (part.program->family == Family::matmul) return unsupported_product(*part.program, soc);
    const auto grid = bind(*part.program, part.sizes);
    if (!grid) return grid.error();
    return unsupported(*part.program, *grid, soc);
}

}  // namespace ascend_fuse
