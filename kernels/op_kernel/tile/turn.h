// A tile turned: out[c, r] = in[r, c]. TransDataTo5HD takes a block of 32 B of each of 16 rows, and makes
// rows of 16 elements of them. Lanes behind the ends of rows, and rows behind the last, are turned as well:
// tiles have room.
#pragma once

#include "tile.h"

namespace ascend_fuse::device::ASCEND_FUSE_ARCH {

inline constexpr int32_t square = 16;  // rows of one call, and elements of the rows that it makes

// `count` squares: 16 rows `from_pitch` words apart, which step by blocks, to rows `to_pitch` words apart.
template <typename W>
struct Squares {
    LocalTensor<W> to, from;
    int32_t to_pitch = 0, from_pitch = 0;
    int32_t count = 1;
};

template <typename W>
__aicore__ inline void turn_squares(const Squares<W>& squares) {
    constexpr int32_t lanes = block_lanes<W>, blocks = square / lanes;  // of a made row
    LocalTensor<W> to[square], from[square];
    for (int32_t done = 0; done < squares.count; done += max_repeat) {
        const int32_t count = least(max_repeat, squares.count - done);
        for (int32_t i = 0; i < square; ++i) {
            from[i] = squares.from[i * squares.from_pitch + done * lanes];
            to[i] = squares.to[(done * lanes + i / blocks) * squares.to_pitch + i % blocks * lanes];
        }
        // A single repeat would begin a stride behind the lists. A block of words makes as many rows.
        const auto to_step = static_cast<uint16_t>(count > 1 ? squares.to_pitch : 0);
        const auto from_step = static_cast<uint16_t>(count > 1 ? 1 : 0);
        AscendC::TransDataTo5HD<W>(to, from, {false, false, static_cast<uint8_t>(count), to_step, from_step});
    }
}

// Words that the call takes.
template <typename W>
__aicore__ inline void turn_words(const Tile& tile, const Step& step) {
    const Operand &in = step.in[0], &out = step.out;
    Squares<W> squares;
    squares.to_pitch = lanes_per_row(out);
    squares.from_pitch = lanes_per_row(in);
    squares.count = (cols_of(tile, in) + block_lanes<W> - 1) / block_lanes<W>;
    for (int32_t row = 0; row < rows_of(tile, in); row += square) {
        squares.from = tensor_of<W>(tile, in)[row * squares.from_pitch];
        squares.to = tensor_of<W>(tile, out)[row];
        turn_squares(squares);
    }
}

// Elements of `parts` words W: a square of 16 x 16 of them is turned word by word, so that the words of an
// element come apart, turned again by words of one kind, and turned with all words of an element beside each
// other.
template <typename W, int32_t parts>
struct PartedSquare {
    LocalTensor<W> apart, kinds;  // scratch: a square each

    __aicore__ inline void turn(const LocalTensor<W>& to, int32_t to_pitch, const LocalTensor<W>& from,
                                int32_t from_pitch) const {
        constexpr int32_t lanes = block_lanes<W>, words = square * parts, together = square / parts;
        // apart[col, part][row]
        turn_squares(Squares<W>{apart, from, square, from_pitch, words / lanes});
        barrier();
        // kinds[row, part][col]
        for (int32_t part = 0; part < parts; ++part)
            turn_squares(
                Squares<W>{kinds[part * square], apart[part * square], words, words, square / lanes});
        barrier();
        // to[col][row, part]
        for (int32_t group = 0; group < parts; ++group)
            turn_squares(Squares<W>{to[group * square], kinds[group * together * words], to_pitch, square,
                                    square / lanes});
        barrier();
    }
};

template <typename W, int32_t parts>
__aicore__ inline void turn_parts(const Tile& tile, const Step& step) {
    const Operand &in = step.in[0], &out = step.out;
    const int32_t from_pitch = in.pitch / static_cast<int32_t>(sizeof(W));
    const int32_t to_pitch = out.pitch / static_cast<int32_t>(sizeof(W));
    const auto scratch = scratch_of<W>(tile, step.scratch);
    const PartedSquare<W, parts> one{scratch, scratch[square * square * parts]};
    const auto from = tensor_of<W>(tile, in), to = tensor_of<W>(tile, out);
    for (int32_t row = 0; row < rows_of(tile, in); row += square)
        for (int32_t col = 0; col < cols_of(tile, in); col += square)
            one.turn(to[col * to_pitch + row * parts], to_pitch, from[row * from_pitch + col * parts],
                     from_pitch);
}

__aicore__ inline void turn(const Tile& tile, const Step& step) {
    using Word = arch::TurnWord;
    constexpr int32_t parts = 4 / static_cast<int32_t>(sizeof(Word));
    switch (width_of(step.out.dtype)) {
        case 2:
            return turn_words<int16_t>(tile, step);
        case 4:
            return parts == 1 ? turn_words<Word>(tile, step) : turn_parts<Word, parts>(tile, step);
        default:
            return turn_parts<Word, 2 * parts>(tile, step);
    }
}

}  // namespace ascend_fuse::device::ASCEND_FUSE_ARCH
