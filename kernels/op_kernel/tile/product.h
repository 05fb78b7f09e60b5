// What the cube made, on its way out of L0C through UB of the same core: columns of 16 elements become rows.
#pragma once

#include "cast.h"

namespace ascend_fuse::device::ASCEND_FUSE_ARCH {

inline constexpr int32_t cube_cols = 16;

// Rows of a tile of the product in UB: columns of 16 sums of four bytes, `rows` each.
struct Product {
    LocalTensor<uint8_t> block;
    int32_t rows = 0;
};

// One column, rounded into rows `pitch` bytes apart.
template <class To>
__aicore__ inline void round_column(const LocalTensor<To>& to, const LocalTensor<float>& from, int32_t rows,
                                    int32_t pitch, AscendC::RoundMode mode) {
    const AscendC::UnaryRepeatParams steps(1, 1, static_cast<uint8_t>(pitch / block_bytes),
                                           cube_cols * sizeof(float) / block_bytes);
    for (int32_t r = 0; r < rows; r += max_repeat)
        AscendC::Cast(to[r * pitch / static_cast<int32_t>(sizeof(To))], from[r * cube_cols], mode, cube_cols,
                      static_cast<uint8_t>(least(max_repeat, rows - r)), steps);
}

// One column of sums as they are, `cols` of it.
__aicore__ inline void copy_column(const LocalTensor<uint32_t>& to, const LocalTensor<uint32_t>& from,
                                   int32_t rows, int32_t cols, int32_t pitch) {
    const int32_t blocks = (cols * 4 + block_bytes - 1) / block_bytes, whole = cube_cols * 4 / block_bytes;
    const AscendC::DataCopyParams copy(static_cast<uint16_t>(rows), static_cast<uint16_t>(blocks),
                                       static_cast<uint16_t>(whole - blocks),
                                       static_cast<uint16_t>(pitch / block_bytes - blocks));
    AscendC::DataCopy(to, from, copy);
}

// The product as the tile of an operand.
__aicore__ inline void lay_rows(const Tile& tile, const Operand& operand, const Product& product) {
    const auto to = place_of(tile.places, operand.place)[operand.offset];
    const int32_t column = product.rows * cube_cols * 4;
    for (int32_t c = 0; c < tile.cols; c += cube_cols) {
        const auto from = product.block[c / cube_cols * column];
        if (operand.dtype == f16)
            round_column(to[c * 2].ReinterpretCast<half>(), from.ReinterpretCast<float>(), tile.rows,
                         operand.pitch, AscendC::RoundMode::CAST_NONE);
#if ASCEND_FUSE_WIDE_CASTS
        else if (operand.dtype == bf16)
            round_column(to[c * 2].ReinterpretCast<bfloat16_t>(), from.ReinterpretCast<float>(), tile.rows,
                         operand.pitch, AscendC::RoundMode::CAST_RINT);
#endif
        else
            copy_column(to[c * 4].ReinterpretCast<uint32_t>(), from.ReinterpretCast<uint32_t>(), tile.rows,
                        least(cube_cols, tile.cols - c), operand.pitch);
    }
    barrier();
}

}  // namespace ascend_fuse::device::ASCEND_FUSE_ARCH
