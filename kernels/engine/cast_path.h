// Which conversions a chip's vector unit makes, and the exact way from one dtype to another.
#pragma once

#include <initializer_list>
#include <optional>
#include <string_view>
#include <vector>

#include "dtype.h"
#include "soc.h"

namespace ascend_fuse {

// Cast of the vector unit (AscendC, table of dtypes by product), as far as results are those of the text:
// narrowing integers saturates there and wraps in the text; 2002 rounds f16 to i16 to nearest only. Where the
// table and the public headers differ (1001 and 2002: f32 to i64, 1001: i16 to f16), the chip has no such
// call.
inline bool casts(const Soc& soc, Dtype from, Dtype to) {
    using D = Dtype;
    struct Pair {
        D from, to;
    };
    constexpr Pair every[] = {{D::f16, D::f32}, {D::f32, D::f16}, {D::f16, D::i8}, {D::f16, D::u8},
                              {D::f16, D::i32}, {D::i8, D::f16},  {D::u8, D::f16}, {D::i32, D::f32}};
    constexpr Pair later[] = {{D::i16, D::f32},  {D::f16, D::i16},  {D::f32, D::i16},
                              {D::f32, D::i32},  {D::i32, D::i64},  {D::i64, D::f32},
                              {D::f32, D::bf16}, {D::bf16, D::f32}, {D::f32, D::i64}};
    for (const auto& pair : every)
        if (pair.from == from && pair.to == to) return true;
    if (from == D::i16 && to == D::f16) return soc.npu_arch != 1001;
    if (soc.npu_arch == 1001 || soc.npu_arch == 2002) return false;
    for (const auto& pair : later)
        if (pair.from == from && pair.to == to) return true;
    return false;
}

// The dtypes on the way, the last one included. Each step but one is exact, or the result is that of one
// rounding: what f32 rounds of an integer is beyond f16.
inline std::vector<Dtype> cast_way(Dtype from, Dtype to) {
    using D = Dtype;
    const bool byte = from == D::i8 || from == D::u8, to_byte = to == D::i8 || to == D::u8;
    if (from == to) return {};
    if (from == D::bf16) {
        auto way = cast_way(D::f32, to);
        way.insert(way.begin(), D::f32);
        return way;
    }
    if (byte && to != D::f16) {
        if (to == D::i32 || to == D::i16) return {D::f16, to};
        return to == D::f32 ? std::vector<D>{D::f16, D::f32} : std::vector<D>{D::f16, D::f32, to};
    }
    if (from == D::f16 && (to == D::bf16 || to == D::i64)) return {D::f32, to};
    if (from == D::f32 && to_byte) return {D::i32, D::f32, D::f16, to};
    if (from == D::i32 && (to == D::f16 || to == D::bf16)) return {D::f32, to};
    if (from == D::i16 && (to == D::i32 || to == D::i64 || to == D::bf16)) return {D::f32, to};
    if (from == D::i64 && (to == D::f16 || to == D::bf16)) return {D::f32, to};
    return {to};
}

// Nothing where the chip has no exact way.
inline std::optional<std::vector<Dtype>> cast_path(const Soc& soc, Dtype from, Dtype to) {
    const bool byte = from == Dtype::i8 || from == Dtype::u8;
    if (byte && (to == Dtype::i8 || to == Dtype::u8) && from != to) return std::nullopt;
    const auto way = cast_way(from, to);
    Dtype at = from;
    for (const Dtype next : way) {
        if (!casts(soc, at, next)) return std::nullopt;
        at = next;
    }
    return way;
}

}  // namespace ascend_fuse
