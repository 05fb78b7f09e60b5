// Element types of the program text.
#pragma once

#include <array>
#include <optional>
#include <string_view>

namespace ascend_fuse {

enum class Dtype { f16, bf16, f32, f64, i8, i16, i32, i64, u8, u16, u32, u64, boolean };

inline constexpr std::array<std::string_view, 13> dtype_names = {
    "f16", "bf16", "f32", "f64", "i8", "i16", "i32", "i64", "u8", "u16", "u32", "u64", "bool"};

inline std::string_view name(Dtype dtype) { return dtype_names[static_cast<size_t>(dtype)]; }

inline std::optional<Dtype> to_dtype(std::string_view text) {
    for (size_t i = 0; i < dtype_names.size(); ++i)
        if (dtype_names[i] == text) return static_cast<Dtype>(i);
    return std::nullopt;
}

// Bytes of one element, in GM and in UB alike.
inline int width(Dtype dtype) {
    constexpr int widths[] = {2, 2, 4, 8, 1, 2, 4, 8, 1, 2, 4, 8, 1};
    return widths[static_cast<size_t>(dtype)];
}

inline bool is_float(Dtype dtype) { return dtype <= Dtype::f64; }
inline bool is_bool(Dtype dtype) { return dtype == Dtype::boolean; }
inline bool is_unsigned(Dtype dtype) { return dtype >= Dtype::u8 && dtype <= Dtype::u64; }

// The letter of the op table's `types` column: f, i or b.
inline char kind(Dtype dtype) { return is_float(dtype) ? 'f' : is_bool(dtype) ? 'b' : 'i'; }

}  // namespace ascend_fuse
