// Entry points of the vector families. Elements are rows without reductions, and any of them may lie turned
// in memory, so all are one kernel under three names.
#include "../block/sweep.h"

extern "C" __global__ __aicore__ void ASCEND_FUSE_KERNEL(elementwise)(GM_ADDR launch, GM_ADDR tensors) {
    KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_AIV_ONLY);
    ascend_fuse::device::ASCEND_FUSE_ARCH::keep_infinities();
    ascend_fuse::device::ASCEND_FUSE_ARCH::VectorCore(launch, tensors).run();
}

extern "C" __global__ __aicore__ void ASCEND_FUSE_KERNEL(rowwise)(GM_ADDR launch, GM_ADDR tensors) {
    KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_AIV_ONLY);
    ascend_fuse::device::ASCEND_FUSE_ARCH::keep_infinities();
    ascend_fuse::device::ASCEND_FUSE_ARCH::VectorCore(launch, tensors).run();
}

extern "C" __global__ __aicore__ void ASCEND_FUSE_KERNEL(transform)(GM_ADDR launch, GM_ADDR tensors) {
    KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_AIV_ONLY);
    ascend_fuse::device::ASCEND_FUSE_ARCH::keep_infinities();
    ascend_fuse::device::ASCEND_FUSE_ARCH::VectorCore(launch, tensors).run();
}
