// The time of launches. std::chrono's clocks cost 70 ns on virtual machines, a third of a small operator's
// run; the processor's counter of ticks costs 15 ns, and what a tick is, is measured when somebody asks.
#pragma once

#include <chrono>
#include <cstdint>

namespace ascend_fuse {

// Of a counter that runs at a constant rate, whatever the frequency of the core.
inline int64_t now_ticks() {
#if defined(__x86_64__)
    return static_cast<int64_t>(__builtin_ia32_rdtsc());
#elif defined(__aarch64__)
    int64_t ticks;
    asm volatile("mrs %0, cntvct_el0" : "=r"(ticks));
    return ticks;
#else
    return std::chrono::steady_clock::now().time_since_epoch().count();
#endif
}

// Both clocks at one time.
struct Instant {
    std::chrono::steady_clock::time_point time = std::chrono::steady_clock::now();
    int64_t ticks = now_ticks();
};

inline const Instant loaded;  // when the library was loaded

// A number of ticks in microseconds, by the rate of ticks since the library was loaded.
inline double us_of(int64_t ticks) {
    const Instant now;
    const int64_t passed = now.ticks - loaded.ticks;
    const double passed_us = std::chrono::duration<double, std::micro>(now.time - loaded.time).count();
    return passed > 0 ? static_cast<double>(ticks) * passed_us / static_cast<double>(passed) : 0;
}

// Adds the ticks that it lives.
class Stopwatch {
  public:
    explicit Stopwatch(int64_t& ticks) : ticks_(ticks), start_(now_ticks()) {}
    ~Stopwatch() { ticks_ += now_ticks() - start_; }

  private:
    int64_t& ticks_;
    const int64_t start_;
};

}  // namespace ascend_fuse
