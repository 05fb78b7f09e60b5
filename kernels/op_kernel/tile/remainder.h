// The remainder of a division of f32, with the sign of the dividend. It is exact, where the quotient is below
// 2^29 and the divisor's halves are normal: the quotient comes in three digits of ten bits, each taken off
// with the divisor in two halves, so that no product and no difference is rounded.
#pragma once

#include "map_pair.h"

namespace ascend_fuse::device::ASCEND_FUSE_ARCH {

inline constexpr float most_divisor = 0x1p110f;  // a half of a greater one would overflow on its way

// to = |x|.
__aicore__ inline void size_of(const Floats& to, const Lanes<float>& x, int32_t lanes) {
    if (x.one)
        AscendC::Duplicate(to, x.number < 0 ? -x.number : x.number, lanes);
    else
        AscendC::Abs(to, x.tensor, lanes);
    barrier();
}

// high + low = x, of twelve bits each.
__aicore__ inline void halve(const Floats& high, const Floats& low, const Floats& x, int32_t lanes) {
    AscendC::Muls(high, x, 4097.0f, lanes);
    barrier();
    AscendC::Sub(low, high, x, lanes);
    barrier();
    AscendC::Sub(high, high, low, lanes);
    barrier();
    AscendC::Sub(low, x, high, lanes);
    barrier();
}

__aicore__ inline void take(const Floats& rest, const Floats& digit, const Floats& half, const Floats& spare,
                            int32_t lanes) {
    AscendC::Mul(spare, digit, half, lanes);
    barrier();
    AscendC::Sub(rest, rest, spare, lanes);
    barrier();
}

// rest -= digit · divisor for the digit that leaves least of it, a multiple of `unit`.
__aicore__ inline void take_digit(const Floats& rest, float unit, const Scratch& scratch,
                                  const Floats& spare) {
    const int32_t lanes = scratch.lanes;
    const Floats digit = scratch[4];
    AscendC::Div(digit, rest, scratch[0], lanes);
    barrier();
    AscendC::Muls(digit, digit, 1 / unit, lanes);
    barrier();
    integral(spare, digit, StepCode::round, lanes);
    AscendC::Muls(digit, spare, unit, lanes);
    barrier();
    take(rest, digit, scratch[2], spare, lanes);
    take(rest, digit, scratch[3], spare, lanes);
}

struct Remainder {
    __aicore__ static inline void run(const Floats& to, const Lanes<float>& a, const Lanes<float>& b,
                                      const Scratch& scratch) {
        const int32_t lanes = scratch.lanes;
        const Floats divisor = scratch[0], rest = scratch[1], digit = scratch[4];
        size_of(divisor, b, lanes);
        size_of(rest, a, lanes);
        clamp(divisor, divisor, 0, most_divisor, digit, lanes);
        halve(scratch[2], scratch[3], divisor, lanes);
        const float units[] = {0x1p20f, 0x1p10f, 1.0f};
        for (int32_t i = 0; i < 3; ++i) take_digit(rest, units[i], scratch, to);
        AscendC::Muls(digit, rest, -1e38f, lanes);  // 1 where the rest is below 0
        barrier();
        AscendC::Muls(digit, digit, 1e38f, lanes);
        barrier();
        clamp(digit, digit, 0, 1, to, lanes);
        AscendC::Mul(digit, digit, divisor, lanes);
        barrier();
        AscendC::Add(rest, rest, digit, lanes);
        barrier();
        if (a.one) {
            AscendC::Muls(to, rest, a.number < 0 ? -1.0f : 1.0f, lanes);
            return;
        }
        Sign::run(digit, a.tensor, scratch);
        AscendC::Mul(to, rest, digit, lanes);
    }
};

}  // namespace ascend_fuse::device::ASCEND_FUSE_ARCH
