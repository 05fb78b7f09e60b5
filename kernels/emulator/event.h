// Events between the pipes of a core: by a pair of pipes, a few ids.
#pragma once

#include "instruction.h"
#include "types.h"

namespace ascend_fuse::emulator {

// The pipe that sets and the one that waits.
using PipePair = std::pair<pipe_t, pipe_t>;

// By HardEvent.
inline PipePair pipes_of(AscendC::HardEvent event) {
    static constexpr pipe_t table[][2] = {
        {PIPE_MTE2, PIPE_MTE1}, {PIPE_MTE1, PIPE_MTE2}, {PIPE_MTE1, PIPE_M},  {PIPE_M, PIPE_MTE1},
        {PIPE_MTE2, PIPE_V},    {PIPE_V, PIPE_MTE2},    {PIPE_MTE3, PIPE_V},  {PIPE_V, PIPE_MTE3},
        {PIPE_M, PIPE_V},       {PIPE_V, PIPE_M},       {PIPE_V, PIPE_V},     {PIPE_MTE3, PIPE_MTE1},
        {PIPE_MTE1, PIPE_MTE3}, {PIPE_MTE1, PIPE_V},    {PIPE_MTE2, PIPE_M},  {PIPE_M, PIPE_MTE2},
        {PIPE_V, PIPE_MTE1},    {PIPE_M, PIPE_FIX},     {PIPE_FIX, PIPE_M},   {PIPE_MTE3, PIPE_MTE2},
        {PIPE_MTE2, PIPE_MTE3}, {PIPE_S, PIPE_V},       {PIPE_V, PIPE_S},     {PIPE_S, PIPE_MTE2},
        {PIPE_MTE2, PIPE_S},    {PIPE_S, PIPE_MTE3},    {PIPE_MTE3, PIPE_S},  {PIPE_MTE2, PIPE_FIX},
        {PIPE_FIX, PIPE_MTE2},  {PIPE_FIX, PIPE_S},     {PIPE_M, PIPE_S},     {PIPE_FIX, PIPE_MTE3},
        {PIPE_MTE1, PIPE_FIX},  {PIPE_FIX, PIPE_MTE1},  {PIPE_FIX, PIPE_FIX},
    };
    static_assert(sizeof(table) / sizeof(*table) == static_cast<size_t>(AscendC::HardEvent::MAX));
    const auto& pair = table[static_cast<size_t>(event)];
    return {pair[0], pair[1]};
}

inline std::string text_of(PipePair pair) {
    return std::string(pipe_name(pair.first)) + "_" + pipe_name(pair.second);
}

// Ids that kernels and queues share: four on 1001; else eight, of which 6 and 7 are the system's.
inline int event_ids(int arch) { return arch == 1001 ? 4 : 6; }

inline std::array<Event, 8>& events_of(Core& in, PipePair pair) {
    return in.events[pair.first * 8 + pair.second];
}

inline Event& event_of(const Instruction& call, PipePair pair, int32_t id) {
    const int ids = event_ids(call.arch());
    if (id < 0 || id >= ids)
        call.fail(FaultKind::event_range,
                  "event id " + std::to_string(id) + " is not in [0, " + std::to_string(ids - 1) + "]");
    return events_of(call.at_core(), pair)[static_cast<size_t>(id)];
}

// The first id that nobody has taken.
inline int take_event(PipePair pair, EventOwner owner, Where at) {
    auto& events = events_of(core(), pair);
    const int ids = event_ids(core().launch->chip.arch);
    for (int id = 0; id < ids; ++id) {
        Event& event = events[static_cast<size_t>(id)];
        if (event.owner != EventOwner::none) continue;
        if (event.set)
            fail(FaultKind::event_set_twice,
                 "event id " + std::to_string(id) + " of " + text_of(pair) + " was set at " +
                     event.at.text() + " without being taken, and is taken now",
                 at);
        event.owner = owner;
        return id;
    }
    fail(FaultKind::event_range, "no event id of " + text_of(pair) + " is left", at);
}

// A queue's own events: set when one side lets a buffer go, waited for when the other takes it.
inline void set_buffer(Buffer& buffer, PipePair pair, Where at) {
    buffer.event = take_event(pair, EventOwner::queue, at);
    Event& event = events_of(core(), pair)[static_cast<size_t>(buffer.event)];
    event.set = true;
    event.done = core().done(pair.first);
    event.at = at;
}
inline void wait_buffer(Buffer& buffer, PipePair pair, Where at) {
    if (buffer.event < 0) return;  // never used before
    Event& event = events_of(core(), pair)[static_cast<size_t>(buffer.event)];
    if (!event.set)
        fail(FaultKind::event_not_set,
             "event id " + std::to_string(buffer.event) + " of " + text_of(pair) +
                 " is the queue's and was waited for",
             at);
    core().wait(pair.second, event.done);
    event = {};
    buffer.event = -1;
}

}  // namespace ascend_fuse::emulator
