// One step on one tile, by its code and the dtype in which it computes.
#pragma once

#include "../tile/bits.h"
#include "../tile/cast.h"
#include "../tile/compare.h"
#include "../tile/index.h"
#include "../tile/inverse.h"
#include "../tile/move.h"
#include "../tile/power.h"
#include "../tile/random.h"
#include "../tile/reduce.h"
#include "../tile/remainder.h"
#include "../tile/turn.h"

namespace ascend_fuse::device::ASCEND_FUSE_ARCH {

template <typename T>
__aicore__ inline void arithmetic(const Tile& tile, const Step& step) {
    switch (step.code) {
        case StepCode::add:
            return binary<AddCall, T>(tile, step);
        case StepCode::sub:
            return binary<SubCall, T>(tile, step);
        case StepCode::mul:
            return binary<MulCall, T>(tile, step);
        case StepCode::max:
            return binary<MaxCall, T>(tile, step);
        default:
            return binary<MinCall, T>(tile, step);
    }
}

__aicore__ inline void binary(const Tile& tile, const Step& step) {
    switch (step.out.dtype) {
        case f16:
            return arithmetic<half>(tile, step);
        case i32:
            return arithmetic<int32_t>(tile, step);
#if ASCEND_FUSE_INT16
        case i16:
            return arithmetic<int16_t>(tile, step);
#endif
#if ASCEND_FUSE_BF16_CALLS
        case bf16:
            return arithmetic<bfloat16_t>(tile, step);
#endif
        default:
            return arithmetic<float>(tile, step);
    }
}

__aicore__ inline void compare(const Tile& tile, const Step& step) {
    switch (step.in[is_literal(step.in[0]) ? 1 : 0].dtype) {
        case f16:
            return compare<half>(tile, step);
        case i32:
            return compare<int32_t>(tile, step);
        default:
            return compare<float>(tile, step);
    }
}

// Calls of the vector unit on half and float.
template <typename T>
__aicore__ inline void simple(const Tile& tile, const Step& step) {
    switch (step.code) {
        case StepCode::div:
            return binary<DivCall, T>(tile, step);
        case StepCode::neg:
            return unary<Neg, T>(tile, step);
        case StepCode::abs:
            return unary<Abs, T>(tile, step);
        case StepCode::sqrt:
            return unary<Sqrt, T>(tile, step);
        case StepCode::recip:
            return unary<Recip, T>(tile, step);
        case StepCode::exp:
            return unary<Exp, T>(tile, step);
        case StepCode::log:
            return unary<Log, T>(tile, step);
        default:
            return relu<T>(tile, step);
    }
}

__aicore__ inline void inverse(const Tile& tile, const Step& step) {
    switch (step.code) {
        case StepCode::sinh:
            return function<Sinh>(tile, step);
        case StepCode::cosh:
            return function<Cosh>(tile, step);
        case StepCode::asin:
            return function<Asin>(tile, step);
        case StepCode::acos:
            return function<Acos>(tile, step);
        case StepCode::atan:
            return function<Atan>(tile, step);
        case StepCode::asinh:
            return function<Asinh>(tile, step);
        case StepCode::acosh:
            return function<Acosh>(tile, step);
        default:
            return function<Atanh>(tile, step);
    }
}

// Functions of several terms, in f32.
__aicore__ inline void composite(const Tile& tile, const Step& step) {
    switch (step.code) {
        case StepCode::pow:
            return map_pair<Power>(tile, step);
        case StepCode::mod:
            return map_pair<Remainder>(tile, step);
        case StepCode::rsqrt:
            return function<Rsqrt>(tile, step);
        case StepCode::sin:
            return function<Wave<false>>(tile, step);
        case StepCode::cos:
            return function<Wave<true>>(tile, step);
        case StepCode::tanh:
            return function<Tanh>(tile, step);
        case StepCode::sigmoid:
            return function<Sigmoid>(tile, step);
        case StepCode::erf:
            return function<Erf>(tile, step);
        case StepCode::gelu:
            return function<Gelu>(tile, step);
        case StepCode::gelu_tanh:
            return function<GeluTanh>(tile, step);
        case StepCode::silu:
            return function<Silu>(tile, step);
        case StepCode::sign:
            return function<Sign>(tile, step);
        case StepCode::floor:
        case StepCode::ceil:
        case StepCode::round:
            return integral(tile, step);
        default:
            return inverse(tile, step);
    }
}

template <typename T>
__aicore__ inline void reduce(const Tile& tile, const Step& step) {
    if (step.code == StepCode::reduce_max) return reduce<ReduceMax, T>(tile, step);
    reduce<ReduceMin, T>(tile, step);
}

__aicore__ inline void run_step(const Tile& tile, const Step& step) {
    const bool halves = step.out.dtype == f16;
    switch (step.code) {
        case StepCode::copy:
        case StepCode::spread:
            return move(tile, step);
        case StepCode::cast:
            return cast(tile, step);
        case StepCode::turn:
            return turn(tile, step);
        case StepCode::add:
        case StepCode::sub:
        case StepCode::mul:
        case StepCode::max:
        case StepCode::min:
            return binary(tile, step);
        case StepCode::eq:
        case StepCode::lt:
        case StepCode::le:
        case StepCode::gt:
        case StepCode::ge:
            return compare(tile, step);
        case StepCode::where:
            return width_of(step.out.dtype) == 2 ? where<half>(tile, step) : where<float>(tile, step);
        case StepCode::div:
        case StepCode::neg:
        case StepCode::abs:
        case StepCode::sqrt:
        case StepCode::recip:
        case StepCode::exp:
        case StepCode::log:
        case StepCode::relu:
            return halves ? simple<half>(tile, step) : simple<float>(tile, step);
        case StepCode::bit_and:
        case StepCode::bit_or:
        case StepCode::bit_xor:
        case StepCode::bit_not:
            return bits_of(tile, step);
        case StepCode::index:
            return index(tile, step);
        case StepCode::reduce_sum:
            return reduce<ReduceSum, float>(tile, step);
        case StepCode::reduce_prod:
            return reduce<ReduceProd, float>(tile, step);
        case StepCode::reduce_max:
        case StepCode::reduce_min:
            return halves ? reduce<half>(tile, step) : reduce<float>(tile, step);
        case StepCode::random_keep:
            return halves ? random_keep<half>(tile, step) : random_keep<float>(tile, step);
        case StepCode::random_uniform:
            return random_uniform(tile, step);
        default:
            return composite(tile, step);
    }
}

}  // namespace ascend_fuse::device::ASCEND_FUSE_ARCH
