// The device's half and bfloat16_t for a host compiler, with correctly rounded conversions.
#pragma once

#include <cmath>
#include <cstdint>
#include <cstring>
#include <type_traits>

namespace ascend_fuse::emulator {

inline uint32_t bits_of(float value) {
    uint32_t bits;
    std::memcpy(&bits, &value, sizeof bits);
    return bits;
}

inline float float_of(uint32_t bits) {
    float value;
    std::memcpy(&value, &bits, sizeof value);
    return value;
}

// To nearest even, with subnormals, infinity and NaN.
inline uint16_t half_bits(float value) {
    const uint32_t bits = bits_of(value), sign = (bits >> 16) & 0x8000u, magnitude = bits & 0x7fffffffu;
    if (magnitude >= 0x47800000u)  // 65536 and above, infinity, NaN
        return static_cast<uint16_t>(sign | (magnitude > 0x7f800000u ? 0x7e00u : 0x7c00u));
    if (magnitude < 0x38800000u) {  // below 2^-14: adding 0.5 lets the adder round at 2^-24
        const uint32_t rounded = bits_of(float_of(magnitude) + 0.5f) - 0x3f000000u;
        return static_cast<uint16_t>(sign | rounded);
    }
    const uint32_t odd = (magnitude >> 13) & 1u;
    return static_cast<uint16_t>(sign | ((magnitude - 0x38000000u + 0xfffu + odd) >> 13));
}

inline float half_value(uint16_t bits) {
    const uint32_t sign = (bits & 0x8000u) << 16, magnitude = bits & 0x7fffu;
    if (magnitude >= 0x7c00u) return float_of(sign | 0x7f800000u | (magnitude & 0x3ffu) << 13);
    // 2^112 makes up for the bias of the exponent, also of subnormals.
    return float_of(sign | bits_of(float_of(magnitude << 13) * 0x1p112f));
}

inline uint16_t bfloat_bits(float value) {
    const uint32_t bits = bits_of(value);
    if ((bits & 0x7fffffffu) > 0x7f800000u) return static_cast<uint16_t>(bits >> 16 | 0x40u);
    return static_cast<uint16_t>((bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16);
}

}  // namespace ascend_fuse::emulator

// Global names, as the device compiler's built-in types.
struct __attribute__((may_alias)) half {
    uint16_t bits;
    half() = default;
    half(float value) : bits(ascend_fuse::emulator::half_bits(value)) {}
    operator float() const { return ascend_fuse::emulator::half_value(bits); }
};

struct __attribute__((may_alias)) bfloat16_t {
    uint16_t bits;
    bfloat16_t() = default;
    bfloat16_t(float value) : bits(ascend_fuse::emulator::bfloat_bits(value)) {}
    operator float() const { return ascend_fuse::emulator::float_of(static_cast<uint32_t>(bits) << 16); }
};

namespace ascend_fuse::emulator {

// What a saturating chip makes of a result of 16 bits: the largest value of infinity, 0 of NaN.
template <typename T>
T saturated(T value, bool saturates) {
    if constexpr (std::is_same_v<T, half> || std::is_same_v<T, bfloat16_t>) {
        constexpr uint16_t infinity = std::is_same_v<T, half> ? 0x7c00 : 0x7f80;
        const auto magnitude = static_cast<uint16_t>(value.bits & 0x7fff);
        if (saturates && magnitude > infinity) value.bits = 0;
        if (saturates && magnitude == infinity) --value.bits;
    }
    return value;
}

}  // namespace ascend_fuse::emulator
