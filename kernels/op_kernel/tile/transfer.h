// One value of a tile between GM and UB, in as few copies as its strides allow. Rows that step evenly go as
// blocks of one copy. What does not begin on a block of UB, or on 910A and 310P does not fill one, goes by
// the scalar unit.
#pragma once

#include "tile.h"

namespace ascend_fuse::device::ASCEND_FUSE_ARCH {

using AscendC::GlobalTensor;

// Elements along merged axes, the last of which steps fastest.
struct Walk {
    GM_ADDR launch;
    int32_t table, first, axes;

    __aicore__ inline int64_t at(int64_t index) const {
        int64_t offset = 0;
        for (int32_t i = axes - 1; i >= 0; --i) {
            const auto axis = fetch<AxisRecord>(launch, table, first + i);
            offset += index % axis.extent * axis.stride;
            index /= axis.extent;
        }
        return offset;
    }

    // How many of `count` elements from `index` on step by `stride`.
    __aicore__ inline int32_t even(int64_t index, int32_t count, int64_t& stride) const {
        stride = 0;
        if (axes == 0) return count;
        const auto axis = fetch<AxisRecord>(launch, table, first + axes - 1);
        stride = axis.stride;
        const int64_t left = axis.extent - index % axis.extent;
        return left < count ? static_cast<int32_t>(left) : count;
    }
};

// `count` blocks of `lanes` elements: `gm_step` elements apart in GM, `ub_step` bytes in UB.
template <typename W>
struct Burst {
    GlobalTensor<W> gm;
    LocalTensor<W> ub;
    int32_t count = 1, lanes = 0;
    int64_t gm_step = 0;
    int32_t ub_step = 0;
    bool store = false;
};

template <typename W>
__aicore__ inline void move_lanes(const Burst<W>& burst) {
    AscendC::PipeBarrier<PIPE_ALL>();
    for (int32_t block = 0; block < burst.count; ++block) {
        auto gm = burst.gm[block * burst.gm_step];
        auto ub = burst.ub[block * burst.ub_step / static_cast<int32_t>(sizeof(W))];
        for (int32_t at = 0; at < burst.lanes; ++at)
            if (burst.store)
                gm.SetValue(at, ub.GetValue(at));
            else
                ub.SetValue(at, gm.GetValue(at));
        // One call cleans the line of its address: each line that the block touches.
        for (int32_t at = 0; burst.store && at < burst.lanes; ++at)
            AscendC::DataCacheCleanAndInvalid<W, AscendC::CacheLine::SINGLE_CACHE_LINE>(gm[at]);
    }
    AscendC::PipeBarrier<PIPE_ALL>();
}

// Blocks that DataCopyPad takes at once.
template <typename W>
__aicore__ inline void move_padded(const Burst<W>& burst) {
    if constexpr (sizeof(W) == 8) {  // 310B knows no copies of such words
        GlobalTensor<uint32_t> gm;
        gm.SetGlobalBuffer(reinterpret_cast<__gm__ uint32_t*>(const_cast<__gm__ W*>(burst.gm.GetPhyAddr())));
        const auto ub = burst.ub.template ReinterpretCast<uint32_t>();
        move_padded(Burst<uint32_t>{gm, ub, burst.count, 2 * burst.lanes, 2 * burst.gm_step, burst.ub_step,
                                    burst.store});
        return;
    }
    constexpr auto width = static_cast<int64_t>(sizeof(W));
    const int64_t bytes = burst.lanes * width, gm_gap = burst.gm_step * width - bytes;
    const int64_t ub_gap = (burst.ub_step - round_up(static_cast<int32_t>(bytes), block_bytes)) / block_bytes;
    const auto count = static_cast<uint16_t>(burst.count);
    const auto length = static_cast<uint32_t>(bytes);
    if (burst.store) {
        const AscendC::DataCopyExtParams params(count, length, static_cast<uint32_t>(ub_gap),
                                                static_cast<uint32_t>(gm_gap), 0);
        AscendC::DataCopyPad(burst.gm, burst.ub, params);
        return;
    }
    const AscendC::DataCopyExtParams params(count, length, static_cast<uint32_t>(gm_gap),
                                            static_cast<uint32_t>(ub_gap), 0);
    AscendC::DataCopyPad(burst.ub, burst.gm, params, AscendC::DataCopyPadExtParams<W>());
}

// Lanes [0, count) and [from, from + count) of a row change places; `back`: again, so that they lie as
// before.
template <typename W>
__aicore__ inline void swap_lanes(const LocalTensor<W>& row, int32_t from, int32_t count, bool back) {
    for (int32_t i = 0; i < count && from > 0; ++i) {
        const int32_t at = back ? count - 1 - i : i;
        auto low = row, high = row;
        const W first = low.GetValue(at), second = high.GetValue(from + at);
        low.SetValue(at, second);
        high.SetValue(from + at, first);
    }
}

// Lanes that do not begin on a block of UB, to GM: they are put at the row's start while they are copied. The
// scalar unit stores no lines of GM, as other cores may write to the same lines.
template <typename W>
__aicore__ inline void store_staged(const GlobalTensor<W>& gm, const LocalTensor<W>& row, int32_t from,
                                    int32_t count) {
    AscendC::PipeBarrier<PIPE_ALL>();
    swap_lanes(row, from, count, false);
    AscendC::PipeBarrier<PIPE_ALL>();
    if constexpr (arch::has_copy_pad)
        move_padded(Burst<W>{gm, row, 1, count, count,
                             round_up(count * static_cast<int32_t>(sizeof(W)), block_bytes), true});
    else
        AscendC::DataCopy(gm, row, static_cast<uint32_t>(count));
    AscendC::PipeBarrier<PIPE_ALL>();
    swap_lanes(row, from, count, true);
    AscendC::PipeBarrier<PIPE_ALL>();
}

// The same for lanes that need not fill blocks: without DataCopyPad the last block is shifted back over what
// was stored. Less than a block goes by the scalar unit; lowering then gives the launch one core.
template <typename W>
__aicore__ inline void store_lanes(const GlobalTensor<W>& gm, const LocalTensor<W>& row, int32_t from,
                                   int32_t count) {
    constexpr int32_t block = block_lanes<W>;
    if (arch::has_copy_pad) return store_staged(gm, row, from, count);
    if (count < block) return move_lanes(Burst<W>{gm, row[from], 1, count, 0, 0, true});
    for (int32_t at = 0; at < count; at += block) {
        const int32_t begin = least(at, count - block);
        store_staged(gm[begin], row, from + begin, block);
    }
}

// Whole blocks of one run, and the rest of it.
template <typename W>
__aicore__ inline void move_whole_blocks(const Burst<W>& burst) {
    constexpr int32_t block = block_lanes<W>;
    const int32_t whole = burst.lanes / block * block, rest = burst.lanes - whole;
    if (whole > 0 && burst.store) AscendC::DataCopy(burst.gm, burst.ub, static_cast<uint32_t>(whole));
    if (whole > 0 && !burst.store) AscendC::DataCopy(burst.ub, burst.gm, static_cast<uint32_t>(whole));
    if (rest == 0) return;
    const int32_t from = burst.store && whole > 0 ? burst.lanes - block : whole;
    if (burst.store)
        store_lanes(burst.gm[from], burst.ub, from, burst.lanes - from);
    else
        move_lanes(Burst<W>{burst.gm[whole], burst.ub[whole], 1, rest, 0, 0, false});
}

// Rows that are neighbours in GM and shorter than a block: they are stored as one run.
template <typename W>
__aicore__ inline void store_packed(const Burst<W>& burst) {
    const int32_t pitch = burst.ub_step / static_cast<int32_t>(sizeof(W)), lanes = burst.lanes;
    auto ub = burst.ub;
    AscendC::PipeBarrier<PIPE_ALL>();
    for (int32_t at = lanes; at < burst.count * lanes; ++at)
        ub.SetValue(at, ub.GetValue(at / lanes * pitch + at % lanes));
    AscendC::PipeBarrier<PIPE_ALL>();
    move_whole_blocks(Burst<W>{burst.gm, ub, 1, burst.count * lanes, 0, 0, true});
    AscendC::PipeBarrier<PIPE_ALL>();
    for (int32_t at = burst.count * lanes - 1; at >= lanes; --at)
        ub.SetValue(at / lanes * pitch + at % lanes, ub.GetValue(at));
    AscendC::PipeBarrier<PIPE_ALL>();
}

template <typename W>
__aicore__ inline void move_burst(Burst<W> burst) {
    constexpr auto width = static_cast<int64_t>(sizeof(W));
    if (burst.count > 1 && burst.gm_step == burst.lanes && burst.ub_step == burst.lanes * width &&
        burst.count * burst.lanes * width <= 2097151) {
        burst.lanes *= burst.count;
        burst.count = 1;
    }
    if (!arch::has_copy_pad && burst.store && burst.count > 1 && burst.gm_step == burst.lanes &&
        burst.lanes < block_lanes<W>)
        return store_packed(burst);
    const int64_t gap = (burst.gm_step - burst.lanes) * width;
    const bool together = arch::has_copy_pad && gap >= 0 && gap <= 4294967295;
    const int32_t most = together ? max_bursts : 1;
    for (int32_t at = 0; at < burst.count; at += most) {
        Burst<W> part = burst;
        part.gm = burst.gm[at * burst.gm_step];
        part.ub = burst.ub[at * burst.ub_step / width];
        part.count = least(most, burst.count - at);
        if (part.count == 1) part.gm_step = part.lanes;
        if (part.count == 1) part.ub_step = round_up(static_cast<int32_t>(part.lanes * width), block_bytes);
        if constexpr (arch::has_copy_pad)
            move_padded(part);
        else
            move_whole_blocks(part);
    }
}

// A burst whose blocks lie `from` lanes behind the starts of rows; `whole`: copies take them as they lie.
template <typename W>
__aicore__ inline void move_run(Burst<W> burst, int32_t from, bool whole) {
    const auto row = burst.ub;
    burst.ub = row[from];
    if (whole) return move_burst(burst);
    if (!burst.store) return move_lanes(burst);
    for (int32_t at = 0; at < burst.count; ++at)
        store_lanes(burst.gm[at * burst.gm_step], row[at * burst.ub_step / static_cast<int32_t>(sizeof(W))],
                    from, burst.lanes);
}

// Elements [0, lanes) of a row that begins at `col`, for `rows` rows from `row` on.
template <typename W>
__aicore__ inline void move_matrix(const Burst<W>& whole, const Walk& row_walk, int64_t row, int32_t rows,
                                   const Walk& col_walk, int64_t col, int32_t cols) {
    for (int32_t c = 0; c < cols;) {
        int64_t stride = 0;
        int32_t run = col_walk.even(col + c, cols - c, stride);
        const bool blocks = run == 1 || stride == 1;
        if (!blocks) run = 1;
        const bool aligned = c * static_cast<int32_t>(sizeof(W)) % block_bytes == 0;
        for (int32_t r = 0; r < rows;) {
            Burst<W> burst = whole;
            burst.count = row_walk.even(row + r, rows - r, burst.gm_step);
            burst.lanes = run;
            burst.gm = whole.gm[row_walk.at(row + r) + col_walk.at(col + c)];
            burst.ub = whole.ub[r * whole.ub_step / static_cast<int32_t>(sizeof(W))];
            move_run(burst, c, blocks && aligned);
            r += burst.count;
        }
        c += run;
    }
}

template <typename W>
__aicore__ inline void transfer(const Tile& tile, const TransferRecord& record, GM_ADDR address, bool store) {
    const Operand& operand = record.tile;
    const Walk rows{tile.launch, tile.axes_at, record.first_row_axis, record.row_axes};
    const Walk cols{tile.launch, tile.axes_at, record.first_col_axis, record.col_axes};
    const Walk none{tile.launch, tile.axes_at, 0, 0};
    Burst<W> burst;
    burst.gm.SetGlobalBuffer(reinterpret_cast<__gm__ W*>(address) + record.base);
    burst.ub = tensor_of<W>(tile, operand);
    burst.ub_step = operand.pitch;
    burst.store = store;
    if (operand.turned != 0) {
        move_matrix(burst, cols, tile.col, tile.cols, rows, tile.row, tile.rows);
    } else if (operand.span == SpanCode::full) {
        move_matrix(burst, rows, tile.row, tile.rows, cols, tile.col, cols_of(tile, operand));
    } else if (operand.span == SpanCode::line) {
        move_matrix(burst, none, 0, 1, cols, tile.col, cols_of(tile, operand));
    } else {  // packed, of the column in which the tile begins
        burst.gm = burst.gm[cols.at(tile.col)];
        move_matrix(burst, none, 0, 1, rows, tile.row, rows_of(tile, operand));
    }
}

__aicore__ inline void transfer(const Tile& tile, const TransferRecord& record, GM_ADDR address, bool store) {
    switch (width_of(record.tile.dtype)) {
        case 1:
            return transfer<uint8_t>(tile, record, address, store);
        case 2:
            return transfer<uint16_t>(tile, record, address, store);
        case 4:
            return transfer<uint32_t>(tile, record, address, store);
        default:
            return transfer<uint64_t>(tile, record, address, store);
    }
}

}  // namespace ascend_fuse::device::ASCEND_FUSE_ARCH
