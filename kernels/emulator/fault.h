// What a chip would punish: the kinds of faults, and how a core stops at one.
#pragma once

#include <cstdint>
#include <string>

namespace ascend_fuse::emulator {

enum class FaultKind {
    unaligned_address,
    unaligned_gm,
    partial_block,
    parameter_range,
    mask_range,
    partial_overlap,
    unsupported_call,
    unsupported_dtype,
    unsupported_position,
    buffer_overrun,
    memory_overflow,
    too_many_buffers,
    too_many_tensors,
    queue_empty,
    queue_full,
    queue_foreign,
    queue_free,
    queue_left_over,
    event_range,
    event_set_twice,
    event_not_set,
    event_left_over,
    cross_core_flag,
    deadlock,
    gm_out_of_bounds,
    gm_read_only,
    gm_not_cleaned,
    unwritten_read,
    pipe_race,
    gm_race,
    kernel_failed,
};

// The stable name that tests and users see.
inline const char* fault_name(FaultKind kind) {
    static constexpr const char* names[] = {
        "unaligned-address", "unaligned-gm",      "partial-block",
        "parameter-range",   "mask-range",        "partial-overlap",
        "unsupported-call",  "unsupported-dtype", "unsupported-position",
        "buffer-overrun",    "memory-overflow",   "too-many-buffers",
        "too-many-tensors",  "queue-empty",       "queue-full",
        "queue-foreign",     "queue-free",        "queue-left-over",
        "event-range",       "event-set-twice",   "event-not-set",
        "event-left-over",   "cross-core-flag",   "deadlock",
        "gm-out-of-bounds",  "gm-read-only",      "gm-not-cleaned",
        "unwritten-read",    "pipe-race",         "gm-race",
        "kernel-failed",
    };
    static_assert(sizeof(names) / sizeof(*names) == static_cast<size_t>(FaultKind::kernel_failed) + 1);
    return names[static_cast<size_t>(kind)];
}

// Where the kernel calls: as the last, defaulted parameter of a call it is the caller's place.
struct Where {
    const char* file = "";
    int line = 0;

    static constexpr Where here(const char* file = __builtin_FILE(), int line = __builtin_LINE()) {
        return {file, line};
    }
    std::string text() const { return std::string(file) + ":" + std::to_string(line); }
};

// Ends the core that throws it; caught by run().
struct Fault {
    FaultKind kind;
    std::string text;
};

// Ends the cores of a block that runs alone: they wait for cores of other blocks.
struct NeedsAll {};

}  // namespace ascend_fuse::emulator
