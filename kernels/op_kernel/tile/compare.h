// Comparisons, which give f16 of 0 or 1, and where, which reads such. Their vector calls take whole
// iterations of 256 B: the last lanes of a strip are done by an iteration that begins earlier, or by the
// scalar unit.
#pragma once

#include "tile.h"

namespace ascend_fuse::device::ASCEND_FUSE_ARCH {

using AscendC::CMPMODE;

__aicore__ inline CMPMODE mode_of(StepCode code) {
    switch (code) {
        case StepCode::lt:
            return CMPMODE::LT;
        case StepCode::le:
            return CMPMODE::LE;
        case StepCode::gt:
            return CMPMODE::GT;
        case StepCode::ge:
            return CMPMODE::GE;
        default:
            return CMPMODE::EQ;
    }
}

__aicore__ inline CMPMODE mirrored(CMPMODE mode) {
    if (mode == CMPMODE::LT) return CMPMODE::GT;
    if (mode == CMPMODE::GT) return CMPMODE::LT;
    if (mode == CMPMODE::LE) return CMPMODE::GE;
    return mode == CMPMODE::GE ? CMPMODE::LE : mode;
}

template <typename T>
__aicore__ inline bool holds(T left, T right, CMPMODE mode) {
    if constexpr (same<T, half>) {
        return holds(static_cast<float>(left), static_cast<float>(right), mode);
    } else {
        if (mode == CMPMODE::LT) return left < right;
        if (mode == CMPMODE::LE) return left <= right;
        if (mode == CMPMODE::GT) return left > right;
        if (mode == CMPMODE::GE) return left >= right;
        return left == right;
    }
}

// Lanes [begin, end) are for the vector unit in iterations of `step` lanes; the last may begin before the one
// before it ended. Returns how many lanes are left for the scalar unit. `unit`: lanes to which strips align.
template <typename Body>
__aicore__ inline int32_t iterate(int32_t lanes, int32_t step, int32_t unit, int32_t most, const Body& body) {
    const int32_t whole = lanes / step * step;
    for (int32_t at = 0; at < whole; at += most * step) body(at, least(most * step, whole - at));
    if (whole == lanes || whole == 0 || lanes % unit != 0) return lanes - whole;
    body(lanes - step, step);
    return 0;
}

// Whether the vector unit compares the dtype.
template <typename T>
inline constexpr bool compares = arch::has_select && (arch::has_integer_compare || !same<T, int32_t>);

// Strips of which the vector unit can do all but what the scalar unit may read.
template <typename T>
__aicore__ inline Strips comparable(const Tile& tile, const Step& step) {
    const Strips strips = strips_of(tile, step);
    return compares<T> && strips.lanes >= repeat_lanes<T> ? strips : rows_of(tile, step);
}

// to = bits ? a : b, in place of `to` where a or b is a number. f16 or f32.
template <typename T>
__aicore__ inline void select(const LocalTensor<T>& to, const LocalTensor<uint8_t>& bits, const Lanes<T>& a,
                              const Lanes<T>& b, int32_t at, int32_t lanes) {
    using AscendC::SELMODE;
    const auto count = static_cast<uint32_t>(lanes);
    if (a.one) {
        AscendC::Duplicate(to[at], a.number, lanes);
        barrier();
    }
    const auto first = a.one ? to[at] : a.tensor[at];
    if (b.one)
        AscendC::Select(to[at], bits, first, b.number, SELMODE::VSEL_TENSOR_SCALAR_MODE, count);
    else
        AscendC::Select(to[at], bits, first, b.tensor[at], SELMODE::VSEL_TENSOR_TENSOR_MODE, count);
    barrier();
}

template <typename T>
__aicore__ inline void compare_bits(const LocalTensor<uint8_t>& bits, const Lanes<T>& a, const Lanes<T>& b,
                                    CMPMODE mode, int32_t at, int32_t lanes) {
    const auto count = static_cast<uint32_t>(lanes);
    if (b.one)
        AscendC::CompareScalar(bits, a.tensor[at], b.number, mode, count);
    else if (a.one)
        AscendC::CompareScalar(bits, b.tensor[at], a.number, mirrored(mode), count);
    else
        AscendC::Compare(bits, a.tensor[at], b.tensor[at], mode, count);
    barrier();
}

template <typename T>
__aicore__ inline void compare_strip(const LocalTensor<half>& to, const LocalTensor<uint8_t>& bits,
                                     const Lanes<T>& a, const Lanes<T>& b, CMPMODE mode, int32_t lanes) {
    const Lanes<half> one{{}, static_cast<half>(1.0f), true}, zero{{}, static_cast<half>(0.0f), true};
    int32_t rest = lanes;
    if constexpr (compares<T>)
        if (!(a.one && b.one) && (!same<T, int32_t> || mode == CMPMODE::EQ))
            rest = iterate(lanes, repeat_lanes<T>, block_lanes<half>, lanes, [&](int32_t at, int32_t count) {
                compare_bits(bits, a, b, mode, at, count);
                select(to, bits, one, zero, at, count);
            });
    if (rest == 0) return;
    begin_scalar();
    for (int32_t at = lanes - rest; at < lanes; ++at)
        to.SetValue(at, static_cast<half>(holds(lane_of(a, at), lane_of(b, at), mode) ? 1.0f : 0.0f));
    end_scalar();
}

template <typename T>
__aicore__ inline void compare(const Tile& tile, const Step& step) {
    const Strips strips = comparable<T>(tile, step);
    const auto bits = scratch_of<uint8_t>(tile, step.scratch);
    if (reads_numbers(step)) begin_scalar();
    for (int32_t i = 0; i < strips.count; ++i)
        compare_strip(strip_of<half>(tile, step.out, i), bits, lanes_of<T>(tile, step.in[0], step.out, i),
                      lanes_of<T>(tile, step.in[1], step.out, i), mode_of(step.code), strips.lanes);
    if (reads_numbers(step)) end_scalar();
}

template <typename T>
__aicore__ inline void where_strip(const LocalTensor<T>& to, const LocalTensor<uint8_t>& bits,
                                   const Lanes<half>& c, const Lanes<T>& a, const Lanes<T>& b,
                                   int32_t lanes) {
    const Lanes<half> zero{{}, static_cast<half>(0.0f), true};
    int32_t rest = lanes;
    if (arch::has_select && !c.one)
        rest = iterate(lanes, repeat_lanes<half>, block_lanes<half>, lanes, [&](int32_t at, int32_t count) {
            AscendC::CompareScalar(bits, c.tensor[at], zero.number, CMPMODE::NE,
                                   static_cast<uint32_t>(count));
            barrier();
            select(to, bits, a, b, at, count);
        });
    if (rest == 0) return;
    begin_scalar();
    for (int32_t at = lanes - rest; at < lanes; ++at) {
        const bool taken = static_cast<float>(lane_of(c, at)) != 0;
        to.SetValue(at, taken ? lane_of(a, at) : lane_of(b, at));
    }
    end_scalar();
}

// A number in the bits of T.
template <typename T, typename Bits>
__aicore__ inline T of_bits(int32_t word) {
    const Bits bits = static_cast<Bits>(word);
    T number;
    __builtin_memcpy(&number, &bits, sizeof number);
    return number;
}

// An operand of where, which chooses bits: Select knows them as half and float.
template <typename T>
__aicore__ inline Lanes<T> choice_of(const Tile& tile, const Operand& operand, int32_t index) {
    Lanes<T> lanes;
    lanes.one = is_literal(operand);
    if (!lanes.one)
        lanes.tensor = strip_of<T>(tile, operand, index);
    else if (operand.dtype == f16 || operand.dtype == f32)
        lanes.number = static_cast<T>(operand.number);
    else if constexpr (same<T, half>)
        lanes.number = of_bits<half, uint16_t>(operand.offset);
    else
        lanes.number = of_bits<float, uint32_t>(operand.offset);
    return lanes;
}

// T: half or float, by the width of the values. The result lies on no operand, operands have its span or are
// literals.
template <typename T>
__aicore__ inline void where(const Tile& tile, const Step& step) {
    const Operand& out = step.out;
    const Strips strips = comparable<half>(tile, step);
    const auto bits = scratch_of<uint8_t>(tile, step.scratch);
    for (int32_t i = 0; i < strips.count; ++i)
        where_strip(strip_of<T>(tile, out, i), bits, lanes_of<half>(tile, step.in[0], out, i),
                    choice_of<T>(tile, step.in[1], i), choice_of<T>(tile, step.in[2], i), strips.lanes);
}

}  // namespace ascend_fuse::device::ASCEND_FUSE_ARCH
