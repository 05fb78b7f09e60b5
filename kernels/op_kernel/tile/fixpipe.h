// L0C -> GM through FixPipe: ReLU, rounding, rows.
#pragma once

#include "matrix.h"

namespace ascend_fuse::device::ASCEND_FUSE_ARCH {

template <class Out>
struct QuantOf {
    static constexpr QuantMode_t mode = QuantMode_t::NoQuant;
};
template <>
struct QuantOf<half> {
    static constexpr QuantMode_t mode = QuantMode_t::F322F16;
};
template <>
struct QuantOf<bfloat16_t> {
    static constexpr QuantMode_t mode = QuantMode_t::F322BF16;
};

// A block of C: `rows` x `cols` at (row, col) of the matrix that it is written to.
struct OutBlock {
    MatrixSide outer, inner;
    int64_t row = 0, col = 0;
    int32_t rows = 0, cols = 0;
};

template <class Out, class Sum>
__aicore__ inline void store_rows(const AscendC::GlobalTensor<Out>& to, const AscendC::LocalTensor<Sum>& from,
                                  int32_t rows, int32_t cols, int32_t padded_rows, int64_t step, bool relu) {
    AscendC::FixpipeParamsV220 params;
    params.nSize = static_cast<uint16_t>(cols);
    params.mSize = static_cast<uint16_t>(rows);
    params.srcStride = static_cast<uint16_t>(padded_rows);
    params.dstStride = static_cast<uint32_t>(step);
    params.quantPre = QuantOf<Out>::mode;
    params.reluEn = relu;
    AscendC::Fixpipe<Out, Sum, AscendC::CFG_ROW_MAJOR>(to, from, params);
}

// FixPipe's row step has 32 bits, of which a driver may take the sign: larger ones go row by row.
inline constexpr int64_t max_out_step = 0x7fffffff;

// Neighbours in memory lie along the inner side, in runs of whole 16 columns.
template <class Out, class Sum>
__aicore__ inline void store_block(const AscendC::GlobalTensor<Out>& to, int64_t base,
                                   const AscendC::LocalTensor<Sum>& from, const OutBlock& block, bool relu) {
    const int32_t padded = static_cast<int32_t>(round_to(block.rows < 2 ? 2 : block.rows, 16));
    for (int32_t r = 0; r < block.rows;) {
        const Stretch down = stretch(block.outer, block.row + r, block.rows - r);
        const bool single = down.step < 1 || down.step > max_out_step;
        const int32_t rows = single ? 1 : static_cast<int32_t>(down.length);
        for (int32_t c = 0; c < block.cols;) {
            const Stretch right = stretch(block.inner, block.col + c, block.cols - c);
            const int32_t cols = static_cast<int32_t>(right.length);
            store_rows<Out>(to[base + down.offset + right.offset], from[c * padded + r * 16], rows, cols,
                            padded, rows == 1 ? cols : down.step, relu);
            c += cols;
        }
        r += rows;
    }
}

}  // namespace ascend_fuse::device::ASCEND_FUSE_ARCH
