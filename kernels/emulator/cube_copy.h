// L0C -> UB of the same core, by the vector unit or by FixPipe.
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
    call.check(call.arch() == 1001 || call.arch() == 2002, FaultKind::unsupported_call,
               "is not on this chip");
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

using FixpipeParamsM300 = FixpipeParamsV220;

// Columns of 16 sums, as they lie: the destination's stride from one to the next in blocks of 32 B.
template <typename T, typename U, const FixpipeConfig& config = CFG_ROW_MAJOR>
void Fixpipe(const LocalTensor<T>& dst, const LocalTensor<U>& src, const FixpipeParamsM300& params,
             Where at = Where::here()) {
    static_assert(config.format == CO2Layout::NZ, "only columns are emulated");
    using detail::FaultKind;
    const detail::Instruction call("Fixpipe (L0C to UB)", PIPE_FIX, at);
    call.check(call.arch() == 3002, FaultKind::unsupported_call, "is not on this chip");
    detail::check_space(call,
                        src.place().space == detail::Space::l0c && dst.place().space == detail::Space::ub,
                        "goes from L0C to UB only");
    call.check(sizeof(T) == 4 && std::is_same_v<T, U> && params.quantPre == NoQuant && !params.reluEn,
               FaultKind::unsupported_dtype, "is emulated for sums as they are");
    call.check_aligned(src.place(), 64, "source");
    call.check_aligned(dst.place(), 32, "destination");
    call.check_range(params.nSize, 1, 4095, "nSize");
    call.check(params.nSize % 16 == 0, FaultKind::parameter_range, "nSize is not in whole columns of 16");
    call.check_range(params.mSize, 1, 65535, "mSize");
    call.check_range(params.unitFlag, 0, 0, "unitFlag");
    const uint32_t bytes = params.mSize * 64u;
    call.check(params.nSize == 16 || params.dstStride * 32 >= bytes, FaultKind::partial_overlap,
               "writes columns over each other");
    for (uint32_t i = 0; i < params.nSize / 16u; ++i)
        detail::copy_marked(call, dst.place(), i * params.dstStride * 32, src.place(),
                            i * params.srcStride * 64u, bytes);
}

}  // namespace AscendC
