// The C surface of the plugin library beside ONNX Runtime's: counters, and programs run without ONNX Runtime.
#pragma once

#include <cstdint>

#define ASCEND_FUSE_EXPORT extern "C" __attribute__((visibility("default")))

extern "C" {

struct AscendFuseTensor {
    int32_t dtype;  // by position: f16 bf16 f32 f64 i8 i16 i32 i64 u8 u16 u32 u64 bool
    int32_t rank;
    const int64_t* sizes;
    void* address;
};

// A launch as `lower` made it. `family` by position: elementwise, rowwise, matmul, transform.
struct AscendFuseLaunch {
    const void* block;
    int64_t bytes, block_dim;
    int32_t family, mixed;
    uint64_t key, run;  // of its draws
};

struct AscendFuseRegion {
    void* address;
    int64_t bytes;
    int32_t writable;
};

struct AscendFuseCall;  // a program with its inputs bound, which may run
}

// JSON of all nodes that ran since the last reset; valid until the thread's next call.
ASCEND_FUSE_EXPORT const char* ascend_fuse_counters() noexcept;
ASCEND_FUSE_EXPORT void ascend_fuse_reset_counters() noexcept;

// What is wrong with the thread's last call that failed.
ASCEND_FUSE_EXPORT const char* ascend_fuse_error() noexcept;

// `options`: lines `name=value`, as the provider's. Null on failure.
ASCEND_FUSE_EXPORT AscendFuseCall* ascend_fuse_prepare(const char* program, const char* options,
                                                       const AscendFuseTensor* inputs,
                                                       int32_t count) noexcept;
// Dtype and sizes of an output, without an address; valid as long as the call.
ASCEND_FUSE_EXPORT int32_t ascend_fuse_outputs(const AscendFuseCall* call) noexcept;
ASCEND_FUSE_EXPORT AscendFuseTensor ascend_fuse_output(const AscendFuseCall* call, int32_t output) noexcept;
// The inputs of `prepare` must still be there. 0 on success.
ASCEND_FUSE_EXPORT int32_t ascend_fuse_execute(AscendFuseCall* call, void* const* outputs) noexcept;
// JSON of what the call did so far; valid until the thread's next call.
ASCEND_FUSE_EXPORT const char* ascend_fuse_report(const AscendFuseCall* call) noexcept;
// Runs one launch on the emulated chip; `tensors` in the order of its table, its workspace last. JSON of what
// it did, valid until the thread's next call; null on failure.
ASCEND_FUSE_EXPORT const char* ascend_fuse_launch(const AscendFuseLaunch* launch, const char* soc,
                                                  const AscendFuseRegion* tensors, int32_t count) noexcept;
ASCEND_FUSE_EXPORT void ascend_fuse_release(AscendFuseCall* call) noexcept;
