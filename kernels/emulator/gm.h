// Global memory of a launch: the regions that a kernel may touch, their traffic, and who touched writable
// ones.
#pragma once

#include <atomic>
#include <bitset>
#include <cstdint>
#include <memory>
#include <vector>

#include "clock.h"
#include "fault.h"

namespace ascend_fuse::emulator {

// A tensor, a launch block or a table that the kernel may address.
struct Region {
    void* address = nullptr;
    int64_t bytes = 0;
    bool writable = false;
};

// One bit a byte; set by all cores at once.
class ByteSet {
  public:
    explicit ByteSet(int64_t bytes) : words_(static_cast<size_t>(bytes + 63) / 64) {
        bits_.reset(new std::atomic<uint64_t>[words_]());
    }
    void add(int64_t begin, int64_t end) {
        for_words(begin, end, [](std::atomic<uint64_t>& word, uint64_t mask) {
            if (mask == ~uint64_t{0})
                word.store(mask, std::memory_order_relaxed);
            else
                word.fetch_or(mask, std::memory_order_relaxed);
        });
    }
    bool holds(int64_t begin, int64_t end) {
        bool all = true;
        for_words(begin, end, [&](std::atomic<uint64_t>& word, uint64_t mask) {
            all = all && (word.load(std::memory_order_relaxed) & mask) == mask;
        });
        return all;
    }
    int64_t count() const {
        int64_t bytes = 0;
        for (size_t i = 0; i < words_; ++i)
            bytes += static_cast<int64_t>(std::bitset<64>(bits_[i].load(std::memory_order_relaxed)).count());
        return bytes;
    }

  private:
    template <class F>
    void for_words(int64_t begin, int64_t end, F f) {
        while (begin < end) {
            const int64_t low = begin % 64, bits = std::min<int64_t>(64 - low, end - begin);
            const uint64_t ones = bits == 64 ? ~uint64_t{0} : (uint64_t{1} << bits) - 1;
            f(bits_[static_cast<size_t>(begin / 64)], ones << low);
            begin += bits;
        }
    }
    size_t words_;
    std::unique_ptr<std::atomic<uint64_t>[]> bits_;
};

struct RegionState {
    explicit RegionState(const Region& region)
        : begin(static_cast<uint8_t*>(region.address)),
          bytes(region.bytes),
          writable(region.writable),
          read(region.bytes),
          written(region.writable ? region.bytes : 0) {}

    Region region() const { return {begin, bytes, writable}; }

    uint8_t* begin;
    int64_t bytes;
    bool writable;
    ByteSet read, written;
    std::atomic<int64_t> loaded{0}, stored{0};
};

// `count` runs of `bytes` bytes, `pitch` bytes apart, from `begin` on.
struct Runs {
    int64_t begin = 0, bytes = 0, count = 1, pitch = 0;
    int64_t end() const { return begin + (count - 1) * pitch + bytes; }
};

// An access to a writable region, for the search for races when the cores have ended.
struct Access {
    int32_t region = 0, core = 0;
    Runs runs;
    bool write = false;
    pipe_t pipe = PIPE_S;
    uint32_t epoch = 0;
    int32_t known = 0;    // which of the core's states of knowledge about other cores holds
    bool cached = false;  // a store of the scalar unit: its cache line goes to GM as a whole
    Epochs seen{};
    const char* call = "";
    Where at;
};

}  // namespace ascend_fuse::emulator
