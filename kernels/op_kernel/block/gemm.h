// One tile of a product on a cube core: blocks of A and B through L1 and L0 into L0C.
#pragma once

#include "../tile/mmad.h"

namespace ascend_fuse::device::ASCEND_FUSE_ARCH {

// A tile of the product: rows x cols from (row, col) on, of one matrix of the batch.
struct GemmTile {
    int64_t batch = 0, row = 0, col = 0;
    int32_t rows = 0, cols = 0;
    int32_t letter = 1;  // its class, as in GemmHeader::apart
};

__aicore__ inline GemmTile tile_of(const GemmHeader& launch, int64_t task) {
    const int64_t across = (launch.n + launch.tile_n - 1) / launch.tile_n;
    const int64_t down = (launch.m + launch.tile_m - 1) / launch.tile_m;
    GemmTile tile;
    tile.batch = task / (across * down);
    tile.row = task / across % down * launch.tile_m;
    tile.col = task % across * launch.tile_n;
    const int64_t rows = launch.m - tile.row, cols = launch.n - tile.col;
    tile.rows = rows < launch.tile_m ? static_cast<int32_t>(rows) : launch.tile_m;
    tile.cols = cols < launch.tile_n ? static_cast<int32_t>(cols) : launch.tile_n;
    tile.letter = (rows < launch.tile_m ? 2 : 1) << (cols < launch.tile_n ? 2 : 0);
    return tile;
}

// A launch of the matmul kernel in GM: its header, records and addresses.
struct GemmLaunch {
    GM_ADDR launch;
    __gm__ uint64_t* tensors;
    GemmHeader header;

    __aicore__ inline const __gm__ AxisRecord* axes() const {
        return reinterpret_cast<const __gm__ AxisRecord*>(launch + header.axes_at);
    }
    __aicore__ inline bool fused(const GemmTile& tile) const { return (header.apart & tile.letter) == 0; }
};

// Tiles of a core.
struct TaskRange {
    int64_t first = 0, last = 0;
};

__aicore__ inline TaskRange tasks_of(const GemmHeader& header, int64_t core) {
    TaskRange range{core * header.tasks_per_core, (core + 1) * header.tasks_per_core};
    if (range.last > header.tasks) range.last = header.tasks;
    return range;
}

// Events by buffer; the last is the bias's.
inline constexpr int32_t bias_event = 2;

// A: dtype of left and right; B: of the bias.
template <class In, class Bias>
class GemmBlock {
  public:
    using Sum = typename SumOf<In>::Type;

    __aicore__ inline GemmBlock(AscendC::TPipe& pipe, const GemmHeader& launch, const __gm__ AxisRecord* axes,
                                const __gm__ uint64_t* tensors)
        : launch_(launch), axes_(axes) {
        const int32_t w = sizeof(In), buffers = launch.buffer_num;
        a_elements_ = launch.tile_m * launch.tile_k;
        b_elements_ = launch.tile_n * launch.tile_k;
        a2_elements_ = launch.tile_m * launch.step_k;
        b2_elements_ = launch.tile_n * launch.step_k;
        c_elements_ = launch.tile_m * launch.tile_n;
        pipe.InitBuffer(a1_, static_cast<uint32_t>(buffers * a_elements_ * w));
        pipe.InitBuffer(b1_, static_cast<uint32_t>(buffers * b_elements_ * w));
        pipe.InitBuffer(a2_, static_cast<uint32_t>(2 * a2_elements_ * w));
        pipe.InitBuffer(b2_, static_cast<uint32_t>(2 * b2_elements_ * w));
        pipe.InitBuffer(co1_, static_cast<uint32_t>(launch.c_buffers * c_elements_ * 4));
        if constexpr (!arch::has_fixpipe) pipe.InitBuffer(edge_, static_cast<uint32_t>(edge_bytes));
        if (launch.bias_tensor >= 0) {
            pipe.InitBuffer(c1_, static_cast<uint32_t>(round_to(launch.tile_n * 4, 64)));
            pipe.InitBuffer(c2_, static_cast<uint32_t>(bias_bytes(launch.tile_n)));
        }
        left_.SetGlobalBuffer(reinterpret_cast<__gm__ In*>(tensors[launch.left.tensor]));
        right_.SetGlobalBuffer(reinterpret_cast<__gm__ In*>(tensors[launch.right.tensor]));
        if (launch.bias_tensor >= 0)
            bias_.SetGlobalBuffer(reinterpret_cast<__gm__ Bias*>(tensors[launch.bias_tensor]));
    }

    // All buffers are free.
    __aicore__ inline void begin() {
        for (int32_t i = 0; i < launch_.buffer_num; ++i) AscendC::SetFlag<AscendC::HardEvent::MTE1_MTE2>(i);
        for (int32_t i = 0; i < 2; ++i) AscendC::SetFlag<AscendC::HardEvent::M_MTE1>(i);
        for (int32_t i = 0; i < launch_.c_buffers; ++i) AscendC::SetFlag<arch::product_taken>(i);
        if (launch_.bias_tensor < 0) return;
        AscendC::SetFlag<AscendC::HardEvent::MTE1_MTE2>(bias_event);
        AscendC::SetFlag<AscendC::HardEvent::M_MTE1>(bias_event);
    }
    __aicore__ inline void end() {
        for (int32_t i = 0; i < launch_.buffer_num; ++i) AscendC::WaitFlag<AscendC::HardEvent::MTE1_MTE2>(i);
        for (int32_t i = 0; i < 2; ++i) AscendC::WaitFlag<AscendC::HardEvent::M_MTE1>(i);
        for (int32_t i = 0; i < launch_.c_buffers; ++i) AscendC::WaitFlag<arch::product_taken>(i);
        if (launch_.bias_tensor < 0) return;
        AscendC::WaitFlag<AscendC::HardEvent::MTE1_MTE2>(bias_event);
        AscendC::WaitFlag<AscendC::HardEvent::M_MTE1>(bias_event);
    }

    // The product of a tile, in L0C; `take` it before the next but `c_buffers` - 1 tiles.
    __aicore__ inline void multiply(const GemmTile& tile) {
        AscendC::WaitFlag<arch::product_taken>(c_next_);
        if (launch_.bias_tensor >= 0) load_bias_of(tile);
        for (int64_t k = 0; k < launch_.k; k += launch_.tile_k) {
            const int64_t left = launch_.k - k;
            add_block(tile, k, left < launch_.tile_k ? static_cast<int32_t>(left) : launch_.tile_k);
        }
        AscendC::SetFlag<arch::product_made>(c_next_);
        c_next_ = c_next_ + 1 < launch_.c_buffers ? c_next_ + 1 : 0;
    }
    // The oldest that `multiply` made; it may be read until `release`.
    __aicore__ inline AscendC::LocalTensor<Sum> take() {
        AscendC::WaitFlag<arch::product_made>(c_at_);
        return co1_.template Get<Sum>()[c_at_ * c_elements_];
    }
    __aicore__ inline void release() {
        AscendC::SetFlag<arch::product_taken>(c_at_);
        c_at_ = c_at_ + 1 < launch_.c_buffers ? c_at_ + 1 : 0;
    }

  private:
    // L1 -> BT moves 64 B of the bias at once; BT holds 4 B an element.
    __aicore__ static inline int64_t bias_bytes(int32_t cols) {
        return round_to(cols * static_cast<int64_t>(sizeof(Bias)), 64) / static_cast<int64_t>(sizeof(Bias)) *
               4;
    }
    // Where columns that GM does not fill come together, on chips whose copies move whole blocks.
    __aicore__ inline AscendC::LocalTensor<In> edge() {
        if constexpr (!arch::has_fixpipe) return edge_.template Get<In>();
        return AscendC::LocalTensor<In>();
    }
    __aicore__ inline MatrixSide side(int32_t first, int32_t count) const {
        return MatrixSide{axes_ + first, count};
    }
    __aicore__ inline int64_t batch_at(const MatrixRecord& matrix, int64_t batch) const {
        return matrix.base + stretch(side(matrix.first_batch_axis, matrix.batch_axes), batch, 1).offset;
    }

    __aicore__ inline void load_bias_of(const GemmTile& tile) {
        const auto from = c1_.template Get<Bias>();
        AscendC::WaitFlag<AscendC::HardEvent::MTE1_MTE2>(bias_event);
        load_rows(from, bias_[tile.col], 1, tile.cols, tile.cols, 1, AscendC::LocalTensor<Bias>());
        AscendC::SetFlag<AscendC::HardEvent::MTE2_MTE1>(bias_event);
        AscendC::WaitFlag<AscendC::HardEvent::MTE2_MTE1>(bias_event);
        AscendC::WaitFlag<AscendC::HardEvent::M_MTE1>(bias_event);
        load_bias(c2_.template Get<Sum>(), from, tile.cols);
        AscendC::SetFlag<AscendC::HardEvent::MTE1_MTE2>(bias_event);
        AscendC::SetFlag<AscendC::HardEvent::MTE1_M>(bias_event);
        AscendC::WaitFlag<AscendC::HardEvent::MTE1_M>(bias_event);
    }

    // Squares are loaded by transposing: k across, so that blocks are padded to squares.
    __aicore__ static inline L1Form form_of(bool k_across, int32_t aside, int32_t k) {
        constexpr int32_t c0 = 32 / sizeof(In);
        if (!k_across)
            return L1Form{static_cast<int32_t>(round_to(aside, 16)), static_cast<int32_t>(round_to(k, c0))};
        return L1Form{square_rows<In>(k), static_cast<int32_t>(round_to(aside, square_of<In>))};
    }

    __aicore__ inline void load_a(const GemmTile& tile, int64_t k, int32_t length, const L1Form& form) {
        const MatrixRecord& left = launch_.left;
        L1Block block;
        const auto m = side(left.first_outer_axis, left.outer_axes),
                   ks = side(left.first_inner_axis, left.inner_axes);
        if (left.transposed)
            block = L1Block{ks, m, k, tile.row, length, tile.rows};
        else
            block = L1Block{m, ks, tile.row, k, tile.rows, length};
        load_l1(a1_.template Get<In>()[l1_at_ * a_elements_], left_, batch_at(left, tile.batch), block, form,
                !left.transposed, edge());
    }
    __aicore__ inline void load_b(const GemmTile& tile, int64_t k, int32_t length, const L1Form& form) {
        const MatrixRecord& right = launch_.right;
        L1Block block;
        const auto ks = side(right.first_outer_axis, right.outer_axes),
                   n = side(right.first_inner_axis, right.inner_axes);
        if (right.transposed)
            block = L1Block{n, ks, tile.col, k, tile.cols, length};
        else
            block = L1Block{ks, n, k, tile.col, length, tile.cols};
        load_l1(b1_.template Get<In>()[l1_at_ * b_elements_], right_, batch_at(right, tile.batch), block,
                form, false, edge());
    }

    // Adds the product over `length` elements of k from `k` on.
    __aicore__ inline void add_block(const GemmTile& tile, int64_t k, int32_t length) {
        const bool a_across = launch_.left.transposed, b_across = !launch_.right.transposed;
        const L1Form a_form = form_of(a_across, tile.rows, length),
                     b_form = form_of(b_across, tile.cols, length);
        AscendC::WaitFlag<AscendC::HardEvent::MTE1_MTE2>(l1_at_);
        load_a(tile, k, length, a_form);
        load_b(tile, k, length, b_form);
        AscendC::SetFlag<AscendC::HardEvent::MTE2_MTE1>(l1_at_);
        AscendC::WaitFlag<AscendC::HardEvent::MTE2_MTE1>(l1_at_);
        for (int32_t at = 0; at < length; at += launch_.step_k) {
            const int32_t left = length - at;
            const L0Step step{at, left < launch_.step_k ? left : launch_.step_k};
            add_step(tile, step, a_form, b_form, k + at == 0);
        }
        AscendC::SetFlag<AscendC::HardEvent::MTE1_MTE2>(l1_at_);
        l1_at_ = l1_at_ + 1 < launch_.buffer_num ? l1_at_ + 1 : 0;
    }

    __aicore__ inline void add_step(const GemmTile& tile, const L0Step& step, const L1Form& a_form,
                                    const L1Form& b_form, bool first) {
        const auto a1 = a1_.template Get<In>()[l1_at_ * a_elements_];
        const auto b1 = b1_.template Get<In>()[l1_at_ * b_elements_];
        const auto a2 = a2_.template Get<In>()[l0_at_ * a2_elements_];
        const auto b2 = b2_.template Get<In>()[l0_at_ * b2_elements_];
        AscendC::WaitFlag<AscendC::HardEvent::M_MTE1>(l0_at_);
        const bool a_across = launch_.left.transposed, b_across = !launch_.right.transposed;
        load_left(a2, a1, a_form, tile.rows, step, a_across);
        load_right(b2, b1, b_form, tile.cols, step, b_across);
        AscendC::SetFlag<AscendC::HardEvent::MTE1_M>(l0_at_);
        AscendC::WaitFlag<AscendC::HardEvent::MTE1_M>(l0_at_);
        const bool biased = first && launch_.bias_tensor >= 0;
        const MmadShape shape{tile.rows, cube_cols_of<In>(b_form, tile.cols, b_across), step.length,
                              first && !biased, pads_k<In>(a_across)};
        const auto c = co1_.template Get<Sum>()[c_next_ * c_elements_];
        if (biased) {
            AscendC::Mmad(c, a2, b2, c2_.template Get<Sum>(), mmad_params(shape));
            AscendC::SetFlag<AscendC::HardEvent::M_MTE1>(bias_event);
        } else {
            AscendC::Mmad(c, a2, b2, mmad_params(shape));
        }
        AscendC::PipeBarrier<PIPE_M>();  // the next sums into the same block
        AscendC::SetFlag<AscendC::HardEvent::M_MTE1>(l0_at_);
        l0_at_ = 1 - l0_at_;
    }

    const GemmHeader launch_;
    const __gm__ AxisRecord* axes_;
    AscendC::TBuf<AscendC::TPosition::A1> a1_;
    AscendC::TBuf<AscendC::TPosition::B1> b1_;
    AscendC::TBuf<AscendC::TPosition::C1> c1_;
    AscendC::TBuf<AscendC::TPosition::A2> a2_;
    AscendC::TBuf<AscendC::TPosition::B2> b2_;
    AscendC::TBuf<AscendC::TPosition::C2> c2_;
    AscendC::TBuf<AscendC::TPosition::CO1> co1_;
    AscendC::TBuf<AscendC::TPosition::VECCALC> edge_;
    AscendC::GlobalTensor<In> left_, right_;
    AscendC::GlobalTensor<Bias> bias_;
    int32_t a_elements_ = 0, b_elements_ = 0, a2_elements_ = 0, b2_elements_ = 0, c_elements_ = 0;
    int32_t l1_at_ = 0, l0_at_ = 0, c_at_ = 0, c_next_ = 0;
};

}  // namespace ascend_fuse::device::ASCEND_FUSE_ARCH
