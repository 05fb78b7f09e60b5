// The number of each element in its row, from 0, in f32: exact below 2^24.
#pragma once

#include "move.h"

namespace ascend_fuse::device::ASCEND_FUSE_ARCH {

__aicore__ inline void index(const Tile& tile, const Step& step) {
    const Operand& out = step.out;
    const bool wide = out.span == SpanCode::full || out.span == SpanCode::line;
    const auto first = wide ? static_cast<int32_t>(tile.col) : 0;
    const auto to = tensor_of<float>(tile, out);
    begin_scalar();
    for (int32_t row = 0; row < rows_of(tile, out); ++row)
        for (int32_t col = 0; col < cols_of(tile, out); ++col)
            to.SetValue(lane_at<float>(out, row, col), static_cast<float>(first + col));
    end_scalar();
}

}  // namespace ascend_fuse::device::ASCEND_FUSE_ARCH
