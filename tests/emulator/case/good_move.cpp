// Transfers, queues and cores, without faults.
#include "case.h"

namespace emulator_case {

// rows x cols of elements `pitch` apart in GM into rows padded to 32 B, with `left` and `right` elements of
// padding, and out again as whole rows.
CASE(pad) {
    const int64_t rows = parameter(launch, 0), cols = parameter(launch, 1), pitch = parameter(launch, 2);
    const int64_t left = parameter(launch, 3), right = parameter(launch, 4), gap = parameter(launch, 5);
    Scratch scratch(32768);
    const auto local = scratch.get<half>();
    Duplicate(local, half(-1), 16384);
    PipeBarrier<PIPE_ALL>();
    const auto bytes = static_cast<uint32_t>(cols * 2);
    DataCopyPad(
        local, tensor<half>(tensors, 0),
        DataCopyExtParams(static_cast<uint16_t>(rows), bytes, (pitch - cols) * 2, gap, 0),
        DataCopyPadExtParams<half>(true, static_cast<uint8_t>(left), static_cast<uint8_t>(right), half(7)));
    PipeBarrier<PIPE_ALL>();
    const int64_t width = ((left + cols + right + 15) / 16 + gap) * 16;
    DataCopy(tensor<half>(tensors, 1), local, static_cast<uint32_t>(rows * width));
}

// Rows of UB 32 B apart to rows of GM `pitch` elements apart.
CASE(store_rows) {
    const int64_t rows = parameter(launch, 0), cols = parameter(launch, 1), pitch = parameter(launch, 2);
    Scratch scratch(32768);
    const auto local = scratch.get<half>();
    const int64_t width = (cols + 15) / 16 * 16 + 16;
    DataCopy(local, tensor<half>(tensors, 0), static_cast<uint32_t>(rows * width));
    PipeBarrier<PIPE_ALL>();
    DataCopyPad(tensor<half>(tensors, 1), local,
                DataCopyExtParams(static_cast<uint16_t>(rows), static_cast<uint32_t>(cols * 2), 1,
                                  (pitch - cols) * 2, 0));
}

// x + y through double-buffered queues, an equal share for each core.
CASE(add_through_queues) {
    const int64_t count = parameter(launch, 0), tile = parameter(launch, 1);
    const int64_t share = (count + GetBlockNum() - 1) / GetBlockNum();
    const int64_t first = GetBlockIdx() * share, end = first + share < count ? first + share : count;
    TPipe pipe;
    TQue<TPosition::VECIN, 1> in;
    TQue<TPosition::VECOUT, 1> out;
    pipe.InitBuffer(in, 2, static_cast<uint32_t>(tile * 8));
    pipe.InitBuffer(out, 2, static_cast<uint32_t>(tile * 4));
    for (int64_t at = first; at < end; at += tile) {
        const int64_t n = end - at < tile ? end - at : tile;
        const DataCopyExtParams run(1, static_cast<uint32_t>(n * 4), 0, 0, 0);
        auto loaded = in.AllocTensor<float>();
        const auto tile_at = static_cast<uint32_t>(tile);
        DataCopyPad(loaded, tensor<float>(tensors, 0)[at], run, DataCopyPadExtParams<float>());
        DataCopyPad(loaded[tile_at], tensor<float>(tensors, 1)[at], run, DataCopyPadExtParams<float>());
        in.EnQue(loaded);
        loaded = in.DeQue<float>();
        auto sum = out.AllocTensor<float>();
        Add(sum, loaded, loaded[tile_at], static_cast<int32_t>(n));
        in.FreeTensor(loaded);
        out.EnQue(sum);
        sum = out.DeQue<float>();
        DataCopyPad(tensor<float>(tensors, 2)[at], sum, run);
        out.FreeTensor(sum);
    }
}

// The tail of a tensor by the scalar unit, as on chips without DataCopyPad.
CASE(scalar_tail) {
    const int64_t count = parameter(launch, 0), whole = count / 8 * 8;
    Scratch scratch;
    const auto local = scratch.get();
    auto from = tensor<float>(tensors, 0), to = tensor<float>(tensors, 1);
    if (whole > 0) DataCopy(local, from, static_cast<uint32_t>(whole));
    SetFlag<HardEvent::MTE2_MTE3>(0);
    WaitFlag<HardEvent::MTE2_MTE3>(0);
    if (whole > 0) DataCopy(to, local, static_cast<uint32_t>(whole));
    SetFlag<HardEvent::MTE3_S>(0);
    WaitFlag<HardEvent::MTE3_S>(0);
    for (int64_t i = whole; i < count; ++i) to.SetValue(i, from.GetValue(i));
    DataCacheCleanAndInvalid<float, CacheLine::ENTIRE_DATA_CACHE, DcciDst::CACHELINE_OUT>(to);
}

// Each vector core writes its number; behind a barrier each reads its neighbour's.
CASE(neighbours) {
    if (!ASCEND_IS_AIV) return;
    Scratch scratch;
    const auto own = scratch.get();
    auto work = tensor<float>(tensors, 1);
    Duplicate(own, static_cast<float>(GetBlockIdx()), 8);
    PipeBarrier<PIPE_ALL>();
    DataCopy(work[GetBlockIdx() * 8], own, 8);
    SyncAll();
    const int64_t cores = GetBlockNum() * GetTaskRatio(), next = (GetBlockIdx() + 1) % cores;
    DataCopy(own, work[next * 8], 8);
    SetFlag<HardEvent::MTE2_MTE3>(0);
    WaitFlag<HardEvent::MTE2_MTE3>(0);
    DataCopy(tensor<float>(tensors, 0)[GetBlockIdx() * 8], own, 8);
}

// The vector cores of a block hand a block of GM to its cube core and back, twice, by flags.
CASE(hand_over) {
    auto work = tensor<float>(tensors, 1);
    if (ASCEND_IS_AIC) {
        for (int turn = 0; turn < 2; ++turn) {
            CrossCoreWaitFlag<2>(1);
            CrossCoreSetFlag<2, PIPE_FIX>(2);
        }
        return;
    }
    Scratch scratch;
    const auto own = scratch.get();
    const int64_t other = GetBlockIdx() ^ 1;
    for (int turn = 0; turn < 2; ++turn) {
        Duplicate(own, static_cast<float>(GetBlockIdx() + 100 * turn), 8);
        PipeBarrier<PIPE_ALL>();
        DataCopy(work[(turn * 64 + GetBlockIdx()) * 8], own, 8);
        CrossCoreSetFlag<2, PIPE_MTE3>(1);
        CrossCoreWaitFlag<2>(2);
        PipeBarrier<PIPE_ALL>();
        DataCopy(own, work[(turn * 64 + other) * 8], 8);
        PipeBarrier<PIPE_ALL>();
    }
    DataCopy(tensor<float>(tensors, 0)[GetBlockIdx() * 8], own, 8);
}

}  // namespace emulator_case
