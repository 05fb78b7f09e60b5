// Philox4x32-10 (Salmon et al., 2011): a counter by the scalar unit, where 64-bit products are exact, or many
// at once by the vector unit, where products of 32 bits keep their low bits.
#pragma once

#include "turn.h"

namespace ascend_fuse::device::ASCEND_FUSE_ARCH {

inline constexpr uint32_t philox_factor[2] = {0xD2511F53, 0xCD9E8D57},
                          philox_step[2] = {0x9E3779B9, 0xBB67AE85};
inline constexpr int32_t philox_rounds = 10;

struct Draw {
    uint32_t words[4];
};

struct PhiloxKey {
    uint32_t words[2];

    __aicore__ inline void next() {
        words[0] += philox_step[0];
        words[1] += philox_step[1];
    }
};

__aicore__ inline Draw philox(uint64_t counter, const uint32_t (&run)[2], PhiloxKey key) {
    Draw c{{static_cast<uint32_t>(counter), static_cast<uint32_t>(counter >> 32), run[0], run[1]}};
    for (int32_t round = 0; round < philox_rounds; ++round, key.next()) {
        const uint64_t a = uint64_t{philox_factor[0]} * c.words[0],
                       b = uint64_t{philox_factor[1]} * c.words[2];
        c = {{static_cast<uint32_t>(b >> 32) ^ c.words[1] ^ key.words[0], static_cast<uint32_t>(b),
              static_cast<uint32_t>(a >> 32) ^ c.words[3] ^ key.words[1], static_cast<uint32_t>(a)}};
    }
    return c;
}

using Ints = LocalTensor<int32_t>;

__aicore__ inline void shift_right(const Ints& to, const Ints& from, uint32_t bits, int32_t lanes) {
    AscendC::ShiftRight(to.ReinterpretCast<uint32_t>(), from.ReinterpretCast<uint32_t>(), bits, lanes);
    barrier();
}

__aicore__ inline void low_half(const Ints& to, const Ints& from, int32_t lanes) {
    AscendC::ShiftLeft(to, from, 16, lanes);
    barrier();
    shift_right(to, to, 16, lanes);
}

// a ^= b: what either has, less what both have.
__aicore__ inline void exclusive_or(const Ints& a, const Ints& b, const Ints& both, int32_t lanes) {
    using Words = uint16_t;
    AscendC::And(both.ReinterpretCast<Words>(), a.ReinterpretCast<Words>(), b.ReinterpretCast<Words>(),
                 2 * lanes);
    barrier();
    AscendC::Or(a.ReinterpretCast<Words>(), a.ReinterpretCast<Words>(), b.ReinterpretCast<Words>(),
                2 * lanes);
    barrier();
    AscendC::Sub(a, a, both, lanes);
    barrier();
}

// The words of `lanes` counters, and room for a round.
struct Counters {
    Ints words[4], high[2], spare[3];
    int32_t lanes;

    // a becomes the low word of a * factor, `top` the high one, out of four products of halves.
    __aicore__ inline void multiply(const Ints& a, const Ints& top, uint32_t factor) const {
        const auto low = static_cast<int32_t>(factor & 0xFFFF), upper = static_cast<int32_t>(factor >> 16);
        low_half(spare[0], a, lanes);
        shift_right(top, a, 16, lanes);
        AscendC::Muls(spare[1], spare[0], low, lanes);
        AscendC::Muls(spare[2], top, low, lanes);
        barrier();
        shift_right(spare[1], spare[1], 16, lanes);
        AscendC::Add(spare[2], spare[2], spare[1], lanes);
        AscendC::Muls(spare[0], spare[0], upper, lanes);
        AscendC::Muls(top, top, upper, lanes);
        barrier();
        low_half(spare[1], spare[2], lanes);
        AscendC::Add(spare[0], spare[0], spare[1], lanes);
        barrier();
        for (int32_t carried = 2; carried >= 0; carried -= 2) {
            shift_right(spare[carried], spare[carried], 16, lanes);
            AscendC::Add(top, top, spare[carried], lanes);
            barrier();
        }
        AscendC::Muls(a, a, static_cast<int32_t>(factor), lanes);
        barrier();
    }

    __aicore__ inline void mix(const Ints& a, const Ints& b, uint32_t key) const {
        exclusive_or(a, b, spare[0], lanes);
        AscendC::Duplicate(spare[1], static_cast<int32_t>(key), lanes);
        barrier();
        exclusive_or(a, spare[1], spare[0], lanes);
    }

    __aicore__ inline void run(PhiloxKey key) {
        for (int32_t round = 0; round < philox_rounds; ++round, key.next()) {
            multiply(words[0], high[0], philox_factor[0]);
            multiply(words[2], high[1], philox_factor[1]);
            mix(high[1], words[1], key.words[0]);
            mix(high[0], words[3], key.words[1]);
            const Ints low[2] = {words[0], words[2]}, spent[2] = {words[1], words[3]};
            words[0] = high[1], words[1] = low[1], words[2] = high[0], words[3] = low[0];
            high[0] = spent[0], high[1] = spent[1];
        }
    }
};

// The words of consecutive elements, of 128 at once: a square of 16 words by 8 lanes is turned, so that words
// of a counter come to lie beside each other. So the lanes of part s of the counters are every fourth, from s
// on; elements that begin inside of a counter need a fifth part.
struct Drawing {
    static constexpr int32_t group = 128;  // elements
    static constexpr int32_t lanes = 8, parts = 5,
                             arrays = 9;  // of a group: lanes of a part; arrays of `Counters`
    static constexpr int32_t scratch = lanes + group + arrays * parts * lanes;  // words of a group

    Ints steps, drawn, rest;  // 4 * lane; what was drawn; free behind a draw
    int32_t groups = 0;

    // `room`: words of 4 B from `from` on.
    __aicore__ inline Drawing(const Ints& from, int32_t room, int32_t elements) {
        groups = least(room / scratch, (elements + group - 1) / group);
        steps = from;
        drawn = from[groups * lanes];
        rest = drawn[groups * group];
        if (groups > 0) fill_steps();
    }

    __aicore__ inline int32_t elements() const { return groups * group; }

    // Precondition: no counter's lower word wraps.
    __aicore__ inline void draw(int64_t begin, const uint32_t (&run)[2], const PhiloxKey& key) {
        const auto counter = static_cast<uint64_t>(begin / 4);
        const auto inside = static_cast<int32_t>(begin % 4);
        const int32_t each = groups * lanes;
        Counters counters;
        counters.lanes = (inside == 0 ? parts - 1 : parts) * each;
        for (int32_t i = 0; i < arrays; ++i) {
            const Ints array = rest[i * parts * each];
            (i < 4 ? counters.words[i] : i < 6 ? counters.high[i - 4] : counters.spare[i - 6]) = array;
        }
        for (int32_t part = 0; part * each < counters.lanes; ++part)
            AscendC::Adds(counters.words[0][part * each], steps, static_cast<int32_t>(counter) + part, each);
        AscendC::Duplicate(counters.words[1], static_cast<int32_t>(counter >> 32), counters.lanes);
        AscendC::Duplicate(counters.words[2], static_cast<int32_t>(run[0]), counters.lanes);
        AscendC::Duplicate(counters.words[3], static_cast<int32_t>(run[1]), counters.lanes);
        barrier();
        counters.run(key);
        turn(counters, inside);
    }

  private:
    __aicore__ inline void fill_steps() const {
        begin_scalar();
        for (int32_t i = 0; i < lanes; ++i) steps.SetValue(i, 4 * i);
        end_scalar();
        for (int32_t done = lanes; done < groups * lanes; done *= 2) {
            AscendC::Adds(steps[done], steps, 4 * done, least(done, groups * lanes - done));
            barrier();
        }
    }

    __aicore__ inline void turn(const Counters& counters, int32_t inside) const {
        LocalTensor<int32_t> to[square], from[square];
        for (int32_t done = 0; done < groups; done += max_repeat) {
            const int32_t count = least(max_repeat, groups - done);
            for (int32_t i = 0; i < square; ++i) {
                const int32_t at = inside + i;
                from[i] = counters.words[at % 4][(at / 4 * groups + done) * lanes];
                to[i] = drawn[done * group + i * lanes];
            }
            const auto to_step = static_cast<uint16_t>(count > 1 ? square : 0);
            const auto from_step = static_cast<uint16_t>(count > 1 ? 1 : 0);
            AscendC::TransDataTo5HD<int32_t>(to, from,
                                             {false, false, static_cast<uint8_t>(count), to_step, from_step});
        }
        barrier();
    }
};

}  // namespace ascend_fuse::device::ASCEND_FUSE_ARCH
