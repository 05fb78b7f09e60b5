// Reductions of whole repeats.
#pragma once

#include "vector_binary.h"

namespace ascend_fuse::emulator {

using AscendC::ReduceOrder;

// The values of the active lanes of a repeat, in lane order; every one of them must be known.
template <typename T>
uint32_t active_lanes(const Instruction& call, const Strided& src, const Lanes& lanes, uint32_t repeat,
                      T (&values)[128], uint32_t (&index)[128]) {
    uint32_t found = 0;
    const uint32_t piece = block_bytes / sizeof(T);
    for (uint32_t lane = 0; lane < lanes.width; lane += piece) {
        uint32_t end = lane;
        for (uint32_t i = 0; i < piece; ++i)
            if (lanes.active(lane + i)) end = lane + i + 1;
        if (end == lane) continue;
        const uint32_t offset = src.offset(repeat, lane);
        const auto* from = reinterpret_cast<const aliased<T>*>(
            call.read(src.place, offset, (end - lane) * static_cast<uint32_t>(sizeof(T))));
        for (uint32_t i = 0; lane + i < end; ++i) {
            if (!lanes.active(lane + i)) continue;
            call.check_written(src.place, offset + i * static_cast<uint32_t>(sizeof(T)), sizeof(T),
                               "reduces");
            values[found] = from[i];
            index[found++] = lane + i;
        }
    }
    return found;
}

inline Strided reduced(const Instruction& call, const Local& place, uint32_t size, int64_t block,
                       int64_t repeat) {
    const Strided src{place, size, block, repeat, "src"};
    check_operand(call, src);
    return src;
}

// Neighbours are added pairwise, then their sums, and so on; lanes that the mask leaves out count as 0
// (API reference, ReduceDataBlock). Each sum is rounded to the dtype.
template <typename T>
void reduce_sum(const Instruction& call, const AscendC::LocalTensor<T>& dst,
                const AscendC::LocalTensor<T>& src, const Lanes& lanes, int64_t dst_repeat, int64_t src_block,
                int64_t src_repeat) {
    check_support<T>(call, support::reduce);
    call.check_range(dst_repeat, 0, UINT16_MAX, "dstRepStride");
    call.check_aligned(dst.place(), sizeof(T), "dst");
    const Strided from = reduced(call, src.place(), sizeof(T), src_block, src_repeat);
    for (uint32_t repeat = 0; repeat < lanes.repeats; ++repeat) {
        T values[128];
        uint32_t index[128];
        const uint32_t found = active_lanes<T>(call, from, lanes, repeat, values, index);
        T tree[128];
        std::fill_n(tree, lanes.width, T(0));
        for (uint32_t i = 0; i < found; ++i) tree[index[i]] = values[i];
        for (uint32_t width = lanes.width; width > 1; width /= 2)
            for (uint32_t i = 0; i < width / 2; ++i)
                tree[i] = saturated<T>(Arithmetic<T>::add(tree[2 * i], tree[2 * i + 1]), call.saturates());
        const auto offset = static_cast<uint32_t>(repeat * dst_repeat * static_cast<int64_t>(sizeof(T)));
        std::memcpy(call.write(dst.place(), offset, sizeof(T)), tree, sizeof(T));
        call.mark(dst.place(), offset, sizeof(T), false);
    }
}

// The best value and the lane where it stands first, as bits of the dtype. ORDER_ONLY_INDEX stores 32 bits.
template <typename T, class Better>
void reduce_best(const Instruction& call, const AscendC::LocalTensor<T>& dst,
                 const AscendC::LocalTensor<T>& src, const Lanes& lanes, int64_t dst_repeat,
                 int64_t src_block, int64_t src_repeat, ReduceOrder order, Better better) {
    check_support<T>(call, support::reduce);
    call.check_range(dst_repeat, 0, UINT16_MAX, "dstRepStride");
    const int arch = call.arch();
    const bool index_first = order == ReduceOrder::ORDER_INDEX_VALUE,
               only = order == ReduceOrder::ORDER_ONLY_VALUE;
    const bool only_index = order == ReduceOrder::ORDER_ONLY_INDEX;
    if ((arch == 1001 && order != ReduceOrder::ORDER_VALUE_INDEX) || (arch == 2002 && (only || only_index)) ||
        (arch == 3002 && (index_first || only_index)))
        call.fail(FaultKind::unsupported_call,
                  "does not have this order on npu_arch " + std::to_string(arch));
    const auto size = static_cast<uint32_t>(only ? sizeof(T) : only_index ? 4 : 2 * sizeof(T));
    call.check_aligned(dst.place(), size, "dst");
    const Strided from = reduced(call, src.place(), sizeof(T), src_block, src_repeat);
    for (uint32_t repeat = 0; repeat < lanes.repeats; ++repeat) {
        T values[128];
        uint32_t index[128];
        const uint32_t found = active_lanes<T>(call, from, lanes, repeat, values, index);
        uint32_t best = 0;
        for (uint32_t i = 1; i < found; ++i)
            if (better(values[i], values[best])) best = i;
        uint8_t pair[16] = {};
        std::memcpy(pair + (index_first ? sizeof(T) : 0), &values[best], sizeof(T));
        if (only_index)
            std::memcpy(pair, &index[best], 4);
        else if (!only)
            std::memcpy(pair + (index_first ? 0 : sizeof(T)), &index[best], std::min<size_t>(sizeof(T), 4));
        const auto offset = static_cast<uint32_t>(repeat * dst_repeat * size);
        std::memcpy(call.write(dst.place(), offset, size), pair, size);
        call.mark(dst.place(), offset, size, false);
    }
}

}  // namespace ascend_fuse::emulator

namespace AscendC {

#define ASCEND_FUSE_REDUCE(form, lanes_of)                                                                   \
    template <typename T, bool isSetMask = true>                                                             \
    void WholeReduceSum(const LocalTensor<T>& dst, const LocalTensor<T>& src, form mask, int32_t repeatTime, \
                        int32_t dstRepStride, int32_t srcBlkStride, int32_t srcRepStride,                    \
                        Where at = Where::here()) {                                                          \
        const emulated::Instruction call("WholeReduceSum", PIPE_V, at);                                      \
        const auto lanes = emulated::Lanes::masked(call, sizeof(T), lanes_of(mask), repeatTime);             \
        emulated::reduce_sum<T>(call, dst, src, lanes, dstRepStride, srcBlkStride, srcRepStride);            \
    }                                                                                                        \
    template <typename T, bool isSetMask = true>                                                             \
    void WholeReduceMax(const LocalTensor<T>& dst, const LocalTensor<T>& src, form mask, int32_t repeatTime, \
                        int32_t dstRepStride, int32_t srcBlkStride, int32_t srcRepStride,                    \
                        ReduceOrder order = ReduceOrder::ORDER_VALUE_INDEX, Where at = Where::here()) {      \
        const emulated::Instruction call("WholeReduceMax", PIPE_V, at);                                      \
        const auto lanes = emulated::Lanes::masked(call, sizeof(T), lanes_of(mask), repeatTime);             \
        emulated::reduce_best<T>(call, dst, src, lanes, dstRepStride, srcBlkStride, srcRepStride, order,     \
                                 [](T a, T b) { return a > b || emulated::Arithmetic<T>::is_nan(a); });      \
    }                                                                                                        \
    template <typename T, bool isSetMask = true>                                                             \
    void WholeReduceMin(const LocalTensor<T>& dst, const LocalTensor<T>& src, form mask, int32_t repeatTime, \
                        int32_t dstRepStride, int32_t srcBlkStride, int32_t srcRepStride,                    \
                        ReduceOrder order = ReduceOrder::ORDER_VALUE_INDEX, Where at = Where::here()) {      \
        const emulated::Instruction call("WholeReduceMin", PIPE_V, at);                                      \
        const auto lanes = emulated::Lanes::masked(call, sizeof(T), lanes_of(mask), repeatTime);             \
        emulated::reduce_best<T>(call, dst, src, lanes, dstRepStride, srcBlkStride, srcRepStride, order,     \
                                 [](T a, T b) { return a < b || emulated::Arithmetic<T>::is_nan(a); });      \
    }

ASCEND_FUSE_REDUCE(int32_t, )
ASCEND_FUSE_REDUCE(const uint64_t*, )

#undef ASCEND_FUSE_REDUCE

}  // namespace AscendC
