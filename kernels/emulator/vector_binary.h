// Vector calls on two tensors.
#pragma once

#include "lanes.h"
#include "support.h"

namespace ascend_fuse::emulator {

template <typename T>
constexpr bool is_floating =
    std::is_same_v<T, half> || std::is_same_v<T, bfloat16_t> || std::is_same_v<T, float>;

// Integers wrap, and a product keeps its low bits; a floating-point result is rounded once, to its own dtype.
template <typename T>
struct Arithmetic {
    using U = std::make_unsigned_t<std::conditional_t<is_floating<T>, int, T>>;
    template <class F>
    static T wrapped(T a, T b, F f) {
        return static_cast<T>(
            f(static_cast<uint64_t>(static_cast<U>(a)), static_cast<uint64_t>(static_cast<U>(b))));
    }
    static T add(T a, T b) {
        if constexpr (is_floating<T>)
            return T(static_cast<float>(a) + static_cast<float>(b));
        else
            return wrapped(a, b, [](uint64_t x, uint64_t y) { return x + y; });
    }
    static T sub(T a, T b) {
        if constexpr (is_floating<T>)
            return T(static_cast<float>(a) - static_cast<float>(b));
        else
            return wrapped(a, b, [](uint64_t x, uint64_t y) { return x - y; });
    }
    static T mul(T a, T b) {
        if constexpr (is_floating<T>)
            return T(static_cast<float>(a) * static_cast<float>(b));
        else
            return wrapped(a, b, [](uint64_t x, uint64_t y) { return x * y; });
    }
    // Integer quotients: -1 for a zero divisor, as nothing is documented.
    static T div(T a, T b) {
        if constexpr (is_floating<T>)
            return T(static_cast<float>(a) / static_cast<float>(b));
        else
            return b == 0                    ? static_cast<T>(-1)
                   : b == static_cast<T>(-1) ? sub(T{0}, a)
                                             : static_cast<T>(a / b);
    }
    // A NaN on either side is the result.
    static T max(T a, T b) { return is_nan(a) ? a : is_nan(b) ? b : a < b ? b : a; }
    static T min(T a, T b) { return is_nan(a) ? a : is_nan(b) ? b : b < a ? b : a; }
    static bool is_nan(T a) {
        if constexpr (is_floating<T>)
            return std::isnan(static_cast<float>(a));
        else
            return false;
    }
};

template <typename T>
Strided contiguous(const AscendC::LocalTensor<T>& tensor, const char* name) {
    return {tensor.place(), sizeof(T), 1, 8, name};
}

template <typename T, class F>
void binary(const Instruction& call, const AscendC::LocalTensor<T>& dst, const AscendC::LocalTensor<T>& src0,
            const AscendC::LocalTensor<T>& src1, const Lanes& lanes,
            const AscendC::BinaryRepeatParams& strides, bool accumulates, F f) {
    for (int32_t stride : {strides.dstBlkStride, strides.src0BlkStride, strides.src1BlkStride,
                           strides.dstRepStride, strides.src0RepStride, strides.src1RepStride})
        call.check_range(stride, 0, 255, "stride");
    const Strided operands[3] = {
        {dst.place(), sizeof(T), strides.dstBlkStride, strides.dstRepStride, "dst"},
        {src0.place(), sizeof(T), strides.src0BlkStride, strides.src0RepStride, "src0"},
        {src1.place(), sizeof(T), strides.src1BlkStride, strides.src1RepStride, "src1"}};
    const bool saturates = call.saturates() && std::is_same_v<T, half>;
    map_lanes<T, T, T>(call, lanes, operands, accumulates,
                       [f, saturates](T a, T b) { return saturated<T>(f(a, b), saturates); });
}

}  // namespace ascend_fuse::emulator

namespace AscendC {

// Each call in its three forms: bits of a mask, a mask of the first lanes, a count.
#define ASCEND_FUSE_BINARY(name, dtypes, accumulates, function)                                              \
    template <typename T, bool isSetMask = true>                                                             \
    void name(const LocalTensor<T>& dst, const LocalTensor<T>& src0, const LocalTensor<T>& src1,             \
              uint64_t mask[], int32_t repeatTime, const BinaryRepeatParams& repeatParams,                   \
              Where at = Where::here()) {                                                                    \
        const emulated::Instruction call(#name, PIPE_V, at);                                                 \
        emulated::check_support<T>(call, emulated::support::dtypes);                                         \
        const auto lanes = emulated::Lanes::masked(call, sizeof(T), mask, repeatTime);                       \
        emulated::binary<T>(call, dst, src0, src1, lanes, repeatParams, accumulates, function);              \
    }                                                                                                        \
    template <typename T, bool isSetMask = true>                                                             \
    void name(const LocalTensor<T>& dst, const LocalTensor<T>& src0, const LocalTensor<T>& src1,             \
              uint64_t mask, int32_t repeatTime, const BinaryRepeatParams& repeatParams,                     \
              Where at = Where::here()) {                                                                    \
        const emulated::Instruction call(#name, PIPE_V, at);                                                 \
        emulated::check_support<T>(call, emulated::support::dtypes);                                         \
        const auto lanes = emulated::Lanes::masked(call, sizeof(T), static_cast<int64_t>(mask), repeatTime); \
        emulated::binary<T>(call, dst, src0, src1, lanes, repeatParams, accumulates, function);              \
    }                                                                                                        \
    template <typename T>                                                                                    \
    void name(const LocalTensor<T>& dst, const LocalTensor<T>& src0, const LocalTensor<T>& src1,             \
              const int32_t& count, Where at = Where::here()) {                                              \
        const emulated::Instruction call(#name, PIPE_V, at);                                                 \
        emulated::check_support<T>(call, emulated::support::dtypes);                                         \
        emulated::binary<T>(call, dst, src0, src1, emulated::Lanes::first(call, count), {}, false,           \
                            function);                                                                       \
    }

ASCEND_FUSE_BINARY(Add, add, true, [](T a, T b) { return emulated::Arithmetic<T>::add(a, b); })
ASCEND_FUSE_BINARY(Sub, add, true, [](T a, T b) { return emulated::Arithmetic<T>::sub(a, b); })
ASCEND_FUSE_BINARY(Mul, mul, true, [](T a, T b) { return emulated::Arithmetic<T>::mul(a, b); })
ASCEND_FUSE_BINARY(Div, div, false, [](T a, T b) { return emulated::Arithmetic<T>::div(a, b); })
ASCEND_FUSE_BINARY(Max, add, true, [](T a, T b) { return emulated::Arithmetic<T>::max(a, b); })
ASCEND_FUSE_BINARY(Min, add, true, [](T a, T b) { return emulated::Arithmetic<T>::min(a, b); })
ASCEND_FUSE_BINARY(And, logic, false, [](T a, T b) { return static_cast<T>(a & b); })
ASCEND_FUSE_BINARY(Or, logic, false, [](T a, T b) { return static_cast<T>(a | b); })

#undef ASCEND_FUSE_BINARY

}  // namespace AscendC
