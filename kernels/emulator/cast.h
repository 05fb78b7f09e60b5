// Cast: which conversions a chip has, and how they round.
#pragma once

#include <limits>

#include "vector_binary.h"

namespace ascend_fuse::emulator {

using AscendC::RoundMode;

inline constexpr uint32_t bit(RoundMode mode) { return 1u << static_cast<uint32_t>(mode); }

// A conversion of the API reference with its rounding modes, on some chips.
struct Conversion {
    uint32_t from, to;
    uint32_t modes[5];  // on 1001, 2002, 3002, 2201, 3510; 0: not there
};

namespace modes {
inline constexpr uint32_t none = bit(RoundMode::CAST_NONE), rint = bit(RoundMode::CAST_RINT);
inline constexpr uint32_t directed = bit(RoundMode::CAST_FLOOR) | bit(RoundMode::CAST_CEIL) |
                                     bit(RoundMode::CAST_ROUND) | bit(RoundMode::CAST_TRUNC);
inline constexpr uint32_t five = rint | directed, six = five | none, seven = six | bit(RoundMode::CAST_ODD);
inline constexpr uint32_t odd = none | bit(RoundMode::CAST_ODD);
}  // namespace modes

// Where the reference and the public headers differ, the stricter: 1001 and 2002 do not convert f32 to i64,
// 1001 not i16 to f16.
inline constexpr Conversion conversions[] = {
    {k_i8, k_f16, {modes::none, modes::none, modes::none, modes::none, modes::none}},
    {k_u8, k_f16, {modes::none, modes::none, modes::none, modes::none, modes::none}},
    {k_i8, k_i16, {0, 0, 0, 0, modes::none}},
    {k_i8, k_i32, {0, 0, 0, 0, modes::none}},
    {k_u8, k_u16, {0, 0, 0, 0, modes::none}},
    {k_u8, k_u32, {0, 0, 0, 0, modes::none}},
    {k_i16, k_f16, {0, modes::none, modes::six, modes::six, modes::five}},
    {k_i16, k_f32, {0, 0, modes::none, modes::none, modes::none}},
    {k_i16, k_u8, {0, 0, 0, 0, modes::none}},
    {k_i16, k_i32, {0, 0, 0, 0, modes::none}},
    {k_f16,
     k_i8,
     {modes::directed | modes::none, modes::directed | modes::none, modes::six, modes::six, modes::five}},
    {k_f16,
     k_u8,
     {modes::directed | modes::none, modes::directed | modes::none, modes::six, modes::six, modes::five}},
    {k_f16, k_i16, {0, modes::rint, modes::five, modes::five, modes::five}},
    {k_f16, k_i32, {modes::five, modes::five, modes::five, modes::five, modes::five}},
    {k_f16, k_f32, {modes::none, modes::none, modes::none, modes::none, modes::none}},
    {k_f16, k_bf16, {0, 0, 0, 0, modes::five}},
    {k_bf16, k_f16, {0, 0, 0, 0, modes::five}},
    {k_bf16, k_i32, {0, 0, modes::five, modes::five, modes::five}},
    {k_bf16, k_f32, {0, 0, modes::none, modes::none, modes::none}},
    {k_i32, k_u8, {0, 0, 0, 0, modes::none}},
    {k_i32, k_i16, {0, modes::none, modes::none, modes::none, modes::none}},
    {k_i32, k_f32, {modes::none, modes::none, modes::six, modes::six, modes::five}},
    {k_i32, k_i64, {0, 0, modes::none, modes::none, modes::none}},
    {k_u32, k_u8, {0, 0, 0, 0, modes::none}},
    {k_f32, k_i16, {0, 0, modes::five, modes::five, modes::five}},
    {k_f32, k_f16, {modes::odd, modes::odd, modes::seven, modes::seven, modes::seven}},
    {k_f32, k_bf16, {0, 0, modes::five, modes::five, modes::five}},
    {k_f32, k_i32, {0, 0, modes::five, modes::five, modes::five}},
    {k_f32, k_f32, {0, 0, modes::five, modes::five, modes::five}},
    {k_f32, k_i64, {0, 0, modes::five, modes::five, modes::five}},
    {k_i64, k_i32, {0, 0, modes::none, modes::none, modes::none}},
    {k_i64, k_f32, {0, 0, modes::five, modes::five, modes::five}},
};

inline size_t chip_index(int arch) {
    switch (arch) {
        case 1001:
            return 0;
        case 2002:
            return 1;
        case 3002:
            return 2;
        case 2201:
            return 3;
        default:
            return 4;
    }
}

template <typename D, typename S>
void check_conversion(const Instruction& call, RoundMode mode) {
    for (const auto& conversion : conversions) {
        if (conversion.from != kind_of<S>() || conversion.to != kind_of<D>()) continue;
        const uint32_t allowed = conversion.modes[chip_index(call.arch())];
        if (allowed == 0) break;
        if ((allowed & bit(mode)) == 0)
            call.fail(FaultKind::parameter_range, "round mode " + std::to_string(static_cast<int>(mode)) +
                                                      " does not exist from " + kind_name(kind_of<S>()) +
                                                      " to " + kind_name(kind_of<D>()) + " on npu_arch " +
                                                      std::to_string(call.arch()));
        return;
    }
    call.fail(FaultKind::unsupported_dtype, std::string("does not convert ") + kind_name(kind_of<S>()) +
                                                " to " + kind_name(kind_of<D>()) + " on npu_arch " +
                                                std::to_string(call.arch()));
}

// To an integral value; NONE rounds as RINT where it must.
inline double integral(double value, RoundMode mode) {
    switch (mode) {
        case RoundMode::CAST_FLOOR:
            return std::floor(value);
        case RoundMode::CAST_CEIL:
            return std::ceil(value);
        case RoundMode::CAST_ROUND:
            return std::round(value);
        case RoundMode::CAST_TRUNC:
            return std::trunc(value);
        case RoundMode::CAST_ODD: {
            const double cut = std::floor(value);
            return cut == value || std::fmod(cut, 2) != 0 ? cut : cut + 1;
        }
        default:
            return std::nearbyint(value);
    }
}

// `bits` of significand, exponents from `least` on: half 11 and -14, bfloat16 8 and -126, float 24 and -126.
inline double to_precision(double value, RoundMode mode, int bits, int least) {
    if (!std::isfinite(value) || value == 0) return value;
    int exponent = 0;
    std::frexp(value, &exponent);  // value = [0.5, 1) * 2^exponent
    const int unit = std::max(exponent, least + 1) - bits;
    return std::ldexp(integral(std::ldexp(value, -unit), mode), unit);
}

template <typename D, typename S>
D convert(S value, RoundMode mode) {
    if constexpr (is_floating<D>) {
        if constexpr (std::is_same_v<D, float> && std::is_same_v<S, float>)
            return static_cast<float>(integral(value, mode));
        constexpr int bits = std::is_same_v<D, half> ? 11 : std::is_same_v<D, bfloat16_t> ? 8 : 24;
        constexpr int least = std::is_same_v<D, half> ? -14 : -126;
        const bool nearest = mode == RoundMode::CAST_NONE || mode == RoundMode::CAST_RINT;
        if constexpr (is_floating<S>)
            if (nearest) return D(static_cast<float>(value));
        return D(static_cast<float>(to_precision(static_cast<double>(value), mode, bits, least)));
    } else if constexpr (is_floating<S>) {
        const double rounded = integral(static_cast<double>(static_cast<float>(value)), mode);
        constexpr D low = std::numeric_limits<D>::min(), high = std::numeric_limits<D>::max();
        if (std::isnan(rounded)) return D{0};
        if (rounded <= static_cast<double>(low)) return low;
        if (rounded >= static_cast<double>(high)) return high;
        return static_cast<D>(rounded);
    } else {
        const auto wide = static_cast<int64_t>(value);
        constexpr auto low = static_cast<int64_t>(std::numeric_limits<D>::min());
        constexpr auto high =
            sizeof(D) == 8 ? INT64_MAX : static_cast<int64_t>(std::numeric_limits<D>::max());
        return static_cast<D>(std::min(std::max(wide, low), high));
    }
}

template <typename D, typename S>
void cast(const Instruction& call, const AscendC::LocalTensor<D>& dst, const AscendC::LocalTensor<S>& src,
          RoundMode mode, const Lanes& lanes, const AscendC::UnaryRepeatParams& strides) {
    check_conversion<D, S>(call, mode);
    call.check_range(strides.dstRepStride, 0, 255, "dstRepStride");
    call.check_range(strides.srcRepStride, 0, 255, "srcRepStride");
    const Strided operands[2] = {{dst.place(), sizeof(D), strides.dstBlkStride, strides.dstRepStride, "dst"},
                                 {src.place(), sizeof(S), strides.srcBlkStride, strides.srcRepStride, "src"}};
    map_lanes<D, S>(call, lanes, operands, false, [mode, saturates = call.saturates()](S value) {
        return saturated<D>(convert<D, S>(value, mode), saturates);
    });
}

}  // namespace ascend_fuse::emulator

namespace AscendC {

template <typename T, typename U, bool isSetMask = true>
void Cast(const LocalTensor<T>& dst, const LocalTensor<U>& src, const RoundMode& roundMode,
          const uint64_t mask[], int32_t repeatTime, const UnaryRepeatParams& repeatParams,
          Where at = Where::here()) {
    const emulated::Instruction call("Cast", PIPE_V, at);
    constexpr uint32_t widest = std::max(sizeof(T), sizeof(U));
    emulated::cast<T, U>(call, dst, src, roundMode, emulated::Lanes::masked(call, widest, mask, repeatTime),
                         repeatParams);
}

template <typename T, typename U, bool isSetMask = true>
void Cast(const LocalTensor<T>& dst, const LocalTensor<U>& src, const RoundMode& roundMode, uint64_t mask,
          int32_t repeatTime, const UnaryRepeatParams& repeatParams, Where at = Where::here()) {
    const emulated::Instruction call("Cast", PIPE_V, at);
    constexpr uint32_t widest = std::max(sizeof(T), sizeof(U));
    emulated::cast<T, U>(call, dst, src, roundMode,
                         emulated::Lanes::masked(call, widest, static_cast<int64_t>(mask), repeatTime),
                         repeatParams);
}

template <typename T, typename U>
void Cast(const LocalTensor<T>& dst, const LocalTensor<U>& src, const RoundMode& roundMode, uint32_t count,
          Where at = Where::here()) {
    const emulated::Instruction call("Cast", PIPE_V, at);
    emulated::cast<T, U>(call, dst, src, roundMode, emulated::Lanes::first(call, count), {});
}

}  // namespace AscendC
