// Cube and vector unit in one core: a tile of the product leaves L0C through UB, and what follows it runs
// there, while the cube makes the next tile where L0C holds two.
#pragma once

#include "gemm.h"
#include "sweep.h"
#include ASCEND_FUSE_TAKE

namespace ascend_fuse::device::ASCEND_FUSE_ARCH {

// Rows and columns of a block of the product in UB, whole fractals (gemm_tiling.h, stage_bytes).
__aicore__ inline int64_t stage_elements(const GemmHeader& header) {
    const int64_t cols = header.n < header.tile_n ? header.n : header.tile_n;
    return round_to(header.ub_rows, 16) * round_to(cols, 16);
}

// What follows a tile that lies in L0C, `ub_rows` at once: whole fractals, but for the last.
template <class Sum>
__aicore__ inline void follow(const GemmHeader& header, VectorCore& vector, const GemmTile& tile,
                              const LocalTensor<Sum>& product, const LocalTensor<Sum>& stage) {
    const auto padded = static_cast<int32_t>(round_to(tile.rows < 2 ? 2 : tile.rows, 16));
    for (int32_t row = 0; row < tile.rows; row += header.ub_rows) {
        const int32_t rows = least(header.ub_rows, tile.rows - row);
        const auto whole = static_cast<int32_t>(round_to(rows, 16));
        take_rows(stage, product[row * 16], whole, padded, tile.cols);
        vector.find(Product{stage.template ReinterpretCast<uint8_t>(), whole});
        vector.run_part(tile.batch * header.m + tile.row + row, rows, tile.col, tile.cols);
    }
}

template <class In>
__aicore__ inline void make_tiles(const GemmLaunch& gemm, VectorCore& vector, const TaskRange& range) {
    const GemmHeader& header = gemm.header;
    using Block = GemmBlock<In, float>;
    Block block(vector.pipe(), header, gemm.axes(), gemm.tensors);
    AscendC::TBuf<AscendC::TPosition::VECCALC> stage;
    vector.pipe().InitBuffer(stage, static_cast<uint32_t>(stage_elements(header) * 4));
    const bool ahead = header.c_buffers > 1;
    block.begin();
    for (int64_t task = range.first, made = range.first; task < range.last; ++task) {
        const int64_t until = ahead && task + 1 < range.last ? task + 1 : task;
        for (; made <= until; ++made) block.multiply(tile_of(header, made));
        follow(header, vector, tile_of(header, task), block.take(),
               stage.template Get<typename Block::Sum>());
        block.release();
    }
    block.end();
}

__aicore__ inline void run_gemm(const GemmLaunch& gemm) {
    const TaskRange range = tasks_of(gemm.header, AscendC::GetBlockIdx());
    const bool works = range.first < range.last;
    VectorCore vector(gemm.launch + gemm.header.fused_at, reinterpret_cast<GM_ADDR>(gemm.tensors));
    vector.begin(works);
    if (works && gemm.header.in == i8)
        make_tiles<int8_t>(gemm, vector, range);
    else if (works)
        make_tiles<half>(gemm, vector, range);
    vector.end(works);
}

}  // namespace ascend_fuse::device::ASCEND_FUSE_ARCH
