// Flags and barriers between cores.
#pragma once

#include "scheduler.h"
#include "tensor.h"

namespace ascend_fuse::emulator {

// Who has to set a flag, and who may then go on, each at what flag of its own.
struct Meeting {
    int mode = 0, flag = 0;
    std::vector<Core*> senders, receivers;
    int receiver_flag = 0;
};

inline std::vector<Core*> cores_where(const Launch& launch, const std::function<bool(const Core&)>& holds) {
    std::vector<Core*> found;
    for (Core* other : launch.cores)
        if (holds(*other)) found.push_back(other);
    return found;
}

inline int64_t block_of(const Core& in) {
    return in.cube ? in.index : in.index / std::max(1, in.launch->chip.vector_per_cube);
}

// The cores that a flag joins (API reference, CrossCoreSetFlag): 0 all of a kind, 1 the vector cores of a
// block, 2 its cube core and all its vector cores, 4 its cube core and one of them.
inline Meeting meeting_of(const Instruction& call, int mode, int flag) {
    Core& self = call.at_core();
    const Launch& launch = *self.launch;
    const auto of_block = [&](bool cube) {
        return cores_where(launch,
                           [&](const Core& c) { return c.cube == cube && block_of(c) == block_of(self); });
    };
    Meeting meeting{mode, flag, {}, {}, flag};
    if (mode == 0) {
        if (launch.alone) throw NeedsAll{};
        meeting.senders = meeting.receivers =
            cores_where(launch, [&](const Core& c) { return c.cube == self.cube; });
    } else if (mode == 1) {
        call.check(!self.cube, FaultKind::cross_core_flag, "mode 1 is for vector cores");
        meeting.senders = meeting.receivers = of_block(false);
    } else if (mode == 2) {
        meeting.senders = of_block(self.cube);
        meeting.receivers = of_block(!self.cube);
    } else {
        call.check(mode == 4 && call.arch() == 3510, FaultKind::cross_core_flag,
                   "has no such mode on this chip");
        meeting.senders = {&self};
        const int sub = self.cube ? flag / 16 : self.sub;
        meeting.receivers = cores_where(launch, [&](const Core& c) {
            return c.cube != self.cube && block_of(c) == block_of(self) && (c.cube || c.sub == sub);
        });
        meeting.receiver_flag = self.cube ? flag % 16 : flag + 16 * self.sub;
    }
    return meeting;
}

// What a core knows to be done, with what it has done itself.
inline Knowledge knowledge_of(const Core& in, const Done& done) {
    Knowledge known = in.states[static_cast<size_t>(done.known)];
    known.resize(in.launch->cores.size(), Epochs{});
    join(known[static_cast<size_t>(in.number)], done.epochs);
    return known;
}

// The core has come to the meeting; when all senders have, each receiver may go on once.
inline void arrive(const Instruction& call, const Meeting& meeting, const Done& done) {
    Core& self = call.at_core();
    auto& arrived = self.launch->arrivals[{meeting.mode, meeting.senders.front()->number, meeting.flag}];
    arrived[self.number].push_back(knowledge_of(self, done));
    for (const Core* sender : meeting.senders)
        if (arrived[sender->number].empty()) return;
    Knowledge known;
    for (const Core* sender : meeting.senders) {
        auto& waiting = arrived[sender->number];
        if (known.empty()) known = waiting.front();
        for (size_t i = 0; i < known.size(); ++i) join(known[i], waiting.front()[i]);
        waiting.pop_front();
    }
    for (Core* receiver : meeting.receivers) {
        auto& flag = receiver->flags[static_cast<size_t>(meeting.receiver_flag)];
        call.check(flag.size() < 15, FaultKind::cross_core_flag, "counts a flag beyond 15");
        uint32_t foreign = 0;  // writes of this cube into that core's UB that are done
        if (self.cube)
            while (foreign < receiver->foreign.size() && receiver->foreign[foreign] <= done.epochs[PIPE_FIX])
                ++foreign;
        flag.push_back({known, foreign});
    }
}

// Takes one count of a flag; on 2201 no pipe goes on before, on 3510 the one that waits.
inline void depart(const Instruction& call, int flag, pipe_t pipe) {
    Core& self = call.at_core();
    auto& messages = self.flags[static_cast<size_t>(flag)];
    self.launch->scheduler->wait([&] { return !messages.empty(); }, call.name(), call.where());
    self.states.push_back(std::move(messages.front().known));
    self.clock.wait_foreign(pipe, messages.front().foreign);
    messages.pop_front();
    const auto state = static_cast<int32_t>(self.states.size()) - 1;
    for (int i = 0; i < pipes; ++i)
        if (pipe == PIPE_ALL || pipe == i) self.learn(static_cast<pipe_t>(i), state);
}

inline void check_together(const Instruction& call, bool split_only) {
    const int arch = call.arch();
    call.check(!split_only || arch == 2201 || arch == 3510, FaultKind::unsupported_call,
               "does not exist on this chip");
    call.check(call.at_core().launch->scheduler != nullptr, FaultKind::cross_core_flag,
               "needs a kernel whose cores run together (a mixed launch)");
}

// All cores, or all vector cores, have done all that they were told.
inline void meet_all(const Instruction& call, bool vector_only) {
    Core& self = call.at_core();
    call.check(!vector_only || self.vector, FaultKind::cross_core_flag,
               "of vector cores is called by a cube core");
    if (self.launch->alone) throw NeedsAll{};
    constexpr int flag = 30;
    Meeting meeting{8 + vector_only, flag, {}, {}, flag + vector_only};
    meeting.senders = meeting.receivers =
        cores_where(*self.launch, [&](const Core& c) { return !vector_only || c.vector; });
    self.clock.barrier(PIPE_ALL);
    for (int i = 0; i < pipes; ++i) self.learn(PIPE_S, self.known[static_cast<size_t>(i)]);
    arrive(call, meeting, self.done(PIPE_ALL));
    depart(call, meeting.receiver_flag, PIPE_ALL);
}

}  // namespace ascend_fuse::emulator

namespace AscendC {

template <uint8_t modeId, pipe_t pipe>
void CrossCoreSetFlag(uint16_t flagId, Where at = Where::here()) {
    const emulated::Done done = emulated::core().done(pipe);
    const emulated::Instruction call("CrossCoreSetFlag", pipe == PIPE_ALL ? PIPE_S : pipe, at, false);
    emulated::check_together(call, true);
    call.check(pipe != PIPE_ALL && (pipe != PIPE_S || modeId == 4), emulated::FaultKind::cross_core_flag,
               "cannot be set by this pipe");
    const bool single = modeId == 4;
    call.check(flagId <= (single ? 26 : 15) && (!single || flagId % 16 <= 10),
               emulated::FaultKind::cross_core_flag, "has no such flag");
    emulated::arrive(call, emulated::meeting_of(call, modeId, flagId), done);
}

template <uint8_t modeId = 0, pipe_t pipe = PIPE_S>
void CrossCoreWaitFlag(uint16_t flagId, Where at = Where::here()) {
    const emulated::Instruction call("CrossCoreWaitFlag", PIPE_S, at, false);
    emulated::check_together(call, true);
    call.check(flagId <= (modeId == 4 ? 26 : 15), emulated::FaultKind::cross_core_flag, "has no such flag");
    emulated::depart(call, flagId, call.arch() == 3510 && pipe != PIPE_S ? pipe : PIPE_ALL);
}

// By hardware, on split chips.
template <bool isAIVOnly = true>
void SyncAll(Where at = Where::here()) {
    const emulated::Instruction call("SyncAll", PIPE_S, at, false);
    emulated::check_together(call, true);
    emulated::meet_all(call, isAIVOnly);
}

// Through GM: 32 B of both workspaces a core, zero before. The traffic of the exchange is not counted.
template <bool isAIVOnly = true>
void SyncAll(const GlobalTensor<int32_t>& gmWorkspace, const LocalTensor<int32_t>& ubWorkspace,
             int32_t usedCores = 0, Where at = Where::here()) {
    const emulated::Instruction call("SyncAll", PIPE_S, at, false);
    emulated::check_together(call, false);
    call.check(call.arch() != 3002, emulated::FaultKind::unsupported_call, "does not exist on this chip");
    call.check(usedCores == 0, emulated::FaultKind::unsupported_call, "of some of the cores is not emulated");
    const auto bytes = static_cast<int64_t>(call.at_core().launch->cores.size()) * emulated::block_bytes;
    call.check(static_cast<int64_t>(ubWorkspace.GetSize()) * 4 >= bytes, emulated::FaultKind::buffer_overrun,
               "has less than 32 B of UB for each core");
    call.check_workspace(gmWorkspace.GetPhyAddr(), bytes);
    emulated::meet_all(call, isAIVOnly);
}

}  // namespace AscendC
