// TransDataTo5HD: the squares of a matrix turned, block by block of 32 B from lists of addresses. Of bytes,
// which it turns by halves of blocks, kernels turn none.
#pragma once

#include "lanes.h"
#include "support.h"

namespace AscendC {

inline constexpr int32_t NCHW_CONV_ADDR_LIST_SIZE = 16;

struct TransDataTo5HDParams {
    bool dstHighHalf = false, srcHighHalf = false;  // of bytes
    uint8_t repeatTimes = 1;
    uint16_t dstRepStride = 0, srcRepStride = 0;  // in blocks

    TransDataTo5HDParams() = default;
    TransDataTo5HDParams(bool dstHigh, bool srcHigh, uint8_t repeats, uint16_t dstStride, uint16_t srcStride)
        : dstHighHalf(dstHigh),
          srcHighHalf(srcHigh),
          repeatTimes(repeats),
          dstRepStride(dstStride),
          srcRepStride(srcStride) {}
};

}  // namespace AscendC

namespace ascend_fuse::emulator {

// Blocks of a list that are written once, and by no operand read.
template <typename T>
void check_lists(const Instruction& call, const AscendC::LocalTensor<T> (&dst)[16],
                 const AscendC::LocalTensor<T> (&src)[16], const AscendC::TransDataTo5HDParams& params) {
    std::unordered_map<uint32_t, bool> written;
    const auto each = [&](const AscendC::LocalTensor<T>(&list)[16], uint32_t stride, auto f) {
        for (const auto& block : list)
            for (uint32_t repeat = 0; repeat < params.repeatTimes; ++repeat)
                f(block.place().address / block_bytes + repeat * stride);
    };
    each(dst, params.dstRepStride, [&](uint32_t block) {
        call.check(written.emplace(block, true).second, FaultKind::partial_overlap,
                   "writes a block of its result twice");
    });
    each(src, params.srcRepStride, [&](uint32_t block) {
        call.check(written.count(block) == 0, FaultKind::partial_overlap, "operands overlap");
    });
}

// Element e of block b of the sources to element b of row e, which is one block of 16-bit elements, two of
// 32-bit ones.
template <typename T>
void turn_blocks(const Instruction& call, const AscendC::LocalTensor<T> (&dst)[16],
                 const AscendC::LocalTensor<T> (&src)[16], uint32_t dst_offset, uint32_t src_offset) {
    constexpr uint32_t size = sizeof(T), lanes = block_bytes / size, blocks_of_row = 16 / lanes;
    const uint8_t* from[16];
    const uint8_t* flags[16];
    for (uint32_t b = 0; b < 16; ++b) {
        from[b] = call.read(src[b].place(), src_offset, block_bytes);
        flags[b] = call.unwritten(src[b].place(), src_offset);
    }
    for (uint32_t at = 0; at < 16; ++at) {
        uint8_t* to = call.write(dst[at].place(), dst_offset, block_bytes);
        uint8_t* marks = call.unwritten(dst[at].place(), dst_offset);
        const uint32_t element = at / blocks_of_row, first = at % blocks_of_row * lanes;
        for (uint32_t lane = 0; lane < lanes; ++lane) {
            std::memcpy(to + lane * size, from[first + lane] + element * size, size);
            std::memcpy(marks + lane * size, flags[first + lane] + element * size, size);
        }
    }
}

}  // namespace ascend_fuse::emulator

namespace AscendC {

template <typename T>
void TransDataTo5HD(const LocalTensor<T> (&dstList)[NCHW_CONV_ADDR_LIST_SIZE],
                    const LocalTensor<T> (&srcList)[NCHW_CONV_ADDR_LIST_SIZE],
                    const TransDataTo5HDParams& params, Where at = Where::here()) {
    static_assert(sizeof(T) == 2 || sizeof(T) == 4, "squares of bytes are not emulated");
    const emulated::Instruction call("TransDataTo5HD", PIPE_V, at);
    emulated::check_support<T>(call, emulated::support::transpose);
    for (const auto& block : dstList)
        emulated::check_operand(call, {block.place(), sizeof(T), 1, params.dstRepStride, "dstList"});
    for (const auto& block : srcList)
        emulated::check_operand(call, {block.place(), sizeof(T), 1, params.srcRepStride, "srcList"});
    emulated::check_lists(call, dstList, srcList, params);
    for (uint32_t repeat = 0; repeat < params.repeatTimes; ++repeat) {
        // A single repeat begins a stride behind its lists, the first of several does not.
        const uint32_t strides = params.repeatTimes == 1 ? 1 : repeat;
        emulated::turn_blocks(call, dstList, srcList, strides * params.dstRepStride * emulated::block_bytes,
                              strides * params.srcRepStride * emulated::block_bytes);
    }
}

}  // namespace AscendC
