// L0A x L0B -> L0C, and the bias table.
#pragma once

#include "l0.h"

namespace ascend_fuse::device::ASCEND_FUSE_ARCH {

// What the cube sums in.
template <class T>
struct SumOf {
    using Type = float;
};
template <>
struct SumOf<int8_t> {
    using Type = int32_t;
};

// Bias in L1 -> bias table, in the cube's own dtype. `from` is padded to 64 B.
template <class Sum, class Bias>
__aicore__ inline void load_bias(const AscendC::LocalTensor<Sum>& to, const AscendC::LocalTensor<Bias>& from,
                                 int32_t cols) {
    const auto bytes = static_cast<int32_t>(round_to(cols * static_cast<int64_t>(sizeof(Bias)), 64));
    const auto blocks = static_cast<uint16_t>(bytes / arch::bias_block);
    AscendC::DataCopy(to, from, AscendC::DataCopyParams(1, blocks, 0, 0));
}

struct MmadShape {
    int32_t rows = 16, cols = 16, k = 16;
    bool zero = true;      // the sums begin with zeros: neither with a bias nor with earlier ones
    bool aligned = false;  // k is padded to 16 in L0
};

__aicore__ inline AscendC::MmadParams mmad_params(const MmadShape& shape) {
    AscendC::MmadParams params;
    // One row is a vector to the cube, in another form than blocks of A: two rows are not (load_twice).
    params.m = static_cast<uint16_t>(shape.rows < 2 ? 2 : shape.rows);
    params.n = static_cast<uint16_t>(shape.cols);
    params.k = static_cast<uint16_t>(shape.k);
    params.cmatrixInitVal = shape.zero;
    params.cmatrixSource = false;
    params.kDirectionAlign = shape.aligned;
    return params;
}

}  // namespace ascend_fuse::device::ASCEND_FUSE_ARCH
