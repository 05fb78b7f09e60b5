// Memory of a device whose work is queued: a block that is given back goes to whoever comes later on the same
// stream at once, to others when what was queued has ended. No block goes back to the device while anything
// queued may use it.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <unordered_map>
#include <utility>

#include "acl.h"
#include "backend.h"
#include "result.h"

namespace ascend_fuse {

class DeviceMemory {
  public:
    explicit DeviceMemory(std::shared_ptr<Acl> acl) : acl_(std::move(acl)) {}
    DeviceMemory(const DeviceMemory&) = delete;
    DeviceMemory& operator=(const DeviceMemory&) = delete;
    ~DeviceMemory() {
        if (!spares_.empty()) give_back();
    }

    Acl& acl() const { return *acl_; }

    // A block for work that is queued on that stream; null where none is left. Without a stream, anybody may
    // use it.
    void* allocate(int64_t bytes, void* stream, Writer first = Writer::device) {
        if (bytes <= 0) return nullptr;
        const size_t size = rounded(static_cast<size_t>(bytes));
        if (is_shared(stream)) stream = nullptr;
        if (void* const spare = take(size, stream, first)) return spare;
        // No wait for a stream settles blocks of none, so they would pile up.
        if (!stream && has(size) && !wait(nullptr))
            if (void* const spare = take(size, stream, first)) return spare;
        if (void* const made = make(size, stream)) return made;
        return give_back() ? nullptr : make(size, stream);
    }

    // What is queued may go on using it.
    void release(void* address) {
        const std::lock_guard<std::mutex> lock(mutex_);
        const auto held = held_.find(address);
        if (held == held_.end()) return;
        const Held was = held->second;
        held_.erase(held);
        spares_.emplace(was.size, Spare{address, was.stream, ++releases_, runs_, false});
    }

    // Until all that was queued on the stream has ended; without one, on the device.
    std::optional<Error> wait(void* stream) {
        uint64_t last = 0;
        {
            const std::lock_guard<std::mutex> lock(mutex_);
            last = releases_;
        }
        if (auto error = acl_->enter()) return error;
        const AclCalls& calls = acl_->calls();
        const auto error = stream
                               ? acl_->failed(calls.aclrtSynchronizeStream(stream), "aclrtSynchronizeStream")
                               : acl_->failed(calls.aclrtSynchronizeDevice(), "aclrtSynchronizeDevice");
        if (error) return error;
        const std::lock_guard<std::mutex> lock(mutex_);
        for (auto& [size, spare] : spares_)
            if (spare.release <= last && (!stream || spare.stream == stream)) spare.settled = true;
        return std::nullopt;
    }

    // Gives the device all that nobody holds. One that does not answer keeps it: nothing says that its work
    // has ended.
    std::optional<Error> give_back() {
        if (auto error = wait(nullptr)) return error;
        free_settled(0);
        return std::nullopt;
    }

    // Waits for a stream at the end of a run on it, for all where blocks are left that no wait for one
    // settles, and gives back what no run wanted for long.
    std::optional<Error> end_run(void* stream) {
        if (auto error = wait(orderless_left() ? nullptr : stream)) return error;
        free_settled(kept_runs);
        return std::nullopt;
    }

    // Another stream waits for what is queued there and then uses its blocks too, so that its order says
    // nothing any more.
    void share(void* stream) {
        const std::lock_guard<std::mutex> lock(mutex_);
        if (shared_.insert(stream).second) disown(stream);
    }

    // Before a stream goes, whose address another may then have.
    std::optional<Error> forget(void* stream) {
        const auto error = wait(stream);
        const std::lock_guard<std::mutex> lock(mutex_);
        shared_.erase(stream);
        disown(stream);
        return error;
    }

    // At once: what is queued is not looked at. Precondition: nothing queued uses either.
    std::optional<Error> copy(void* to, bool to_device, const void* from, bool from_device,
                              int64_t bytes) const {
        if (bytes == 0) return std::nullopt;
        if (auto error = acl_->enter()) return error;
        const auto size = static_cast<size_t>(bytes);
        const int kind = (from_device ? 2 : 0) + (to_device ? 1 : 0);  // aclrtMemcpyKind
        return acl_->failed(acl_->calls().aclrtMemcpy(to, size, from, size, kind), "aclrtMemcpy");
    }

  private:
    static constexpr uint64_t kept_runs = 64;  // that an unused block outlives

    struct Held {
        size_t size = 0;
        void* stream = nullptr;
    };
    struct Spare {
        void* address = nullptr;
        void* stream = nullptr;
        uint64_t release = 0;  // number of its release
        uint64_t run = 0;      // runs that had ended by then
        bool settled = false;  // nothing queued uses it
    };

    // So that tensors of about one size share blocks: at most an eighth more than asked for.
    static size_t rounded(size_t bytes) {
        size_t step = 512;
        while (step * 16 <= bytes) step *= 2;
        return (bytes + step - 1) / step * step;
    }

    // Whether there are blocks of no stream, on which ONNX Runtime 1.24 to 1.28 allocates outputs, or of one
    // on which nothing ran for long. Counts the run.
    bool orderless_left() {
        const std::lock_guard<std::mutex> lock(mutex_);
        ++runs_;
        for (const auto& [size, spare] : spares_)
            if (!spare.settled && (!spare.stream || runs_ - spare.run >= kept_runs)) return true;
        return false;
    }

    // Precondition: the lock is held.
    void disown(void* stream) {
        for (auto& [address, held] : held_)
            if (held.stream == stream) held.stream = nullptr;
        for (auto& [size, spare] : spares_)
            if (spare.stream == stream) spare.stream = nullptr;
    }

    bool is_shared(void* stream) {
        const std::lock_guard<std::mutex> lock(mutex_);
        return shared_.count(stream) > 0;
    }

    bool has(size_t size) {
        const std::lock_guard<std::mutex> lock(mutex_);
        return spares_.count(size) > 0;
    }

    void* take(size_t size, void* stream, Writer first) {
        const std::lock_guard<std::mutex> lock(mutex_);
        const bool in_order = stream && first == Writer::device;
        const auto [begin, end] = spares_.equal_range(size);
        for (auto spare = begin; spare != end; ++spare) {
            if (!spare->second.settled && !(in_order && spare->second.stream == stream)) continue;
            void* const address = spare->second.address;
            spares_.erase(spare);
            held_[address] = Held{size, stream};
            return address;
        }
        return nullptr;
    }

    void* make(size_t size, void* stream) {
        constexpr int huge_first = 0;  // ACL_MEM_MALLOC_HUGE_FIRST
        void* address = nullptr;
        if (acl_->enter() || acl_->calls().aclrtMalloc(&address, size, huge_first) != 0) return nullptr;
        const std::lock_guard<std::mutex> lock(mutex_);
        held_[address] = Held{size, stream};
        return address;
    }

    // What nobody wanted for so many runs and nothing queued uses.
    void free_settled(uint64_t runs) {
        if (acl_->enter()) return;
        const std::lock_guard<std::mutex> lock(mutex_);
        for (auto at = spares_.begin(); at != spares_.end();) {
            const Spare& spare = at->second;
            const bool goes = spare.settled && runs_ - spare.run >= runs;
            if (goes) acl_->calls().aclrtFree(spare.address);
            at = goes ? spares_.erase(at) : std::next(at);
        }
    }

    const std::shared_ptr<Acl> acl_;
    std::mutex mutex_;  // of what follows
    std::unordered_map<void*, Held> held_;
    std::multimap<size_t, Spare> spares_;  // by size
    std::set<void*> shared_;               // streams
    uint64_t releases_ = 0, runs_ = 0;
};

}  // namespace ascend_fuse
