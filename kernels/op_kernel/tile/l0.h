// L0A and L0B hold fractals of 16 x 32 B; how they lie and are loaded depends on the chip.
#pragma once

#include "load_l1.h"

namespace ascend_fuse::device::ASCEND_FUSE_ARCH {

// Elements of k from `k` on of a block in L1, of which the cube reads `length`.
struct L0Step {
    int32_t k = 0, length = 0;
};

// What a transposing load takes at once: a square of so many elements a side.
template <class T>
inline constexpr int32_t square_of = sizeof(T) == 1 ? 32 : 16;

template <class T>
inline constexpr int32_t fractal_elements = 512 / sizeof(T);

}  // namespace ascend_fuse::device::ASCEND_FUSE_ARCH

#include ASCEND_FUSE_LOAD_L0
