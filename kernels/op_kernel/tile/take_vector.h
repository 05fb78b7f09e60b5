// L0C -> UB of the same core, by the vector unit: whole fractals, columns of 16 sums.
#pragma once

#include "product.h"

namespace ascend_fuse::device::ASCEND_FUSE_ARCH {

// `rows` of the rows in L0C, whose columns are `padded` long, both whole fractals; what the vector unit did
// with `to` is done, and it may read `to` at once.
template <class Sum>
__aicore__ inline void take_rows(const LocalTensor<Sum>& to, const LocalTensor<Sum>& from, int32_t rows,
                                 int32_t padded, int32_t cols) {
    AscendC::DataCopyParams copy;
    copy.blockCount = static_cast<uint16_t>((cols + cube_cols - 1) / cube_cols);
    copy.blockLen = static_cast<uint16_t>(rows / 16);
    copy.srcStride = static_cast<uint16_t>((padded - rows) / 16);
    copy.dstStride = 0;
    AscendC::DataCopyEnhancedParams how;
    how.blockMode = AscendC::BlockMode::BLOCK_MODE_MATRIX;
    barrier();
    AscendC::DataCopy(to, from, copy, how);
    barrier();
}

}  // namespace ascend_fuse::device::ASCEND_FUSE_ARCH
