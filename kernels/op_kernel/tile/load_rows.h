// GM -> L1: rows of a matrix, laid out as columns of 32 B on the way (Nd2Nz).
#pragma once

#include "matrix.h"

namespace ascend_fuse::device::ASCEND_FUSE_ARCH {

// The widest step between rows that the documents of Nd2NzParams have, of 950 too, whose field is wider.
inline constexpr int64_t max_row_step = 65535;

template <class T>
__aicore__ inline void load_rows(const AscendC::LocalTensor<T>& to, const AscendC::GlobalTensor<T>& from,
                                 int32_t rows, int32_t cols, int64_t step, int32_t group,
                                 const AscendC::LocalTensor<T>&) {
    AscendC::Nd2NzParams copy;
    copy.ndNum = 1;
    copy.nValue = static_cast<uint16_t>(rows);
    copy.dValue = static_cast<uint16_t>(cols);
    copy.srcNdMatrixStride = 0;
    copy.srcDValue = static_cast<uint16_t>(step);
    copy.dstNzC0Stride = static_cast<uint16_t>(group);
    copy.dstNzNStride = 1;
    copy.dstNzMatrixStride = 0;
    AscendC::DataCopy(to, from, copy);
}

// One row, written as the first two of the block: the cube takes a single row for a vector in another form.
template <class T>
__aicore__ inline void load_twice(const AscendC::LocalTensor<T>& to, const AscendC::GlobalTensor<T>& from,
                                  int32_t cols, int32_t group, const AscendC::LocalTensor<T>&) {
    AscendC::Nd2NzParams copy;
    copy.ndNum = 2;
    copy.nValue = 1;
    copy.dValue = static_cast<uint16_t>(cols);
    copy.srcNdMatrixStride = 0;
    copy.srcDValue = static_cast<uint16_t>(cols);
    copy.dstNzC0Stride = static_cast<uint16_t>(group);
    copy.dstNzNStride = 1;
    copy.dstNzMatrixStride = static_cast<uint16_t>(32 / sizeof(T));
    AscendC::DataCopy(to, from, copy);
}

}  // namespace ascend_fuse::device::ASCEND_FUSE_ARCH
