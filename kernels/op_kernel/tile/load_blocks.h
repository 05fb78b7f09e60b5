// GM -> L1 on chips whose copies move whole blocks of 32 B and no fractals: block by block into columns. What
// is left of a row goes through UB by the scalar unit.
#pragma once

#include "matrix.h"

namespace ascend_fuse::device::ASCEND_FUSE_ARCH {

// DataCopyParams holds no wider gap between blocks of two bytes' elements; rows farther apart go one by one.
inline constexpr int64_t max_row_step = 65535 * 16;

// Rows of a column that GM fills with `cols` elements, the rest zeros; `edge` is a buffer of UB.
template <class T>
__aicore__ inline void load_edge(const AscendC::LocalTensor<T>& to, const AscendC::GlobalTensor<T>& from,
                                 int32_t rows, int32_t cols, int64_t step, AscendC::LocalTensor<T> edge) {
    constexpr int32_t c0 = 32 / sizeof(T), most = edge_bytes / 32;
    for (int32_t r = 0; r < rows; r += most) {
        const int32_t count = least(most, rows - r);
        AscendC::PipeBarrier<PIPE_ALL>();
        for (int32_t i = 0; i < count; ++i)
            for (int32_t j = 0; j < c0; ++j)
                edge.SetValue(i * c0 + j, j < cols ? from.GetValue((r + i) * step + j) : static_cast<T>(0));
        AscendC::PipeBarrier<PIPE_ALL>();
        AscendC::DataCopy(to[r * c0], edge, AscendC::DataCopyParams(1, static_cast<uint16_t>(count), 0, 0));
    }
    AscendC::PipeBarrier<PIPE_ALL>();
}

template <class T>
__aicore__ inline void load_rows(const AscendC::LocalTensor<T>& to, const AscendC::GlobalTensor<T>& from,
                                 int32_t rows, int32_t cols, int64_t step, int32_t group,
                                 const AscendC::LocalTensor<T>& edge) {
    constexpr int32_t c0 = 32 / sizeof(T);
    const int32_t whole = cols / c0;
    // A column at once, or a row at once.
    const bool columns = whole < rows && step % c0 == 0 && step >= c0;
    for (int32_t c = 0; columns && c < whole; ++c)
        for (int32_t r = 0; r < rows; r += max_bursts) {
            const AscendC::DataCopyParams copy(static_cast<uint16_t>(least(max_bursts, rows - r)), 1,
                                               static_cast<uint16_t>(step / c0 - 1), 0);
            AscendC::DataCopy(to[(c * group + r) * c0], from[r * step + c * c0], copy);
        }
    for (int32_t r = 0; !columns && whole > 0 && r < rows; ++r) {
        const AscendC::DataCopyParams copy(static_cast<uint16_t>(whole), 1, 0,
                                           static_cast<uint16_t>(group - 1));
        AscendC::DataCopy(to[r * c0], from[r * step], copy);
    }
    if (whole * c0 < cols)
        load_edge(to[whole * group * c0], from[whole * c0], rows, cols - whole * c0, step, edge);
}

// One row, written as the first two of the block: the cube takes a single row for a vector in another form.
template <class T>
__aicore__ inline void load_twice(const AscendC::LocalTensor<T>& to, const AscendC::GlobalTensor<T>& from,
                                  int32_t cols, int32_t group, const AscendC::LocalTensor<T>& edge) {
    load_rows(to, from, 2, cols, 0, group, edge);
}

}  // namespace ascend_fuse::device::ASCEND_FUSE_ARCH
