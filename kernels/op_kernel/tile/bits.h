// Logic on the bits of integers, which the vector unit takes as words of 16 bits, whatever they are part of.
#pragma once

#include "tile.h"

namespace ascend_fuse::device::ASCEND_FUSE_ARCH {

using Words = LocalTensor<uint16_t>;

struct BitAnd {
    __aicore__ static inline void run(const Words& to, const Words& a, const Words& b, const Words&,
                                      int32_t words) {
        AscendC::And(to, a, b, words);
    }
};
struct BitOr {
    __aicore__ static inline void run(const Words& to, const Words& a, const Words& b, const Words&,
                                      int32_t words) {
        AscendC::Or(to, a, b, words);
    }
};
struct BitXor {
    __aicore__ static inline void run(const Words& to, const Words& a, const Words& b, const Words& both,
                                      int32_t words) {
        AscendC::And(both, a, b, words);
        barrier();
        AscendC::Or(to, a, b, words);
        AscendC::Not(both, both, words);
        barrier();
        AscendC::And(to, to, both, words);
    }
};
struct BitNot {
    __aicore__ static inline void run(const Words& to, const Words& a, const Words&, const Words&,
                                      int32_t words) {
        AscendC::Not(to, a, words);
    }
};

// Operands lie like the result.
template <typename Map>
__aicore__ inline void bits(const Tile& tile, const Step& step) {
    const Strips strips = strips_of(tile, step);
    const int32_t words = strips.lanes * width_of(step.out.dtype) / 2;
    const Words spare = scratch_of<uint16_t>(tile, step.scratch);
    for (int32_t i = 0; i < strips.count; ++i) {
        const Words a = strip_of<uint16_t>(tile, step.in[0], i);
        const Words b = step.arity > 1 ? strip_of<uint16_t>(tile, step.in[1], i) : a;
        Map::run(strip_of<uint16_t>(tile, step.out, i), a, b, spare, words);
        barrier();
    }
}

__aicore__ inline void bits_of(const Tile& tile, const Step& step) {
    switch (step.code) {
        case StepCode::bit_and:
            return bits<BitAnd>(tile, step);
        case StepCode::bit_or:
            return bits<BitOr>(tile, step);
        case StepCode::bit_xor:
            return bits<BitXor>(tile, step);
        default:
            return bits<BitNot>(tile, step);
    }
}

}  // namespace ascend_fuse::device::ASCEND_FUSE_ARCH
