// What one tile of a product costs each pipe of its core. Formulas and sources: docs/design/0007, README.md.
#pragma once

#include <algorithm>
#include <cstdint>

#include "gemm_tiling.h"

namespace ascend_fuse {

// Cycles of one tile, by pipe. `aiv_mte2` is the vector core's own on split chips.
struct Stages {
    double mte2 = 0, mte1 = 0, cube = 0;
    double out = 0;  // FixPipe
    double aiv_mte2 = 0, vector = 0, mte3 = 0, flag = 0;
    double casts = 0, assumed_vector = 0;  // parts of `vector`
    int64_t chunks = 1;                    // pieces in which the vector stage goes through the tile

    void add(const Stages& other, double times) {
        mte2 += times * other.mte2;
        mte1 += times * other.mte1;
        cube += times * other.cube;
        out += times * other.out;
        aiv_mte2 += times * other.aiv_mte2;
        vector += times * other.vector;
        mte3 += times * other.mte3;
        flag += times * other.flag;
        casts += times * other.casts;
        assumed_vector += times * other.assumed_vector;
    }
};

// 0 where the chip's rate is not stated: then the pipe is not counted.
inline double at_rate(double bytes, double rate) { return rate > 0 ? bytes / rate : 0; }

// Bytes that follow each other when a block of `rows` x `cols` elements (outer x inner side) is loaded.
inline int64_t block_bytes(const GemmOperand& operand, int64_t rows, int64_t cols, int64_t width) {
    const int64_t along = operand.transposed ? rows : cols, across = operand.transposed ? cols : rows;
    const bool joins = operand.dense && along >= operand.run;
    return std::min(along, operand.run) * width * (joins ? across : 1);
}

inline double load_rate(const GemmJob& job, int64_t block) {
    const double rate = static_cast<double>(job.soc.l2_rate > 0 ? job.soc.l2_rate : job.soc.ddr_rate);
    const bool small = static_cast<double>(block) < job.epilogue.job.move->small_block.a;
    return rate * (small ? job.cube->small : 1);
}

// Loads of A and B, their way into L0, the cube.
inline void add_product(Stages& stages, const GemmJob& job, const GemmTiling& tiling, int64_t rows,
                        int64_t cols) {
    const Soc& soc = job.soc;
    const int64_t w = job.in_width, k = job.padded_k(), tile_k = std::min(tiling.tile_k, job.gemm.k);
    const double m = static_cast<double>(round_up(rows, soc.cube_m));
    const double n = static_cast<double>(round_up(cols, soc.cube_n));
    const double left = static_cast<double>(rows * job.gemm.k * w),
                 right = static_cast<double>(cols * job.gemm.k * w);
    const double loads = static_cast<double>((k + tiling.tile_k - 1) / tiling.tile_k);
    stages.mte2 += left / load_rate(job, block_bytes(job.gemm.left, rows, tile_k, w)) +
                   right / load_rate(job, block_bytes(job.gemm.right, tile_k, cols, w)) +
                   2 * loads * job.cube->load;
    if (job.epilogue.ride.bias)
        stages.mte2 +=
            static_cast<double>(cols * job.epilogue.bias_width) / load_rate(job, 0) + job.cube->load;
    stages.mte1 += at_rate(m * static_cast<double>(k * w), static_cast<double>(soc.l1_to_l0_a_rate)) +
                   at_rate(n * static_cast<double>(k * w), static_cast<double>(soc.l1_to_l0_b_rate));
    stages.cube +=
        m * n * static_cast<double>(k) / (static_cast<double>(soc.cube_m * soc.cube_n) * job.depth);
}

// FixPipe: L0C is read in f32 while the results are written.
inline double fixpipe_cycles(const GemmJob& job, int64_t rows, int64_t cols) {
    const double elements = static_cast<double>(rows * cols);
    const double read = at_rate(elements * 4, static_cast<double>(job.soc.l0_c_to_ub_rate));
    const int64_t w = width(job.epilogue.leaves);
    const bool small = static_cast<double>(cols * w) < job.epilogue.job.move->small_block.a;
    const double rate = static_cast<double>(job.soc.ub_to_l2_rate) * (small ? job.cube->small : 1);
    return std::max(read, at_rate(elements * static_cast<double>(w), rate)) + job.cube->store;
}

// Blocks of one value, cut further where its memory is permuted.
inline Blocks permuted(Blocks blocks, const Extent& extent, int64_t run) {
    return extent.wide() ? cut(blocks, run * extent.width) : blocks;
}

// Adds the vector stage for `rows` x `cols` of the tile on one vector core: what stands in UB moves and is
// computed.
class VectorStage {
  public:
    VectorStage(const GemmJob& job, const GemmTiling& tiling, bool reads_product)
        : job_(job), own_(job.epilogue.job), reads_product_(reads_product) {
        shape_.block_dim = tiling.block_dim * vectors_per_cube(job.soc);
        shape_.buffer_num = tiling.buffer_num;
        rows_ = tiling.ub_rows;
    }

    void add(Stages& stages, int64_t rows, int64_t cols) {
        const int64_t whole = rows / rows_, rest = rows % rows_;
        shape_.tile_cols = cols;
        if (whole > 0) add_chunk(stages, rows_, static_cast<double>(whole));
        if (rest > 0) add_chunk(stages, rest, 1);
        stages.chunks = whole + (rest > 0 ? 1 : 0);
        shape_.tile_rows = 1;
        for (const auto& load : job_.epilogue.loads)
            if (!varies(load)) stages.aiv_mte2 += cycles(load, true);
    }

  private:
    bool varies(const Transfer& transfer) const {
        const Span span = own_.grid.values[static_cast<size_t>(transfer.value)].span;
        return span == Span::full || span == Span::row;
    }

    double cycles(const Transfer& transfer, bool load) const {
        const Extent& extent = own_.grid.values[static_cast<size_t>(transfer.value)];
        return move_cycles(own_, permuted(blocks_of(own_.grid, extent, shape_), extent, transfer.run), shape_,
                           load);
    }

    void add_chunk(Stages& stages, int64_t rows, double times) {
        shape_.tile_rows = rows;
        if (reads_product_) stages.aiv_mte2 += times * cycles(Transfer{0, 0}, true);
        for (const auto& load : job_.epilogue.loads)
            if (varies(load)) stages.aiv_mte2 += times * cycles(load, true);
        for (const auto& store : job_.epilogue.stores) stages.mte3 += times * cycles(store, false);
        const auto cycles_of = [&](const Cycles& cycles) {
            return times * cycles.at(own_.grid, rows, shape_.tile_cols);
        };
        stages.vector += cycles_of(own_.whole.all);
        stages.casts += cycles_of(own_.whole.casts);
        stages.assumed_vector += cycles_of(own_.whole.assumed);
    }

    const GemmJob& job_;
    const Job& own_;
    bool reads_product_;
    Tiling shape_;
    int64_t rows_ = 1;
};

// On coupled chips the vector pipe empties L0C (on 310B it waits while FixPipe does), rounds, and MTE3 stores
// what leaves if it is wanted outside.
inline void add_copy_out(Stages& stages, const GemmJob& job, const GemmTiling& tiling, int64_t rows,
                         int64_t cols, int64_t stores) {
    const double elements = static_cast<double>(rows * cols);
    stages.chunks = (rows + tiling.ub_rows - 1) / tiling.ub_rows;
    const double chunks = static_cast<double>(stages.chunks);
    stages.vector += at_rate(elements * 4, static_cast<double>(job.soc.l0_c_to_ub_rate));
    if (job.epilogue.leaves != Dtype::f32) {
        const Rate rate = cast_rate(Dtype::f32, job.epilogue.leaves);
        const double lanes = 128.0 / static_cast<double>(job.soc.vec_calc_size);
        const double cast = rate.k * lanes * elements + rate.b * chunks;
        stages.vector += cast;
        stages.casts += cast;
        stages.assumed_vector += cast;
    }
    if (stores == 0) return;
    Tiling shape;
    shape.block_dim = tiling.block_dim;
    const int64_t w = width(job.epilogue.leaves);
    const Blocks blocks{rows, cols * w, (job.gemm.n - cols) * w};
    const Move& store = job.epilogue.job.move->store;
    stages.mte3 += static_cast<double>(stores) *
                   (move_cycles(job.epilogue.job, blocks, shape, false) + (chunks - 1) * store.h);
}

// One tile of `rows` x `cols`. Not `fused`: its product goes to GM and the epilogue comes later.
inline Stages stages_of(const GemmJob& job, const GemmTiling& tiling, int64_t rows, int64_t cols,
                        bool fused) {
    Stages stages;
    add_product(stages, job, tiling, rows, cols);
    const bool vector = fused && job.epilogue.vector;
    // How often the product itself goes to GM.
    const int64_t stores = std::max<int64_t>(job.epilogue.stored, vector ? 0 : 1);
    const auto times = static_cast<double>(stores);
    if (job.path == Path::coupled) add_copy_out(stages, job, tiling, rows, cols, stores);
    if (job.path == Path::split) stages.out = std::max(times, 1.0) * fixpipe_cycles(job, rows, cols);
    if (!vector) return stages;
    VectorStage(job, tiling, job.path == Path::split).add(stages, rows_per_vector(job, rows), cols);
    if (job.path != Path::coupled) stages.flag = job.cube->flag;
    return stages;
}

}  // namespace ascend_fuse
