// pow in f32. A literal exponent that is a small integer or a half takes products and roots; any other takes
// exp(b ln|a|), whose error grows with |b ln a|, and the sign that an integer b gives.
#pragma once

#include "compare.h"
#include "map_pair.h"

namespace ascend_fuse::device::ASCEND_FUSE_ARCH {

inline constexpr int32_t most_products = 16;

// to = x^n for 1 <= n <= 16 by squares; `square` is a tile. `to` is not x.
__aicore__ inline void power_of_integer(const Floats& to, const Floats& x, int32_t n, const Floats& square,
                                        int32_t lanes) {
    AscendC::Muls(square, x, 1.0f, lanes);
    AscendC::Duplicate(to, 1.0f, lanes);
    barrier();
    for (; n > 0; n /= 2) {
        if (n % 2 == 1) AscendC::Mul(to, to, square, lanes);
        barrier();
        if (n > 1) AscendC::Mul(square, square, square, lanes);
        barrier();
    }
}

__aicore__ inline void invert(const Floats& to, const Floats& spare, int32_t lanes) {
    AscendC::Muls(spare, to, 1.0f, lanes);
    barrier();
    AscendC::Duplicate(to, 1.0f, lanes);
    barrier();
    AscendC::Div(to, to, spare, lanes);
    barrier();
}

// Whether the exponent was one for products or a root. `to` is not x.
__aicore__ inline bool power_by_products(const Floats& to, const Floats& x, float exponent,
                                         const Scratch& scratch) {
    const int32_t lanes = scratch.lanes;
    const float size = exponent < 0 ? -exponent : exponent;
    if (exponent == 0) {
        AscendC::Duplicate(to, 1.0f, lanes);
        barrier();
        return true;
    }
    if (size == 0.5f)
        AscendC::Sqrt(to, x, lanes);
    else if (size <= most_products && static_cast<float>(static_cast<int32_t>(size)) == size)
        power_of_integer(to, x, static_cast<int32_t>(size), scratch[0], lanes);
    else
        return false;
    barrier();
    if (exponent < 0) invert(to, scratch[0], lanes);
    return true;
}

// What exp(b ln|a|) leaves open: the sign of a negative base, and bases and exponents at which it is no
// number.
__aicore__ inline float finish_power(float a, float b, float power) {
    if (b == 0 || a == 1) return 1;
    if (!(a <= 0)) return power;
    const float size = b < 0 ? -b : b;
    const bool large = size >= 0x1p24f;
    const bool integer = large || static_cast<float>(static_cast<int32_t>(b)) == b;
    if (a == -1 && large) return 1;
    const bool endless = a == 0 || a < -3.4028234663852886e38f;
    if (!integer) return endless ? power : power * 0 / 0.0f;
    return !large && (static_cast<int32_t>(size) & 1) != 0 ? -power : power;
}

struct Power {
    __aicore__ static inline void run(const Floats& to, const Lanes<float>& a, const Lanes<float>& b,
                                      const Scratch& scratch) {
        const int32_t lanes = scratch.lanes;
        const Floats log = scratch[0];
        if (b.one && !a.one && power_by_products(to, a.tensor, b.number, scratch)) return;
        if (a.one)
            AscendC::Duplicate(log, a.number < 0 ? -a.number : a.number, lanes);
        else
            AscendC::Abs(log, a.tensor, lanes);
        barrier();
        AscendC::Ln(log, log, lanes);
        barrier();
        if (b.one)
            AscendC::Muls(log, log, b.number, lanes);
        else
            AscendC::Mul(log, log, b.tensor, lanes);
        barrier();
        AscendC::Exp(to, log, lanes);
        begin_scalar();
        for (int32_t at = 0; at < lanes; ++at)
            to.SetValue(at, finish_power(lane_of(a, at), lane_of(b, at), to.GetValue(at)));
        end_scalar();
    }
};

}  // namespace ascend_fuse::device::ASCEND_FUSE_ARCH
