// Draws: each element has its word of Philox, by its index in row-major order of the whole value.
#pragma once

#include "move.h"
#include "philox.h"

namespace ascend_fuse::device::ASCEND_FUSE_ARCH {

// The least word that is kept: ratio * 2^32, rounded up. A product with a power of two is exact.
__aicore__ inline uint64_t least_kept(float ratio) {
    const float bound = ratio * 0x1p32f;
    const auto cut = static_cast<uint64_t>(bound);
    return static_cast<float>(cut) < bound ? cut + 1 : cut;
}

// 1 where the word is at least `bound`, else 0.
struct Keep {
    uint64_t bound;

    template <typename T>
    __aicore__ inline T lane(uint32_t word) const {
        return static_cast<T>(word >= bound ? 1.0f : 0.0f);
    }

    // By halves of the words, which floats hold: (upper - bound's) * 2^16 + lower - bound's has the sign of
    // word - bound, rounded or not, and is an integer where it is below 2^24.
    template <typename T>
    __aicore__ inline void lanes(const LocalTensor<T>& to, const Ints& drawn, const Ints& spare,
                                 int32_t count) const {
        const auto upper = drawn.ReinterpretCast<float>(), lower = spare.ReinterpretCast<float>();
        const Ints other = spare[round_up(count, block_lanes<float>)];
        shift_right(spare, drawn, 16, count);
        low_half(other, drawn, count);
        AscendC::Cast(upper, spare, arch::to_float, count);
        barrier();
        AscendC::Cast(lower, other, arch::to_float, count);
        AscendC::Adds(upper, upper, -static_cast<float>(bound >> 16), count);
        barrier();
        AscendC::Adds(lower, lower, -static_cast<float>(bound & 0xFFFF), count);
        AscendC::Muls(upper, upper, 0x1p16f, count);
        barrier();
        AscendC::Add(upper, upper, lower, count);
        barrier();
        AscendC::Adds(upper, upper, 1.0f, count);
        barrier();
        AscendC::Maxs(upper, upper, 0.0f, count);
        barrier();
        if constexpr (same<T, float>) {
            AscendC::Mins(to, upper, 1.0f, count);
        } else {
            AscendC::Mins(upper, upper, 1.0f, count);
            barrier();
            AscendC::Cast(to, upper, AscendC::RoundMode::CAST_NONE, count);
        }
        barrier();
    }
};

// The upper 24 bits of a word as a fraction: in [0, 1), exact.
struct Uniform {
    template <typename T>
    __aicore__ inline T lane(uint32_t word) const {
        return static_cast<float>(static_cast<int32_t>(word >> 8)) * 0x1p-24f;
    }

    template <typename T>
    __aicore__ inline void lanes(const LocalTensor<T>& to, const Ints& drawn, const Ints& spare,
                                 int32_t count) const {
        const auto whole = drawn.ReinterpretCast<float>();
        shift_right(spare, drawn, 8, count);
        AscendC::Cast(whole, spare, arch::to_float, count);
        barrier();
        AscendC::Muls(to, whole, 0x1p-24f, count);
        barrier();
    }
};

__aicore__ inline PhiloxKey key_of(const Tile& tile, const Step& step) {
    if (step.seeded != 0) return {{step.key[0], step.key[1]}};
    return {{tile.key[0] ^ step.key[0], tile.key[1] ^ step.key[1]}};
}

// Elements of a result: rows of `cols`, whose indices are `pitch` apart.
struct Indices {
    int64_t first = 0, pitch = 0;
    int32_t rows = 1, cols = 1;
};

__aicore__ inline Indices indices_of(const Tile& tile, const Operand& out) {
    Indices indices{0, 1, rows_of(tile, out), cols_of(tile, out)};
    if (out.span == SpanCode::full) indices.pitch = tile.space_cols;
    if (out.span == SpanCode::full || out.span == SpanCode::row) indices.first = tile.row * indices.pitch;
    if (out.span == SpanCode::full || out.span == SpanCode::line) indices.first += tile.col;
    // rows without padding, whole in the tile, are one
    const bool joined =
        out.span == SpanCode::full && indices.cols == tile.space_cols && indices.cols == lanes_per_row(out);
    return joined ? Indices{indices.first, indices.pitch, 1, indices.rows * indices.cols} : indices;
}

template <typename T, typename What>
__aicore__ inline void draw_by_scalars(const Tile& tile, const Step& step, const What& what,
                                       const Indices& indices) {
    const PhiloxKey key = key_of(tile, step);
    const auto to = tensor_of<T>(tile, step.out);
    begin_scalar();
    for (int32_t row = 0; row < indices.rows; ++row) {
        const int64_t begin = indices.first + row * indices.pitch;
        Draw draw = philox(static_cast<uint64_t>(begin / 4), tile.run, key);
        for (int32_t col = 0; col < indices.cols; ++col) {
            const int64_t index = begin + col;
            if (index % 4 == 0) draw = philox(static_cast<uint64_t>(index / 4), tile.run, key);
            to.SetValue(lane_at<T>(step.out, row, col), what.template lane<T>(draw.words[index % 4]));
        }
    }
    end_scalar();
}

// So short a row costs the vector unit, with some 500 calls, more than the scalar unit.
inline constexpr int32_t least_vector_draw = 512;

template <typename T, typename What>
__aicore__ inline void draw(const Tile& tile, const Step& step, const What& what) {
    const Indices indices = indices_of(tile, step.out);
    if constexpr (arch::has_shift) {
        const int64_t last = indices.first + (indices.rows - 1) * indices.pitch + indices.cols;
        const bool wraps = last / 4 + Drawing::group >= int64_t{1} << 32;
        if (step.out.span == SpanCode::full && indices.cols >= least_vector_draw && !wraps) {
            const int32_t room = 4 * rows_of(tile, step.out) * lanes_per_row(step.out);
            Drawing drawing(scratch_of<int32_t>(tile, step.scratch), room, indices.cols);
            for (int32_t row = 0; row < indices.rows; ++row)
                for (int32_t done = 0; done < indices.cols; done += drawing.elements()) {
                    const int32_t count = least(drawing.elements(), indices.cols - done);
                    drawing.draw(indices.first + row * indices.pitch + done, tile.run, key_of(tile, step));
                    what.template lanes<T>(strip_of<T>(tile, step.out, row)[done], drawing.drawn,
                                           drawing.rest, count);
                }
            return;
        }
    }
    draw_by_scalars<T>(tile, step, what, indices);
}

// T: half or float, 1 where the element is kept, else 0.
template <typename T>
__aicore__ inline void random_keep(const Tile& tile, const Step& step) {
    draw<T>(tile, step, Keep{least_kept(step.ratio)});
}

__aicore__ inline void random_uniform(const Tile& tile, const Step& step) {
    draw<float>(tile, step, Uniform{});
}

}  // namespace ascend_fuse::device::ASCEND_FUSE_ARCH
