// Data movement between GM and on-chip memory, and inside of UB.
#pragma once

#include "cube_load.h"
#include "lanes.h"

namespace ascend_fuse::emulator {

inline int64_t rounded_up(int64_t value, int64_t to) { return (value + to - 1) / to * to; }

// One transfer between GM and a local buffer: `count` blocks of `bytes`, gaps between blocks in bytes.
struct Transfer {
    int64_t count = 1, bytes = 0, gm_gap = 0, local_gap = 0;
    int64_t left = 0, right = 0;    // bytes of padding around a block in the local buffer
    const uint8_t* fill = nullptr;  // the element that pads, or nothing
    uint32_t element = 1;           // its bytes
    int64_t local_pitch() const { return rounded_up(left + bytes + right, block_bytes) + local_gap; }
};

// Bytes that nobody wrote to an output are not known either when they are loaded.
inline void mark_loaded(const Instruction& call, const Local& place, uint32_t offset, RegionState& region,
                        int64_t begin, int64_t bytes) {
    call.mark(place, offset, static_cast<uint32_t>(bytes), false);
    if (!region.writable || region.written.holds(begin, begin + bytes)) return;
    for (int64_t i = 0; i < bytes; ++i)
        if (!region.written.holds(begin + i, begin + i + 1))
            call.mark(place, offset + static_cast<uint32_t>(i), 1, true);
}

inline void load(const Instruction& call, const Local& place, const uint8_t* from, const Transfer& transfer) {
    if (transfer.count == 0 || transfer.bytes == 0) return;
    Runs runs{0, transfer.bytes, transfer.count, transfer.bytes + transfer.gm_gap};
    RegionState& region = call.gm(from, runs, false);
    for (int64_t i = 0; i < transfer.count; ++i) {
        const auto offset = static_cast<uint32_t>(i * transfer.local_pitch());
        const auto whole = static_cast<uint32_t>(transfer.local_pitch() - transfer.local_gap);
        uint8_t* to = call.write(place, offset, whole);
        const bool filled = transfer.fill != nullptr;
        const bool fill_tail = filled && transfer.left + transfer.right > 0;  // up to 32 B
        const auto padded = static_cast<uint32_t>(transfer.left + transfer.bytes + transfer.right);
        if (whole > transfer.bytes) {
            call.mark(place, offset, whole, true);
            for (uint32_t at = 0; filled && at < (fill_tail ? whole : padded); at += transfer.element) {
                std::memcpy(to + at, transfer.fill, transfer.element);
                call.mark(place, offset + at, transfer.element, false);
            }
        }
        std::memcpy(to + transfer.left, from + i * runs.pitch, static_cast<size_t>(transfer.bytes));
        mark_loaded(call, place, offset + static_cast<uint32_t>(transfer.left), region,
                    runs.begin + i * runs.pitch, transfer.bytes);
    }
}

inline void store(const Instruction& call, uint8_t* to, const Local& place, const Transfer& transfer) {
    if (transfer.count == 0 || transfer.bytes == 0) return;
    Runs runs{0, transfer.bytes, transfer.count, transfer.bytes + transfer.gm_gap};
    call.gm(to, runs, true);
    for (int64_t i = 0; i < transfer.count; ++i) {
        const auto offset = static_cast<uint32_t>(i * transfer.local_pitch());
        const auto bytes = static_cast<uint32_t>(transfer.bytes);
        const uint8_t* from = call.read(place, offset, bytes);
        call.check_written(place, offset, bytes, "stores");
        std::memcpy(to + i * runs.pitch, from, bytes);
    }
}

// Limits of a block transfer (DataCopy): whole blocks of 32 B.
inline Transfer blocks(const Instruction& call, const AscendC::DataCopyParams& params, bool to_local) {
    call.check_range(params.blockCount, 0, 4095, "blockCount");
    Transfer transfer;
    transfer.count = params.blockCount;
    transfer.bytes = int64_t{params.blockLen} * block_bytes;
    transfer.gm_gap = int64_t{to_local ? params.srcStride : params.dstStride} * block_bytes;
    transfer.local_gap = int64_t{to_local ? params.dstStride : params.srcStride} * block_bytes;
    return transfer;
}

inline AscendC::DataCopyParams whole(const Instruction& call, int64_t elements, size_t size) {
    const int64_t bytes = elements * static_cast<int64_t>(size);
    if (bytes % block_bytes != 0)
        call.fail(FaultKind::partial_block,
                  "copies " + std::to_string(bytes) + " B, which are not whole blocks of 32 B");
    call.check_range(bytes / block_bytes, 0, UINT16_MAX, "count in blocks");
    return {1, static_cast<uint16_t>(bytes / block_bytes), 0, 0};
}

// Limits of a padded transfer (DataCopyPad); gaps of other chips than 3510 have 32 bits.
inline Transfer padded(const Instruction& call, const AscendC::DataCopyExtParams& params, uint32_t size,
                       bool to_local) {
    const int arch = call.arch();
    if (arch == 1001 || arch == 2002)
        call.fail(FaultKind::unsupported_call, "does not exist on npu_arch " + std::to_string(arch));
    if (arch == 3002 && size == 8)
        call.fail(FaultKind::unsupported_dtype, "does not take 64 bits on npu_arch 3002");
    call.check_range(params.blockCount, 0, 4095, "blockCount");
    call.check_range(params.blockLen, 0, 2097151, "blockLen");
    const int64_t gm_gap = to_local ? params.srcStride : params.dstStride;
    const int64_t local_gap = to_local ? params.dstStride : params.srcStride;
    const bool wide = arch == 3510;
    const int64_t lowest = wide && to_local ? -int64_t{params.blockLen} : 0;
    call.check_range(gm_gap, lowest, wide ? (int64_t{1} << 40) - 1 : UINT32_MAX, "GM stride");
    call.check_range(local_gap, 0, wide ? UINT16_MAX : UINT32_MAX, "UB stride");
    if (params.blockLen % size != 0)
        call.fail(FaultKind::parameter_range,
                  "blockLen " + std::to_string(params.blockLen) + " is not whole elements");
    Transfer transfer;
    transfer.count = params.blockCount;
    transfer.bytes = params.blockLen;
    transfer.gm_gap = gm_gap;
    transfer.local_gap = local_gap * block_bytes;
    return transfer;
}

template <typename T>
void check_gm_aligned(const Instruction& call, const T* address) {
    if (reinterpret_cast<uint64_t>(address) % sizeof(T) != 0)
        call.fail(FaultKind::unaligned_gm, "GM address " + hexadecimal(reinterpret_cast<uint64_t>(address)) +
                                               " is not aligned to the element");
}

// Between local memories: UB to UB by the vector unit, UB to L1 by MTE3, L1 to UB by MTE1.
inline pipe_t local_pipe(Space from, Space to) {
    if (from == Space::ub) return to == Space::ub ? PIPE_V : PIPE_MTE3;
    return PIPE_MTE1;
}

inline void copy_local(const Instruction& call, const Local& to, const Local& from,
                       const Transfer& transfer) {
    call.check(call.arch() == 1001 || call.arch() == 2002 || to.space == from.space,
               FaultKind::unsupported_call, "between UB and L1 is not on this chip");
    call.check_aligned(to, block_bytes, "dst");
    call.check_aligned(from, block_bytes, "src");
    // `transfer` reads the source's gap as GM's.
    const int64_t from_pitch = transfer.bytes + transfer.gm_gap,
                  to_pitch = transfer.bytes + transfer.local_gap;
    const int64_t from_end = from.address + (transfer.count - 1) * from_pitch + transfer.bytes;
    const int64_t to_end = to.address + (transfer.count - 1) * to_pitch + transfer.bytes;
    if (to.space == from.space && to.address < from_end && from.address < to_end)
        call.check(to.address == from.address && from_pitch == to_pitch, FaultKind::partial_overlap,
                   "operands overlap in part");
    for (int64_t i = 0; i < transfer.count && transfer.bytes > 0; ++i) {
        const auto source = static_cast<uint32_t>(i * from_pitch),
                   target = static_cast<uint32_t>(i * to_pitch);
        const auto bytes = static_cast<uint32_t>(transfer.bytes);
        const uint8_t* read = call.read(from, source, bytes);
        uint8_t* written = call.write(to, target, bytes);
        std::memmove(written, read, bytes);
        std::memmove(call.unwritten(to, target), call.unwritten(from, source), bytes);
    }
}

}  // namespace ascend_fuse::emulator

namespace AscendC {

template <typename T>
void DataCopy(const LocalTensor<T>& dst, const GlobalTensor<T>& src, const DataCopyParams& params,
              Where at = Where::here()) {
    const emulated::Instruction call("DataCopy", PIPE_MTE2, at);
    call.check_aligned(dst.place(), emulated::block_bytes, "dst");
    emulated::check_gm_aligned(call, src.GetPhyAddr());
    emulated::load(call, dst.place(), reinterpret_cast<const uint8_t*>(src.GetPhyAddr()),
                   emulated::blocks(call, params, true));
}

template <typename T>
void DataCopy(const GlobalTensor<T>& dst, const LocalTensor<T>& src, const DataCopyParams& params,
              Where at = Where::here()) {
    const emulated::Instruction call("DataCopy", PIPE_MTE3, at);
    call.check_aligned(src.place(), emulated::block_bytes, "src");
    emulated::check_gm_aligned(call, dst.GetPhyAddr());
    emulated::store(call, reinterpret_cast<uint8_t*>(dst.GetPhyAddr(0)), src.place(),
                    emulated::blocks(call, params, false));
}

template <typename T>
void DataCopy(const LocalTensor<T>& dst, const LocalTensor<T>& src, const DataCopyParams& params,
              Where at = Where::here()) {
    if (dst.place().space == emulated::Space::bt) return detail::copy_to_bias_table(dst, src, params, at);
    const emulated::Instruction call("DataCopy", emulated::local_pipe(src.place().space, dst.place().space),
                                     at);
    emulated::copy_local(call, dst.place(), src.place(), emulated::blocks(call, params, true));
}

// `count` elements: the whole of them must be blocks of 32 B.
template <typename D, typename S>
auto DataCopy(const D& dst, const S& src, uint32_t count, Where at = Where::here())
    -> std::enable_if_t<std::is_same_v<typename D::PrimType, typename S::PrimType>> {
    DataCopyParams params;
    {
        const emulated::Instruction call("DataCopy", PIPE_S, at, false);
        params = emulated::whole(call, count, sizeof(typename D::PrimType));
    }
    DataCopy(dst, src, params, at);
}

template <typename T>
void DataCopyPad(const LocalTensor<T>& dst, const GlobalTensor<T>& src, const DataCopyExtParams& params,
                 const DataCopyPadExtParams<T>& pad, Where at = Where::here()) {
    const emulated::Instruction call("DataCopyPad", PIPE_MTE2, at);
    call.check_aligned(dst.place(), emulated::block_bytes, "dst");
    auto transfer = emulated::padded(call, params, sizeof(T), true);
    transfer.left = int64_t{pad.leftPadding} * sizeof(T);
    transfer.right = int64_t{pad.rightPadding} * sizeof(T);
    call.check_range(transfer.left, 0, 32, "leftPadding in bytes");
    call.check_range(transfer.right, 0, 32, "rightPadding in bytes");
    if (pad.isPad) transfer.fill = reinterpret_cast<const uint8_t*>(&pad.paddingValue);
    transfer.element = sizeof(T);
    emulated::load(call, dst.place(), reinterpret_cast<const uint8_t*>(src.GetPhyAddr()), transfer);
}

template <typename T>
void DataCopyPad(const GlobalTensor<T>& dst, const LocalTensor<T>& src, const DataCopyExtParams& params,
                 Where at = Where::here()) {
    const emulated::Instruction call("DataCopyPad", PIPE_MTE3, at);
    call.check_aligned(src.place(), emulated::block_bytes, "src");
    emulated::store(call, reinterpret_cast<uint8_t*>(dst.GetPhyAddr(0)), src.place(),
                    emulated::padded(call, params, sizeof(T), false));
}

}  // namespace AscendC
