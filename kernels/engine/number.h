// Literals as numbers and as bits of their dtype.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <string_view>

#include "dtype.h"
#include "text.h"

namespace ascend_fuse {

// `x` as the nearest number of `digits` binary digits and of exponents from `least` on.
inline double rounded(double x, int digits, int least, double most) {
    if (x == 0 || !std::isfinite(x)) return x;
    int exponent = 0;
    std::frexp(x, &exponent);
    const double unit = std::ldexp(1.0, std::max(exponent - digits, least));
    const double near = std::nearbyint(x / unit) * unit;
    return std::fabs(near) > most ? std::copysign(std::numeric_limits<double>::infinity(), x) : near;
}

// The value that a literal of a float or bool has in its dtype.
inline double number_of(std::string_view text, Dtype dtype) {
    if (text == "true") return 1;
    if (text == "false") return 0;
    if (text == "nan") return std::numeric_limits<double>::quiet_NaN();
    if (text == "inf") return std::numeric_limits<double>::infinity();
    if (text == "-inf") return -std::numeric_limits<double>::infinity();
    const double x = to_double(text).value_or(0);
    if (dtype == Dtype::f16) return rounded(x, 11, -24, 65504);
    if (dtype == Dtype::bf16) return rounded(x, 8, -133, 3.3895313892515355e38);
    return static_cast<double>(static_cast<float>(x));
}

// The bits of a bf16, of other dtypes nothing.
inline int64_t bits_of(double x, Dtype dtype) {
    if (dtype != Dtype::bf16) return 0;
    const float single = static_cast<float>(x);
    uint32_t bits = 0;
    std::memcpy(&bits, &single, sizeof bits);
    return static_cast<int16_t>(bits >> 16);
}

}  // namespace ascend_fuse
