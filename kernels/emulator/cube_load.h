// Ways into the cube: GM -> L1 in fractals, L1 -> L0A, L0B and the bias table.
#pragma once

#include <type_traits>

#include "cube_type.h"
#include "tensor.h"

namespace AscendC {
namespace detail {

using emulated::FaultKind;
using emulated::Instruction;
using emulated::Space;

inline constexpr uint32_t fractal_bytes = 512;

inline void check_space(const Instruction& call, bool holds, const char* what) {
    call.check(holds, FaultKind::unsupported_position, what);
}

// Chips whose cube has no such elements.
template <typename T>
void check_cube_dtype(const Instruction& call) {
    const bool old = call.arch() == 1001 || call.arch() == 2002;
    const bool known = std::is_same_v<T, half> || std::is_same_v<T, int8_t> ||
                       (!old && (std::is_same_v<T, bfloat16_t> || std::is_same_v<T, float>));
    call.check(known, FaultKind::unsupported_dtype, "takes no such elements on this chip");
}

// Bytes with the marks of those that nobody wrote.
inline void copy_marked(const Instruction& call, const emulated::Local& to, uint32_t to_offset,
                        const emulated::Local& from, uint32_t from_offset, uint32_t bytes) {
    const uint8_t* source = call.read(from, from_offset, bytes);
    std::memcpy(call.write(to, to_offset, bytes), source, bytes);
    std::memcpy(call.unwritten(to, to_offset), call.unwritten(from, from_offset), bytes);
}

// Rows of one matrix, in columns of 32 B that are padded with zeros.
template <typename T>
void nd_to_nz(const Instruction& call, const LocalTensor<T>& dst, uint32_t to, const T* from,
              const Nd2NzParams& params) {
    constexpr uint32_t c0 = 32 / sizeof(T);
    emulated::Runs runs{0, static_cast<int64_t>(params.dValue * sizeof(T)), params.nValue,
                        static_cast<int64_t>(params.srcDValue * sizeof(T))};
    emulated::RegionState& region = call.gm(from, runs, false);
    if (region.writable)
        for (int64_t i = 0; i < runs.count; ++i)
            call.check(
                region.written.holds(runs.begin + i * runs.pitch, runs.begin + i * runs.pitch + runs.bytes),
                FaultKind::unwritten_read, "loads GM that nobody wrote");
    for (uint32_t col = 0; col < params.dValue; col += c0) {
        const uint32_t bytes = std::min<uint32_t>(c0, params.dValue - col) * static_cast<uint32_t>(sizeof(T));
        const uint32_t column = to + col / c0 * params.dstNzC0Stride * 32;
        for (uint32_t row = 0; row < params.nValue; ++row) {
            const uint32_t at = column + row * params.dstNzNStride * 32;
            uint8_t* block = call.write(dst.place(), at, 32);
            std::memcpy(block, from + static_cast<size_t>(row) * params.srcDValue + col, bytes);
            std::memset(block + bytes, 0, 32 - bytes);
            call.mark(dst.place(), at, 32, false);
        }
    }
}

}  // namespace detail

template <typename T>
void DataCopy(const LocalTensor<T>& dst, const GlobalTensor<T>& src, const Nd2NzParams& params,
              Where at = Where::here()) {
    const detail::Instruction call("DataCopy (Nd2Nz)", PIPE_MTE2, at);
    call.check(call.arch() != 1001, detail::FaultKind::unsupported_call, "is not on this chip");
    detail::check_space(call, dst.place().space == detail::Space::l1, "writes to L1 only");
    call.check_aligned(dst.place(), 32, "destination");
    call.check_range(params.ndNum, 0, 4095, "ndNum");
    call.check_range(params.nValue, 0, 16384, "nValue");
    if (params.ndNum == 0 || params.nValue == 0 || params.dValue == 0) return;
    call.check_range(params.srcDValue, 1, 65535, "srcDValue");
    call.check_range(params.dstNzC0Stride, 1, 16384, "dstNzC0Stride");
    call.check_range(params.dstNzNStride, 1, 16384, "dstNzNStride");
    call.check(params.dstNzMatrixStride * sizeof(T) % 32 == 0, detail::FaultKind::unaligned_address,
               "dstNzMatrixStride is not in whole blocks of 32 B");
    for (uint32_t i = 0; i < params.ndNum; ++i)
        detail::nd_to_nz(call, dst, i * params.dstNzMatrixStride * static_cast<uint32_t>(sizeof(T)),
                         src.GetPhyAddr() + static_cast<size_t>(i) * params.srcNdMatrixStride, params);
}

// L1 -> L0A or L0B, whole fractals.
template <typename T>
void LoadData(const LocalTensor<T>& dst, const LocalTensor<T>& src, const LoadData2DParams& params,
              Where at = Where::here()) {
    const detail::Instruction call("LoadData", PIPE_MTE1, at);
    const auto space = dst.place().space;
    detail::check_space(call, space == detail::Space::l0a || space == detail::Space::l0b,
                        "writes to L0A or L0B only");
    detail::check_space(call, src.place().space == detail::Space::l1, "reads L1 only");
    detail::check_cube_dtype<T>(call);
    call.check_aligned(dst.place(), detail::fractal_bytes, "destination");
    call.check_aligned(src.place(), 32, "source");
    call.check(!params.ifTranspose || sizeof(T) == 2, detail::FaultKind::unsupported_dtype,
               "transposes elements of two bytes only");
    call.check(call.arch() != 1001 || params.dstGap == 0, detail::FaultKind::parameter_range,
               "has a dstGap, which this chip does not read");
    const uint32_t side = 16;
    for (uint32_t i = 0; i < params.repeatTimes; ++i) {
        const uint32_t from = (params.startIndex + i * params.srcStride) * detail::fractal_bytes;
        const uint32_t to = i * (params.dstGap + 1u) * detail::fractal_bytes;
        if (!params.ifTranspose) {
            detail::copy_marked(call, dst.place(), to, src.place(), from, detail::fractal_bytes);
            continue;
        }
        for (uint32_t r = 0; r < side; ++r)
            for (uint32_t c = 0; c < side; ++c)
                detail::copy_marked(call, dst.place(), to + (c * side + r) * sizeof(T), src.place(),
                                    from + (r * side + c) * sizeof(T), sizeof(T));
    }
}

namespace detail {

// One square of `fractals` fractals of 16 rows and 32 B: below each other for bytes, side by side for four.
template <typename T>
void transpose_square(const Instruction& call, const emulated::Local& to, uint32_t to_offset, uint32_t gap,
                      const emulated::Local& from, uint32_t from_offset) {
    constexpr uint32_t w = sizeof(T), c0 = 32 / w, fractals = w == 2 ? 1 : 2, side = w == 1 ? 32 : 16;
    const uint8_t* source = call.read(from, from_offset, fractals * fractal_bytes);
    const uint8_t* marks = call.unwritten(from, from_offset);
    uint8_t *results[2], *flags[2];
    for (uint32_t f = 0; f < fractals; ++f) {
        const uint32_t at = to_offset + f * (gap + 1) * fractal_bytes;
        results[f] = call.write(to, at, fractal_bytes);
        flags[f] = call.unwritten(to, at);
    }
    // Element (i, j) of the square, before or behind the transposition.
    const auto place = [](uint32_t i, uint32_t j) {
        return w == 4 ? std::pair(j / c0, (i * c0 + j % c0) * w) : std::pair(i / 16, (i % 16 * c0 + j) * w);
    };
    for (uint32_t i = 0; i < side; ++i)
        for (uint32_t j = 0; j < side; ++j) {
            const auto [source_fractal, source_at] = place(i, j);
            const auto [fractal, at] = place(j, i);
            const uint32_t offset = source_fractal * fractal_bytes + source_at;
            std::memcpy(results[fractal] + at, source + offset, w);
            std::memcpy(flags[fractal] + at, marks + offset, w);
        }
}

}  // namespace detail

// L1 -> L0A or L0B, transposed square by square.
template <typename T>
void LoadDataWithTranspose(const LocalTensor<T>& dst, const LocalTensor<T>& src,
                           const LoadData2dTransposeParams& params, Where at = Where::here()) {
    const detail::Instruction call("LoadDataWithTranspose", PIPE_MTE1, at);
    const auto space = dst.place().space;
    call.check(
        call.arch() == 2201 || call.arch() == 3002 || (call.arch() == 3510 && space == detail::Space::l0b),
        detail::FaultKind::unsupported_call, "is not on this chip");
    detail::check_space(call, space == detail::Space::l0a || space == detail::Space::l0b,
                        "writes to L0A or L0B only");
    detail::check_space(call, src.place().space == detail::Space::l1, "reads L1 only");
    detail::check_cube_dtype<T>(call);
    call.check_aligned(dst.place(), detail::fractal_bytes, "destination");
    call.check_aligned(src.place(), 32, "source");
    constexpr uint32_t square_bytes = (sizeof(T) == 2 ? 1 : 2) * detail::fractal_bytes;
    for (uint32_t i = 0; i < params.repeatTimes; ++i)
        detail::transpose_square<T>(call, dst.place(), i * (params.dstGap + 1u) * detail::fractal_bytes,
                                    params.dstFracGap, src.place(),
                                    (params.startIndex + i * params.srcStride) * square_bytes);
}

namespace detail {

// L1 -> bias table: blocks of 64 B of the source, widened from half to float where the table has float.
template <typename T, typename U>
void copy_to_bias_table(const LocalTensor<T>& dst, const LocalTensor<U>& src, const DataCopyParams& params,
                        Where at) {
    const Instruction call("DataCopy (L1 to BT)", PIPE_MTE1, at);
    call.check(call.arch() == 2201 || call.arch() == 3510, FaultKind::unsupported_call,
               "is not on this chip");
    check_space(call, dst.place().space == Space::bt && src.place().space == Space::l1,
                "goes from L1 to BT only");
    const bool widens = std::is_same_v<T, float> &&
                        (std::is_same_v<U, half> || (call.arch() == 3510 && std::is_same_v<U, bfloat16_t>));
    call.check(widens || (std::is_same_v<T, U> && sizeof(T) == 4), FaultKind::unsupported_dtype,
               "takes float, int32_t and half to float");
    call.check_aligned(dst.place(), 64, "destination");
    call.check_aligned(src.place(), 32, "source");
    call.check_range(params.blockCount, 1, 1, "blockCount");
    const uint32_t unit = call.arch() == 3510 ? 32 : 64;
    call.check(call.arch() != 3510 || params.blockLen % 2 == 0, FaultKind::parameter_range,
               "blockLen is odd");
    const uint32_t elements = params.blockLen * unit / static_cast<uint32_t>(sizeof(U));
    const uint8_t* from = call.read(src.place(), 0, elements * static_cast<uint32_t>(sizeof(U)));
    uint8_t* to = call.write(dst.place(), 0, elements * 4);
    for (uint32_t i = 0; i < elements; ++i) {
        U value;
        std::memcpy(&value, from + i * sizeof(U), sizeof value);
        if constexpr (sizeof(T) == 4) {  // others were refused
            const T widened = static_cast<T>(value);
            std::memcpy(to + i * 4, &widened, 4);
        }
        const bool unknown = !call.memory(src.place()).clean(src.place().address + i * sizeof(U), sizeof(U));
        call.mark(dst.place(), i * 4, 4, unknown);
    }
}

}  // namespace detail

template <typename T, typename U, typename = std::enable_if_t<!std::is_same_v<T, U>>>
void DataCopy(const LocalTensor<T>& dst, const LocalTensor<U>& src, const DataCopyParams& params,
              Where at = Where::here()) {
    detail::copy_to_bias_table(dst, src, params, at);
}

}  // namespace AscendC
