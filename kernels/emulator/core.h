// A core at work: its memories, clock, queues and events, and the launch that it belongs to.
#pragma once

#include <array>
#include <bitset>
#include <deque>
#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "gm.h"
#include "memory.h"

namespace ascend_fuse::emulator {

// The figures of a chip that the rules need; sizes in bytes.
struct Chip {
    int arch = 2201;
    std::array<uint32_t, spaces> bytes{};
    uint32_t ub_reserved = 0;
    bool split = true;  // cube and vector cores apart
    int vector_per_cube = 2;
};

// What is done on the cores of a launch, by core; empty: nothing is known.
using Knowledge = std::vector<Epochs>;

struct Core;
class Scheduler;  // scheduler.h

struct Launch {
    const char* kernel = "";
    Chip chip;
    int64_t block_dim = 1;
    bool mixed = false;
    std::vector<std::shared_ptr<RegionState>> regions;
    std::vector<Core*> cores;
    Scheduler* scheduler = nullptr;  // where cores wait for each other
    bool alone = false;              // the cores are those of one block of many
    bool needs_all = false;          // a core of them waits for other blocks
    // Flags that some of a group of cores have set, by mode, first core of the group and flag; then by core.
    std::map<std::tuple<int, int, int>, std::map<int, std::deque<Knowledge>>> arrivals;
};

// What a pipe leaves to those that wait for it: of its own core, and which of the core's states of knowledge.
struct Done {
    Epochs epochs{};
    int32_t known = 0;
};

enum class BufferState : uint8_t { idle, allocated, queued, taken };

struct Buffer {
    uint32_t address = 0, bytes = 0;
    BufferState state = BufferState::idle;
    int event = -1;  // that is set where one pipe let the buffer go
};

// A queue or a plain buffer of a TPipe.
struct Queue {
    Space space = Space::ub;
    int position = 0;
    pipe_t producer = PIPE_V, consumer = PIPE_V;
    std::vector<Buffer> buffers;
    std::vector<size_t> waiting;  // buffers in the order of EnQue
    uint32_t depth = 1, next = 0;
    Where at;
    int generation = 0;
};

enum class EventOwner : uint8_t { none, kernel, queue };

struct Event {
    bool set = false;
    EventOwner owner = EventOwner::none;
    Done done{};
    Where at;
};

// What a core tells others when it sets a flag: what is done on every core, as far as it knows, and how many
// writes of its cube into the receiver's UB are.
struct Message {
    Knowledge known;
    uint32_t foreign = 0;
};

// Bytes of a cache line that are not in GM yet.
struct DirtyLine {
    std::bitset<128> bytes;
    Where at;
};

struct Core {
    Launch* launch = nullptr;
    int64_t index = 0;  // GetBlockIdx
    int number = 0;     // in launch->cores
    int sub = 0;
    bool cube = false, vector = true;

    Clock clock;
    std::array<Memory, spaces> memories;
    std::array<uint32_t, spaces> taken{}, peak{};
    std::vector<Queue> queues;
    int buffers = 0, generation = 0;
    void* pipe = nullptr;   // the kernel's TPipe
    bool saturates = true;  // control bit 48 is 0: results of 16 bits have no infinity and no NaN
    std::map<int, std::array<Event, 8>> events;  // by producer * 8 + consumer
    std::map<uint64_t, DirtyLine> dirty;         // cache lines that the scalar unit wrote
    std::vector<Access> accesses;
    std::vector<Knowledge> states;       // of knowledge about other cores; the first is none
    std::array<int32_t, pipes> known{};  // the state of each pipe
    std::array<std::deque<Message>, 32> flags;
    std::vector<uint32_t> foreign;  // epochs of the cube's FixPipe that wrote into this core's UB
    std::array<int64_t, pipes> instructions{};
    size_t last_region = 0;
    std::string fault;

    Memory& memory(Space space) {
        Memory& memory = memories[static_cast<size_t>(space)];
        const uint32_t bytes = launch->chip.bytes[static_cast<size_t>(space)];
        if (memory.bytes() != bytes) memory.resize(bytes);
        return memory;
    }
    // What is done once all earlier instructions of the pipe are.
    Done done(pipe_t pipe) const { return {clock.done(pipe), known[pipe == PIPE_ALL ? PIPE_S : pipe]}; }
    void wait(pipe_t pipe, const Done& done) {
        clock.wait(pipe, done.epochs);
        learn(pipe, done.known);
    }
    // The pipe comes to know what a state knows.
    void learn(pipe_t pipe, int32_t state) {
        const int32_t own = known[pipe];
        if (own == state || states[static_cast<size_t>(state)].empty()) return;
        if (states[static_cast<size_t>(own)].empty()) {
            known[pipe] = state;
            return;
        }
        Knowledge both = states[static_cast<size_t>(own)];
        for (size_t i = 0; i < both.size(); ++i) join(both[i], states[static_cast<size_t>(state)][i]);
        states.push_back(std::move(both));
        known[pipe] = static_cast<int32_t>(states.size()) - 1;
    }
    std::string name() const {
        return std::string("core ") + std::to_string(index) +
               (launch->mixed ? (cube ? " (AIC)" : " (AIV)") : "");
    }
    void begin(Launch& of, int64_t block, int at, bool is_cube, bool is_vector, int sub_block) {
        launch = &of;
        index = block;
        number = at;
        cube = is_cube;
        vector = is_vector;
        sub = sub_block;
        clock.reset();
        for (auto& memory : memories)
            if (memory.bytes() > 0) memory.clear();
        taken = {};
        peak = {};
        queues.clear();
        buffers = generation = 0;
        pipe = nullptr;
        saturates = true;
        events.clear();
        dirty.clear();
        accesses.clear();
        states.assign(1, {});
        known = {};
        for (auto& flag : flags) flag.clear();
        foreign.clear();
        instructions = {};
        last_region = 0;
        fault.clear();
    }
};

inline thread_local Core* running = nullptr;

// The core whose kernel calls. Kernels run under run() only.
inline Core& core() { return *running; }

// Of the scalar unit's data cache (AscendC: 64 B; 128 B on 3510).
inline uint64_t cache_line_bytes(const Core& in) { return in.launch->chip.arch == 3510 ? 128 : 64; }

inline std::string hexadecimal(uint64_t value) {
    char text[24];
    std::snprintf(text, sizeof text, "0x%llx", static_cast<unsigned long long>(value));
    return text;
}

[[noreturn]] inline void fail(FaultKind kind, const std::string& what, Where at) {
    const Core& in = core();
    throw Fault{kind, std::string(fault_name(kind)) + ": " + what + "; kernel " + in.launch->kernel + ", " +
                          in.name() + ", " + at.text()};
}

// A kernel leaves its queues empty and its buffers free.
inline void check_left_over(const Core& in) {
    for (const auto& queue : in.queues)
        for (const auto& buffer : queue.buffers)
            if (buffer.state != BufferState::idle)
                fail(FaultKind::queue_left_over, "a tensor of this queue is not free at the end", queue.at);
}

}  // namespace ascend_fuse::emulator
