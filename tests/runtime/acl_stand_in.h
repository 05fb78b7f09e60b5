// The device behind the stand-in libascendcl: memory that the host cannot touch, and streams whose work waits
// until somebody waits for it. What is done too early is written down as a HAZARD.
#pragma once

#include <sys/mman.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <functional>
#include <iterator>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace stand_in {

struct Range {
    uintptr_t begin = 0, end = 0;
};

inline bool overlap(const std::vector<Range>& some, const std::vector<Range>& others) {
    for (const Range& a : some)
        for (const Range& b : others)
            if (a.begin < b.end && b.begin < a.end) return true;
    return false;
}

// What is done to memory, at once or when its turn comes.
struct Work {
    std::string name;
    std::vector<Range> reads, writes;
    std::function<int()> run;

    bool disturbs(const Work& other) const {
        return overlap(writes, other.writes) || overlap(writes, other.reads) || overlap(reads, other.writes);
    }
};

using Seen = std::map<void*, uint64_t>;  // by stream: how much of its work is known to come before

struct Stream {
    std::deque<Work> queue;
    uint64_t done = 0;  // pieces of work
    Seen seen;
    int error = 0;  // of its work, until somebody asks

    uint64_t queued() const { return done + queue.size(); }
};

class Device {
  public:
    // Bytes of memory: addresses that fault on the host, and where their contents are.
    void* allocate(size_t bytes) {
        if (used_ + bytes > limit()) return nullptr;
        void* const address = mmap(nullptr, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        auto* content = static_cast<uint8_t*>(std::aligned_alloc(512, (bytes + 511) / 512 * 512));
        std::memset(content, 0x5a, bytes);
        blocks_[reinterpret_cast<uintptr_t>(address)] = {bytes, content};
        used_ += bytes;
        return address;
    }
    bool release(void* address) {
        const auto block = blocks_.find(reinterpret_cast<uintptr_t>(address));
        if (block == blocks_.end()) return false;
        now({"aclrtFree", {}, {{block->first, block->first + block->second.bytes}}, {}});
        munmap(address, block->second.bytes);
        std::free(block->second.content);
        used_ -= block->second.bytes;
        blocks_.erase(block);
        return true;
    }
    // From the address to the end of its block; empty for what is not memory of the device.
    Range range(const void* address) const {
        const auto at = reinterpret_cast<uintptr_t>(address);
        auto block = blocks_.upper_bound(at);
        if (block == blocks_.begin()) return {};
        --block;
        const uintptr_t end = block->first + block->second.bytes;
        return at < end ? Range{at, end} : Range{};
    }
    bool holds(const void* address) const { return range(address).end > 0; }
    // Precondition: the device holds it.
    uint8_t* content(const void* address) {
        const auto at = reinterpret_cast<uintptr_t>(address);
        const auto block = std::prev(blocks_.upper_bound(at));
        return block->second.content + (at - block->first);
    }
    size_t blocks() const { return blocks_.size(); }

    // Does it at once, whatever is queued.
    int now(const Work& work) {
        for (const auto& [handle, stream] : streams_)
            for (const Work& other : stream.queue)
                if (work.disturbs(other)) tell(work, other);
        return work.run ? work.run() : 0;
    }
    void queue(void* handle, Work work) {
        Stream& own = streams_[handle];
        for (const auto& [other_handle, other] : streams_) {
            if (other_handle == handle) continue;
            const auto seen = own.seen.find(other_handle);
            for (size_t i = 0; i < other.queue.size(); ++i)
                if (seen == own.seen.end() || other.done + i >= seen->second)
                    if (work.disturbs(other.queue[i])) tell(work, other.queue[i]);
        }
        own.queue.push_back(std::move(work));
    }
    // What a stream has to have done, and what its work waited for, for all that is queued there now.
    Seen state(void* handle) {
        Seen seen = streams_[handle].seen;
        seen[handle] = streams_[handle].queued();
        return seen;
    }
    void wait_for(void* handle, const Seen& wanted) {
        Work work{"wait", {}, {}, [this, wanted] { return reach(wanted); }};
        streams_[handle].queue.push_back(std::move(work));
        for (const auto& [other, count] : wanted) {
            uint64_t& seen = streams_[handle].seen[other];
            seen = std::max(seen, count);
        }
    }
    int reach(const Seen& wanted) {
        int error = 0;
        for (const auto& [handle, count] : wanted) {
            const auto found = streams_.find(handle);
            if (found == streams_.end()) continue;
            Stream& stream = found->second;
            while (stream.done < count && !stream.queue.empty()) {
                const Work work = std::move(stream.queue.front());
                stream.queue.pop_front();
                ++stream.done;
                if (const int code = work.run()) stream.error = code;
            }
            if (stream.error) error = std::exchange(stream.error, 0);
        }
        return error;
    }
    int synchronize(void* handle) { return reach({{handle, streams_[handle].queued()}}); }
    int synchronize() {
        Seen all;
        for (const auto& [handle, stream] : streams_) all[handle] = stream.queued();
        return reach(all);
    }
    void open(void* handle) { streams_[handle] = {}; }
    void close(void* handle) {
        if (!streams_[handle].queue.empty()) log("HAZARD aclrtDestroyStream before its work is done");
        streams_.erase(handle);
    }

    static void log(const std::string& line) {
        const char* const path = std::getenv("ACL_STAND_IN_LOG");
        if (!path) return;
        std::FILE* const file = std::fopen(path, "a");
        std::fprintf(file, "%s\n", line.c_str());
        std::fclose(file);
    }

  private:
    struct Block {
        size_t bytes = 0;
        uint8_t* content = nullptr;
    };

    static size_t limit() {
        const char* const text = std::getenv("ACL_STAND_IN_MEMORY");
        return text ? std::strtoull(text, nullptr, 10) : SIZE_MAX;
    }
    static void tell(const Work& work, const Work& other) {
        log("HAZARD " + work.name + " before " + other.name + " is done");
    }

    std::map<uintptr_t, Block> blocks_;
    std::map<void*, Stream> streams_;
    size_t used_ = 0;
};

}  // namespace stand_in
