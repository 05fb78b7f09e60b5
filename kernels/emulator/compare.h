// Comparisons into bits, and selection by bits.
#pragma once

#include "vector_binary.h"

namespace ascend_fuse::emulator {

using AscendC::CMPMODE;
using AscendC::SELMODE;

template <typename T>
bool holds(T a, T b, CMPMODE mode) {
    switch (mode) {
        case CMPMODE::LT:
            return a < b;
        case CMPMODE::GT:
            return a > b;
        case CMPMODE::EQ:
            return a == b;
        case CMPMODE::LE:
            return a <= b;
        case CMPMODE::GE:
            return a >= b;
        default:
            return a != b;
    }
}

inline bool bit_of(const uint8_t* bits, uint32_t at) { return (bits[at / 8] >> at % 8 & 1) != 0; }
inline void set_bit(uint8_t* bits, uint32_t at, bool value) {
    bits[at / 8] = static_cast<uint8_t>((bits[at / 8] & ~(1u << at % 8)) | uint32_t{value} << at % 8);
}

inline AscendC::BinaryRepeatParams as_binary(const Instruction& call,
                                             const AscendC::UnaryRepeatParams& strides) {
    call.check_range(strides.srcBlkStride, 0, UINT16_MAX, "srcBlkStride");
    AscendC::BinaryRepeatParams params;
    params.src0BlkStride = params.src1BlkStride = strides.srcBlkStride;
    params.src0RepStride = params.src1RepStride = strides.srcRepStride;
    return params;
}

// Bit i of dst tells of lane i, from the lowest bit of the first byte on; repeats follow each other without a
// gap. `mask` does not matter but on 3002 and 3510 (API reference): every lane of a repeat is compared.
template <typename T, typename U>
void compare(const Instruction& call, const Support& dtypes, const AscendC::LocalTensor<U>& dst,
             const AscendC::LocalTensor<T>& src0, const AscendC::LocalTensor<T>* src1, T scalar, CMPMODE mode,
             const Lanes& lanes, const AscendC::BinaryRepeatParams& strides) {
    check_support<T>(call, dtypes);
    if (std::is_same_v<T, int32_t> && call.arch() == 2201 && mode != CMPMODE::EQ)
        call.fail(FaultKind::unsupported_dtype, "takes int32 with EQ only on npu_arch 2201");
    static_assert(sizeof(U) == 1);
    if (lanes.counted && int64_t{lanes.count} * static_cast<int64_t>(sizeof(T)) % 256 != 0)
        call.fail(FaultKind::parameter_range, "count " + std::to_string(lanes.count) + " is not whole 256 B");
    const Strided a{src0.place(), sizeof(T), strides.src0BlkStride, strides.src0RepStride, "src0"};
    const Strided b{src1 != nullptr ? src1->place() : src0.place(), sizeof(T), strides.src1BlkStride,
                    strides.src1RepStride, "src1"};
    const uint32_t width = 256 / sizeof(T), repeats = lanes.counted ? lanes.count / width : lanes.repeats;
    check_operand(call, {dst.place(), 1, 1, 8, "dst"});
    check_operand(call, a);
    check_operand(call, b);
    const uint32_t bytes = repeats * width / 8;
    for (const Strided* operand : {&a, &b})
        call.check(dst.place().address >= operand->place.address + extent(*operand, lanes) ||
                       operand->place.address >= dst.place().address + bytes,
                   FaultKind::partial_overlap, "result overlaps an operand");
    const bool masks = !lanes.counted && (call.arch() == 3002 || call.arch() == 3510);
    const uint32_t piece = block_bytes / sizeof(T);
    for (uint32_t repeat = 0; repeat < repeats; ++repeat) {
        const uint32_t base = repeat * width / 8;
        uint8_t* bits = call.write(dst.place(), base, width / 8);
        uint8_t* unknown = call.unwritten(dst.place(), base);
        for (uint32_t lane = 0; lane < width; lane += piece) {
            const uint32_t x = a.offset(repeat, lane), y = b.offset(repeat, lane);
            const auto* left = reinterpret_cast<const aliased<T>*>(call.read(a.place, x, block_bytes));
            const auto* right = reinterpret_cast<const aliased<T>*>(call.read(b.place, y, block_bytes));
            const uint8_t *left_flags = call.unwritten(a.place, x), *right_flags = call.unwritten(b.place, y);
            for (uint32_t i = 0; i < piece; ++i) {
                set_bit(bits, lane + i, holds<T>(left[i], src1 != nullptr ? T(right[i]) : scalar, mode));
                set_bit(unknown, lane + i,
                        (masks && !lanes.active(lane + i)) ||
                            !all_zero(left_flags + i * sizeof(T), sizeof(T)) ||
                            !all_zero(right_flags + i * sizeof(T), sizeof(T)));
            }
        }
    }
}

// dst[i] = bit i of the mask ? src0[i] : src1[i]. Mode 0 takes the same bits for every repeat, the others go
// on. A lane is unwritten if its bit or the operand that it takes is.
template <typename T, typename U>
void select(const Instruction& call, const AscendC::LocalTensor<T>& dst, const AscendC::LocalTensor<U>& mask,
            const AscendC::LocalTensor<T>& src0, const AscendC::LocalTensor<T>* src1, T scalar, SELMODE mode,
            const Lanes& lanes, const AscendC::BinaryRepeatParams& strides) {
    check_support<T>(call, support::select);
    if (call.arch() == 1001 && mode != SELMODE::VSEL_CMPMASK_SPR)
        call.fail(FaultKind::unsupported_call, "has mode 0 only on npu_arch 1001");
    call.check((mode == SELMODE::VSEL_TENSOR_SCALAR_MODE) == (src1 == nullptr), FaultKind::parameter_range,
               "mode does not fit its operands");
    const Strided to{dst.place(), sizeof(T), strides.dstBlkStride, strides.dstRepStride, "dst"};
    const Strided a{src0.place(), sizeof(T), strides.src0BlkStride, strides.src0RepStride, "src0"};
    const Strided b{src1 != nullptr ? src1->place() : src0.place(), sizeof(T),
                    src1 != nullptr ? strides.src1BlkStride : strides.src0BlkStride,
                    src1 != nullptr ? strides.src1RepStride : strides.src0RepStride, "src1"};
    for (const Strided* operand : {&to, &a, &b}) check_operand(call, *operand);
    check_operand(call, {mask.place(), sizeof(U), 1, 8, "selMask"});
    check_overlap(call, to, a, lanes, false);
    check_overlap(call, to, b, lanes, false);
    const uint32_t width = 256 / sizeof(T), total = lanes.counted ? lanes.count : lanes.repeats * width;
    const uint32_t used = mode == SELMODE::VSEL_CMPMASK_SPR ? std::min(width, total) : total;
    const uint8_t* bits = call.read(mask.place(), 0, (used + 7) / 8);
    const uint8_t* unknown = call.unwritten(mask.place(), 0);
    const Strided operands[3] = {to, a, b};
    for_runs(lanes, operands, [&](const uint32_t (&offsets)[3], uint32_t first, uint32_t n) {
        const auto* x = reinterpret_cast<const aliased<T>*>(call.read(a.place, offsets[1], n * a.size));
        const auto* y = reinterpret_cast<const aliased<T>*>(call.read(b.place, offsets[2], n * b.size));
        auto* out = reinterpret_cast<aliased<T>*>(call.write(to.place, offsets[0], n * to.size));
        for (uint32_t i = 0; i < n; ++i) {
            const uint32_t lane = mode == SELMODE::VSEL_CMPMASK_SPR ? (first + i) % width : first + i;
            const bool left = bit_of(bits, lane);
            const uint32_t at = i * static_cast<uint32_t>(sizeof(T));
            const uint8_t* flags =
                left ? call.unwritten(a.place, offsets[1] + at) : call.unwritten(b.place, offsets[2] + at);
            const bool lost =
                bit_of(unknown, lane) || ((left || src1 != nullptr) && !all_zero(flags, sizeof(T)));
            const T value = left ? T(x[i]) : src1 != nullptr ? T(y[i]) : scalar;
            out[i] = value;
            call.mark(to.place, offsets[0] + at, sizeof(T), lost);
        }
    });
}

}  // namespace ascend_fuse::emulator

namespace AscendC {

#define ASCEND_FUSE_COMPARE(form, lanes_of)                                                                 \
    template <typename T, typename U, bool isSetMask = true>                                                \
    void Compare(const LocalTensor<U>& dst, const LocalTensor<T>& src0, const LocalTensor<T>& src1,         \
                 CMPMODE cmpMode, form mask, int32_t repeatTime, const BinaryRepeatParams& repeatParams,    \
                 Where at = Where::here()) {                                                                \
        const emulated::Instruction call("Compare", PIPE_V, at);                                            \
        const auto lanes = emulated::Lanes::masked(call, sizeof(T), lanes_of(mask), repeatTime);            \
        emulated::compare<T, U>(call, emulated::support::compare, dst, src0, &src1, T(0), cmpMode, lanes,   \
                                repeatParams);                                                              \
    }                                                                                                       \
    template <typename T, typename U, bool isSetMask = true>                                                \
    void CompareScalar(const LocalTensor<U>& dst, const LocalTensor<T>& src0, const T src1Scalar,           \
                       CMPMODE cmpMode, form mask, int32_t repeatTime,                                      \
                       const UnaryRepeatParams& repeatParams, Where at = Where::here()) {                   \
        const emulated::Instruction call("CompareScalar", PIPE_V, at);                                      \
        const auto lanes = emulated::Lanes::masked(call, sizeof(T), lanes_of(mask), repeatTime);            \
        emulated::compare<T, U>(call, emulated::support::compare_scalar, dst, src0,                         \
                                static_cast<const LocalTensor<T>*>(nullptr), src1Scalar, cmpMode, lanes,    \
                                emulated::as_binary(call, repeatParams));                                   \
    }                                                                                                       \
    template <typename T, typename U, bool isSetMask = true>                                                \
    void Select(const LocalTensor<T>& dst, const LocalTensor<U>& selMask, const LocalTensor<T>& src0,       \
                const LocalTensor<T>& src1, SELMODE selMode, form mask, int32_t repeatTime,                 \
                const BinaryRepeatParams& repeatParams, Where at = Where::here()) {                         \
        const emulated::Instruction call("Select", PIPE_V, at);                                             \
        const auto lanes = emulated::Lanes::masked(call, sizeof(T), lanes_of(mask), repeatTime);            \
        emulated::select<T, U>(call, dst, selMask, src0, &src1, T(0), selMode, lanes, repeatParams);        \
    }                                                                                                       \
    template <typename T, typename U, bool isSetMask = true>                                                \
    void Select(const LocalTensor<T>& dst, const LocalTensor<U>& selMask, const LocalTensor<T>& src0,       \
                T src1, SELMODE selMode, form mask, int32_t repeatTime,                                     \
                const BinaryRepeatParams& repeatParams, Where at = Where::here()) {                         \
        const emulated::Instruction call("Select", PIPE_V, at);                                             \
        const auto lanes = emulated::Lanes::masked(call, sizeof(T), lanes_of(mask), repeatTime);            \
        emulated::select<T, U>(call, dst, selMask, src0, static_cast<const LocalTensor<T>*>(nullptr), src1, \
                               selMode, lanes, repeatParams);                                               \
    }

ASCEND_FUSE_COMPARE(uint64_t, static_cast<int64_t>)
ASCEND_FUSE_COMPARE(const uint64_t*, )

#undef ASCEND_FUSE_COMPARE

template <typename T, typename U>
void Compare(const LocalTensor<U>& dst, const LocalTensor<T>& src0, const LocalTensor<T>& src1,
             CMPMODE cmpMode, uint32_t count, Where at = Where::here()) {
    const emulated::Instruction call("Compare", PIPE_V, at);
    emulated::compare<T, U>(call, emulated::support::compare, dst, src0, &src1, T(0), cmpMode,
                            emulated::Lanes::first(call, count), {});
}

template <typename T, typename U>
void CompareScalar(const LocalTensor<U>& dst, const LocalTensor<T>& src0, const T src1Scalar, CMPMODE cmpMode,
                   uint32_t count, Where at = Where::here()) {
    const emulated::Instruction call("CompareScalar", PIPE_V, at);
    emulated::compare<T, U>(call, emulated::support::compare_scalar, dst, src0,
                            static_cast<const LocalTensor<T>*>(nullptr), src1Scalar, cmpMode,
                            emulated::Lanes::first(call, count), {});
}

template <typename T, typename U>
void Select(const LocalTensor<T>& dst, const LocalTensor<U>& selMask, const LocalTensor<T>& src0,
            const LocalTensor<T>& src1, SELMODE selMode, uint32_t count, Where at = Where::here()) {
    const emulated::Instruction call("Select", PIPE_V, at);
    emulated::select<T, U>(call, dst, selMask, src0, &src1, T(0), selMode,
                           emulated::Lanes::first(call, count), {});
}

template <typename T, typename U>
void Select(const LocalTensor<T>& dst, const LocalTensor<U>& selMask, const LocalTensor<T>& src0, T src1,
            SELMODE selMode, uint32_t count, Where at = Where::here()) {
    const emulated::Instruction call("Select", PIPE_V, at);
    emulated::select<T, U>(call, dst, selMask, src0, static_cast<const LocalTensor<T>*>(nullptr), src1,
                           selMode, emulated::Lanes::first(call, count), {});
}

}  // namespace AscendC
