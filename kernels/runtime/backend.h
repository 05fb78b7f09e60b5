// Where launches run.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "draw.h"
#include "lowered.h"
#include "result.h"
#include "soc.h"

namespace ascend_fuse {

// Calls the function with 0 … n - 1, from several threads if it can.
using ParallelFor = std::function<void(size_t n, const std::function<void(size_t)>& call)>;

inline void serially(size_t n, const std::function<void(size_t)>& call) {
    for (size_t i = 0; i < n; ++i) call(i);
}

// What a launch may touch of one tensor, in the order of its table of addresses.
struct TensorAccess {
    int64_t bytes = 0;
    bool writable = false;
};

// What one launch moved, as far as the backend can tell.
struct Traffic {
    int64_t launches = 0, loaded_bytes = 0, stored_bytes = 0, ub_peak = 0;
    int64_t distinct_loaded_bytes = 0, distinct_stored_bytes = 0;  // each byte of a tensor once a launch
};

// What the caller of a run lends it.
struct Caller {
    const ParallelFor& parallel;
    void* stream = nullptr;  // of the device: what is queued there is waited for by whoever reads
};

// Who writes to memory before anything else does.
enum class Writer { device, host };

// A launch whose block and kernel are where the backend wants them.
class PreparedLaunch {
  public:
    virtual ~PreparedLaunch() = default;
    // `tensors`: an address for each access. May be called by several threads at once.
    virtual std::optional<Error> run(const Draw& draw, void* const* tensors, const Caller& caller,
                                     Traffic& traffic) = 0;
};

class Backend {
  public:
    virtual ~Backend() = default;
    virtual const char* name() const = 0;
    // Whether its kernels reach only memory that `allocate` gave, or another provider of the device.
    virtual bool own_memory() const { return false; }
    // Host memory to a block that the host may write to.
    virtual std::optional<Error> upload(void*, const void*, int64_t) { return std::nullopt; }
    // The stream of a run, where the backend has any: what the caller lent, else its own.
    virtual void* stream(void* lent) { return lent; }
    // Memory that the backend's kernels reach, for work on that stream; null when there is none left.
    virtual void* allocate(int64_t bytes, void* stream, Writer first) = 0;
    // Work on its stream that is not done yet may go on using it.
    virtual void release(void* address) = 0;
    virtual Result<std::shared_ptr<PreparedLaunch>> prepare(Launch launch, std::vector<TensorAccess> accesses,
                                                            const Soc& soc) = 0;
    // Around the launches of a node. Where the caller lent no stream: whoever wrote its inputs has ended; its
    // launches have.
    virtual std::optional<Error> begin(void*) { return std::nullopt; }
    virtual std::optional<Error> finish(void*) { return std::nullopt; }
    // Until all that was queued has ended.
    virtual std::optional<Error> wait() { return std::nullopt; }
};

// Memory of a backend; empty when there was none left.
class Block {
  public:
    Block() = default;
    Block(Backend& backend, int64_t bytes, void* stream = nullptr, Writer first = Writer::device)
        : backend_(&backend), address_(backend.allocate(bytes, stream, first)), bytes_(bytes) {}
    Block(Block&& other) noexcept { *this = std::move(other); }
    Block& operator=(Block&& other) noexcept {
        std::swap(backend_, other.backend_);
        std::swap(address_, other.address_);
        std::swap(bytes_, other.bytes_);
        return *this;
    }
    ~Block() {
        if (address_) backend_->release(address_);
    }
    void* address() const { return address_; }
    int64_t bytes() const { return bytes_; }

  private:
    Backend* backend_ = nullptr;
    void* address_ = nullptr;
    int64_t bytes_ = 0;
};

}  // namespace ascend_fuse
