// Cube cores make tiles of the product, FixPipe stores them, vector cores beside do what follows.
#pragma once

#include "gemm_store.h"
#include "sweep.h"

namespace ascend_fuse::device::ASCEND_FUSE_ARCH {

// Flags between a cube core and the vector cores beside it.
inline constexpr uint16_t tile_ready = 0, slot_free = 1;
// Tiles of one cube core that may wait for its vector cores.
inline constexpr int64_t slots = 2;

template <class In, class Bias>
__aicore__ inline void make_tiles(const GemmLaunch& gemm, int64_t core) {
    AscendC::TPipe pipe;
    GemmBlock<In, Bias> block(pipe, gemm.header, gemm.axes(), gemm.tensors);
    const bool vector = gemm.header.fused_at != 0 && gemm.header.ub_rows > 0;
    const TaskRange range = tasks_of(gemm.header, core);
    block.begin();
    int64_t passed = 0;  // tiles that vector cores take over
    for (int64_t task = range.first; task < range.last; ++task) {
        const GemmTile tile = tile_of(gemm.header, task);
        block.multiply(tile);
        const auto product = block.take();
        const bool passes = vector && gemm.fused(tile);
        if (passes && passed >= slots) AscendC::CrossCoreWaitFlag(slot_free);
        store_all(gemm, tile, core * slots + passed % slots, product);
        if (passes) {
            AscendC::CrossCoreSetFlag<2, PIPE_FIX>(tile_ready);
            ++passed;
        }
        block.release();
    }
    block.end();
    if (gemm.header.apart != 0) AscendC::SyncAll<false>();
}

template <class In>
__aicore__ inline void make_tiles(const GemmLaunch& gemm, int64_t core) {
    if constexpr (arch::has_bf16_bias)
        if (gemm.header.bias == bf16) return make_tiles<In, bfloat16_t>(gemm, core);
    gemm.header.bias == f16 ? make_tiles<In, half>(gemm, core) : make_tiles<In, float>(gemm, core);
}

__aicore__ inline void make_tiles(const GemmLaunch& gemm, int64_t core) {
    if (gemm.header.in == i8)
        make_tiles<int8_t, int32_t>(gemm, core);
    else if (gemm.header.in == f32)
        make_tiles<float>(gemm, core);
    else if (gemm.header.in == bf16)
        make_tiles<bfloat16_t>(gemm, core);
    else
        make_tiles<half>(gemm, core);
}

// Bytes from a tensor's start at which element (row, col) of the space would lie if `tile` lay at `slot`.
__aicore__ inline int64_t slot_offset(const GemmHeader& header, const GemmTile& tile, int64_t slot) {
    const int64_t pitch = header.tile_n, row = tile.batch * header.m + tile.row;
    return (slot * header.tile_m * pitch - row * pitch - tile.col) * width_of(header.leaves);
}

// What follows a tile, a share of its rows for each vector core beside the cube.
__aicore__ inline void follow(const GemmHeader& header, VectorCore& vector, const GemmTile& tile,
                              int64_t share) {
    const int32_t most = (tile.rows + header.vectors - 1) / header.vectors;
    const int32_t first = static_cast<int32_t>(share) * most;
    const int32_t last = first + most < tile.rows ? first + most : tile.rows;
    for (int32_t row = first; row < last; row += header.ub_rows)
        vector.run_part(tile.batch * header.m + tile.row + row, least(header.ub_rows, last - row), tile.col,
                        tile.cols);
}

// Tiles that the cube core beside passes one by one.
__aicore__ inline void follow_fused(const GemmLaunch& gemm, VectorCore& vector, int64_t core, int64_t share) {
    const GemmHeader& header = gemm.header;
    const TaskRange range = tasks_of(header, core);
    int64_t left = 0;
    for (int64_t task = range.first; task < range.last; ++task)
        left += gemm.fused(tile_of(header, task)) ? 1 : 0;
    int64_t passed = 0;
    for (int64_t task = range.first; task < range.last; ++task) {
        const GemmTile tile = tile_of(header, task);
        if (!gemm.fused(tile)) continue;
        AscendC::CrossCoreWaitFlag(tile_ready);
        if (header.slots_tensor >= 0) {
            const auto slots_at = reinterpret_cast<GM_ADDR>(gemm.tensors[header.slots_tensor]);
            vector.find(header.slots_tensor,
                        slots_at + slot_offset(header, tile, core * slots + passed % slots));
        }
        follow(header, vector, tile, share);
        ++passed;
        if (passed + slots <= left) AscendC::CrossCoreSetFlag<2, PIPE_MTE2>(slot_free);
    }
}

// Tiles whose product all vector cores share once the cube cores are done.
__aicore__ inline void follow_apart(const GemmLaunch& gemm, VectorCore& vector, int64_t core, int64_t cores) {
    const GemmHeader& header = gemm.header;
    int64_t turn = 0;
    for (int64_t task = 0; task < header.tasks; ++task) {
        const GemmTile tile = tile_of(header, task);
        if (gemm.fused(tile)) continue;
        for (int32_t row = 0; row < tile.rows; row += header.ub_rows)
            if (turn++ % cores == core)
                vector.run_part(tile.batch * header.m + tile.row + row,
                                least(header.ub_rows, tile.rows - row), tile.col, tile.cols);
    }
}

__aicore__ inline void follow_tiles(const GemmLaunch& gemm, int64_t core, int64_t share) {
    const GemmHeader& header = gemm.header;
    const TaskRange range = tasks_of(header, core);
    VectorCore vector(gemm.launch + header.fused_at, reinterpret_cast<GM_ADDR>(gemm.tensors));
    const bool works = header.ub_rows > 0 && (range.first < range.last || header.apart != 0);
    vector.begin(works);
    if (header.ub_rows > 0) follow_fused(gemm, vector, core, share);
    if (header.apart != 0) {
        AscendC::SyncAll<false>();
        follow_apart(gemm, vector, core * header.vectors + share,
                     static_cast<int64_t>(header.block_dim) * header.vectors);
    }
    vector.end(works);
}

__aicore__ inline void run_gemm(const GemmLaunch& gemm) {
    if ASCEND_IS_AIC {
        make_tiles(gemm, AscendC::GetBlockIdx());
    }
    if ASCEND_IS_AIV {
        if (gemm.header.fused_at != 0)
            follow_tiles(gemm, AscendC::GetBlockIdx() / gemm.header.vectors, AscendC::GetSubBlockIdx());
    }
}

}  // namespace ascend_fuse::device::ASCEND_FUSE_ARCH
