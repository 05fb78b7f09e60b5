// Inverse and hyperbolic functions in f32, of basic calls and of the functions in math.h. What would cancel
// or overflow is written so that it does not: |error| stays a few units of the result. `to` is not x.
#pragma once

#include "math.h"

namespace ascend_fuse::device::ASCEND_FUSE_ARCH {

// to = 1 where x > at, 0 where it is not; between them only for differences under 1e-38.
__aicore__ inline void beyond(const Floats& to, const Floats& x, float at, const Floats& spare,
                              int32_t lanes) {
    AscendC::Adds(to, x, -at, lanes);
    barrier();
    AscendC::Muls(to, to, 1e38f, lanes);
    barrier();
    clamp(to, to, 0, 1, spare, lanes);
}

// to = to · sign(x). Two tiles.
__aicore__ inline void with_sign(const Floats& to, const Floats& x, const Scratch& scratch) {
    Sign::run(scratch[1], x, scratch);
    AscendC::Mul(to, to, scratch[1], scratch.lanes);
}

// to = ln(1 + w): what 1 + w loses by rounding comes back as a quotient. Three tiles.
__aicore__ inline void log_of_one_and(const Floats& to, const Floats& w, const Scratch& scratch) {
    const int32_t lanes = scratch.lanes;
    const Floats kept = scratch[0], sum = scratch[1], back = scratch[2];
    AscendC::Adds(to, w, 1.0f, lanes);
    barrier();
    AscendC::Ln(to, to, lanes);
    clamp(kept, w, -1, 0x1p100f, back,
          lanes);  // nothing is lost beyond, and infinity minus itself is no number
    AscendC::Adds(sum, kept, 1.0f, lanes);
    barrier();
    AscendC::Adds(back, sum, -1.0f, lanes);
    barrier();
    AscendC::Sub(kept, kept, back, lanes);
    barrier();
    AscendC::Div(kept, kept, sum, lanes);
    barrier();
    AscendC::Add(to, to, kept, lanes);
    barrier();
}

// Of t = min(|x|, 1 / |x|), on which the relative error of the fit is 2.0e-8; pi / 2 - atan(t) where |x| > 1.
struct Atan {
    static constexpr bool rounds = false;
    __aicore__ static inline void run(const Floats& to, const Floats& x, const Scratch& scratch) {
        const int32_t lanes = scratch.lanes;
        const Floats t = scratch[0], y = scratch[1], large = scratch[2];
        const float over[] = {1.0f, 1.1290534734725952f, 0.2861514389514923f, 0.008895952254533768f};
        const float under[] = {1.0f, 1.4623867273330688f, 0.5736163854598999f, 0.05045802518725395f};
        AscendC::Abs(t, x, lanes);
        barrier();
        beyond(large, t, 1, y, lanes);
        AscendC::Duplicate(y, 1.0f, lanes);
        barrier();
        AscendC::Div(y, y, t, lanes);
        barrier();
        AscendC::Min(t, t, y, lanes);
        barrier();
        AscendC::Mul(y, t, t, lanes);
        barrier();
        polynomial(to, y, over, lanes);
        AscendC::Mul(to, to, t, lanes);
        barrier();
        polynomial(t, y, under, lanes);
        AscendC::Div(to, to, t, lanes);
        barrier();
        AscendC::Muls(t, to, -2.0f, lanes);
        barrier();
        AscendC::Adds(t, t, 1.5707963267948966f, lanes);
        barrier();
        AscendC::Mul(t, t, large, lanes);
        barrier();
        AscendC::Add(to, to, t, lanes);
        with_sign(to, x, scratch);
    }
};

// less = 1 - x, more = 1 + x.
__aicore__ inline void sides_of(const Floats& less, const Floats& more, const Floats& x, int32_t lanes) {
    AscendC::Muls(less, x, -1.0f, lanes);
    AscendC::Adds(more, x, 1.0f, lanes);
    barrier();
    AscendC::Adds(less, less, 1.0f, lanes);
    barrier();
}

// atan(x / sqrt((1 - x) (1 + x))).
struct Asin {
    static constexpr bool rounds = false;
    __aicore__ static inline void run(const Floats& to, const Floats& x, const Scratch& scratch) {
        const int32_t lanes = scratch.lanes;
        const Floats side = scratch[3];
        sides_of(side, to, x, lanes);
        AscendC::Mul(side, side, to, lanes);
        barrier();
        AscendC::Sqrt(side, side, lanes);
        barrier();
        AscendC::Div(side, x, side, lanes);
        barrier();
        Atan::run(to, side, scratch);
    }
};

// 2 atan(sqrt((1 - x) / (1 + x))).
struct Acos {
    static constexpr bool rounds = false;
    __aicore__ static inline void run(const Floats& to, const Floats& x, const Scratch& scratch) {
        const int32_t lanes = scratch.lanes;
        const Floats side = scratch[3];
        sides_of(side, to, x, lanes);
        AscendC::Div(side, side, to, lanes);
        barrier();
        AscendC::Sqrt(side, side, lanes);
        barrier();
        Atan::run(to, side, scratch);
        barrier();
        AscendC::Muls(to, to, 2.0f, lanes);
    }
};

// to = exp(scale x)^2 / 2 by halves, so that it overflows where the result does. One tile.
__aicore__ inline void half_square(const Floats& to, const Floats& x, float scale, const Floats& root,
                                   int32_t lanes) {
    AscendC::Muls(root, x, scale, lanes);
    barrier();
    AscendC::Exp(root, root, lanes);
    barrier();
    AscendC::Muls(to, root, 0.5f, lanes);
    barrier();
    AscendC::Mul(to, to, root, lanes);
    barrier();
}

// exp(x) / 2 + exp(-x) / 2.
struct Cosh {
    static constexpr bool rounds = false;
    __aicore__ static inline void run(const Floats& to, const Floats& x, const Scratch& scratch) {
        half_square(to, x, 0.5f, scratch[0], scratch.lanes);
        half_square(scratch[1], x, -0.5f, scratch[0], scratch.lanes);
        AscendC::Add(to, to, scratch[1], scratch.lanes);
    }
};

// tanh(x) cosh(x): a difference of exponentials would cancel beside 0.
struct Sinh {
    static constexpr bool rounds = false;
    __aicore__ static inline void run(const Floats& to, const Floats& x, const Scratch& scratch) {
        Tanh::run(scratch[2], x, scratch);
        Cosh::run(to, x, scratch);
        barrier();
        AscendC::Mul(to, to, scratch[2], scratch.lanes);
    }
};

// ln(1 + 2 |x| / (1 - |x|)) / 2, with the sign of x.
struct Atanh {
    static constexpr bool rounds = false;
    __aicore__ static inline void run(const Floats& to, const Floats& x, const Scratch& scratch) {
        const int32_t lanes = scratch.lanes;
        const Floats w = scratch[3], rest = scratch[0];
        AscendC::Abs(w, x, lanes);
        barrier();
        AscendC::Muls(rest, w, -1.0f, lanes);
        barrier();
        AscendC::Adds(rest, rest, 1.0f, lanes);
        AscendC::Muls(w, w, 2.0f, lanes);
        barrier();
        AscendC::Div(w, w, rest, lanes);
        barrier();
        log_of_one_and(to, w, scratch);
        AscendC::Muls(to, to, 0.5f, lanes);
        with_sign(to, x, scratch);
    }
};

// to = to (1 + part / (1 + sqrt(1 + square))), a quotient of at most 1.
__aicore__ inline void stretch(const Floats& to, const Floats& part, const Floats& square, int32_t lanes) {
    AscendC::Adds(square, square, 1.0f, lanes);
    barrier();
    AscendC::Sqrt(square, square, lanes);
    barrier();
    AscendC::Adds(square, square, 1.0f, lanes);
    barrier();
    AscendC::Div(part, part, square, lanes);
    barrier();
    AscendC::Adds(part, part, 1.0f, lanes);
    barrier();
    AscendC::Mul(to, to, part, lanes);
    barrier();
}

// 2 ln(sqrt(1 + h) + sqrt(h)) with h = (x - 1) / 2, as ln(1 + w) with w = sqrt(h) + h / (1 + sqrt(1 + h)).
struct Acosh {
    static constexpr bool rounds = false;
    __aicore__ static inline void run(const Floats& to, const Floats& x, const Scratch& scratch) {
        const int32_t lanes = scratch.lanes;
        const Floats w = scratch[3], part = scratch[0], square = scratch[1];
        AscendC::Muls(w, x, 0.5f, lanes);
        barrier();
        AscendC::Adds(w, w, -0.5f, lanes);
        barrier();
        clamp(square, w, -1, 0x1p100f, part, lanes);
        AscendC::Sqrt(part, square, lanes);
        AscendC::Sqrt(w, w, lanes);
        barrier();
        stretch(w, part, square, lanes);
        log_of_one_and(to, w, scratch);
        AscendC::Muls(to, to, 2.0f, lanes);
    }
};

// ln(1 + a + a^2 / (1 + sqrt(1 + a^2))) with a = |x|, a sixteenth of it beyond 2^100; with the sign of x.
struct Asinh {
    static constexpr bool rounds = false;
    __aicore__ static inline void run(const Floats& to, const Floats& x, const Scratch& scratch) {
        const int32_t lanes = scratch.lanes;
        const Floats a = scratch[3], huge = scratch[4], part = scratch[0], square = scratch[1];
        AscendC::Abs(a, x, lanes);
        barrier();
        beyond(huge, a, 0x1p100f, square, lanes);
        AscendC::Muls(part, huge, -0.9375f, lanes);
        barrier();
        AscendC::Adds(part, part, 1.0f, lanes);
        barrier();
        AscendC::Mul(a, a, part, lanes);
        barrier();
        clamp(part, a, 0, 0x1p60f, square, lanes);
        AscendC::Mul(square, part, part, lanes);
        barrier();
        stretch(a, part, square, lanes);
        log_of_one_and(to, a, scratch);
        AscendC::Muls(huge, huge, 2.772588722239781f, lanes);  // ln 16
        barrier();
        AscendC::Add(to, to, huge, lanes);
        with_sign(to, x, scratch);
    }
};

}  // namespace ascend_fuse::device::ASCEND_FUSE_ARCH
