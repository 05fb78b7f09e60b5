// L0C -> UB of the same core, by the vector unit.
#pragma once

#include "cube_load.h"

namespace AscendC {

// Fractals of 16 x 16 sums of four bytes; gaps in fractals of the source, in blocks of 32 B of the
// destination.
template <typename T>
void DataCopy(const LocalTensor<T>& dst, const LocalTensor<T>& src, const DataCopyParams& params,
              const DataCopyEnhancedParams& enhanced, Where at = Where::here()) {
    using detail::FaultKind;
    constexpr uint32_t fractal = 1024;
    const detail::Instruction call("DataCopy (L0C to UB)", PIPE_V, at);
    call.check(call.arch() == 2002, FaultKind::unsupported_call, "is not on this chip");
    detail::check_space(call,
                        src.place().space == detail::Space::l0c && dst.place().space == detail::Space::ub,
                        "goes from L0C to UB only");
    call.check(sizeof(T) == 4, FaultKind::unsupported_dtype, "is emulated for sums of four bytes");
    call.check(enhanced.blockMode == BlockMode::BLOCK_MODE_MATRIX, FaultKind::unsupported_call,
               "is emulated for BLOCK_MODE_MATRIX alone");
    call.check(enhanced.deqScale == DeqScale::DEQ_NONE && !enhanced.isRelu, FaultKind::unsupported_call,
               "is emulated without deqScale and isRelu");
    call.check_aligned(src.place(), fractal, "src");
    call.check_aligned(dst.place(), 32, "dst");
    call.check_range(params.blockCount, 0, 4095, "blockCount");
    const uint32_t bytes = params.blockLen * fractal;
    for (uint32_t i = 0; bytes > 0 && i < params.blockCount; ++i)
        detail::copy_marked(call, dst.place(), i * (bytes + params.dstStride * 32u), src.place(),
                            i * (bytes + params.srcStride * fractal), bytes);
}

}  // namespace AscendC
