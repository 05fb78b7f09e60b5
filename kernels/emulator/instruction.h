// One instruction of a pipe: it checks what it touches, and is where faults are reported.
#pragma once

#include "core.h"

namespace ascend_fuse::emulator {

// A place in an on-chip memory; `limit` is the end of the buffer that it lies in.
struct Local {
    Space space = Space::ub;
    uint32_t address = 0, limit = 0;
};

class Instruction {
  public:
    Instruction(const char* name, pipe_t pipe, Where at, bool counted = true)
        : core_(core()), name_(name), at_(at), pipe_(pipe), epoch_(core_.clock.issue(pipe)) {
        core_.learn(pipe, core_.known[PIPE_S]);
        seen_ = core_.clock.seen(pipe);
        core_.instructions[static_cast<size_t>(pipe)] += counted;
        check_unit();
    }

    [[noreturn]] void fail(FaultKind kind, const std::string& what) const {
        emulator::fail(kind, std::string(name_) + " " + what, at_);
    }
    void check(bool holds, FaultKind kind, const char* what) const {
        if (!holds) fail(kind, what);
    }
    void check_range(int64_t value, int64_t low, int64_t high, const char* what) const {
        if (value < low || value > high)
            fail(FaultKind::parameter_range, std::string(what) + " " + std::to_string(value) +
                                                 " is not in [" + std::to_string(low) + ", " +
                                                 std::to_string(high) + "]");
    }
    void check_aligned(const Local& place, uint32_t bytes, const char* operand) const {
        if (place.address % bytes != 0)
            fail(FaultKind::unaligned_address, std::string(operand) + " at " + text(place, 0) +
                                                   " is not aligned to " + std::to_string(bytes) + " B");
    }
    int arch() const { return core_.launch->chip.arch; }
    Core& at_core() const { return core_; }
    // Arithmetic of half saturates, that of bfloat16 does not; conversions to both do.
    bool saturates() const { return core_.saturates; }
    Where where() const { return at_; }
    pipe_t pipe() const { return pipe_; }
    const char* name() const { return name_; }

    // Bytes [offset, offset + bytes) behind a place, for reading or writing: inside of its buffer, and no
    // race.
    uint8_t* read(const Local& place, uint32_t offset, uint32_t bytes) const {
        Memory& memory = reach(place, offset, bytes);
        const int other = memory.read(place.address + offset, bytes, pipe_, epoch_, seen_);
        if (other >= 0) race(place, offset, other, "reads");
        return memory.at(place.address + offset);
    }
    uint8_t* write(const Local& place, uint32_t offset, uint32_t bytes) const {
        Memory& memory = reach(place, offset, bytes);
        const int other = memory.write(place.address + offset, bytes, pipe_, epoch_, seen_);
        if (other >= 0) race(place, offset, other, "writes");
        return memory.at(place.address + offset);
    }
    // The same for the UB of another core of the block, which only that core's flags put in order.
    uint8_t* write_other(Core& other, const Local& place, uint32_t offset, uint32_t bytes) const {
        if (uint64_t{place.address} + offset + bytes > place.limit) reach(place, offset, bytes);
        Memory& memory = other.memory(place.space);
        Epochs seen{};
        const Knowledge& known = core_.states[static_cast<size_t>(core_.known[pipe_])];
        if (!known.empty()) seen = known[static_cast<size_t>(other.number)];
        if (other.foreign.empty() || other.foreign.back() != epoch_) other.foreign.push_back(epoch_);
        const auto epoch = static_cast<uint32_t>(other.foreign.size());
        seen[foreign_pipe] = epoch;
        const int racing = memory.write(place.address + offset, bytes, PIPE_ALL, epoch, seen);
        if (racing >= 0) race(place, offset, racing, "writes another core's");
        std::memset(memory.unwritten(place.address + offset), 0, bytes);
        return memory.at(place.address + offset);
    }
    Memory& memory(const Local& place) const { return core_.memory(place.space); }
    uint8_t* unwritten(const Local& place, uint32_t offset) const {
        return memory(place).unwritten(place.address + offset);
    }
    // Faults where a byte was never written: what leaves the unit that computes must be known.
    void check_written(const Local& place, uint32_t offset, uint32_t bytes, const char* why) const {
        const uint8_t* flags = unwritten(place, offset);
        if (all_zero(flags, bytes)) return;
        uint32_t at = 0;
        while (flags[at] == 0) ++at;
        fail(FaultKind::unwritten_read,
             std::string(why) + " memory that nobody wrote, at " + text(place, offset + at));
    }
    void mark(const Local& place, uint32_t offset, uint32_t bytes, bool unwritten_now) const {
        std::memset(unwritten(place, offset), unwritten_now ? 0xff : 0, bytes);
    }

    // The region of GM behind an address; faults when the runs leave it or it must not be written.
    RegionState& gm(const void* address, Runs& runs, bool write) const {
        const size_t index = region_of(address, runs.end() - runs.begin);
        RegionState& region = *core_.launch->regions[index];
        if (write && !region.writable)
            fail(FaultKind::gm_read_only,
                 "writes to GM of tensor " + std::to_string(index) + ", which is not an output");
        core_.last_region = index;
        runs.begin = static_cast<const uint8_t*>(address) - region.begin;
        record(index, region, runs, write);
        return region;
    }
    // A writable range that the kernel's own exchange between cores uses.
    void check_workspace(const void* address, int64_t bytes) const {
        check(core_.launch->regions[region_of(address, bytes)]->writable, FaultKind::gm_read_only,
              "has a workspace that is read-only");
    }

  private:
    size_t region_of(const void* address, int64_t bytes) const {
        const auto at = reinterpret_cast<uint64_t>(address);
        const auto& regions = core_.launch->regions;
        for (size_t i = 0; i < regions.size(); ++i) {
            const size_t index = (core_.last_region + i) % regions.size();
            const auto begin = reinterpret_cast<uint64_t>(regions[index]->begin);
            const auto size = static_cast<uint64_t>(regions[index]->bytes);
            if (at >= begin && at - begin <= size && static_cast<uint64_t>(bytes) <= size - (at - begin))
                return index;
        }
        fail(FaultKind::gm_out_of_bounds, "touches " + std::to_string(bytes) + " B of GM from " +
                                              hexadecimal(at) + " on, which no tensor of the launch holds");
    }
    Memory& reach(const Local& place, uint32_t offset, uint32_t bytes) const {
        if (uint64_t{place.address} + offset + bytes > place.limit)
            fail(FaultKind::buffer_overrun, "touches " + std::to_string(bytes) + " B at " +
                                                text(place, offset) + ", behind the end " +
                                                hexadecimal(place.limit) + " of its buffer");
        return memory(place);
    }
    [[noreturn]] void race(const Local& place, uint32_t offset, int other, const char* how) const {
        fail(FaultKind::pipe_race, std::string(how) + " " + text(place, offset) + " on pipe " +
                                       pipe_name(pipe_) + " while pipe " + pipe_name(other) +
                                       " may still be at it: an event, a queue or a barrier is missing");
    }
    static std::string text(const Local& place, uint32_t offset) {
        return std::string(space_name(place.space)) + " " + hexadecimal(place.address + offset);
    }
    void check_unit() const {
        const bool cube_pipe = pipe_ == PIPE_M || pipe_ == PIPE_MTE1 || pipe_ == PIPE_FIX;
        if ((pipe_ == PIPE_V && !core_.vector) || (cube_pipe && !core_.cube))
            fail(FaultKind::unsupported_call,
                 std::string("needs pipe ") + pipe_name(pipe_) + ", which this core lacks");
    }
    void record(size_t index, RegionState& region, const Runs& runs, bool write) const {
        const int64_t bytes = runs.bytes * runs.count;
        (write ? region.stored : region.loaded).fetch_add(bytes, std::memory_order_relaxed);
        ByteSet& set = write ? region.written : region.read;
        if (runs.count == 1 || runs.pitch == runs.bytes)
            set.add(runs.begin, runs.begin + bytes);
        else
            for (int64_t i = 0; i < runs.count; ++i)
                set.add(runs.begin + i * runs.pitch, runs.begin + i * runs.pitch + runs.bytes);
        if (!region.writable) return;
        core_.accesses.push_back({static_cast<int32_t>(index), core_.number, runs, write, pipe_, epoch_,
                                  core_.known[pipe_], write && pipe_ == PIPE_S, seen_, name_, at_});
    }

    Core& core_;
    const char* name_;
    Where at_;
    pipe_t pipe_;
    uint32_t epoch_;
    Epochs seen_;
};

}  // namespace ascend_fuse::emulator
