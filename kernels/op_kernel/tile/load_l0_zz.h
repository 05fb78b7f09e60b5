// L1 -> L0A in rows of fractals (Zz), L0B in rows of fractals (Zn).
#pragma once

#include "l0.h"

namespace ascend_fuse::device::ASCEND_FUSE_ARCH {

// The block of A lies m x k in L1. L0A wants rows of fractals.
template <class T>
__aicore__ inline void load_l0a(const AscendC::LocalTensor<T>& to, const AscendC::LocalTensor<T>& from,
                                const L1Form& form, int32_t rows, const L0Step& step) {
    constexpr int32_t c0 = 32 / sizeof(T);
    const int32_t across = static_cast<int32_t>(round_to(step.length, c0)) / c0;
    AscendC::LoadData2DParams load;
    load.repeatTimes = static_cast<uint8_t>(across);
    load.srcStride = static_cast<uint16_t>(form.group / 16);
    load.dstGap = 0;
    load.ifTranspose = false;
    for (int32_t i = 0; i < (rows + 15) / 16; ++i) {
        load.startIndex = static_cast<uint16_t>(step.k / c0 * (form.group / 16) + i);
        AscendC::LoadData(to[i * across * fractal_elements<T>], from, load);
    }
}

// The block of B lies n x k in L1: its fractals are those of L0B.
template <class T>
__aicore__ inline void load_l0b(const AscendC::LocalTensor<T>& to, const AscendC::LocalTensor<T>& from,
                                const L1Form& form, int32_t cols, const L0Step& step) {
    constexpr int32_t c0 = 32 / sizeof(T);
    const int32_t down = static_cast<int32_t>(round_to(step.length, c0)) / c0, across = (cols + 15) / 16;
    AscendC::LoadData2DParams load;
    load.repeatTimes = static_cast<uint8_t>(across);
    load.srcStride = 1;
    load.dstGap = 0;
    load.ifTranspose = false;
    for (int32_t i = 0; i < down; ++i) {
        load.startIndex = static_cast<uint16_t>((step.k / c0 + i) * (form.group / 16));
        AscendC::LoadData(to[i * across * fractal_elements<T>], from, load);
    }
}

// Squares of a block that lies with k across: from one along k to the next, and from one along the other
// side.
struct SquareStep {
    int32_t along_k = 1, aside = 1;
};

// f32 squares are two fractals side by side, which the load wants to follow each other: its blocks lie in
// groups of 16 rows, others in one group.
template <class T>
__aicore__ inline int32_t square_rows(int32_t k) {
    return sizeof(T) == 4 ? 16 : static_cast<int32_t>(round_to(k, square_of<T>));
}
template <class T>
__aicore__ inline SquareStep squares_of(const L1Form& form) {
    if (sizeof(T) == 4) return SquareStep{form.cols / 16, 1};
    return SquareStep{1, form.group / square_of<T>};
}

// `load.repeatTimes` squares, each transposed. Chips without FixPipe have the call for squares of one fractal
// alone.
template <class T>
__aicore__ inline void load_squares(const AscendC::LocalTensor<T>& to, const AscendC::LocalTensor<T>& from,
                                    const AscendC::LoadData2dTransposeParams& load) {
    if constexpr (arch::has_fixpipe) {
        AscendC::LoadDataWithTranspose(to, from, load);
    } else if constexpr (sizeof(T) == 2) {
        AscendC::LoadData2DParams fractals;
        fractals.startIndex = load.startIndex;
        fractals.repeatTimes = load.repeatTimes;
        fractals.srcStride = load.srcStride;
        fractals.dstGap = load.dstGap;
        fractals.ifTranspose = true;
        AscendC::LoadData(to, from, fractals);
    }
}

// The block of A lies k x m in L1.
template <class T>
__aicore__ inline void load_l0a_transposed(const AscendC::LocalTensor<T>& to,
                                           const AscendC::LocalTensor<T>& from, const L1Form& form,
                                           int32_t rows, const L0Step& step) {
    constexpr int32_t square = square_of<T>, fractal = fractal_elements<T>;
    const int32_t down = (rows + square - 1) / square, across = (step.length + square - 1) / square;
    const SquareStep squares = squares_of<T>(form);
    const int32_t row_fractals = sizeof(T) == 4 ? 2 * across : across;  // of one row of fractals in L0A
    AscendC::LoadData2dTransposeParams load;
    load.repeatTimes = static_cast<uint8_t>(across);
    load.srcStride = static_cast<uint16_t>(squares.along_k);
    load.dstGap = sizeof(T) == 4 ? 1 : 0;
    load.dstFracGap = sizeof(T) == 1 ? static_cast<uint16_t>(row_fractals - 1) : 0;
    for (int32_t i = 0; i < down; ++i) {
        load.startIndex = static_cast<uint16_t>(step.k / square * squares.along_k + i * squares.aside);
        load_squares(to[i * square / 16 * row_fractals * fractal], from, load);
    }
}

// The block of B lies k x n in L1.
template <class T>
__aicore__ inline void load_l0b_transposed(const AscendC::LocalTensor<T>& to,
                                           const AscendC::LocalTensor<T>& from, const L1Form& form,
                                           int32_t cols, const L0Step& step) {
    constexpr int32_t square = square_of<T>, fractal = fractal_elements<T>;
    const int32_t down = (step.length + square - 1) / square, across = (cols + square - 1) / square;
    const SquareStep squares = squares_of<T>(form);
    const int32_t row_fractals = sizeof(T) == 1 ? 2 * across : across;
    AscendC::LoadData2dTransposeParams load;
    load.repeatTimes = static_cast<uint8_t>(across);
    load.srcStride = static_cast<uint16_t>(squares.aside);
    load.dstGap = sizeof(T) == 1 ? 1 : 0;
    load.dstFracGap = sizeof(T) == 4 ? static_cast<uint16_t>(row_fractals - 1) : 0;
    for (int32_t i = 0; i < down; ++i) {
        load.startIndex = static_cast<uint16_t>((step.k / square + i) * squares.along_k);
        load_squares(to[i * (sizeof(T) == 4 ? 2 : 1) * row_fractals * fractal], from, load);
    }
}

// `across`: the block lies with k across, and is transposed on its way.
template <class T>
__aicore__ inline void load_left(const AscendC::LocalTensor<T>& to, const AscendC::LocalTensor<T>& from,
                                 const L1Form& form, int32_t rows, const L0Step& step, bool across) {
    if (across)
        load_l0a_transposed(to, from, form, rows, step);
    else
        load_l0a(to, from, form, rows, step);
}
template <class T>
__aicore__ inline void load_right(const AscendC::LocalTensor<T>& to, const AscendC::LocalTensor<T>& from,
                                  const L1Form& form, int32_t cols, const L0Step& step, bool across) {
    if (across)
        load_l0b_transposed(to, from, form, cols, step);
    else
        load_l0b(to, from, form, cols, step);
}

// Columns of B that the cube reads: squares of bytes are 32 wide in L0B.
template <class T>
__aicore__ inline int32_t cube_cols_of(const L1Form& form, int32_t cols, bool across) {
    return sizeof(T) == 1 && across ? form.cols : cols;
}

// Whether k of A lies padded to 16 in L0: squares of f32 are two fractals wide.
template <class T>
__aicore__ inline bool pads_k(bool across) {
    return sizeof(T) == 4 && across;
}

}  // namespace ascend_fuse::device::ASCEND_FUSE_ARCH
