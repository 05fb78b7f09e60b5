// Unary steps of one to three vector calls. Those of several terms, f32 alone, are in math.h.
#pragma once

#include "map_binary.h"

namespace ascend_fuse::device::ASCEND_FUSE_ARCH {

struct Neg {
    template <typename T>
    __aicore__ static inline void run(const LocalTensor<T>& to, const LocalTensor<T>& x, int32_t lanes) {
        AscendC::Muls(to, x, static_cast<T>(-1), lanes);
    }
};
struct Abs {
    template <typename T>
    __aicore__ static inline void run(const LocalTensor<T>& to, const LocalTensor<T>& x, int32_t lanes) {
        AscendC::Abs(to, x, lanes);
    }
};
struct Sqrt {
    template <typename T>
    __aicore__ static inline void run(const LocalTensor<T>& to, const LocalTensor<T>& x, int32_t lanes) {
        AscendC::Sqrt(to, x, lanes);
    }
};
struct Exp {
    template <typename T>
    __aicore__ static inline void run(const LocalTensor<T>& to, const LocalTensor<T>& x, int32_t lanes) {
        AscendC::Exp(to, x, lanes);
    }
};
struct Log {
    template <typename T>
    __aicore__ static inline void run(const LocalTensor<T>& to, const LocalTensor<T>& x, int32_t lanes) {
        AscendC::Ln(to, x, lanes);
    }
};
// The vendor's documents put Reciprocal and Rsqrt at errors over 1e-4: a division instead. `to` is not x.
struct Recip {
    template <typename T>
    __aicore__ static inline void run(const LocalTensor<T>& to, const LocalTensor<T>& x, int32_t lanes) {
        AscendC::Duplicate(to, static_cast<T>(1), lanes);
        barrier();
        AscendC::Div(to, to, x, lanes);
    }
};
template <typename Map, typename T>
__aicore__ inline void unary(const Tile& tile, const Step& step) {
    const Strips strips = strips_of(tile, step);
    for (int32_t i = 0; i < strips.count; ++i)
        Map::run(strip_of<T>(tile, step.out, i), strip_of<T>(tile, step.in[0], i), strips.lanes);
}

// The greater of x and 0.
template <typename T>
__aicore__ inline void relu(const Tile& tile, Step step) {
    Operand zero;
    zero.dtype = step.out.dtype;
    step.in[1] = zero;
    step.arity = 2;
    binary<MaxCall, T>(tile, step);
}

}  // namespace ascend_fuse::device::ASCEND_FUSE_ARCH
