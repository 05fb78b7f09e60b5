// Steps that move lanes: copy (slices, concats, broadcasts) and spread (a value that repeats inside of a
// row). Whole blocks go by the vector unit, lanes that do not lie on blocks by the scalar unit. Values are
// words of their width.
#pragma once

#include "tile.h"

namespace ascend_fuse::device::ASCEND_FUSE_ARCH {

template <typename W>
__aicore__ inline int32_t lane_at(const Operand& operand, int32_t row, int32_t col) {
    if (operand.span == SpanCode::full) return row * lanes_per_row(operand) + col;
    if (operand.span == SpanCode::line) return col;
    return operand.span == SpanCode::row ? row : 0;
}

template <typename W, typename T>
__aicore__ inline W bits_of(T number) {
    W word;
    __builtin_memcpy(&word, &number, sizeof word);
    return word;
}

// The word of a literal.
template <typename W>
__aicore__ inline W word_of(const Operand& operand) {
    if (operand.dtype == f32) return static_cast<W>(bits_of<uint32_t>(operand.number));
    if (operand.dtype == f16) return static_cast<W>(bits_of<uint16_t>(static_cast<half>(operand.number)));
    return static_cast<W>(operand.offset);
}

template <typename W>
__aicore__ inline void copy_lanes(const Tile& tile, const Step& step, int32_t rows, int32_t cols) {
    const Operand &in = step.in[0], &out = step.out;
    const auto to = tensor_of<W>(tile, out);
    begin_scalar();
    for (int32_t row = 0; row < rows; ++row)
        for (int32_t col = 0; col < cols; ++col) {
            const W word = is_literal(in)
                               ? word_of<W>(in)
                               : tensor_of<W>(tile, in).GetValue(lane_at<W>(in, row, step.in_col + col));
            to.SetValue(lane_at<W>(out, row, step.out_col + col), word);
        }
    end_scalar();
}

// One word into `count` lanes, where the vector unit has such words.
template <typename W>
__aicore__ inline void fill(const LocalTensor<W>& to, W word, int32_t count) {
    if constexpr (sizeof(W) == 2 || sizeof(W) == 4) AscendC::Duplicate(to, word, count);
}

template <typename W>
__aicore__ inline void copy_blocks(const Tile& tile, const Step& step, int32_t rows, int32_t blocks) {
    const Operand &in = step.in[0], &out = step.out;
    const auto to = tensor_of<W>(tile, out)[step.out_col];
    const auto from = tensor_of<W>(tile, in)[step.in_col];
    if (in.span != SpanCode::full || rows == 1) {
        for (int32_t row = 0; row < rows; ++row)
            AscendC::DataCopy(to[row * lanes_per_row(out)], from,
                              AscendC::DataCopyParams(1, static_cast<uint16_t>(blocks), 0, 0));
        return;
    }
    const auto from_gap = static_cast<uint16_t>(in.pitch / block_bytes - blocks);
    const auto to_gap = static_cast<uint16_t>(out.pitch / block_bytes - blocks);
    for (int32_t row = 0; row < rows; row += max_bursts)
        AscendC::DataCopy(to[row * lanes_per_row(out)], from[row * lanes_per_row(in)],
                          AscendC::DataCopyParams(static_cast<uint16_t>(least(max_bursts, rows - row)),
                                                  static_cast<uint16_t>(blocks), from_gap, to_gap));
}

// A number, or each row's, into lanes that begin on a block.
template <typename W>
__aicore__ inline void fill_rows(const Tile& tile, const Step& step, int32_t rows, int32_t cols) {
    const Operand &in = step.in[0], &out = step.out;
    const auto to = tensor_of<W>(tile, out)[step.out_col];
    begin_scalar();
    for (int32_t row = 0; row < rows; ++row) {
        const W word =
            is_literal(in) ? word_of<W>(in) : tensor_of<W>(tile, in).GetValue(lane_at<W>(in, row, 0));
        fill(to[row * lanes_per_row(out)], word, cols);
    }
    end_scalar();
}

template <typename W>
__aicore__ inline void copy(const Tile& tile, const Step& step) {
    constexpr auto width = static_cast<int32_t>(sizeof(W));
    const Operand &in = step.in[0], &out = step.out;
    const int32_t rows = rows_of(tile, out);
    const int32_t own = cols_of(tile, out);
    const int32_t cols = step.cols > 0 ? step.cols : own;
    const bool wide = out.span == SpanCode::full || out.span == SpanCode::line;
    const bool on_block = wide && step.out_col * width % block_bytes == 0;
    const bool one = is_literal(in) || in.span == SpanCode::scalar || in.span == SpanCode::row;
    if (on_block && one && (width == 2 || width == 4)) return fill_rows<W>(tile, step, rows, cols);
    // The last block may spill into the padding of a row, not into lanes that another copy writes.
    const bool ends = cols * width % block_bytes == 0 || step.out_col + cols == own;
    if (on_block && !one && ends && step.in_col * width % block_bytes == 0)
        return copy_blocks<W>(tile, step, rows, (cols * width + block_bytes - 1) / block_bytes);
    if (out.span == SpanCode::row && in.span == SpanCode::row)
        return copy_blocks<W>(tile, step, 1, (rows * width + block_bytes - 1) / block_bytes);
    copy_lanes<W>(tile, step, rows, cols);
}

// Where element `col` of a row lies in the row of the value that repeats there.
__aicore__ inline int32_t spread_from(const Tile& tile, const Step& step, int32_t col) {
    int32_t from = 0;
    for (int32_t i = step.axes - 1; i >= 0; --i) {
        const auto axis = fetch<AxisRecord>(tile.launch, tile.axes_at, step.first_axis + i);
        const auto extent = static_cast<int32_t>(axis.extent);
        from += col % extent * static_cast<int32_t>(axis.stride);
        col /= extent;
    }
    return from;
}

// Runs of `run` lanes of one word, or that follow each other, as the last axis says.
template <typename W>
__aicore__ inline void spread(const Tile& tile, const Step& step) {
    constexpr auto width = static_cast<int32_t>(sizeof(W));
    const Operand &in = step.in[0], &out = step.out;
    const auto last = fetch<AxisRecord>(tile.launch, tile.axes_at, step.first_axis + step.axes - 1);
    const int32_t cols = cols_of(tile, out), rows = rows_of(tile, out);
    const bool filled =
        last.stride == 0 && (width == 2 || width == 4) && last.extent * width % block_bytes == 0;
    const int32_t run = filled ? static_cast<int32_t>(last.extent) : 1;
    const auto to = tensor_of<W>(tile, out);
    const auto from = tensor_of<W>(tile, in);
    begin_scalar();
    for (int32_t row = 0; row < rows; ++row)
        for (int32_t col = 0; col < cols; col += run) {
            const W word = from.GetValue(lane_at<W>(in, row, spread_from(tile, step, col)));
            const int32_t lane = lane_at<W>(out, row, col);
            if (filled)
                fill(to[lane], word, least(run, cols - col));
            else
                to.SetValue(lane, word);
        }
    end_scalar();
}

// By the width of the value's elements.
__aicore__ inline void move(const Tile& tile, const Step& step) {
    const bool copies = step.code == StepCode::copy;
    switch (width_of(step.out.dtype)) {
        case 1:
            return copies ? copy<uint8_t>(tile, step) : spread<uint8_t>(tile, step);
        case 2:
            return copies ? copy<uint16_t>(tile, step) : spread<uint16_t>(tile, step);
        case 4:
            return copies ? copy<uint32_t>(tile, step) : spread<uint32_t>(tile, step);
        default:
            return copies ? copy<uint64_t>(tile, step) : spread<uint64_t>(tile, step);
    }
}

}  // namespace ascend_fuse::device::ASCEND_FUSE_ARCH
