// The matmul kernel: tiles of a product, and what follows it.
#include "../arch.h"
#include ASCEND_FUSE_CUBE

extern "C" __global__ __aicore__ void ASCEND_FUSE_KERNEL(matmul)(GM_ADDR launch, GM_ADDR tensors) {
    KERNEL_TASK_TYPE_DEFAULT(ASCEND_FUSE_CORES);
    using namespace ascend_fuse::device;
    using namespace ascend_fuse::device::ASCEND_FUSE_ARCH;
    keep_infinities();
    run_gemm(
        GemmLaunch{launch, reinterpret_cast<__gm__ uint64_t*>(tensors), fetch<GemmHeader>(launch, 0, 0)});
}
