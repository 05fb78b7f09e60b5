// Functions that no vector call computes, in f32, of basic calls. Polynomials are our own
// fits, of least greatest relative error by reweighted least squares. `to` may be x except where said.
#pragma once

#include "map_unary.h"

namespace ascend_fuse::device::ASCEND_FUSE_ARCH {

using Floats = LocalTensor<float>;

// The step's own tiles, one behind another.
struct Scratch {
    Floats tiles;
    int32_t lanes = 0;

    __aicore__ inline Floats operator[](int32_t index) const {
        return tiles[index * round_up(lanes, block_lanes<float>)];
    }
};

// to = c[0] + c[1] y + c[2] y^2 + ...
template <int32_t terms>
__aicore__ inline void polynomial(const Floats& to, const Floats& y, const float (&c)[terms], int32_t lanes) {
    AscendC::Muls(to, y, c[terms - 1], lanes);
    barrier();
    for (int32_t i = terms - 2; i > 0; --i) {
        AscendC::Adds(to, to, c[i], lanes);
        barrier();
        AscendC::Mul(to, to, y, lanes);
        barrier();
    }
    AscendC::Adds(to, to, c[0], lanes);
    barrier();
}

// `spare`: a tile for the limits where calls take no numbers.
__aicore__ inline void clamp(const Floats& to, const Floats& x, float low, float high, const Floats& spare,
                             int32_t lanes) {
    if constexpr (arch::has_number_calls) {
        AscendC::Mins(to, x, high, lanes);
        barrier();
        AscendC::Maxs(to, to, low, lanes);
        barrier();
        return;
    }
    AscendC::Duplicate(spare, high, lanes);
    barrier();
    AscendC::Min(to, x, spare, lanes);
    barrier();
    AscendC::Duplicate(spare, low, lanes);
    barrier();
    AscendC::Max(to, to, spare, lanes);
    barrier();
}

// to = x P(x^2) / Q(x^2) with x kept inside of +-limit, behind which the function is 1 in f32. Two tiles.
template <int32_t p, int32_t q>
__aicore__ inline void odd_quotient(const Floats& to, const Floats& x, const float (&over)[p],
                                    const float (&under)[q], float limit, const Scratch& scratch) {
    const int32_t lanes = scratch.lanes;
    const Floats z = scratch[0], y = scratch[1];
    clamp(z, x, -limit, limit, y, lanes);
    AscendC::Mul(y, z, z, lanes);
    barrier();
    polynomial(to, y, over, lanes);
    AscendC::Mul(to, to, z, lanes);
    barrier();
    polynomial(z, y, under, lanes);
    AscendC::Div(to, to, z, lanes);
    barrier();
    clamp(to, to, -1, 1, y, lanes);
}

// Relative error of the fit 2.1e-8 on [-9.02, 9.02].
struct Tanh {
    static constexpr bool rounds = false;
    __aicore__ static inline void run(const Floats& to, const Floats& x, const Scratch& scratch) {
        const float over[] = {1.0f, 0.1337973177433014f, 0.0034940498881042004f, 2.058370409940835e-05f,
                              1.331932519832435e-08f};
        const float under[] = {1.0f, 0.46713048219680786f, 0.02587113343179226f, 0.00032831166754476726f,
                               7.762134828226408e-07f};
        odd_quotient(to, x, over, under, 9.02f, scratch);
    }
};

// Relative error of the fit 2.0e-9 on [-4, 4].
struct Erf {
    static constexpr bool rounds = false;
    __aicore__ static inline void run(const Floats& to, const Floats& x, const Scratch& scratch) {
        const float over[] = {1.128379225730896f,      0.18520495295524597f,   0.054317016154527664f,
                              0.0038496667984873056f,  0.0003796046075876802f, 4.684618033934385e-06f,
                              -1.3201510995486387e-08f};
        const float under[] = {1.0f,
                               0.497467041015625f,
                               0.11395902186632156f,
                               0.015462186187505722f,
                               0.00130757549777627f,
                               6.310909520834684e-05f};
        odd_quotient(to, x, over, under, 4.0f, scratch);
    }
};

// 1 + exp(scale x), in tile 0.
__aicore__ inline void logistic_divisor(const Floats& x, float scale, const Scratch& scratch) {
    AscendC::Muls(scratch[0], x, scale, scratch.lanes);
    barrier();
    AscendC::Exp(scratch[0], scratch[0], scratch.lanes);
    barrier();
    AscendC::Adds(scratch[0], scratch[0], 1.0f, scratch.lanes);
    barrier();
}

struct Sigmoid {
    static constexpr bool rounds = false;
    __aicore__ static inline void run(const Floats& to, const Floats& x, const Scratch& scratch) {
        logistic_divisor(x, -1, scratch);
        AscendC::Duplicate(to, 1.0f, scratch.lanes);
        barrier();
        AscendC::Div(to, to, scratch[0], scratch.lanes);
    }
};

struct Silu {
    static constexpr bool rounds = false;
    __aicore__ static inline void run(const Floats& to, const Floats& x, const Scratch& scratch) {
        logistic_divisor(x, -1, scratch);
        AscendC::Div(to, x, scratch[0], scratch.lanes);
    }
};

// x / 2 (1 + erf(x / sqrt(2))).
struct Gelu {
    static constexpr bool rounds = false;
    __aicore__ static inline void run(const Floats& to, const Floats& x, const Scratch& scratch) {
        const int32_t lanes = scratch.lanes;
        const Floats e = scratch[2];
        AscendC::Muls(e, x, 0.70710678118654752f, lanes);
        barrier();
        Erf::run(e, e, scratch);
        AscendC::Adds(e, e, 1.0f, lanes);
        barrier();
        AscendC::Mul(e, e, x, lanes);
        barrier();
        AscendC::Muls(to, e, 0.5f, lanes);
    }
};

// x / 2 (1 + tanh(u)) = x / (1 + exp(-2 u)), u = sqrt(2 / pi) (x + 0.044715 x^3).
struct GeluTanh {
    static constexpr bool rounds = false;
    __aicore__ static inline void run(const Floats& to, const Floats& x, const Scratch& scratch) {
        const int32_t lanes = scratch.lanes;
        const Floats u = scratch[1];
        AscendC::Mul(u, x, x, lanes);
        barrier();
        AscendC::Muls(u, u, 0.044715f, lanes);
        barrier();
        AscendC::Adds(u, u, 1.0f, lanes);
        barrier();
        AscendC::Mul(u, u, x, lanes);
        barrier();
        logistic_divisor(u, -1.5957691216057308f, scratch);
        AscendC::Div(to, x, scratch[0], lanes);
    }
};

// The least number, times this twice, is over 1.
struct Sign {
    static constexpr bool rounds = false;
    __aicore__ static inline void run(const Floats& to, const Floats& x, const Scratch& scratch) {
        const float huge = 1e38f;
        AscendC::Muls(to, x, huge, scratch.lanes);
        barrier();
        AscendC::Muls(to, to, huge, scratch.lanes);
        barrier();
        clamp(to, to, -1, 1, scratch[0], scratch.lanes);
    }
};

// A division and a root, as the vendor's documents put Rsqrt at errors over 1e-4.
struct Rsqrt {
    static constexpr bool rounds = false;
    __aicore__ static inline void run(const Floats& to, const Floats& x, const Scratch& scratch) {
        AscendC::Sqrt(scratch[0], x, scratch.lanes);
        AscendC::Duplicate(to, 1.0f, scratch.lanes);
        barrier();
        AscendC::Div(to, to, scratch[0], scratch.lanes);
    }
};

// Of a number: the integer that the step names, where the vector unit does not convert from f32 to f32.
__aicore__ inline float to_integer(float x, StepCode code) {
    if (!(x > -0x1p23f && x < 0x1p23f)) return x;
    const auto cut = static_cast<float>(static_cast<int32_t>(x));
    const float over = x - cut;
    if (code == StepCode::floor) return over < 0 ? cut - 1 : cut;
    if (code == StepCode::ceil) return over > 0 ? cut + 1 : cut;
    const bool odd = (static_cast<int32_t>(cut) & 1) != 0;
    if (over > 0.5f || (over == 0.5f && odd)) return cut + 1;
    return over < -0.5f || (over == -0.5f && odd) ? cut - 1 : cut;
}

// To an integer in f32: floor, ceil, or round to the nearest with ties to even; right beyond 2^31 too.
__aicore__ inline void integral(const Floats& to, const Floats& x, StepCode code, int32_t lanes) {
    using AscendC::RoundMode;
    if constexpr (arch::has_float_round) {
        RoundMode mode = RoundMode::CAST_RINT;
        if (code == StepCode::floor) mode = RoundMode::CAST_FLOOR;
        if (code == StepCode::ceil) mode = RoundMode::CAST_CEIL;
        AscendC::Cast(to, x, mode, static_cast<uint32_t>(lanes));
    } else {
        begin_scalar();
        for (int32_t at = 0; at < lanes; ++at) to.SetValue(at, to_integer(x.GetValue(at), code));
        end_scalar();
    }
    barrier();
}

// r = x - k pi, kept inside of a quarter turn; NaN where x has no sine. Parts of pi of 8, 8, 8 and 24 bits:
// products with k are exact up to 2^15, beyond that the error grows as an error of x in its last place would.
__aicore__ inline void without_turns(const Floats& r, const Floats& x, const Floats& k, const Floats& spare,
                                     int32_t lanes) {
    const float parts[] = {3.140625f, 0.000965118408203125f, 2.5331974029541016e-6f, 1.984187258941006e-9f};
    for (int32_t i = 0; i < 4; ++i) {
        AscendC::Muls(spare, k, parts[i], lanes);
        barrier();
        AscendC::Sub(r, i == 0 ? x : r, spare, lanes);
        barrier();
    }
    clamp(r, r, -1.5708f, 1.5708f, spare, lanes);
    AscendC::Muls(spare, x, 0.0f, lanes);
    barrier();
    AscendC::Add(r, r, spare, lanes);
    barrier();
}

// sin(x) = (-1)^k sin(r) with r = x - k pi; cos(x) = -(-1)^k sin(r) with r = x - (k + 1/2) pi. `to` is not x.
template <bool cosine>
struct Wave {
    static constexpr bool rounds = true;
    __aicore__ static inline void run(const Floats& to, const Floats& x, const Scratch& scratch) {
        const int32_t lanes = scratch.lanes;
        const Floats k = scratch[0], r = scratch[1], sign = scratch[2];
        AscendC::Muls(r, x, 0.31830988618379067f, lanes);
        barrier();
        if (cosine) {
            AscendC::Adds(r, r, -0.5f, lanes);
            barrier();
        }
        integral(k, r, StepCode::round, lanes);
        AscendC::Muls(sign, k, 0.5f, lanes);
        barrier();
        integral(r, sign, StepCode::round, lanes);
        AscendC::Sub(sign, sign, r, lanes);  // 0 for an even k, a half of either sign for an odd one
        barrier();
        AscendC::Abs(sign, sign, lanes);
        barrier();
        AscendC::Muls(sign, sign, cosine ? 4.0f : -4.0f, lanes);
        barrier();
        AscendC::Adds(sign, sign, cosine ? -1.0f : 1.0f, lanes);
        if (cosine) AscendC::Adds(k, k, 0.5f, lanes);
        barrier();
        without_turns(r, x, k, to, lanes);
        AscendC::Mul(k, r, r, lanes);
        AscendC::Mul(sign, sign, r, lanes);
        barrier();
        const float sine[] = {1.0f,
                              -0.1666666716337204f,
                              0.008333330973982811f,
                              -0.00019840865570586175f,
                              2.752525460891775e-06f,
                              -2.388657982521636e-08f};
        polynomial(to, k, sine, lanes);
        AscendC::Mul(to, to, sign, lanes);
    }
};

template <typename Map>
__aicore__ inline void function(const Tile& tile, const Step& step) {
    const Strips strips = arch::has_float_round || !Map::rounds ? strips_of(tile, step) : rows_of(tile, step);
    const Scratch scratch{scratch_of<float>(tile, step.scratch), strips.lanes};
    for (int32_t i = 0; i < strips.count; ++i) {
        Map::run(strip_of<float>(tile, step.out, i), strip_of<float>(tile, step.in[0], i), scratch);
        barrier();
    }
}

__aicore__ inline void integral(const Tile& tile, const Step& step) {
    const Strips strips = arch::has_float_round ? strips_of(tile, step) : rows_of(tile, step);
    for (int32_t i = 0; i < strips.count; ++i)
        integral(strip_of<float>(tile, step.out, i), strip_of<float>(tile, step.in[0], i), step.code,
                 strips.lanes);
}

}  // namespace ascend_fuse::device::ASCEND_FUSE_ARCH
