// Philox4x32-10 (Salmon et al., 2011) by the scalar unit: 64-bit products are exact there.
#pragma once

#include "move.h"

namespace ascend_fuse::device::ASCEND_FUSE_ARCH {

struct Draw {
    uint32_t words[4];
};

__aicore__ inline Draw philox(uint64_t group, const uint32_t (&run)[2], uint32_t key0, uint32_t key1) {
    Draw c{{static_cast<uint32_t>(group), static_cast<uint32_t>(group >> 32), run[0], run[1]}};
    for (int32_t round = 0; round < 10; ++round) {
        const uint64_t a = uint64_t{0xD2511F53} * c.words[0], b = uint64_t{0xCD9E8D57} * c.words[2];
        c = {{static_cast<uint32_t>(b >> 32) ^ c.words[1] ^ key0, static_cast<uint32_t>(b),
              static_cast<uint32_t>(a >> 32) ^ c.words[3] ^ key1, static_cast<uint32_t>(a)}};
        key0 += 0x9E3779B9;
        key1 += 0xBB67AE85;
    }
    return c;
}

// The least word that is kept: ratio * 2^32, rounded up. A product with a power of two is exact.
__aicore__ inline uint64_t least_kept(float ratio) {
    const float bound = ratio * 0x1p32f;
    const auto cut = static_cast<uint64_t>(bound);
    return static_cast<float>(cut) < bound ? cut + 1 : cut;
}

// Each lane of the result is `lane` of the word at the element's index, in row-major order of the whole
// value.
template <typename T, typename Lane>
__aicore__ inline void draw_lanes(const Tile& tile, const Step& step, const Lane& lane) {
    const Operand& out = step.out;
    const uint32_t key0 = step.seeded != 0 ? step.key[0] : tile.key[0] ^ step.key[0];
    const uint32_t key1 = step.seeded != 0 ? step.key[1] : tile.key[1] ^ step.key[1];
    const bool per_row = out.span == SpanCode::full || out.span == SpanCode::row;
    const int64_t pitch = out.span == SpanCode::full ? tile.space_cols : 1;
    const int64_t first_col = out.span == SpanCode::full || out.span == SpanCode::line ? tile.col : 0;
    const auto to = tensor_of<T>(tile, out);
    const int32_t cols = cols_of(tile, out);
    begin_scalar();
    for (int32_t row = 0; row < rows_of(tile, out); ++row) {
        const int64_t begin = (per_row ? (tile.row + row) * pitch : 0) + first_col;
        Draw draw = philox(static_cast<uint64_t>(begin / 4), tile.run, key0, key1);
        for (int32_t col = 0; col < cols; ++col) {
            const int64_t index = begin + col;
            if (index % 4 == 0) draw = philox(static_cast<uint64_t>(index / 4), tile.run, key0, key1);
            to.SetValue(lane_at<T>(out, row, col), lane(draw.words[index % 4]));
        }
    }
    end_scalar();
}

// T: half or float, 1 where the element is kept, else 0.
template <typename T>
__aicore__ inline void random_keep(const Tile& tile, const Step& step) {
    const uint64_t bound = least_kept(step.ratio);
    draw_lanes<T>(tile, step, [bound](uint32_t word) { return static_cast<T>(word >= bound ? 1.0f : 0.0f); });
}

// The upper 24 bits of a word as a fraction: in [0, 1), exact.
__aicore__ inline void random_uniform(const Tile& tile, const Step& step) {
    draw_lanes<float>(tile, step, [](uint32_t word) {
        return static_cast<float>(static_cast<int32_t>(word >> 8)) * 0x1p-24f;
    });
}

}  // namespace ascend_fuse::device::ASCEND_FUSE_ARCH
