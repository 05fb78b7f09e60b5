// Vector calls on one tensor, and on a tensor and a scalar.
#pragma once

#include "vector_binary.h"

namespace ascend_fuse::emulator {

template <typename T, class F>
void unary(const Instruction& call, const AscendC::LocalTensor<T>& dst, const AscendC::LocalTensor<T>& src,
           const Lanes& lanes, const AscendC::UnaryRepeatParams& strides, F f) {
    call.check_range(strides.dstRepStride, 0, 255, "dstRepStride");
    call.check_range(strides.srcRepStride, 0, 255, "srcRepStride");
    const Strided operands[2] = {{dst.place(), sizeof(T), strides.dstBlkStride, strides.dstRepStride, "dst"},
                                 {src.place(), sizeof(T), strides.srcBlkStride, strides.srcRepStride, "src"}};
    const bool saturates = call.saturates() && std::is_same_v<T, half>;
    map_lanes<T, T>(call, lanes, operands, false,
                    [f, saturates](T a) { return saturated<T>(f(a), saturates); });
}

// Computed in float and rounded once. The chip's own functions are documented to a relative error, not to
// bits: half 2^-10 (one unit in the last place and a little), float 2^-20 to 2^-22 by chip.
template <typename T, class F>
auto rounded(F f) {
    return [f](T a) { return T(f(static_cast<float>(a))); };
}

template <typename T>
T magnitude(T a) {
    if constexpr (is_floating<T>)
        return T(std::fabs(static_cast<float>(a)));
    else
        return a < T{0} ? Arithmetic<T>::sub(T{0}, a) : a;
}

// Signed values shift arithmetically to the right, unsigned ones logically; distances of all bits or more
// leave nothing but the sign.
template <typename T>
T shifted_left(T a, T by) {
    return by < T{0} || by >= T(sizeof(T) * 8) ? T{0} : static_cast<T>(static_cast<uint64_t>(a) << by);
}
template <typename T>
T shifted_right(T a, T by) {
    if (by < T{0} || by >= T(sizeof(T) * 8)) return a < T{0} ? static_cast<T>(-1) : T{0};
    return static_cast<T>(a >> by);
}

}  // namespace ascend_fuse::emulator

namespace AscendC {

#define ASCEND_FUSE_UNARY(name, dtypes, function)                                                            \
    template <typename T, bool isSetMask = true>                                                             \
    void name(const LocalTensor<T>& dst, const LocalTensor<T>& src, uint64_t mask[], int32_t repeatTime,     \
              const UnaryRepeatParams& repeatParams, Where at = Where::here()) {                             \
        const emulated::Instruction call(#name, PIPE_V, at);                                                 \
        emulated::check_support<T>(call, emulated::support::dtypes);                                         \
        const auto lanes = emulated::Lanes::masked(call, sizeof(T), mask, repeatTime);                       \
        emulated::unary<T>(call, dst, src, lanes, repeatParams, function);                                   \
    }                                                                                                        \
    template <typename T, bool isSetMask = true>                                                             \
    void name(const LocalTensor<T>& dst, const LocalTensor<T>& src, uint64_t mask, int32_t repeatTime,       \
              const UnaryRepeatParams& repeatParams, Where at = Where::here()) {                             \
        const emulated::Instruction call(#name, PIPE_V, at);                                                 \
        emulated::check_support<T>(call, emulated::support::dtypes);                                         \
        const auto lanes = emulated::Lanes::masked(call, sizeof(T), static_cast<int64_t>(mask), repeatTime); \
        emulated::unary<T>(call, dst, src, lanes, repeatParams, function);                                   \
    }                                                                                                        \
    template <typename T>                                                                                    \
    void name(const LocalTensor<T>& dst, const LocalTensor<T>& src, const int32_t& count,                    \
              Where at = Where::here()) {                                                                    \
        const emulated::Instruction call(#name, PIPE_V, at);                                                 \
        emulated::check_support<T>(call, emulated::support::dtypes);                                         \
        emulated::unary<T>(call, dst, src, emulated::Lanes::first(call, count), {}, function);               \
    }

ASCEND_FUSE_UNARY(Exp, transcendental, emulated::rounded<T>([](float a) { return std::exp(a); }))
ASCEND_FUSE_UNARY(Ln, transcendental, emulated::rounded<T>([](float a) { return std::log(a); }))
ASCEND_FUSE_UNARY(Sqrt, transcendental, emulated::rounded<T>([](float a) { return std::sqrt(a); }))
ASCEND_FUSE_UNARY(Rsqrt, transcendental, emulated::rounded<T>([](float a) { return 1.0f / std::sqrt(a); }))
ASCEND_FUSE_UNARY(Reciprocal, reciprocal, ([](T a) { return emulated::Arithmetic<T>::div(T(1), a); }))
ASCEND_FUSE_UNARY(Abs, abs, [](T a) { return emulated::magnitude(a); })
ASCEND_FUSE_UNARY(Relu, relu, ([](T a) { return emulated::Arithmetic<T>::max(a, T(0)); }))
ASCEND_FUSE_UNARY(Not, logic, ([](T a) { return static_cast<T>(~a); }))

#undef ASCEND_FUSE_UNARY

// The scalar is of the tensor's dtype, as the device headers demand.
#define ASCEND_FUSE_SCALAR(name, dtypes, function)                                                           \
    template <typename T, bool isSetMask = true>                                                             \
    void name(const LocalTensor<T>& dst, const LocalTensor<T>& src, const T& value, uint64_t mask[],         \
              int32_t repeatTime, const UnaryRepeatParams& repeatParams, Where at = Where::here()) {         \
        const emulated::Instruction call(#name, PIPE_V, at);                                                 \
        emulated::check_support<T>(call, emulated::support::dtypes);                                         \
        const auto lanes = emulated::Lanes::masked(call, sizeof(T), mask, repeatTime);                       \
        emulated::unary<T>(call, dst, src, lanes, repeatParams,                                              \
                           [value](T a) { return function(a, value); });                                     \
    }                                                                                                        \
    template <typename T, bool isSetMask = true>                                                             \
    void name(const LocalTensor<T>& dst, const LocalTensor<T>& src, const T& value, uint64_t mask,           \
              int32_t repeatTime, const UnaryRepeatParams& repeatParams, Where at = Where::here()) {         \
        const emulated::Instruction call(#name, PIPE_V, at);                                                 \
        emulated::check_support<T>(call, emulated::support::dtypes);                                         \
        const auto lanes = emulated::Lanes::masked(call, sizeof(T), static_cast<int64_t>(mask), repeatTime); \
        emulated::unary<T>(call, dst, src, lanes, repeatParams,                                              \
                           [value](T a) { return function(a, value); });                                     \
    }                                                                                                        \
    template <typename T, bool isSetMask = true>                                                             \
    void name(const LocalTensor<T>& dst, const LocalTensor<T>& src, const T& value, const int32_t& count,    \
              Where at = Where::here()) {                                                                    \
        const emulated::Instruction call(#name, PIPE_V, at);                                                 \
        emulated::check_support<T>(call, emulated::support::dtypes);                                         \
        emulated::unary<T>(call, dst, src, emulated::Lanes::first(call, count), {},                          \
                           [value](T a) { return function(a, value); });                                     \
    }

ASCEND_FUSE_SCALAR(Adds, adds, emulated::Arithmetic<T>::add)
ASCEND_FUSE_SCALAR(Muls, muls, emulated::Arithmetic<T>::mul)
ASCEND_FUSE_SCALAR(Maxs, maxs, emulated::Arithmetic<T>::max)
ASCEND_FUSE_SCALAR(Mins, maxs, emulated::Arithmetic<T>::min)
ASCEND_FUSE_SCALAR(ShiftLeft, shift, emulated::shifted_left)
ASCEND_FUSE_SCALAR(ShiftRight, shift, emulated::shifted_right)

#undef ASCEND_FUSE_SCALAR

}  // namespace AscendC
