// What leaves the cube: a tile to every tensor that it goes to.
#pragma once

#include "../tile/fixpipe.h"
#include "gemm.h"

namespace ascend_fuse::device::ASCEND_FUSE_ARCH {

// `slot`: which of a core's own matrices, where the tensor has some for each.
template <class Out, class Sum>
__aicore__ inline void store_tile(const GemmLaunch& gemm, const StoreRecord& store, const GemmTile& tile,
                                  int64_t slot, const AscendC::LocalTensor<Sum>& from) {
    const MatrixRecord& to = store.matrix;
    AscendC::GlobalTensor<Out> tensor;
    tensor.SetGlobalBuffer(reinterpret_cast<__gm__ Out*>(gemm.tensors[to.tensor]));
    const auto* axes = gemm.axes();
    OutBlock block{{axes + to.first_outer_axis, to.outer_axes},
                   {axes + to.first_inner_axis, to.inner_axes},
                   tile.row,
                   tile.col,
                   tile.rows,
                   tile.cols};
    int64_t batch = tile.batch;
    if (store.per_core != 0) {
        block.row = block.col = 0;
        batch = slot;
    }
    const MatrixSide batches{axes + to.first_batch_axis, to.batch_axes};
    store_block(tensor, to.base + stretch(batches, batch, 1).offset, from, block, gemm.header.relu != 0);
}

template <class Sum>
__aicore__ inline void store_as(const GemmLaunch& gemm, const StoreRecord& store, const GemmTile& tile,
                                int64_t slot, const AscendC::LocalTensor<Sum>& from) {
    if (gemm.header.leaves == f16)
        store_tile<half>(gemm, store, tile, slot, from);
    else if (gemm.header.leaves == bf16)
        store_tile<bfloat16_t>(gemm, store, tile, slot, from);
    else
        store_tile<float>(gemm, store, tile, slot, from);
}
template <>
__aicore__ inline void store_as(const GemmLaunch& gemm, const StoreRecord& store, const GemmTile& tile,
                                int64_t slot, const AscendC::LocalTensor<int32_t>& from) {
    store_tile<int32_t>(gemm, store, tile, slot, from);
}

template <class Sum>
__aicore__ inline void store_all(const GemmLaunch& gemm, const GemmTile& tile, int64_t slot,
                                 const AscendC::LocalTensor<Sum>& from) {
    for (int32_t i = 0; i < gemm.header.stores; ++i)
        store_as(gemm, fetch<StoreRecord>(gemm.launch, gemm.header.stores_at, i), tile, slot, from);
}

}  // namespace ascend_fuse::device::ASCEND_FUSE_ARCH
