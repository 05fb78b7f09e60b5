// The cube: L0A x L0B, added up in L0C.
#pragma once

#include <vector>

#include "cube_load.h"

namespace AscendC {
namespace detail {

// What the cube sums in.
template <typename T>
using SumOf = std::conditional_t<std::is_same_v<T, int8_t>, int32_t, float>;

struct MmadSizes {
    uint32_t m = 0, n = 0, k = 0;
    uint32_t down = 0, across = 0;  // fractals of m and of n
    uint32_t depth = 0;             // fractals of k in L0, of which the cube reads those that hold k elements
};

template <typename T, typename Sum>
Sum element(const uint8_t* at) {
    T value;
    std::memcpy(&value, at, sizeof value);
    return static_cast<Sum>(value);
}

// Rows i of A as m x k: rows of fractals (Zz), on 3510 columns of them (Nz).
template <typename T>
std::vector<SumOf<T>> read_left(const Instruction& call, const LocalTensor<T>& fm, const MmadSizes& sizes) {
    constexpr uint32_t w = sizeof(T), c0 = 32 / w;
    const uint32_t bytes = sizes.down * sizes.depth * fractal_bytes;
    const uint8_t* from = call.read(fm.place(), 0, bytes);
    const uint8_t* marks = call.unwritten(fm.place(), 0);
    std::vector<SumOf<T>> left(static_cast<size_t>(sizes.m) * sizes.k);
    bool unknown = false;
    for (uint32_t i = 0; i < sizes.m; ++i)
        for (uint32_t j = 0; j < sizes.k; ++j) {
            const uint32_t fractal =
                call.arch() == 3510 ? j / c0 * sizes.down + i / 16 : i / 16 * sizes.depth + j / c0;
            const uint32_t at = fractal * fractal_bytes + (i % 16 * c0 + j % c0) * w;
            unknown = unknown || marks[at] != 0;
            left[static_cast<size_t>(i) * sizes.k + j] = element<T, SumOf<T>>(from + at);
        }
    call.check(!unknown, FaultKind::unwritten_read, "multiplies elements of A in L0A that nobody wrote");
    return left;
}

// B as k x n: columns of A's depth, each fractal with n outside (Zn).
template <typename T>
std::vector<SumOf<T>> read_right(const Instruction& call, const LocalTensor<T>& filter,
                                 const MmadSizes& sizes) {
    constexpr uint32_t w = sizeof(T), c0 = 32 / w;
    const uint32_t bytes = (sizes.k + c0 - 1) / c0 * sizes.across * fractal_bytes;
    const uint8_t* from = call.read(filter.place(), 0, bytes);
    const uint8_t* marks = call.unwritten(filter.place(), 0);
    std::vector<SumOf<T>> right(static_cast<size_t>(sizes.k) * sizes.n);
    bool unknown = false;
    for (uint32_t i = 0; i < sizes.k; ++i)
        for (uint32_t j = 0; j < sizes.n; ++j) {
            const uint32_t at = (i / c0 * sizes.across + j / 16) * fractal_bytes + (j % 16 * c0 + i % c0) * w;
            unknown = unknown || marks[at] != 0;
            right[static_cast<size_t>(i) * sizes.n + j] = element<T, SumOf<T>>(from + at);
        }
    call.check(!unknown, FaultKind::unwritten_read, "multiplies elements of B in L0B that nobody wrote");
    return right;
}

// One row of sums: columns of 16 elements, `padded` rows each (Nz).
template <typename Sum>
void begin_row(const Instruction& call, std::vector<Sum>& row, const LocalTensor<Sum>& dst, uint32_t i,
               uint32_t padded, const Sum* bias, bool zero) {
    const uint8_t* from = call.memory(dst.place()).at(dst.place().address);
    for (uint32_t j = 0; j < row.size(); ++j) {
        const uint32_t at = (j / 16 * padded * 16 + i * 16 + j % 16) * 4;
        if (bias != nullptr)
            row[j] = bias[j];
        else if (zero)
            row[j] = 0;
        else
            row[j] = element<Sum, Sum>(from + at);
    }
}

template <typename Sum>
void end_row(const Instruction& call, const std::vector<Sum>& row, const LocalTensor<Sum>& dst, uint32_t i,
             uint32_t padded) {
    uint8_t* to = call.memory(dst.place()).at(dst.place().address);
    const auto cols = static_cast<uint32_t>(row.size());
    for (uint32_t j = 0; j < cols; j += 16) {
        const uint32_t bytes = std::min<uint32_t>(16, cols - j) * 4;
        const uint32_t at = (j / 16 * padded * 16 + i * 16) * 4;
        std::memcpy(to + at, row.data() + j, bytes);
    }
}

// Sums that begin are known where their bias is; what is added to stays as it was.
template <typename Sum>
void mark_sums(const Instruction& call, const LocalTensor<Sum>& dst, const MmadSizes& sizes,
               const uint8_t* unknown) {
    for (uint32_t i = 0; i < sizes.m; ++i)
        for (uint32_t j = 0; j < sizes.n; ++j)
            call.mark(dst.place(), (j / 16 * sizes.down * 256 + i * 16 + j % 16) * 4, 4,
                      unknown != nullptr && unknown[j * 4] != 0);
}

template <typename T>
MmadSizes sizes_of(const MmadParams& params) {
    constexpr uint32_t c0 = 32 / sizeof(T);
    MmadSizes sizes{params.m, params.n, params.k, 0, 0, 0};
    sizes.down = (sizes.m + 15) / 16;
    sizes.across = (sizes.n + 15) / 16;
    const uint32_t unit = sizeof(T) == 4 && params.kDirectionAlign ? 16 : c0;
    sizes.depth = (sizes.k + unit - 1) / unit * unit / c0;
    return sizes;
}

template <typename Sum, typename T>
void multiply(const Instruction& call, const LocalTensor<Sum>& dst, const LocalTensor<T>& fm,
              const LocalTensor<T>& filter, const Sum* bias, const uint8_t* unknown,
              const MmadParams& params) {
    static_assert(std::is_same_v<Sum, SumOf<T>>, "float sums of floats, int32_t sums of int8_t");
    check_cube_dtype<T>(call);
    check_space(call, dst.place().space == Space::l0c, "writes to L0C only");
    check_space(call, fm.place().space == Space::l0a && filter.place().space == Space::l0b,
                "reads L0A and L0B only");
    call.check_aligned(dst.place(), 1024, "C");
    call.check_aligned(fm.place(), fractal_bytes, "A");
    call.check_aligned(filter.place(), fractal_bytes, "B");
    call.check_range(params.m, 0, 4095, "m");
    call.check_range(params.n, 0, 4095, "n");
    call.check_range(params.k, 0, 4095, "k");
    call.check_range(params.unitFlag, 0, 0, "unitFlag");
    if (params.m == 0 || params.n == 0 || params.k == 0) return;
    call.check(params.m > 1, FaultKind::unsupported_call, "with m = 1 takes a vector, which is not emulated");
    call.check(!params.cmatrixSource, FaultKind::unsupported_call, "with cmatrixSource is not emulated");
    call.check(!params.kDirectionAlign || call.arch() != 3510, FaultKind::unsupported_call,
               "with kDirectionAlign is not on this chip");
    call.check(bias == nullptr || !params.cmatrixInitVal, FaultKind::unsupported_call,
               "begins with zeros, not with the bias");
    const MmadSizes sizes = sizes_of<T>(params);
    const auto left = read_left(call, fm, sizes), right = read_right(call, filter, sizes);
    const uint32_t padded = sizes.down * 16, bytes = sizes.across * padded * 64;
    const bool adds = bias == nullptr && !params.cmatrixInitVal;
    if (adds) call.read(dst.place(), 0, bytes);
    call.write(dst.place(), 0, bytes);
    if (!adds) mark_sums(call, dst, sizes, unknown);
    std::vector<Sum> row(sizes.n);
    for (uint32_t i = 0; i < sizes.m; ++i) {
        begin_row(call, row, dst, i, padded, bias, params.cmatrixInitVal);
        for (uint32_t k = 0; k < sizes.k; ++k) {
            const Sum factor = left[static_cast<size_t>(i) * sizes.k + k];
            const Sum* from = right.data() + static_cast<size_t>(k) * sizes.n;
            for (uint32_t j = 0; j < sizes.n; ++j) row[j] += factor * from[j];
        }
        end_row(call, row, dst, i, padded);
    }
}

}  // namespace detail

template <typename Sum, typename T>
void Mmad(const LocalTensor<Sum>& dst, const LocalTensor<T>& fm, const LocalTensor<T>& filter,
          const MmadParams& params, Where at = Where::here()) {
    const detail::Instruction call("Mmad", PIPE_M, at);
    detail::multiply<Sum, T>(call, dst, fm, filter, nullptr, nullptr, params);
}

// The sums begin with a bias along n.
template <typename Sum, typename T>
void Mmad(const LocalTensor<Sum>& dst, const LocalTensor<T>& fm, const LocalTensor<T>& filter,
          const LocalTensor<Sum>& bias, const MmadParams& params, Where at = Where::here()) {
    const detail::Instruction call("Mmad", PIPE_M, at);
    call.check(call.arch() != 1001 && call.arch() != 2002, detail::FaultKind::unsupported_call,
               "takes no bias on this chip");
    detail::check_space(call, bias.place().space == detail::Space::bt, "reads the bias from BT only");
    call.check_aligned(bias.place(), 64, "bias");
    const uint32_t bytes = params.n * 4u;
    const uint8_t* from = call.read(bias.place(), 0, bytes);
    std::vector<Sum> row(params.n);
    std::memcpy(row.data(), from, bytes);
    detail::multiply<Sum, T>(call, dst, fm, filter, row.data(), call.unwritten(bias.place(), 0), params);
}

}  // namespace AscendC
