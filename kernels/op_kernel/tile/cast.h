// Conversions. Floats round to even, integers come of floats by cutting the fraction off; a bool is a byte.
#pragma once

#include "tile.h"

namespace ascend_fuse::device::ASCEND_FUSE_ARCH {

template <typename To, typename From>
__aicore__ inline void convert(const Tile& tile, const Step& step, AscendC::RoundMode mode) {
    const Strips strips = strips_of(tile, step);
    for (int32_t i = 0; i < strips.count; ++i)
        AscendC::Cast(strip_of<To>(tile, step.out, i), strip_of<From>(tile, step.in[0], i), mode,
                      static_cast<uint32_t>(strips.lanes));
}

__aicore__ inline void cast_from_f16(const Tile& tile, const Step& step) {
    using AscendC::RoundMode;
    switch (step.out.dtype) {
        case f32:
            return convert<float, half>(tile, step, RoundMode::CAST_NONE);
        case i32:
            return convert<int32_t, half>(tile, step, RoundMode::CAST_TRUNC);
#if ASCEND_FUSE_WIDE_CASTS
        case i16:
            return convert<int16_t, half>(tile, step, RoundMode::CAST_TRUNC);
#endif
        case i8:
            return convert<int8_t, half>(tile, step, RoundMode::CAST_TRUNC);
        default:
            return convert<uint8_t, half>(tile, step, RoundMode::CAST_TRUNC);
    }
}

__aicore__ inline void cast_from_f32(const Tile& tile, const Step& step) {
    using AscendC::RoundMode;
    if (step.out.dtype == f16) return convert<half, float>(tile, step, RoundMode::CAST_NONE);
#if ASCEND_FUSE_WIDE_CASTS
    if (step.out.dtype == bf16) return convert<bfloat16_t, float>(tile, step, RoundMode::CAST_RINT);
    if (step.out.dtype == i32) return convert<int32_t, float>(tile, step, RoundMode::CAST_TRUNC);
    if (step.out.dtype == i16) return convert<int16_t, float>(tile, step, RoundMode::CAST_TRUNC);
    if (step.out.dtype == i64) return convert<int64_t, float>(tile, step, RoundMode::CAST_TRUNC);
#endif
}

__aicore__ inline void cast_from_integer(const Tile& tile, const Step& step) {
    using AscendC::RoundMode;
    const int32_t from = step.in[0].dtype, to = step.out.dtype;
    if (from == i32 && to == f32) return convert<float, int32_t>(tile, step, arch::to_float);
#if ASCEND_FUSE_INT16
    if (from == i16 && to == f16) return convert<half, int16_t>(tile, step, arch::to_float);
#endif
    if (from == i8) return convert<half, int8_t>(tile, step, RoundMode::CAST_NONE);
    if (from == u8 || from == boolean) return convert<half, uint8_t>(tile, step, RoundMode::CAST_NONE);
#if ASCEND_FUSE_WIDE_CASTS
    if (from == i32 && to == i64) return convert<int64_t, int32_t>(tile, step, RoundMode::CAST_NONE);
    if (from == i16 && to == f32) return convert<float, int16_t>(tile, step, RoundMode::CAST_NONE);
    if (from == i64 && to == f32) return convert<float, int64_t>(tile, step, RoundMode::CAST_RINT);
#endif
}

__aicore__ inline void cast(const Tile& tile, const Step& step) {
    if (step.in[0].dtype == f16) return cast_from_f16(tile, step);
    if (step.in[0].dtype == f32) return cast_from_f32(tile, step);
#if ASCEND_FUSE_WIDE_CASTS
    if (step.in[0].dtype == bf16)
        return convert<float, bfloat16_t>(tile, step, AscendC::RoundMode::CAST_NONE);
#endif
    cast_from_integer(tile, step);
}

}  // namespace ascend_fuse::device::ASCEND_FUSE_ARCH
