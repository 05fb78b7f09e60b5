// Ways into the cube: GM -> L1 in fractals, L1 -> L0A, L0B and the bias table.
#pragma once

#include <cstdint>
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

namespace detail {

// What all loads into L0 have in common. Those of 950 take a record of their own.
template <typename T>
void check_load(const Instruction& call, const LocalTensor<T>& dst, const LocalTensor<T>& src, bool exists) {
    call.check(exists, FaultKind::unsupported_call, "with these parameters is not on this chip");
    const Space space = dst.place().space;
    check_space(call, space == Space::l0a || space == Space::l0b, "writes to L0A or L0B only");
    check_space(call, src.place().space == Space::l1, "reads L1 only");
    check_cube_dtype<T>(call);
    call.check_aligned(dst.place(), fractal_bytes, "destination");
    call.check_aligned(src.place(), 32, "source");
}

// A square of one fractal, or of two: below each other for bytes, side by side for four. Bytes from the
// first to the second.
struct Square {
    uint32_t from = 0, from_step = 0, to = 0, to_step = 0;
};

template <typename T>
void transpose_square(const Instruction& call, const emulated::Local& to, const emulated::Local& from,
                      const Square& square) {
    constexpr uint32_t w = sizeof(T), c0 = 32 / w, fractals = w == 2 ? 1 : 2, side = w == 1 ? 32 : 16;
    const uint8_t *sources[2], *marks[2];
    uint8_t *results[2], *flags[2];
    for (uint32_t f = 0; f < fractals; ++f) {
        const uint32_t source = square.from + f * square.from_step, at = square.to + f * square.to_step;
        sources[f] = call.read(from, source, fractal_bytes);
        marks[f] = call.unwritten(from, source);
        results[f] = call.write(to, at, fractal_bytes);
        flags[f] = call.unwritten(to, at);
    }
    // Element (i, j) of the square, before or behind the transposition.
    const auto place = [](uint32_t i, uint32_t j) {
        return w == 4 ? std::pair(j / c0, (i * c0 + j % c0) * w) : std::pair(i / 16, (i % 16 * c0 + j) * w);
    };
    for (uint32_t i = 0; i < side; ++i)
        for (uint32_t j = 0; j < side; ++j) {
            const auto [source, source_at] = place(i, j);
            const auto [result, at] = place(j, i);
            std::memcpy(results[result] + at, sources[source] + source_at, w);
            std::memcpy(flags[result] + at, marks[source] + source_at, w);
        }
}

}  // namespace detail

// L1 -> L0A or L0B, whole fractals.
template <typename T>
void LoadData(const LocalTensor<T>& dst, const LocalTensor<T>& src, const LoadData2DParams& params,
              Where at = Where::here()) {
    const detail::Instruction call("LoadData", PIPE_MTE1, at);
    detail::check_load(call, dst, src, call.arch() != 3510);
    call.check(!params.ifTranspose || sizeof(T) == 2, detail::FaultKind::unsupported_dtype,
               "transposes elements of two bytes only");
    call.check(call.arch() != 1001 || params.dstGap == 0, detail::FaultKind::parameter_range,
               "has a dstGap, which this chip does not read");
    for (uint32_t i = 0; i < params.repeatTimes; ++i) {
        const uint32_t from = (params.startIndex + i * params.srcStride) * detail::fractal_bytes;
        const uint32_t to = i * (params.dstGap + 1u) * detail::fractal_bytes;
        if (params.ifTranspose)
            detail::transpose_square<T>(call, dst.place(), src.place(), {from, 0, to, 0});
        else
            detail::copy_marked(call, dst.place(), to, src.place(), from, detail::fractal_bytes);
    }
}

namespace detail {

// Squares of a block, in fractals: high and wide where they come from, the reverse where they go to.
template <typename T>
struct SquareSize {
    static constexpr uint32_t high = sizeof(T) == 1 ? 2 : 1, wide = sizeof(T) == 4 ? 2 : 1;
};

template <typename T>
void check_block(const Instruction& call, const LoadData2DParamsV2& params) {
    call.check_range(params.mStep, 0, 255, "mStep");
    call.check_range(params.kStep, 0, 255, "kStep");
    call.check_range(params.srcStride, 0, UINT16_MAX, "srcStride");
    constexpr uint32_t high = SquareSize<T>::high, wide = SquareSize<T>::wide;
    uint32_t rows = params.mStep, columns = params.kStep;
    if (params.ifTranspose) {
        call.check(params.mStep % high == 0 && params.kStep % wide == 0, FaultKind::parameter_range,
                   "cuts a square that is transposed");
        rows = params.kStep / wide * high;
        columns = params.mStep / high * wide;
    }
    call.check(columns < 2 || params.dstStride >= rows, FaultKind::partial_overlap,
               "writes columns of fractals over each other");
}

}  // namespace detail

// A block of fractals: each column of it behind the one before, or transposed square by square.
template <typename T>
void LoadData(const LocalTensor<T>& dst, const LocalTensor<T>& src, const LoadData2DParamsV2& params,
              Where at = Where::here()) {
    const detail::Instruction call("LoadData", PIPE_MTE1, at);
    detail::check_load(call, dst, src, call.arch() == 3510);
    detail::check_block<T>(call, params);
    constexpr uint32_t unit = detail::fractal_bytes;
    const uint32_t high = params.ifTranspose ? detail::SquareSize<T>::high : 1,
                   wide = params.ifTranspose ? detail::SquareSize<T>::wide : 1;
    const uint32_t from_column = static_cast<uint32_t>(params.srcStride) * unit,
                   to_column = params.dstStride * unit;
    for (uint32_t k = 0; k < params.kStep; k += wide)
        for (uint32_t m = 0; m < params.mStep; m += high) {
            const uint32_t from =
                (params.kStartPosition + k) * from_column + (params.mStartPosition + m) * unit;
            if (!params.ifTranspose) {
                detail::copy_marked(call, dst.place(), k * to_column + m * unit, src.place(), from, unit);
                continue;
            }
            const uint32_t to = m / high * wide * to_column + k / wide * high * unit;
            detail::transpose_square<T>(
                call, dst.place(), src.place(),
                {from, high > 1 ? unit : from_column, to, high > 1 ? unit : to_column});
        }
}

// L1 -> L0A or L0B, transposed square by square.
template <typename T>
void LoadDataWithTranspose(const LocalTensor<T>& dst, const LocalTensor<T>& src,
                           const LoadData2dTransposeParams& params, Where at = Where::here()) {
    const detail::Instruction call("LoadDataWithTranspose", PIPE_MTE1, at);
    detail::check_load(call, dst, src, call.arch() == 2201 || call.arch() == 3002);
    constexpr uint32_t square_bytes = (sizeof(T) == 2 ? 1 : 2) * detail::fractal_bytes;
    for (uint32_t i = 0; i < params.repeatTimes; ++i)
        detail::transpose_square<T>(call, dst.place(), src.place(),
                                    {(params.startIndex + i * params.srcStride) * square_bytes,
                                     detail::fractal_bytes, i * (params.dstGap + 1u) * detail::fractal_bytes,
                                     (params.dstFracGap + 1u) * detail::fractal_bytes});
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
