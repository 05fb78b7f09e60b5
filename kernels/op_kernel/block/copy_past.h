// The past of an output in two parts, copied by all cores, a share each.
#pragma once

#include "pass.h"

namespace ascend_fuse::device::ASCEND_FUSE_ARCH {

using CopyQueue = AscendC::TQueBind<AscendC::TPosition::VECIN, AscendC::TPosition::VECOUT, 1>;

// `count` runs of `bytes` that follow each other in `from`, `pitch` bytes apart in `to`.
__aicore__ inline void copy_runs(CopyQueue& queue, const GlobalTensor<uint8_t>& from,
                                 const GlobalTensor<uint8_t>& to, int32_t count, int32_t bytes,
                                 int64_t pitch) {
    auto buffer = queue.AllocTensor<uint8_t>();
    Burst<uint8_t> burst{from, buffer, count, bytes, bytes, round_up(bytes, block_bytes), false};
    move_burst(burst);
    queue.EnQue(buffer);
    buffer = queue.DeQue<uint8_t>();
    burst = {to, buffer, count, bytes, pitch, round_up(bytes, block_bytes), true};
    move_burst(burst);
    queue.FreeTensor(buffer);
}

// Bytes [begin, end) of the past.
__aicore__ inline void copy_share(const Context& context, CopyQueue& queue, const CopyRecord& copy,
                                  int64_t begin, int64_t end) {
    GlobalTensor<uint8_t> from, to;
    from.SetGlobalBuffer(context.address(copy.from));
    to.SetGlobalBuffer(context.address(copy.to));
    const int64_t room = context.header.copy_bytes;
    const int64_t slot = (copy.run + block_bytes - 1) / block_bytes * block_bytes;
    for (int64_t at = begin; at < end;) {
        const int64_t inside = at % copy.run, left = end - at;
        int64_t count = 1, bytes = copy.run - inside;
        if (inside == 0 && slot <= room && left >= copy.run) {
            count = room / slot < left / copy.run ? room / slot : left / copy.run;
        } else {
            bytes = bytes < left ? bytes : left;
            bytes = bytes < room ? bytes : room;
        }
        copy_runs(queue, from[at], to[copy.base + at / copy.run * copy.pitch + inside],
                  static_cast<int32_t>(count), static_cast<int32_t>(bytes), copy.pitch);
        at += count * bytes;
    }
}

__aicore__ inline void copy_pasts(const Context& context, AscendC::TPipe& pipe) {
    CopyQueue queue;
    pipe.InitBuffer(queue, 2, static_cast<uint32_t>(context.header.copy_bytes));
    for (int32_t i = 0; i < context.header.copies; ++i) {
        const auto copy = fetch<CopyRecord>(context.launch, context.header.copies_at, i);
        // Shares of whole lines of the cache, so that no two cores write one.
        const int64_t share = (copy.bytes / context.header.block_dim / 512 + 1) * 512;
        const int64_t begin = share * AscendC::GetBlockIdx();
        copy_share(context, queue, copy, begin, begin + share < copy.bytes ? begin + share : copy.bytes);
    }
}

}  // namespace ascend_fuse::device::ASCEND_FUSE_ARCH
