// The lanes of a vector call: which elements it touches, in what order, and how unwritten lanes pass through
// it.
#pragma once

#include <unordered_map>

#include "tensor.h"

namespace ascend_fuse::emulator {

// A typed view of bytes whose type the kernel changes at will.
template <typename T>
struct Aliased {
    using type __attribute__((may_alias)) = T;
};
template <>
struct Aliased<half> {
    using type = half;
};
template <>
struct Aliased<bfloat16_t> {
    using type = bfloat16_t;
};
template <typename T>
using aliased = typename Aliased<T>::type;

// An operand of a vector call. Strides in blocks of 32 B: from block to block inside of a repeat, from repeat
// to repeat.
struct Strided {
    Local place;
    uint32_t size = 4;  // bytes of an element
    int64_t block = 1, repeat = 8;
    const char* name = "src";

    // Bytes from the place to a lane of a repeat.
    uint32_t offset(uint32_t iteration, uint32_t lane) const {
        const uint32_t bytes = lane * size;
        return static_cast<uint32_t>(repeat * iteration * block_bytes +
                                     bytes / block_bytes * block * block_bytes) +
               bytes % block_bytes;
    }
};

// Which lanes: the first `count` of one run, or of each repeat those of a mask.
struct Lanes {
    bool counted = true;
    uint32_t count = 0;
    uint32_t repeats = 0, width = 64;  // lanes of a repeat
    uint64_t mask[2] = {0, 0};

    bool active(uint32_t lane) const { return (mask[lane / 64] >> (lane % 64) & 1u) != 0; }
    bool full() const {
        for (uint32_t i = 0; i < width; ++i)
            if (!active(i)) return false;
        return true;
    }
    uint32_t last() const {
        uint32_t end = 0;
        for (uint32_t i = 0; i < width; ++i)
            if (active(i)) end = i + 1;
        return end;
    }

    static Lanes first(const Instruction& call, int64_t count) {
        call.check_range(count, 0, INT32_MAX, "count");
        Lanes lanes;
        lanes.count = static_cast<uint32_t>(count);
        return lanes;
    }
    // The first `mask` lanes of each repeat; a repeat is 256 B of the widest operand.
    static Lanes masked(const Instruction& call, uint32_t widest, int64_t mask, int64_t repeats) {
        const uint32_t width = 256 / widest;
        if (mask < 1 || mask > width)
            call.fail(FaultKind::mask_range,
                      "mask " + std::to_string(mask) + " is not in [1, " + std::to_string(width) + "]");
        const uint64_t low = mask >= 64 ? ~uint64_t{0} : (uint64_t{1} << mask) - 1;
        const uint64_t high = mask <= 64 ? 0 : mask == 128 ? ~uint64_t{0} : (uint64_t{1} << (mask - 64)) - 1;
        const uint64_t bits[2] = {low, high};
        return masked(call, widest, bits, repeats);
    }
    static Lanes masked(const Instruction& call, uint32_t widest, const uint64_t mask[], int64_t repeats) {
        call.check_range(repeats, 0, 255, "repeatTime");
        Lanes lanes;
        lanes.counted = false;
        lanes.width = 256 / widest;
        lanes.repeats = static_cast<uint32_t>(repeats);
        lanes.mask[0] = mask[0];
        lanes.mask[1] = lanes.width > 64 ? mask[1] : 0;
        const bool beyond = lanes.width < 64 && mask[0] >> lanes.width != 0;
        if (beyond || (lanes.mask[0] | lanes.mask[1]) == 0)
            call.fail(FaultKind::mask_range,
                      "mask has no lane, or lanes beyond " + std::to_string(lanes.width));
        return lanes;
    }
};

// Calls f(offsets, first, n) for runs of n lanes, from lane `first` of all repeats on, that are neighbours in
// every operand.
template <size_t N, class F>
void for_runs(const Lanes& lanes, const Strided (&operands)[N], F f) {
    uint32_t offsets[N] = {};
    if (lanes.counted) {
        if (lanes.count > 0) f(offsets, 0u, lanes.count);
        return;
    }
    bool dense = true, joined = lanes.full();
    uint32_t widest = 1;
    for (const auto& operand : operands) {
        dense = dense && operand.block == 1;
        joined = joined && operand.repeat * block_bytes == lanes.width * operand.size;
        widest = std::max(widest, operand.size);
    }
    if (dense && joined) {
        if (lanes.repeats > 0) f(offsets, 0u, lanes.repeats * lanes.width);
        return;
    }
    const uint32_t piece = dense ? lanes.width : block_bytes / widest;
    for (uint32_t repeat = 0; repeat < lanes.repeats; ++repeat)
        for (uint32_t lane = 0; lane < lanes.width;) {
            if (!lanes.active(lane)) {
                ++lane;
                continue;
            }
            const uint32_t end = (lane / piece + 1) * piece;
            uint32_t stop = lane;
            while (stop < end && lanes.active(stop)) ++stop;
            for (size_t i = 0; i < N; ++i) offsets[i] = operands[i].offset(repeat, lane);
            f(offsets, repeat * lanes.width + lane, stop - lane);
            lane = stop;
        }
}

// Bytes from the first to behind the last lane.
inline int64_t extent(const Strided& operand, const Lanes& lanes) {
    if (lanes.counted) return int64_t{lanes.count} * operand.size;
    if (lanes.repeats == 0) return 0;
    return operand.offset(lanes.repeats - 1, lanes.last() - 1) + operand.size;
}

// Operands overlap wholly or not at all, and no repeat writes what a later one reads. `accumulates`: the
// exception for adding up, where the destination is the second source and stands still (guide, overlap
// rules).
inline void check_overlap(const Instruction& call, const Strided& dst, const Strided& src, const Lanes& lanes,
                          bool accumulates) {
    const int64_t dst_end = dst.place.address + extent(dst, lanes),
                  src_end = src.place.address + extent(src, lanes);
    if (dst.place.space != src.place.space || dst.place.address >= src_end || src.place.address >= dst_end)
        return;
    const bool same = dst.place.address == src.place.address && dst.size == src.size;
    const char* message = "operands overlap in part";
    if (lanes.counted) return call.check(same, FaultKind::partial_overlap, message);
    // In place, each repeat behind the one before: the common case.
    if (same && dst.block == src.block && dst.repeat == src.repeat && dst.block > 0 &&
        dst.repeat * block_bytes >= int64_t{dst.offset(0, lanes.last() - 1)} + dst.size)
        return;
    std::unordered_map<uint32_t, std::pair<uint32_t, uint32_t>> written;  // block -> first repeat, lane
    const uint32_t step = block_bytes / std::max(dst.size, src.size);
    const auto each = [&](const Strided& operand, auto f) {
        for (uint32_t repeat = 0; repeat < lanes.repeats; ++repeat)
            for (uint32_t lane = 0; lane < lanes.last(); lane += step)
                f((operand.place.address + operand.offset(repeat, lane)) / block_bytes, repeat, lane);
    };
    each(dst,
         [&](uint32_t block, uint32_t repeat, uint32_t lane) { written.try_emplace(block, repeat, lane); });
    each(src, [&](uint32_t block, uint32_t repeat, uint32_t lane) {
        const auto found = written.find(block);
        if (found == written.end() || found->second.first > repeat) return;
        const bool whole = dst.size == src.size && found->second.second == lane;
        const bool still = accumulates && (dst.repeat == 0 || src.repeat == 0);
        call.check(whole && (found->second.first == repeat || still), FaultKind::partial_overlap, message);
    });
}

// Marks the lanes of a result as unwritten where a lane of a source is.
template <size_t N>
void pass_unwritten(const Instruction& call, const Strided (&operands)[N], const uint32_t (&offsets)[N],
                    uint32_t n) {
    bool clean = true;
    for (size_t i = 1; i < N; ++i)
        clean = clean && call.memory(operands[i].place)
                             .clean(operands[i].place.address + offsets[i], size_t{n} * operands[i].size);
    const Strided& dst = operands[0];
    uint8_t* result = call.unwritten(dst.place, offsets[0]);
    if (clean) {
        std::memset(result, 0, size_t{n} * dst.size);
        return;
    }
    for (uint32_t lane = 0; lane < n; ++lane) {
        uint8_t any = 0;
        for (size_t i = 1; i < N; ++i) {
            const uint8_t* flags = call.unwritten(operands[i].place, offsets[i] + lane * operands[i].size);
            for (uint32_t byte = 0; byte < operands[i].size; ++byte) any |= flags[byte];
        }
        std::memset(result + lane * dst.size, any != 0 ? 0xff : 0, dst.size);
    }
}

// Checks that hold for each operand of each vector call.
inline void check_operand(const Instruction& call, const Strided& operand) {
    call.check(operand.place.space == Space::ub, FaultKind::unsupported_position,
               "takes operands in UB only");
    call.check_aligned(operand.place, block_bytes, operand.name);
    call.check_range(operand.block, 0, UINT16_MAX, "block stride");
    call.check_range(operand.repeat, 0, UINT16_MAX, "repeat stride");
}

template <typename D, typename... S, class F, size_t... I>
void apply(uint8_t* to, const uint8_t* const* from, uint32_t n, F f, std::index_sequence<I...>) {
    auto* result = reinterpret_cast<aliased<D>*>(to);
    for (uint32_t lane = 0; lane < n; ++lane)
        result[lane] = f(reinterpret_cast<const aliased<S>*>(from[I + 1])[lane]...);
}

// dst[i] = f(sources[i]...) lane by lane. operands[0] is the result.
template <typename D, typename... S, size_t N, class F>
void map_lanes(const Instruction& call, const Lanes& lanes, const Strided (&operands)[N], bool accumulates,
               F f) {
    static_assert(N == sizeof...(S) + 1);
    for (const auto& operand : operands) check_operand(call, operand);
    for (size_t i = 1; i < N; ++i)
        check_overlap(call, operands[0], operands[i], lanes, accumulates && i == 2);
    for_runs(lanes, operands, [&](const uint32_t (&offsets)[N], uint32_t, uint32_t n) {
        const uint8_t* from[N] = {};
        for (size_t i = 1; i < N; ++i)
            from[i] = call.read(operands[i].place, offsets[i], n * operands[i].size);
        uint8_t* to = call.write(operands[0].place, offsets[0], n * operands[0].size);
        pass_unwritten(call, operands, offsets, n);
        apply<D, S...>(to, from, n, f, std::index_sequence_for<S...>{});
    });
}

}  // namespace ascend_fuse::emulator
