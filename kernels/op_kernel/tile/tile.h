// What a step needs of the tile in work, and its operands as tensors of UB.
#pragma once

#include "../arch.h"

namespace ascend_fuse::device::ASCEND_FUSE_ARCH {

using AscendC::LocalTensor;

struct Places {
    LocalTensor<uint8_t> in, out, resident, calc;
};

// The tile in work: `rows` x `cols` from element (row, col) of the space on.
struct Tile {
    Places places;
    GM_ADDR launch;
    int64_t row = 0, col = 0;
    int32_t rows = 0, cols = 0;
    int32_t tile_cols = 0;    // of a whole tile
    int64_t space_cols = 0;   // of the space
    int32_t axes_at = 0;      // table of axes
    bool first = false;       // of the tiles of its row
    uint32_t key[2], run[2];  // of Philox
};

template <typename A, typename B>
inline constexpr bool same = false;
template <typename A>
inline constexpr bool same<A, A> = true;

template <typename T>
inline constexpr int32_t block_lanes = block_bytes / static_cast<int32_t>(sizeof(T));
template <typename T>
inline constexpr int32_t repeat_lanes = repeat_bytes / static_cast<int32_t>(sizeof(T));

__aicore__ inline LocalTensor<uint8_t> place_of(const Places& places, Place place) {
    if (place == Place::in) return places.in;
    if (place == Place::out) return places.out;
    if (place == Place::resident) return places.resident;
    return places.calc;
}

template <typename T>
__aicore__ inline LocalTensor<T> tensor_of(const Tile& tile, const Operand& operand) {
    return place_of(tile.places, operand.place)[operand.offset].template ReinterpretCast<T>();
}

template <typename T>
__aicore__ inline LocalTensor<T> scratch_of(const Tile& tile, int32_t offset) {
    return tile.places.calc[offset].template ReinterpretCast<T>();
}

// Rows and elements of a row that the operand has in this tile.
__aicore__ inline int32_t rows_of(const Tile& tile, const Operand& operand) {
    if (operand.turned != 0) return tile.cols;
    return operand.span == SpanCode::full || operand.span == SpanCode::row ? tile.rows : 1;
}
__aicore__ inline int32_t cols_of(const Tile& tile, const Operand& operand) {
    if (operand.turned != 0) return tile.rows;
    if (operand.span == SpanCode::row || operand.span == SpanCode::scalar) return 1;
    return operand.cols == tile.tile_cols ? tile.cols : operand.cols;
}

__aicore__ inline bool is_literal(const Operand& operand) { return operand.place == Place::literal; }
// One number for all lanes of a result `out`.
__aicore__ inline bool is_number(const Operand& operand, const Operand& out) {
    return is_literal(operand) || (operand.span == SpanCode::scalar && out.span != SpanCode::scalar);
}

// The value of a literal or of a scalar in UB. Callers stand between begin_scalar and end_scalar.
template <typename T>
__aicore__ inline T number_of(const Tile& tile, const Operand& operand) {
    if (!is_literal(operand)) return tensor_of<T>(tile, operand).GetValue(0);
    if (operand.dtype == f16 || operand.dtype == bf16 || operand.dtype == f32)
        return static_cast<T>(operand.number);
    return static_cast<T>(operand.offset);
}

// A step as strips of contiguous lanes: one of all lanes where every operand lies like the result, else one a
// row.
struct Strips {
    int32_t count = 1;
    int32_t lanes = 0;
};

__aicore__ inline int32_t width_of(int32_t dtype) {
    if (dtype == f32 || dtype == i32 || dtype == u32) return 4;
    if (dtype == i8 || dtype == u8 || dtype == boolean) return 1;
    return dtype == f64 || dtype == i64 || dtype == u64 ? 8 : 2;
}

__aicore__ inline int32_t lanes_per_row(const Operand& operand) {
    return operand.pitch / width_of(operand.dtype);
}

// Lanes of padding between rows count where all lies alike, as they are in the tile.
__aicore__ inline Strips strips_of(const Tile& tile, const Step& step) {
    const Operand& out = step.out;
    if (out.span == SpanCode::row) return {1, tile.rows};
    if (out.span != SpanCode::full) return {1, cols_of(tile, out)};
    const int32_t rows = rows_of(tile, out);
    bool flat = rows > 1;
    for (int32_t i = 0; i < step.arity; ++i) {
        const Operand& in = step.in[i];
        flat =
            flat && (is_number(in, out) || (in.span == out.span && lanes_per_row(in) == lanes_per_row(out)));
    }
    if (flat) return {1, rows * lanes_per_row(out)};
    return {rows, cols_of(tile, out)};
}

// Strips for the scalar unit, which must not read padding.
__aicore__ inline Strips rows_of(const Tile& tile, const Step& step) {
    const Strips strips = strips_of(tile, step);
    return step.out.span == SpanCode::full ? Strips{tile.rows, cols_of(tile, step.out)} : strips;
}

// The operand in strip `index`: its lanes, or the one number that all lanes see.
template <typename T>
struct Lanes {
    LocalTensor<T> tensor;
    T number = static_cast<T>(0);
    bool one = false;
};

template <typename T>
__aicore__ inline T lane_of(const Lanes<T>& lanes, int32_t at) {
    return lanes.one ? lanes.number : lanes.tensor.GetValue(at);
}

template <typename T>
__aicore__ inline LocalTensor<T> strip_of(const Tile& tile, const Operand& operand, int32_t index) {
    const int32_t row = operand.span == SpanCode::full ? index : 0;
    return tensor_of<T>(tile, operand)[row * operand.pitch / static_cast<int32_t>(sizeof(T))];
}

// Callers stand between begin_scalar and end_scalar, as row values and scalars are read.
template <typename T>
__aicore__ inline Lanes<T> lanes_of(const Tile& tile, const Operand& operand, const Operand& out,
                                    int32_t index) {
    Lanes<T> lanes;
    lanes.one = is_number(operand, out) || (operand.span == SpanCode::row && out.span != SpanCode::row);
    if (is_number(operand, out))
        lanes.number = number_of<T>(tile, operand);
    else if (lanes.one)
        lanes.number = tensor_of<T>(tile, operand).GetValue(index);
    else
        lanes.tensor = strip_of<T>(tile, operand, index);
    return lanes;
}

// Whether a step makes the scalar unit read UB.
__aicore__ inline bool reads_numbers(const Step& step) {
    for (int32_t i = 0; i < step.arity; ++i) {
        const Operand& in = step.in[i];
        if (!is_literal(in) && in.span != step.out.span && in.span != SpanCode::line) return true;
    }
    return false;
}

}  // namespace ascend_fuse::device::ASCEND_FUSE_ARCH
