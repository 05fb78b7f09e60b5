// One on-chip memory of a core: its bytes, which bits of them nobody wrote, and who touched each 32 B block
// last.
#pragma once

#include <cstring>
#include <memory>

#include "clock.h"
#include "fault.h"

namespace ascend_fuse::emulator {

inline constexpr uint32_t block_bytes = 32;

enum class Space : uint8_t { ub, l1, l0a, l0b, l0c, bt, fb, count };

inline constexpr size_t spaces = static_cast<size_t>(Space::count);

inline const char* space_name(Space space) {
    static constexpr const char* names[] = {"UB", "L1", "L0A", "L0B", "L0C", "BT", "FB"};
    return names[static_cast<size_t>(space)];
}

// Last accesses to a 32 B block. Writes of one pipe to other bytes of the block add up in `written`.
struct Stamp {
    Epochs read{};
    uint32_t write = 0, written = 0;
    uint32_t write_pipe = PIPE_S;
};

// Whether bytes are 0: those of flags, one bit for each bit that nobody wrote.
inline bool all_zero(const uint8_t* flags, size_t bytes) {
    return bytes == 0 || (flags[0] == 0 && std::memcmp(flags, flags + 1, bytes - 1) == 0);
}

class Memory {
  public:
    void resize(uint32_t bytes) {
        bytes_ = bytes;
        // Uninitialised: what is in use is cleared as it comes into use.
        data_.reset(new uint8_t[bytes + block_bytes]);
        unwritten_.reset(new uint8_t[bytes + block_bytes]);
        stamps_.reset(new Stamp[bytes / block_bytes + 1]);
        used_ = bytes;
        clear();
    }
    // As after power-up. Only what was in use is touched.
    void clear() {
        std::memset(unwritten_.get(), 0xff, used_);
        std::fill_n(stamps_.get(), used_ / block_bytes + (used_ > 0 ? 1 : 0), Stamp{});
        used_ = 0;
    }
    // Bytes that a buffer took begin as unwritten again, and what other buffers did there is ordered by the
    // caller.
    void forget(uint32_t address, uint32_t bytes) { std::memset(unwritten_.get() + address, 0xff, bytes); }

    uint32_t bytes() const { return bytes_; }
    uint8_t* at(uint32_t address) { return data_.get() + address; }
    uint8_t* unwritten(uint32_t address) { return unwritten_.get() + address; }
    bool clean(uint32_t address, size_t bytes) const { return all_zero(unwritten_.get() + address, bytes); }

    // The pipe of an unordered earlier access, or -1. `seen` and `epoch` are those of the new access.
    int read(uint32_t address, uint32_t bytes, pipe_t pipe, uint32_t epoch, const Epochs& seen) {
        int race = -1;
        each(address, bytes, [&](Stamp& stamp, uint32_t mask) {
            if (stamp.write > seen[stamp.write_pipe] && (stamp.written & mask) != 0 &&
                !(stamp.write_pipe == static_cast<uint32_t>(pipe) && stamp.write == epoch))
                race = static_cast<int>(stamp.write_pipe);
            stamp.read[pipe] = epoch;
        });
        return race;
    }
    int write(uint32_t address, uint32_t bytes, pipe_t pipe, uint32_t epoch, const Epochs& seen) {
        int race = -1;
        // An instruction may read what it writes itself.
        Epochs allowed = seen;
        each(address, bytes, [&](Stamp& stamp, uint32_t mask) {
            allowed[pipe] = stamp.read[pipe] == epoch ? epoch : seen[pipe];
            uint32_t late = 0;
            for (size_t i = 0; i < allowed.size(); ++i) late |= stamp.read[i] > allowed[i];
            if (late)
                for (int i = 0; i < pipes; ++i)
                    if (stamp.read[i] > allowed[i]) race = i;
            const bool own = stamp.write_pipe == static_cast<uint32_t>(pipe);
            const bool unordered = stamp.write > seen[stamp.write_pipe] && !(own && stamp.write == epoch);
            if (unordered && (stamp.written & mask) != 0) race = static_cast<int>(stamp.write_pipe);
            stamp.written = own && stamp.write > seen[pipe] ? stamp.written | mask : mask;
            stamp.write = epoch;
            stamp.write_pipe = static_cast<uint32_t>(pipe);
        });
        return race;
    }

  private:
    template <class F>
    void each(uint32_t address, uint32_t bytes, F f) {
        if (bytes == 0) return;
        const uint32_t end = address + bytes, first = address / block_bytes, last = (end - 1) / block_bytes;
        used_ = std::max(used_, std::min(bytes_, (last + 1) * block_bytes));
        const uint32_t head = ~0u << (address % block_bytes);
        const uint32_t tail = end % block_bytes == 0 ? ~0u : (1u << end % block_bytes) - 1u;
        if (first == last) return f(stamps_[first], head & tail);
        f(stamps_[first], head);
        for (uint32_t i = first + 1; i < last; ++i) f(stamps_[i], ~0u);
        f(stamps_[last], tail);
    }

    uint32_t bytes_ = 0, used_ = 0;
    std::unique_ptr<uint8_t[]> data_, unwritten_;
    std::unique_ptr<Stamp[]> stamps_;
};

}  // namespace ascend_fuse::emulator
