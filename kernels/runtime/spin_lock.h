// A lock for what takes nanoseconds.
#pragma once

#include <atomic>
#include <thread>

namespace ascend_fuse {

// For std::lock_guard. It is given up by a plain store, where a mutex costs two atomic exchanges and two
// calls.
class SpinLock {
  public:
    void lock() {
        while (taken_.exchange(true, std::memory_order_acquire)) std::this_thread::yield();
    }
    bool try_lock() { return !taken_.exchange(true, std::memory_order_acquire); }
    void unlock() { taken_.store(false, std::memory_order_release); }

  private:
    std::atomic<bool> taken_{false};
};

}  // namespace ascend_fuse
