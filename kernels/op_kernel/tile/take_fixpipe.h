// L0C -> UB of the same core, by FixPipe: columns of 16 sums, as they lie.
#pragma once

#include "product.h"

namespace ascend_fuse::device::ASCEND_FUSE_ARCH {

// `rows` of the rows in L0C, whose columns are `padded` long, both whole fractals; what the vector unit did
// with `to` is done, and it may read `to` at once. No event goes between it and FixPipe: the scalar unit
// waits for either, and issues what comes behind.
template <class Sum>
__aicore__ inline void take_rows(const LocalTensor<Sum>& to, const LocalTensor<Sum>& from, int32_t rows,
                                 int32_t padded, int32_t cols) {
    AscendC::FixpipeParamsM300 params;
    params.nSize = static_cast<uint16_t>(round_up(cols, cube_cols));
    params.mSize = static_cast<uint16_t>(rows);
    params.srcStride = static_cast<uint16_t>(padded);
    params.dstStride = static_cast<uint32_t>(rows * cube_cols * 4 / block_bytes);
    begin_scalar();
    AscendC::Fixpipe<Sum, Sum, AscendC::CFG_NZ>(to, from, params);
    AscendC::SetFlag<AscendC::HardEvent::FIX_S>(scalar_event);
    AscendC::WaitFlag<AscendC::HardEvent::FIX_S>(scalar_event);
}

}  // namespace ascend_fuse::device::ASCEND_FUSE_ARCH
