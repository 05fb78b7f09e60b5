// Reductions of rows: iterations of 256 B become one value each, those again, until one value a row is left.
// Sums are of f32. Lanes behind the last column are masked.
#pragma once

#include "map_binary.h"

namespace ascend_fuse::device::ASCEND_FUSE_ARCH {

struct ReduceSum {
    using Join = AddCall;
    static constexpr bool whole = arch::has_reduce_sum;
    template <typename T>
    __aicore__ static inline void run(const LocalTensor<T>& to, const LocalTensor<T>& from, int32_t mask,
                                      int32_t repeats, int32_t to_step, int32_t from_step) {
        AscendC::WholeReduceSum(to, from, mask, repeats, to_step, 1, from_step);
    }
};
// No vector call multiplies the lanes of a row.
struct ReduceProd {
    using Join = MulCall;
    static constexpr bool whole = false;
};
struct ReduceMax {
    using Join = MaxCall;
    static constexpr bool whole = arch::has_reduce_limit;
    template <typename T>
    __aicore__ static inline void run(const LocalTensor<T>& to, const LocalTensor<T>& from, int32_t mask,
                                      int32_t repeats, int32_t to_step, int32_t from_step) {
        AscendC::WholeReduceMax(to, from, mask, repeats, to_step, 1, from_step,
                                AscendC::ReduceOrder::ORDER_ONLY_VALUE);
    }
};
struct ReduceMin {
    using Join = MinCall;
    static constexpr bool whole = arch::has_reduce_limit;
    template <typename T>
    __aicore__ static inline void run(const LocalTensor<T>& to, const LocalTensor<T>& from, int32_t mask,
                                      int32_t repeats, int32_t to_step, int32_t from_step) {
        AscendC::WholeReduceMin(to, from, mask, repeats, to_step, 1, from_step,
                                AscendC::ReduceOrder::ORDER_ONLY_VALUE);
    }
};

// Rows that lie `pitch` lanes apart.
template <typename T>
struct Matrix {
    LocalTensor<T> tensor;
    int32_t rows = 0, cols = 0, pitch = 0;
};

// One stage: of each 256 B of a row one value. Iterations go down the rows or along a row, whichever takes
// fewer calls.
template <typename Call, typename T>
__aicore__ inline void reduce_stage(const LocalTensor<T>& to, int32_t to_pitch, const Matrix<T>& from) {
    constexpr int32_t lanes = repeat_lanes<T>;
    const int32_t whole = from.cols / lanes, rest = from.cols % lanes;
    const int32_t step = from.pitch / block_lanes<T>;
    const bool down = from.rows > whole;
    for (int32_t col = 0; down && col < from.cols; col += lanes)
        for (int32_t row = 0; row < from.rows; row += max_repeat)
            Call::run(to[row * to_pitch + col / lanes], from.tensor[row * from.pitch + col],
                      least(lanes, from.cols - col), least(max_repeat, from.rows - row), to_pitch, step);
    for (int32_t row = 0; !down && row < from.rows; ++row) {
        for (int32_t at = 0; at < whole; at += max_repeat)
            Call::run(to[row * to_pitch + at], from.tensor[row * from.pitch + at * lanes], lanes,
                      least(max_repeat, whole - at), 1, 8);
        if (rest > 0)
            Call::run(to[row * to_pitch + whole], from.tensor[row * from.pitch + whole * lanes], rest, 1, 1,
                      8);
    }
    barrier();
}

template <typename Call, typename T>
__aicore__ inline void reduce_whole(const LocalTensor<T>& to, Matrix<T> from, LocalTensor<T> scratch) {
    while (from.cols > repeat_lanes<T>) {
        const int32_t cols = (from.cols + repeat_lanes<T> - 1) / repeat_lanes<T>;
        const int32_t pitch = round_up(cols, block_lanes<T>);
        reduce_stage<Call>(scratch, pitch, from);
        from = {scratch, from.rows, cols, pitch};
        scratch = scratch[from.rows * pitch];  // the stages together are shorter than the tile
    }
    reduce_stage<Call>(to, 1, from);
}

template <typename Call, typename T>
__aicore__ inline float joined(float a, float b) {
    if constexpr (same<Call, ReduceSum>) return a + b;
    if constexpr (same<Call, ReduceProd>) return a * b;
    if (a != a) return a;
    if constexpr (same<Call, ReduceMax>) return b > a || b != b ? b : a;
    return b < a || b != b ? b : a;
}

// Without such calls: the second half of a row is joined with the first until a block is left, and the lanes
// of that by the scalar unit.
template <typename Call, typename T>
__aicore__ inline void reduce_row(const LocalTensor<T>& to, const LocalTensor<T>& row, int32_t cols,
                                  const LocalTensor<T>& scratch, bool more) {
    constexpr int32_t block = block_lanes<T>;
    AscendC::DataCopy(scratch, row, static_cast<uint32_t>(round_up(cols, block)));
    barrier();
    int32_t lanes = cols;
    while (lanes > block) {
        const int32_t first = round_up((lanes + 1) / 2, block);
        Call::Join::run(scratch, scratch, scratch[first], lanes - first);
        barrier();
        lanes = first;
    }
    auto result = to;
    begin_scalar();
    auto sum = static_cast<float>(scratch.GetValue(0));
    for (int32_t at = 1; at < lanes; ++at)
        sum = joined<Call, T>(sum, static_cast<float>(scratch.GetValue(at)));
    if (more) sum = joined<Call, T>(static_cast<float>(result.GetValue(0)), sum);
    result.SetValue(0, static_cast<T>(sum));
    end_scalar();
}

// `more`: onto what is there already.
template <typename Call, typename T>
__aicore__ inline void reduce_rows(const LocalTensor<T>& to, const Matrix<T>& from,
                                   const LocalTensor<T>& scratch, bool more) {
    if constexpr (!Call::whole) {
        for (int32_t row = 0; row < from.rows; ++row)
            reduce_row<Call>(to[row], from.tensor[row * from.pitch], from.cols, scratch, more);
    } else if (more) {
        reduce_whole<Call>(scratch, from, scratch[round_up(from.rows, block_lanes<T>)]);
        Call::Join::run(to, to, scratch, from.rows);
    } else {
        reduce_whole<Call>(to, from, scratch);
    }
}

template <typename Call, typename T>
__aicore__ inline void reduce(const Tile& tile, const Step& step) {
    const Operand& in = step.in[0];
    const Matrix<T> from{tensor_of<T>(tile, in), rows_of(tile, in), cols_of(tile, in), lanes_per_row(in)};
    reduce_rows<Call>(tensor_of<T>(tile, step.out), from, scratch_of<T>(tile, step.scratch),
                      step.accumulate != 0 && !tile.first);
}

}  // namespace ascend_fuse::device::ASCEND_FUSE_ARCH
