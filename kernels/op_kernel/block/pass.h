// One pass on one tile: its loads into a buffer of the queue of inputs, its steps, its stores out of one of
// outputs.
#pragma once

#include "../tile/product.h"
#include "../tile/transfer.h"
#include "step.h"

namespace ascend_fuse::device::ASCEND_FUSE_ARCH {

// What all tiles of a launch share.
struct Context {
    GM_ADDR launch;
    GM_ADDR tensors;
    LaunchHeader header;
    int32_t moved = -1;  // a tensor that lies elsewhere for the tile in work: the product behind a cube
    GM_ADDR moved_to = nullptr;  // where its first element would lie
    Product product;             // where the cube of the same core leaves it

    __aicore__ inline GM_ADDR address(int32_t tensor) const {
        if (tensor == moved) return moved_to;
        return reinterpret_cast<GM_ADDR>(fetch<uint64_t>(tensors, 0, tensor));
    }
};

__aicore__ inline void run_steps(const Context& context, const Tile& tile, const PassRecord& pass) {
    for (int32_t i = 0; i < pass.steps; ++i) {
        run_step(tile, fetch<Step>(context.launch, context.header.steps_at, pass.first_step + i));
        barrier();
    }
}

__aicore__ inline void load(const Context& context, const Tile& tile, int32_t table, int32_t first,
                            int32_t count) {
    for (int32_t i = 0; i < count; ++i) {
        const auto record = fetch<TransferRecord>(context.launch, table, first + i);
        if (record.tensor >= 0) transfer(tile, record, context.address(record.tensor), false);
    }
}

// The product of the same core in its place among the loads.
__aicore__ inline void lay_product(const Context& context, const Tile& tile, const PassRecord& pass) {
    for (int32_t i = 0; i < pass.loads; ++i) {
        const auto record =
            fetch<TransferRecord>(context.launch, context.header.loads_at, pass.first_load + i);
        if (record.tensor < 0) lay_rows(tile, record.tile, context.product);
    }
}

__aicore__ inline void store(const Context& context, const Tile& tile, const PassRecord& pass) {
    for (int32_t i = 0; i < pass.stores; ++i) {
        const auto record =
            fetch<TransferRecord>(context.launch, context.header.stores_at, pass.first_store + i);
        transfer(tile, record, context.address(record.tensor), true);
    }
}

using InQueue = AscendC::TQue<AscendC::TPosition::VECIN, 1>;
using OutQueue = AscendC::TQue<AscendC::TPosition::VECOUT, 1>;

__aicore__ inline void run_pass(const Context& context, Tile& tile, const PassRecord& pass, InQueue& ins,
                                OutQueue& outs) {
    const bool writes = pass.outs != 0 || pass.stores > 0;
    if (pass.loads > 0) {
        tile.places.in = ins.AllocTensor<uint8_t>();
        load(context, tile, context.header.loads_at, pass.first_load, pass.loads);
        ins.EnQue(tile.places.in);
        tile.places.in = ins.DeQue<uint8_t>();
        if constexpr (arch::coupled) lay_product(context, tile, pass);
    }
    if (writes) tile.places.out = outs.AllocTensor<uint8_t>();
    run_steps(context, tile, pass);
    if (writes) {
        outs.EnQue(tile.places.out);
        tile.places.out = outs.DeQue<uint8_t>();
        store(context, tile, pass);
        outs.FreeTensor(tile.places.out);
    }
    if (pass.loads > 0) ins.FreeTensor(tile.places.in);
}

}  // namespace ascend_fuse::device::ASCEND_FUSE_ARCH
