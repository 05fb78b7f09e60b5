// L1 -> L0A in columns of fractals (Nz), L0B in rows of fractals (Zn): for either operand, all fractals of
// its rows or columns, then those of the next 32 B of k.
#pragma once

#include "l0.h"

namespace ascend_fuse::device::ASCEND_FUSE_ARCH {

// Blocks in L1 lie in one group.
template <class T>
__aicore__ inline int32_t square_rows(int32_t k) {
    return static_cast<int32_t>(round_to(k, square_of<T>));
}

// The block lies with k across: squares are transposed, those of bytes two fractals high, of f32 two wide.
template <class T>
__aicore__ inline void load_squares(const AscendC::LocalTensor<T>& to, const AscendC::LocalTensor<T>& from,
                                    const L1Form& form, int32_t side, const L0Step& step) {
    constexpr int32_t square = square_of<T>, c0 = 32 / sizeof(T), rows = square / 16;
    const int32_t squares = (step.length + square - 1) / square, pitch = (side + 15) / 16;
    // The last square of bytes may reach into the next column, which is loaded behind it.
    const bool reaches = pitch % rows != 0;
    const int32_t at_once = reaches ? 1 : squares;
    AscendC::LoadData2DParamsV2 load;
    load.kStartPosition = 0;
    load.mStep = static_cast<uint16_t>(at_once * rows);
    load.kStep = static_cast<uint16_t>((side + square - 1) / square * (square / c0));
    load.srcStride = form.group / 16;
    load.dstStride = static_cast<uint16_t>(pitch);
    load.ifTranspose = true;
    for (int32_t i = 0; i < squares; i += at_once) {
        load.mStartPosition = static_cast<uint32_t>(step.k / 16 + i * rows);
        if (i > 0) AscendC::PipeBarrier<PIPE_MTE1>();
        AscendC::LoadData(to[i * pitch * fractal_elements<T>], from, load);
    }
}

template <class T>
__aicore__ inline void load_block(const AscendC::LocalTensor<T>& to, const AscendC::LocalTensor<T>& from,
                                  const L1Form& form, int32_t side, const L0Step& step) {
    constexpr int32_t c0 = 32 / sizeof(T);
    const int32_t pitch = (side + 15) / 16;
    AscendC::LoadData2DParamsV2 load;
    load.mStartPosition = 0;
    load.kStartPosition = static_cast<uint32_t>(step.k / c0);
    load.mStep = static_cast<uint16_t>(pitch);
    load.kStep = static_cast<uint16_t>((step.length + c0 - 1) / c0);
    load.srcStride = form.group / 16;
    load.dstStride = static_cast<uint16_t>(pitch);
    load.ifTranspose = false;
    AscendC::LoadData(to, from, load);
}

// `across`: the block lies with k across, and is transposed on its way.
template <class T>
__aicore__ inline void load_left(const AscendC::LocalTensor<T>& to, const AscendC::LocalTensor<T>& from,
                                 const L1Form& form, int32_t side, const L0Step& step, bool across) {
    if (across)
        load_squares(to, from, form, side, step);
    else
        load_block(to, from, form, side, step);
}
template <class T>
__aicore__ inline void load_right(const AscendC::LocalTensor<T>& to, const AscendC::LocalTensor<T>& from,
                                  const L1Form& form, int32_t side, const L0Step& step, bool across) {
    load_left(to, from, form, side, step, across);
}

template <class T>
__aicore__ inline int32_t cube_cols_of(const L1Form&, int32_t cols, bool) {
    return cols;
}

template <class T>
__aicore__ inline bool pads_k(bool) {
    return false;
}

}  // namespace ascend_fuse::device::ASCEND_FUSE_ARCH
