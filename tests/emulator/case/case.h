// Small kernels for the tests, by name. A comment `fault: KIND` marks the line where the emulator has to
// stop; `on CHIP` and `mixed` behind CASE say how the kernel is launched.
#pragma once

#include "kernel_operator.h"

namespace emulator_case {

struct Case {
    const char* name;
    void (*entry)(GM_ADDR launch, GM_ADDR tensors);
    Case* next;

    Case(const char* of, void (*kernel)(GM_ADDR, GM_ADDR)) : name(of), entry(kernel), next(first) {
        first = this;
    }
    inline static Case* first = nullptr;
};

using namespace AscendC;

template <typename T>
GlobalTensor<T> tensor(GM_ADDR tensors, int index) {
    GlobalTensor<T> view;
    view.SetGlobalBuffer(reinterpret_cast<T*>(reinterpret_cast<uint64_t*>(tensors)[index]));
    return view;
}

inline int64_t parameter(GM_ADDR launch, int index) { return reinterpret_cast<int64_t*>(launch)[index]; }

// A buffer in UB, as written to as the test wants it.
struct Scratch {
    TPipe pipe;
    TBuf<TPosition::VECCALC> buffer;

    explicit Scratch(uint32_t bytes = 8192) { pipe.InitBuffer(buffer, bytes); }
    template <typename T = float>
    LocalTensor<T> get() {
        return buffer.Get<T>();
    }
    // Ones, and nothing in flight.
    LocalTensor<float> ones() {
        const auto all = get<float>();
        Duplicate(all, 1.0f, static_cast<int32_t>(all.GetSize()));
        PipeBarrier<PIPE_ALL>();
        return all;
    }
};

}  // namespace emulator_case

#define CASE(name)                                       \
    static void name(GM_ADDR, GM_ADDR);                  \
    static emulator_case::Case name##_case{#name, name}; \
    static void name([[maybe_unused]] GM_ADDR launch, [[maybe_unused]] GM_ADDR tensors)
