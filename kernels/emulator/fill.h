// Vector calls that place values: Duplicate, Brcb, Copy, Gather.
#pragma once

#include "vector_binary.h"

namespace ascend_fuse::emulator {

template <typename T>
void duplicate(const Instruction& call, const AscendC::LocalTensor<T>& dst, T value, const Lanes& lanes,
               int64_t block, int64_t repeat) {
    check_support<T>(call, support::duplicate);
    const Strided operands[1] = {{dst.place(), sizeof(T), block, repeat, "dst"}};
    map_lanes<T>(call, lanes, operands, false, [value] { return value; });
}

template <typename T>
void copy_lanes(const Instruction& call, const AscendC::LocalTensor<T>& dst,
                const AscendC::LocalTensor<T>& src, const Lanes& lanes,
                const AscendC::CopyRepeatParams& strides) {
    check_support<T>(call, support::copy);
    call.check_range(strides.dstRepeatSize, 0, 4095, "dstRepeatSize");
    call.check_range(strides.srcRepeatSize, 0, 4095, "srcRepeatSize");
    const Strided operands[2] = {{dst.place(), sizeof(T), strides.dstStride, strides.dstRepeatSize, "dst"},
                                 {src.place(), sizeof(T), strides.srcStride, strides.srcRepeatSize, "src"}};
    map_lanes<T, T>(call, lanes, operands, false, [](T a) { return a; });
}

}  // namespace ascend_fuse::emulator

namespace AscendC {

template <typename T, bool isSetMask = true>
void Duplicate(const LocalTensor<T>& dst, const T& scalarValue, uint64_t mask, int32_t repeatTime,
               int32_t dstBlockStride, int32_t dstRepeatStride, Where at = Where::here()) {
    const emulated::Instruction call("Duplicate", PIPE_V, at);
    call.check_range(dstRepeatStride, 0, 255, "dstRepeatStride");
    emulated::duplicate<T>(call, dst, scalarValue,
                           emulated::Lanes::masked(call, sizeof(T), static_cast<int64_t>(mask), repeatTime),
                           dstBlockStride, dstRepeatStride);
}

template <typename T, bool isSetMask = true>
void Duplicate(const LocalTensor<T>& dst, const T& scalarValue, uint64_t mask[], int32_t repeatTime,
               int32_t dstBlockStride, int32_t dstRepeatStride, Where at = Where::here()) {
    const emulated::Instruction call("Duplicate", PIPE_V, at);
    call.check_range(dstRepeatStride, 0, 255, "dstRepeatStride");
    emulated::duplicate<T>(call, dst, scalarValue, emulated::Lanes::masked(call, sizeof(T), mask, repeatTime),
                           dstBlockStride, dstRepeatStride);
}

template <typename T>
void Duplicate(const LocalTensor<T>& dst, const T& scalarValue, const int32_t& count,
               Where at = Where::here()) {
    const emulated::Instruction call("Duplicate", PIPE_V, at);
    emulated::duplicate<T>(call, dst, scalarValue, emulated::Lanes::first(call, count), 1, 8);
}

// Eight elements a repeat, each filling a block of 32 B.
template <typename T>
void Brcb(const LocalTensor<T>& dst, const LocalTensor<T>& src, int32_t repeatTime,
          const BrcbRepeatParams& repeatParams, Where at = Where::here()) {
    const emulated::Instruction call("Brcb", PIPE_V, at);
    emulated::check_support<T>(call, emulated::support::brcb);
    call.check_range(repeatTime, 0, 255, "repeatTime");
    call.check_range(repeatParams.dstBlkStride, 1, UINT16_MAX, "dstBlkStride");
    const emulated::Strided to{dst.place(), sizeof(T), repeatParams.dstBlkStride, repeatParams.dstRepStride,
                               "dst"};
    const emulated::Strided from{src.place(), sizeof(T), 1, 8, "src"};
    emulated::check_operand(call, to);
    emulated::check_operand(call, from);
    constexpr uint32_t lanes = emulated::block_bytes / sizeof(T);
    const auto source_bytes = static_cast<uint32_t>(repeatTime * 8 * sizeof(T));
    const int64_t bytes = ((repeatTime - 1) * to.repeat + 7 * to.block + 1) * emulated::block_bytes;
    call.check(dst.place().space != src.place().space || repeatTime == 0 ||
                   dst.place().address >= src.place().address + source_bytes ||
                   src.place().address >= dst.place().address + bytes,
               emulated::FaultKind::partial_overlap, "operands overlap");
    for (int32_t repeat = 0; repeat < repeatTime; ++repeat)
        for (uint32_t element = 0; element < 8; ++element) {
            const auto offset =
                static_cast<uint32_t>((static_cast<uint32_t>(repeat) * 8 + element) * sizeof(T));
            const auto target = static_cast<uint32_t>(
                (int64_t{repeat} * to.repeat + int64_t{element} * to.block) * emulated::block_bytes);
            const uint8_t* value = call.read(src.place(), offset, sizeof(T));
            uint8_t* out = call.write(dst.place(), target, emulated::block_bytes);
            for (uint32_t lane = 0; lane < lanes; ++lane)
                std::memcpy(out + lane * sizeof(T), value, sizeof(T));
            call.mark(dst.place(), target, emulated::block_bytes,
                      !emulated::all_zero(call.unwritten(src.place(), offset), sizeof(T)));
        }
}

template <typename T, bool isSetMask = true>
void Copy(const LocalTensor<T>& dst, const LocalTensor<T>& src, uint64_t mask, int32_t repeatTime,
          const CopyRepeatParams& repeatParams, Where at = Where::here()) {
    const emulated::Instruction call("Copy", PIPE_V, at);
    emulated::copy_lanes<T>(call, dst, src,
                            emulated::Lanes::masked(call, sizeof(T), static_cast<int64_t>(mask), repeatTime),
                            repeatParams);
}

template <typename T, bool isSetMask = true>
void Copy(const LocalTensor<T>& dst, const LocalTensor<T>& src, const uint64_t mask[], int32_t repeatTime,
          const CopyRepeatParams& repeatParams, Where at = Where::here()) {
    const emulated::Instruction call("Copy", PIPE_V, at);
    emulated::copy_lanes<T>(call, dst, src, emulated::Lanes::masked(call, sizeof(T), mask, repeatTime),
                            repeatParams);
}

// dst[i] = the element at `srcBaseOffset` + `srcOffset[i]` bytes of src.
template <typename T>
void Gather(const LocalTensor<T>& dst, const LocalTensor<T>& src, const LocalTensor<uint32_t>& srcOffset,
            uint32_t srcBaseOffset, uint32_t count, Where at = Where::here()) {
    const emulated::Instruction call("Gather", PIPE_V, at);
    emulated::check_support<T>(call, emulated::support::gather);
    const emulated::Lanes lanes = emulated::Lanes::first(call, count);
    const emulated::Strided operands[2] = {emulated::contiguous(dst, "dst"),
                                           emulated::contiguous(srcOffset, "srcOffset")};
    call.check_aligned(src.place(), emulated::block_bytes, "src");
    for (const auto& operand : operands) emulated::check_operand(call, operand);
    emulated::check_overlap(call, operands[0], operands[1], lanes, false);
    const auto* offsets = reinterpret_cast<const emulated::aliased<uint32_t>*>(
        call.read(srcOffset.place(), 0, count * static_cast<uint32_t>(sizeof(uint32_t))));
    call.check_written(srcOffset.place(), 0, count * static_cast<uint32_t>(sizeof(uint32_t)), "gathers by");
    uint8_t* to = call.write(dst.place(), 0, count * static_cast<uint32_t>(sizeof(T)));
    for (uint32_t i = 0; i < count; ++i) {
        const uint32_t offset = srcBaseOffset + offsets[i];
        call.check(offset % sizeof(T) == 0, emulated::FaultKind::parameter_range,
                   "offset is not whole elements");
        std::memcpy(to + i * sizeof(T), call.read(src.place(), offset, sizeof(T)), sizeof(T));
        std::memcpy(call.unwritten(dst.place(), i * static_cast<uint32_t>(sizeof(T))),
                    call.unwritten(src.place(), offset), sizeof(T));
    }
}

}  // namespace AscendC
