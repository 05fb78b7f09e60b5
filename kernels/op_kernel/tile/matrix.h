// Where the elements of a matrix lie in GM.
#pragma once

#include "../../engine/gemm_launch.h"
#include "../arch.h"

namespace ascend_fuse::device::ASCEND_FUSE_ARCH {

// One side of a matrix: its axes, outermost first.
struct MatrixSide {
    const __gm__ AxisRecord* axes = nullptr;
    int32_t count = 0;
};

// Elements `index` to `index + length - 1` of a side: `step` apart, the first at `offset`.
struct Stretch {
    int64_t offset = 0, length = 1, step = 0;
};

__aicore__ inline Stretch stretch(const MatrixSide& side, int64_t index, int64_t most) {
    Stretch found;
    found.length = most;
    for (int32_t i = side.count - 1; i >= 0; --i) {
        const int64_t extent = side.axes[i].extent, at = index % extent;
        found.offset += at * side.axes[i].stride;
        if (i == side.count - 1) {
            found.step = side.axes[i].stride;
            found.length = most < extent - at ? most : extent - at;
        }
        index /= extent;
    }
    return found;
}

__aicore__ inline int64_t round_to(int64_t value, int64_t unit) { return (value + unit - 1) / unit * unit; }

}  // namespace ascend_fuse::device::ASCEND_FUSE_ARCH
