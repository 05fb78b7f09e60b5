// Maps of two f32 operands that take more than one call and tiles of scratch, strip by strip.
#pragma once

#include "math.h"

namespace ascend_fuse::device::ASCEND_FUSE_ARCH {

template <class Map>
__aicore__ inline void map_pair(const Tile& tile, const Step& step) {
    const Strips strips = rows_of(tile, step);
    const Scratch scratch{scratch_of<float>(tile, step.scratch), strips.lanes};
    for (int32_t i = 0; i < strips.count; ++i) {
        begin_scalar();
        const auto a = lanes_of<float>(tile, step.in[0], step.out, i);
        const auto b = lanes_of<float>(tile, step.in[1], step.out, i);
        end_scalar();
        Map::run(strip_of<float>(tile, step.out, i), a, b, scratch);
        barrier();
    }
}

}  // namespace ascend_fuse::device::ASCEND_FUSE_ARCH
