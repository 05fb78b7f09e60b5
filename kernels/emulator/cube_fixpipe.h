// FixPipe: L0C -> GM, with ReLU, rounding, and columns of 16 laid out as rows.
#pragma once

#include "cube_load.h"

namespace AscendC {
namespace detail {

template <typename T, typename U>
T fixed(const Instruction& call, U value, bool relu) {
    if (relu && value < 0) value = 0;  // NaN stays
    return emulated::saturated(static_cast<T>(value), call.saturates());
}

template <typename T, typename U>
bool quantises(QuantMode_t mode) {
    if (std::is_same_v<T, U>) return mode == NoQuant;
    if (!std::is_same_v<U, float>) return false;
    return (std::is_same_v<T, half> && mode == F322F16) ||
           (std::is_same_v<T, bfloat16_t> && mode == F322BF16);
}

}  // namespace detail

template <typename T, typename U, const FixpipeConfig& config = CFG_ROW_MAJOR>
void Fixpipe(const GlobalTensor<T>& dst, const LocalTensor<U>& src, const FixpipeParamsV220& params,
             Where at = Where::here()) {
    static_assert(config.format == CO2Layout::ROW_MAJOR, "only rows are emulated");
    using detail::FaultKind;
    const detail::Instruction call("Fixpipe", PIPE_FIX, at);
    call.check(call.arch() == 2201 || call.arch() == 3510, FaultKind::unsupported_call,
               "is not on this chip");
    detail::check_space(call, src.place().space == detail::Space::l0c, "reads L0C only");
    call.check_aligned(src.place(), 64, "source");
    call.check_range(params.nSize, 0, 4095, "nSize");
    call.check_range(params.mSize, 0, 8192, "mSize");
    call.check_range(params.ndNum, 1, 1, "ndNum");
    call.check_range(params.unitFlag, 0, 0, "unitFlag");
    call.check((detail::quantises<T, U>(params.quantPre)), FaultKind::unsupported_dtype,
               "has another quantPre than its elements need");
    if (params.nSize == 0 || params.mSize == 0) return;
    call.check(params.mSize == 1 || params.dstStride >= params.nSize, FaultKind::partial_overlap,
               "writes rows over each other");
    constexpr uint32_t w = sizeof(T);
    emulated::Runs runs{0, static_cast<int64_t>(params.nSize * w), params.mSize,
                        static_cast<int64_t>(params.dstStride) * w};
    T* to = const_cast<T*>(dst.GetPhyAddr());
    call.gm(to, runs, true);
    for (uint32_t col = 0; col < params.nSize; col += 16) {
        const uint32_t cols = std::min<uint32_t>(16, params.nSize - col), column = col * params.srcStride * 4;
        for (uint32_t row = 0; row < params.mSize; ++row) {
            const uint32_t offset = column + row * 64;
            const uint8_t* from = call.read(src.place(), offset, cols * 4);
            call.check_written(src.place(), offset, cols * 4, "stores");
            for (uint32_t j = 0; j < cols; ++j) {
                U value;
                std::memcpy(&value, from + j * 4, 4);
                to[static_cast<size_t>(row) * params.dstStride + col + j] =
                    detail::fixed<T>(call, value, params.reluEn);
            }
        }
    }
}

}  // namespace AscendC
