// Kernels that nobody calls.
#include <cstdint>

#define ASCEND_FUSE_KERNELS_OF(arch)                                      \
    extern "C" void ascend_fuse_elementwise_##arch(uint8_t*, uint8_t*) {} \
    extern "C" void ascend_fuse_rowwise_##arch(uint8_t*, uint8_t*) {}     \
    extern "C" void ascend_fuse_transform_##arch(uint8_t*, uint8_t*) {}   \
    extern "C" void ascend_fuse_matmul_##arch(uint8_t*, uint8_t*) {}

ASCEND_FUSE_KERNELS_OF(1001)
ASCEND_FUSE_KERNELS_OF(2002)
ASCEND_FUSE_KERNELS_OF(2201)
ASCEND_FUSE_KERNELS_OF(3002)
ASCEND_FUSE_KERNELS_OF(3510)
