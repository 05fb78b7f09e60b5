// Binary steps: add, sub, mul, div, max, min. Full operands that lie alike take one call; a line is read
// again for each row by a stride of zero, a row value from a block of equal lanes; numbers go into the call.
#pragma once

#include "tile.h"

namespace ascend_fuse::device::ASCEND_FUSE_ARCH {

struct AddCall {
    template <typename N>
    __aicore__ static inline N of(N a, N b) {
        return a + b;
    }
    template <typename... Args>
    __aicore__ static inline void run(Args&&... args) {
        AscendC::Add(args...);
    }
};
struct SubCall {
    template <typename N>
    __aicore__ static inline N of(N a, N b) {
        return a - b;
    }
    template <typename... Args>
    __aicore__ static inline void run(Args&&... args) {
        AscendC::Sub(args...);
    }
};
struct MulCall {
    template <typename N>
    __aicore__ static inline N of(N a, N b) {
        return a * b;
    }
    template <typename... Args>
    __aicore__ static inline void run(Args&&... args) {
        AscendC::Mul(args...);
    }
};
struct DivCall {
    template <typename N>
    __aicore__ static inline N of(N a, N b) {
        return a / b;
    }
    template <typename... Args>
    __aicore__ static inline void run(Args&&... args) {
        AscendC::Div(args...);
    }
};
struct MaxCall {
    template <typename N>
    __aicore__ static inline N of(N a, N b) {
        return a > b || a != a ? a : b;
    }
    template <typename... Args>
    __aicore__ static inline void run(Args&&... args) {
        AscendC::Max(args...);
    }
};
struct MinCall {
    template <typename N>
    __aicore__ static inline N of(N a, N b) {
        return a < b || a != a ? a : b;
    }
    template <typename... Args>
    __aicore__ static inline void run(Args&&... args) {
        AscendC::Min(args...);
    }
};

template <typename T>
__aicore__ inline T negative(T number) {
    if constexpr (same<T, half>)
        return static_cast<half>(-static_cast<float>(number));
    else
        return static_cast<T>(-number);
}

// x / number: by the reciprocal, scaled where that would leave the range of normal numbers.
template <typename T>
__aicore__ inline void divide_by(const LocalTensor<T>& to, const LocalTensor<T>& x, T number, int32_t lanes) {
    const float limit = same<T, half> ? 0x1p10f : 0x1p100f, scale = same<T, half> ? 0x1p-10f : 0x1p-100f;
    float divisor = static_cast<float>(number);
    const float size = divisor < 0 ? -divisor : divisor;
    float first = 1;
    if (size >= limit && size <= 0x1p127f * 1.99999988f) first = scale;
    if (size <= 1 / limit && size > 0) first = 1 / scale;
    divisor *= first;
    AscendC::Muls(to, x, static_cast<T>(first), lanes);
    barrier();
    AscendC::Muls(to, to, static_cast<T>(1 / divisor), lanes);
}

// x op number, or number op x. `to` may be x, but not where a number is divided by x.
template <typename Call, typename T>
__aicore__ inline void with_number(const LocalTensor<T>& to, const LocalTensor<T>& x, T number, bool left,
                                   int32_t lanes) {
    if constexpr (same<Call, AddCall>) {
        AscendC::Adds(to, x, number, lanes);
    } else if constexpr (same<Call, MulCall>) {
        AscendC::Muls(to, x, number, lanes);
    } else if constexpr (same<Call, MaxCall>) {
        AscendC::Maxs(to, x, number, lanes);
    } else if constexpr (same<Call, MinCall>) {
        AscendC::Mins(to, x, number, lanes);
    } else if constexpr (same<Call, SubCall>) {
        if (!left) {
            AscendC::Adds(to, x, negative(number), lanes);
            return;
        }
        AscendC::Muls(to, x, static_cast<T>(-1), lanes);
        barrier();
        AscendC::Adds(to, to, number, lanes);
    } else if (left) {
        AscendC::Duplicate(to, number, lanes);
        barrier();
        AscendC::Div(to, to, x, lanes);
    } else {
        divide_by(to, x, number, lanes);
    }
}

// What the scalar unit computes in.
template <typename T>
struct Computed {
    using Type = T;
};
template <>
struct Computed<half> {
    using Type = float;
};

// Whether a number takes the scalar unit, lane by lane.
template <typename Call, typename T>
inline constexpr bool by_scalar =
    !arch::has_number_calls && (same<Call, MaxCall> || same<Call, MinCall> || same<T, int32_t>);

template <typename Call, typename T>
__aicore__ inline void each_lane(const LocalTensor<T>& to, const Lanes<T>& a, const Lanes<T>& b,
                                 int32_t lanes) {
    using Wide = typename Computed<T>::Type;
    auto out = to;
    begin_scalar();
    for (int32_t at = 0; at < lanes; ++at)
        out.SetValue(at, static_cast<T>(Call::template of<Wide>(static_cast<Wide>(lane_of(a, at)),
                                                                static_cast<Wide>(lane_of(b, at)))));
    end_scalar();
}

template <typename Call, typename T>
__aicore__ inline void binary_strip(const LocalTensor<T>& to, const Lanes<T>& a, const Lanes<T>& b,
                                    int32_t lanes) {
    if (!a.one && !b.one) {
        Call::run(to, a.tensor, b.tensor, lanes);
    } else if constexpr (by_scalar<Call, T>) {
        each_lane<Call>(to, a, b, lanes);
    } else if (a.one && b.one) {
        AscendC::Duplicate(to, a.number, lanes);
        barrier();
        with_number<Call>(to, to, b.number, false, lanes);
    } else if (b.one) {
        with_number<Call>(to, a.tensor, b.number, false, lanes);
    } else {
        with_number<Call>(to, b.tensor, a.number, true, lanes);
    }
}

// 32 B of equal lanes for each row of a row value.
template <typename T>
__aicore__ inline void fill_blocks(const Tile& tile, const Operand& operand) {
    const auto from = tensor_of<T>(tile, operand);
    const auto to = scratch_of<T>(tile, operand.blocks);
    int32_t done = 0;
    if constexpr (arch::has_block_fill) {
        const int32_t groups = tile.rows / 8;
        for (int32_t at = 0; at < groups; at += max_repeat)
            AscendC::Brcb(to[at * 8 * block_lanes<T>], from[at * 8],
                          static_cast<uint8_t>(least(max_repeat, groups - at)),
                          AscendC::BrcbRepeatParams(1, 8));
        done = groups * 8;
    }
    if (done == tile.rows) return;
    begin_scalar();
    for (int32_t row = done; row < tile.rows; ++row)
        AscendC::Duplicate(to[row * block_lanes<T>], from.GetValue(row), block_lanes<T>);
    end_scalar();
}

// An operand of a full result: blocks from row to row, and from block to block of a row.
template <typename T>
struct Rows {
    LocalTensor<T> tensor;
    int32_t row_step = 0, block_step = 1;

    __aicore__ inline LocalTensor<T> at(int32_t row, int32_t col) const {
        return tensor[row * row_step * block_lanes<T> + (block_step == 0 ? 0 : col)];
    }
};

template <typename T>
__aicore__ inline Rows<T> rows_in(const Tile& tile, const Operand& operand) {
    if (operand.span == SpanCode::row) return {scratch_of<T>(tile, operand.blocks), 1, 0};
    const int32_t step = operand.span == SpanCode::full ? operand.pitch / block_bytes : 0;
    return {tensor_of<T>(tile, operand), step, 1};
}

template <typename Call, typename T>
__aicore__ inline void call_rows(const Rows<T>& to, const Rows<T>& a, const Rows<T>& b, int32_t row,
                                 int32_t col, int32_t lanes, int32_t repeats, bool down) {
    const AscendC::BinaryRepeatParams steps(1, static_cast<uint8_t>(a.block_step),
                                            static_cast<uint8_t>(b.block_step),
                                            static_cast<uint8_t>(down ? to.row_step : 8),
                                            static_cast<uint8_t>(down ? a.row_step : 8 * a.block_step),
                                            static_cast<uint8_t>(down ? b.row_step : 8 * b.block_step));
    Call::run(to.at(row, col), a.at(row, col), b.at(row, col), static_cast<uint64_t>(lanes),
              static_cast<uint8_t>(repeats), steps);
}

// Iterations go down the rows, 256 B of each, or along a row, whichever takes fewer calls.
template <typename Call, typename T>
__aicore__ inline void binary_rows(const Rows<T>& to, const Rows<T>& a, const Rows<T>& b, int32_t rows,
                                   int32_t cols) {
    constexpr int32_t lanes = repeat_lanes<T>;
    const bool near = to.row_step <= max_stride && a.row_step <= max_stride && b.row_step <= max_stride;
    const int32_t whole = cols / lanes, rest = cols % lanes;
    if (near && rows > whole) {
        for (int32_t col = 0; col < cols; col += lanes)
            for (int32_t row = 0; row < rows; row += max_repeat)
                call_rows<Call>(to, a, b, row, col, least(lanes, cols - col), least(max_repeat, rows - row),
                                true);
        return;
    }
    for (int32_t row = 0; row < rows; ++row) {
        for (int32_t at = 0; at < whole; at += max_repeat)
            call_rows<Call>(to, a, b, row, at * lanes, lanes, least(max_repeat, whole - at), false);
        if (rest > 0) call_rows<Call>(to, a, b, row, whole * lanes, rest, 1, false);
    }
}

template <typename Call, typename T>
__aicore__ inline void binary(const Tile& tile, const Step& step) {
    const Operand &a = step.in[0], &b = step.in[1];
    const bool numbers = is_number(a, step.out) || is_number(b, step.out);
    const Strips strips = numbers && by_scalar<Call, T> ? rows_of(tile, step) : strips_of(tile, step);
    if (strips.count == 1 || numbers) {
        if (reads_numbers(step)) begin_scalar();
        for (int32_t i = 0; i < strips.count; ++i)
            binary_strip<Call>(strip_of<T>(tile, step.out, i), lanes_of<T>(tile, a, step.out, i),
                               lanes_of<T>(tile, b, step.out, i), strips.lanes);
        if (reads_numbers(step)) end_scalar();
        return;
    }
    if (a.span == SpanCode::row) fill_blocks<T>(tile, a);
    if (b.span == SpanCode::row) fill_blocks<T>(tile, b);
    barrier();
    binary_rows<Call>(rows_in<T>(tile, step.out), rows_in<T>(tile, a), rows_in<T>(tile, b), tile.rows,
                      strips.lanes);
}

}  // namespace ascend_fuse::device::ASCEND_FUSE_ARCH
