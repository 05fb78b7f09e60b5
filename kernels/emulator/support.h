// Which call takes which dtype on which chip (AscendC API reference, the tables "data types" of each call).
#pragma once

#include <type_traits>

#include "instruction.h"
#include "number.h"

namespace ascend_fuse::emulator {

enum Kind : uint32_t {
    k_i8 = 1,
    k_u8 = 2,
    k_i16 = 4,
    k_u16 = 8,
    k_f16 = 16,
    k_bf16 = 32,
    k_i32 = 64,
    k_u32 = 128,
    k_f32 = 256,
    k_i64 = 512,
    k_u64 = 1024,
    k_f64 = 2048,
};

template <typename T>
constexpr Kind kind_of() {
    if constexpr (std::is_same_v<T, half>)
        return k_f16;
    else if constexpr (std::is_same_v<T, bfloat16_t>)
        return k_bf16;
    else if constexpr (std::is_same_v<T, float>)
        return k_f32;
    else if constexpr (std::is_same_v<T, double>)
        return k_f64;
    else if constexpr (std::is_signed_v<T>)
        return sizeof(T) == 1 ? k_i8 : sizeof(T) == 2 ? k_i16 : sizeof(T) == 4 ? k_i32 : k_i64;
    else
        return sizeof(T) == 1 ? k_u8 : sizeof(T) == 2 ? k_u16 : sizeof(T) == 4 ? k_u32 : k_u64;
}

inline const char* kind_name(uint32_t kind) {
    static constexpr const char* names[] = {"int8",  "uint8",  "int16", "uint16", "half",   "bfloat16",
                                            "int32", "uint32", "float", "int64",  "uint64", "double"};
    int at = 0;
    while (kind > 1) kind >>= 1, ++at;
    return names[at];
}

// Dtypes of one call by chip; 0: the chip lacks the call.
struct Support {
    uint32_t on_1001, on_2002, on_3002, on_2201, on_3510;

    uint32_t on(int arch) const {
        switch (arch) {
            case 1001:
                return on_1001;
            case 2002:
                return on_2002;
            case 3002:
                return on_3002;
            case 2201:
                return on_2201;
            default:
                return on_3510;
        }
    }
};

namespace support {
inline constexpr uint32_t floats = k_f16 | k_f32, four = k_i16 | k_f16 | k_i32 | k_f32;
inline constexpr uint32_t shorts = k_i16 | k_u16, words = shorts | k_i32 | k_u32, longs = k_i64 | k_u64;
inline constexpr uint32_t bytes = k_i8 | k_u8, integers = bytes | words | longs;
inline constexpr uint32_t moved = words | floats | k_bf16, all = integers | floats | k_bf16;

inline constexpr Support add = {k_f16 | k_i32 | k_f32, four, four, four, all};
inline constexpr Support mul = {add.on_1001, four, four, four, all & ~bytes};
inline constexpr Support div = {floats, floats, floats, floats, words | floats | longs};
inline constexpr Support adds = {floats, four, four, four, bytes | four | k_bf16 | longs};
inline constexpr Support muls = {floats, four, four, four, four | k_bf16 | longs};
inline constexpr Support maxs = {0, four, four, four, adds.on_3510};
inline constexpr Support transcendental = {floats, floats, floats, floats, floats};
inline constexpr Support abs = {floats, floats, floats | k_i16, floats, k_i8 | four | k_i64};
inline constexpr Support reciprocal = {floats, floats, floats, floats, floats | longs};
inline constexpr Support relu = {k_f16, floats | k_i32, floats | k_i32, floats | k_i32,
                                 floats | k_i32 | k_i64};
inline constexpr Support logic = {shorts, shorts, shorts, shorts, integers};
inline constexpr Support shift = {0, 0, words, words, integers};
inline constexpr Support compare = {floats, floats, floats, floats | k_i32, all};
inline constexpr Support compare_scalar = {0, floats, words | floats, floats | k_i32, all};
inline constexpr Support select = {floats, floats, floats, floats, all};
inline constexpr Support duplicate = {moved, moved, moved, moved, all};
inline constexpr Support brcb = {0, moved & ~k_bf16, 0, moved, all};
inline constexpr Support gather = {0, moved & ~k_bf16, (moved & ~k_bf16) | bytes, moved, all};
inline constexpr Support copy = {0, 0, moved, moved, all};
inline constexpr Support reduce = {k_f16, floats, floats, floats, words | floats};
inline constexpr Support transpose = {shorts | k_f16, words | floats, words | floats, words | floats, moved};
}  // namespace support

template <typename T>
void check_support(const Instruction& call, const Support& support) {
    const uint32_t kinds = support.on(call.arch());
    const std::string chip = " on npu_arch " + std::to_string(call.arch());
    if (kinds == 0) call.fail(FaultKind::unsupported_call, "does not exist" + chip);
    if ((kinds & kind_of<T>()) == 0)
        call.fail(FaultKind::unsupported_dtype,
                  std::string("does not take ") + kind_name(kind_of<T>()) + chip);
}

}  // namespace ascend_fuse::emulator
