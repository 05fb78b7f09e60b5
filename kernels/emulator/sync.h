// Order inside of a core and between cores, and what a core knows about itself.
#pragma once

#include "event.h"
#include "tensor.h"

namespace AscendC {

template <HardEvent event>
void SetFlag(int32_t eventID, Where at = Where::here()) {
    const pipe_t producer = emulated::pipes_of(event).first;
    const emulated::Done done = emulated::core().done(producer);
    const emulated::Instruction call("SetFlag", producer, at, false);
    emulated::Event& state = emulated::event_of(call, emulated::pipes_of(event), eventID);
    call.check(!state.set, emulated::FaultKind::event_set_twice,
               "sets an event that is set and not waited for");
    state.set = true;
    state.done = done;
    state.at = at;
}

template <HardEvent event>
void WaitFlag(int32_t eventID, Where at = Where::here()) {
    const pipe_t consumer = emulated::pipes_of(event).second;
    const emulated::Instruction call("WaitFlag", consumer, at, false);
    emulated::Event& state = emulated::event_of(call, emulated::pipes_of(event), eventID);
    call.check(state.set, emulated::FaultKind::event_not_set, "waits for an event that was not set");
    state.set = false;
    emulated::core().wait(consumer, state.done);
}

template <pipe_t pipe>
void PipeBarrier(Where at = Where::here()) {
    static_assert(pipe != PIPE_S, "the scalar unit is in order");
    emulated::Core& core = emulated::core();
    if constexpr (pipe != PIPE_ALL) {
        const emulated::Instruction call("PipeBarrier", pipe, at, false);
    } else {
        for (int from = 0; from < emulated::pipes; ++from)
            for (int to = 0; to < emulated::pipes; ++to)
                core.learn(static_cast<pipe_t>(to), core.known[static_cast<size_t>(from)]);
    }
    core.clock.barrier(pipe);
}

inline int64_t GetBlockIdx() { return emulated::core().index; }
inline int64_t GetBlockNum() { return emulated::core().launch->block_dim; }
inline int64_t GetSubBlockIdx() { return emulated::core().sub; }
inline int64_t GetTaskRatio() {
    const emulated::Core& in = emulated::core();
    return in.launch->mixed && in.vector && !in.cube ? in.launch->chip.vector_per_cube : 1;
}
inline int64_t GetSubBlockNum() { return GetTaskRatio(); }

template <typename T, CacheLine entireType, DcciDst dcciDst = DcciDst::CACHELINE_ALL>
void DataCacheCleanAndInvalid(const GlobalTensor<T>& dst, Where at = Where::here()) {
    const emulated::Instruction call("DataCacheCleanAndInvalid", PIPE_S, at, false);
    emulated::Core& core = call.at_core();
    if (entireType == CacheLine::ENTIRE_DATA_CACHE) {
        core.dirty.clear();
        return;
    }
    // From the address to the end of its line.
    const auto first = reinterpret_cast<uint64_t>(dst.GetPhyAddr()), size = emulated::cache_line_bytes(core);
    const auto line = core.dirty.find(first / size);
    if (line == core.dirty.end()) return;
    for (uint64_t byte = first % size; byte < size; ++byte) line->second.bytes.reset(byte);
    if (line->second.bytes.none()) core.dirty.erase(line);
}

// Bit 48 alone: 1 lets infinity and NaN stand in results of 16 bits. Chips without it saturate.
template <int8_t startBit, int8_t endBit>
void SetCtrlSpr(int64_t value, Where at = Where::here()) {
    static_assert(startBit == 48 && endBit == 48, "only bit 48 is emulated");
    const emulated::Instruction call("SetCtrlSpr", PIPE_S, at, false);
    call.check(call.arch() == 2201 || call.arch() == 3510, emulated::FaultKind::unsupported_call,
               "does not exist on this chip");
    emulated::core().saturates = value == 0;
}

}  // namespace AscendC

#define ASCEND_IS_AIC (ascend_fuse::emulator::core().cube)
#define ASCEND_IS_AIV (ascend_fuse::emulator::core().vector)
