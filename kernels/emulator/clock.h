// Order between the pipes of a core: what an instruction may rely on having been done.
//
// Each pipe counts its instructions (epochs). `seen[p][q]` is the epoch of pipe q that is known to be
// complete when the next instruction of pipe p begins; only events, queues and barriers raise it, as on a
// chip.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>

// Global, as in the device headers.
enum pipe_t { PIPE_S, PIPE_V, PIPE_M, PIPE_MTE1, PIPE_MTE2, PIPE_MTE3, PIPE_FIX, PIPE_ALL };

namespace ascend_fuse::emulator {

inline constexpr int pipes = PIPE_ALL;
inline constexpr int foreign_pipe = pipes;
using Epochs = std::array<uint32_t, 8>;  // by pipe; the eighth counts what a cube wrote into this core's UB

inline const char* pipe_name(int pipe) {
    static constexpr const char* names[] = {"S", "V", "M", "MTE1", "MTE2", "MTE3", "FIX", "ALL"};
    return names[pipe];
}

inline void join(Epochs& to, const Epochs& from) {
    for (size_t i = 0; i < to.size(); ++i) to[i] = std::max(to[i], from[i]);
}

class Clock {
  public:
    // The epoch of a new instruction. It begins after all that the scalar unit waited for, for that unit
    // issues it; what the scalar unit itself stored is ordered by events alone.
    uint32_t issue(pipe_t pipe) {
        if (pipe != PIPE_S) {
            const uint32_t own = seen_[pipe][PIPE_S];
            join(seen_[pipe], seen_[PIPE_S]);
            seen_[pipe][PIPE_S] = own;
        } else {
            seen_[PIPE_S][PIPE_S] = issued_[PIPE_S];  // the scalar unit is in order with itself
        }
        return ++issued_[pipe];
    }
    const Epochs& seen(pipe_t pipe) const { return seen_[pipe]; }

    // What is done once all earlier instructions of the pipe are.
    Epochs done(pipe_t pipe) const {
        if (pipe == PIPE_ALL) return issued_;
        Epochs epochs = seen_[pipe];
        epochs[pipe] = issued_[pipe];
        return epochs;
    }
    void wait(pipe_t pipe, const Epochs& done) { join(seen_[pipe], done); }
    void barrier(pipe_t pipe) {
        if (pipe != PIPE_ALL)
            seen_[pipe][pipe] = issued_[pipe];
        else
            for (auto& epochs : seen_) join(epochs, issued_);
    }
    // Writes of another core into this core's memory, up to that epoch, are done for a pipe.
    void wait_foreign(pipe_t pipe, uint32_t epoch) {
        for (int i = 0; i < pipes; ++i)
            if (pipe == PIPE_ALL || pipe == i)
                seen_[i][foreign_pipe] = std::max(seen_[i][foreign_pipe], epoch);
    }
    void reset() { *this = Clock(); }

  private:
    Epochs issued_{};
    std::array<Epochs, 8> seen_{};
};

}  // namespace ascend_fuse::emulator
