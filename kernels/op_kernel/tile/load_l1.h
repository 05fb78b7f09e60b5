// GM -> L1: a block of a matrix in fractals.
#pragma once

#include "matrix.h"
#include ASCEND_FUSE_LOAD

namespace ascend_fuse::device::ASCEND_FUSE_ARCH {

// A block in L1: groups of `group` rows, in which columns of 32 B follow each other. One group is the form
// Nz.
struct L1Form {
    int32_t group = 16;
    int32_t cols = 16;  // padded
};

// Rows of `across`, columns of `along`, which is the side that neighbours in memory lie on.
struct L1Block {
    MatrixSide across, along;
    int64_t row = 0, col = 0;
    int32_t rows = 0, cols = 0;
};

// `twice`: a block of one row is loaded as two.
template <class T>
__aicore__ inline void load_l1(const AscendC::LocalTensor<T>& to, const AscendC::GlobalTensor<T>& from,
                               int64_t base, const L1Block& block, const L1Form& form, bool twice,
                               const AscendC::LocalTensor<T>& edge) {
    constexpr int32_t c0 = 32 / sizeof(T);
    for (int32_t r = 0; r < block.rows;) {
        const Stretch down = stretch(block.across, block.row + r, block.rows - r);
        const int32_t left = form.group - r % form.group;
        int32_t count = down.length < left ? static_cast<int32_t>(down.length) : left;
        if (down.step > max_row_step || down.step < 1) count = 1;
        for (int32_t c = 0; c < block.cols;) {
            const Stretch right = stretch(block.along, block.col + c, block.cols - c);
            const int32_t cols = static_cast<int32_t>(right.length);
            const int64_t at = static_cast<int64_t>(r / form.group) * form.group * form.cols +
                               c / c0 * form.group * c0 + r % form.group * c0;
            const auto source = from[base + down.offset + right.offset];
            if (twice && block.rows == 1)
                load_twice(to[at], source, cols, form.group, edge);
            else
                load_rows(to[at], source, count, cols, count == 1 ? cols : down.step, form.group, edge);
            c += cols;
        }
        r += count;
    }
}

}  // namespace ascend_fuse::device::ASCEND_FUSE_ARCH
