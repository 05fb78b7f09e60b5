// The tiles of a core: a task is a tile, or a block of rows whose tiles it sweeps, pass by pass.
#pragma once

#include "copy_past.h"

namespace ascend_fuse::device::ASCEND_FUSE_ARCH {

class VectorCore {
  public:
    __aicore__ inline VectorCore(GM_ADDR launch, GM_ADDR tensors)
        : context_{launch, tensors, fetch<LaunchHeader>(launch, 0, 0), -1, nullptr, {}} {}

    __aicore__ inline void run() {
        const LaunchHeader& header = context_.header;
        const int64_t first = AscendC::GetBlockIdx() * header.tasks_per_core;
        const int64_t last =
            first + header.tasks_per_core < header.tasks ? first + header.tasks_per_core : header.tasks;
        begin(first < last);
        for (int64_t task = first; task < last; ++task) run_task(task);
        end(first < last);
    }

    // Behind a product: `begin`, parts of the space, each of at most a tile, `end`.
    __aicore__ inline void begin(bool works) {
        init();
        if (works && context_.header.residents > 0) load_residents();
    }
    __aicore__ inline void end(bool works) {
        if (works && context_.header.residents > 0) shared_.FreeTensor(tile_.places.resident);
        if (context_.header.copies == 0) return;
        pipe_.Reset();
        copy_pasts(context_, pipe_);
    }
    // `product`: where the first element of tensor `moved` would lie.
    __aicore__ inline void find(int32_t moved, GM_ADDR product) {
        context_.moved = moved;
        context_.moved_to = product;
    }
    // The same on the core of the cube: the product's rows in UB.
    __aicore__ inline void find(const Product& product) { context_.product = product; }
    __aicore__ inline AscendC::TPipe& pipe() { return pipe_; }
    __aicore__ inline void run_part(int64_t row, int32_t rows, int64_t col, int32_t cols) {
        tile_.row = row;
        tile_.rows = rows;
        tile_.col = col;
        tile_.cols = cols;
        tile_.first = true;
        for (int32_t i = 0; i < context_.header.passes; ++i)
            run_pass(context_, tile_, fetch<PassRecord>(context_.launch, context_.header.passes_at, i), ins_,
                     outs_);
    }

  private:
    __aicore__ inline void init() {
        const LaunchHeader& header = context_.header;
        const auto buffers = static_cast<uint8_t>(header.buffer_num);
        if (header.in_bytes > 0) pipe_.InitBuffer(ins_, buffers, static_cast<uint32_t>(header.in_bytes));
        if (header.out_bytes > 0) pipe_.InitBuffer(outs_, buffers, static_cast<uint32_t>(header.out_bytes));
        if (header.resident_bytes > 0)
            pipe_.InitBuffer(shared_, 1, static_cast<uint32_t>(header.resident_bytes));
        if (header.calc_bytes > 0) {
            pipe_.InitBuffer(calc_, static_cast<uint32_t>(header.calc_bytes));
            tile_.places.calc = calc_.Get<uint8_t>();
        }
        tile_.launch = context_.launch;
        tile_.tile_cols = header.tile_cols;
        tile_.space_cols = header.cols;
        tile_.axes_at = header.axes_at;
        for (int32_t i = 0; i < 2; ++i) {
            tile_.key[i] = header.key[i];
            tile_.run[i] = header.run[i];
        }
    }

    __aicore__ inline void load_residents() {
        tile_.rows = context_.header.tile_rows;
        tile_.cols = context_.header.tile_cols;
        tile_.places.resident = shared_.AllocTensor<uint8_t>();
        load(context_, tile_, context_.header.residents_at, 0, context_.header.residents);
        shared_.EnQue(tile_.places.resident);
        tile_.places.resident = shared_.DeQue<uint8_t>();
    }

    __aicore__ inline void run_task(int64_t task) {
        const LaunchHeader& header = context_.header;
        const bool sweeps = header.row_tasks != 0;
        const auto only = static_cast<int32_t>(task % header.tiles_per_row);
        stand_at_rows(sweeps ? task : task / header.tiles_per_row);
        for (int32_t i = 0; i < header.passes; ++i) {
            const auto pass = fetch<PassRecord>(context_.launch, header.passes_at, i);
            const int32_t first = sweeps || pass.once != 0 ? 0 : only;
            const int32_t last = pass.once != 0 ? 1 : sweeps ? header.tiles_per_row : only + 1;
            for (int32_t at = first; at < last; ++at) {
                stand(at);
                run_pass(context_, tile_, pass, ins_, outs_);
            }
        }
    }

    // At block `index` of rows: blocks stay inside of segments, as cuts of rows do.
    __aicore__ inline void stand_at_rows(int64_t index) {
        const LaunchHeader& header = context_.header;
        const int64_t per_segment = (header.row_segment + header.tile_rows - 1) / header.tile_rows;
        const int64_t inside = index % per_segment * header.tile_rows;
        tile_.row = index / per_segment * header.row_segment + inside;
        const int64_t left = header.row_segment - inside;
        tile_.rows = left < header.tile_rows ? static_cast<int32_t>(left) : header.tile_rows;
    }

    // At tile `index` of the row: cuts stay inside of segments.
    __aicore__ inline void stand(int32_t index) {
        const LaunchHeader& header = context_.header;
        const int64_t per_segment = (header.segment + header.tile_cols - 1) / header.tile_cols;
        const int64_t inside = index % per_segment * header.tile_cols;
        tile_.col = index / per_segment * header.segment + inside;
        const int64_t left = header.segment - inside;
        tile_.cols = left < header.tile_cols ? static_cast<int32_t>(left) : header.tile_cols;
        tile_.first = index == 0;
    }

    Context context_;
    AscendC::TPipe pipe_;
    InQueue ins_;
    OutQueue outs_;
    InQueue shared_;
    AscendC::TBuf<AscendC::TPosition::VECCALC> calc_;
    Tile tile_;
};

}  // namespace ascend_fuse::device::ASCEND_FUSE_ARCH
