// Macros, enumerations and parameter records of the device headers, as far as our kernels use them.
#pragma once

#include <cstdint>

#include "clock.h"
#include "fault.h"
#include "number.h"

#define __gm__
#define __ubuf__
#define __aicore__
#define __global__
#define __inline__ inline
#define GM_ADDR __gm__ uint8_t*
#define KERNEL_TASK_TYPE_DEFAULT(value)

namespace AscendC {

using ascend_fuse::emulator::Where;

enum class TPosition : uint8_t {
    GM,
    A1,
    A2,
    B1,
    B2,
    C1,
    C2,
    CO1,
    CO2,
    VECIN,
    VECOUT,
    VECCALC,
    LCM = VECCALC,
    SPM,
    SHM = SPM,
    TSCM,
    C2PIPE2GM,
    C2PIPE2LOCAL,
    MAX,
};
using QuePosition = TPosition;

enum class HardEvent : uint8_t {
    MTE2_MTE1,
    MTE1_MTE2,
    MTE1_M,
    M_MTE1,
    MTE2_V,
    V_MTE2,
    MTE3_V,
    V_MTE3,
    M_V,
    V_M,
    V_V,
    MTE3_MTE1,
    MTE1_MTE3,
    MTE1_V,
    MTE2_M,
    M_MTE2,
    V_MTE1,
    M_FIX,
    FIX_M,
    MTE3_MTE2,
    MTE2_MTE3,
    S_V,
    V_S,
    S_MTE2,
    MTE2_S,
    S_MTE3,
    MTE3_S,
    MTE2_FIX,
    FIX_MTE2,
    FIX_S,
    M_S,
    FIX_MTE3,
    MTE1_FIX,
    FIX_MTE1,
    FIX_FIX,
    MAX,
};
using TEventID = int8_t;

enum class RoundMode : uint8_t {
    CAST_NONE,
    CAST_RINT,
    CAST_FLOOR,
    CAST_CEIL,
    CAST_ROUND,
    CAST_TRUNC,
    CAST_ODD,
    UNKNOWN = 0xFF,
};
enum class CMPMODE : uint8_t { LT, GT, EQ, LE, GE, NE };
enum class SELMODE : uint8_t { VSEL_CMPMASK_SPR, VSEL_TENSOR_SCALAR_MODE, VSEL_TENSOR_TENSOR_MODE };
enum class ReduceOrder : uint8_t { ORDER_VALUE_INDEX, ORDER_INDEX_VALUE, ORDER_ONLY_VALUE, ORDER_ONLY_INDEX };
enum class CacheLine : uint64_t { SINGLE_CACHE_LINE, ENTIRE_DATA_CACHE };
enum class DcciDst : uint64_t { CACHELINE_ALL, CACHELINE_UB, CACHELINE_OUT, CACHELINE_ATOMIC };

inline constexpr uint32_t ONE_BLK_SIZE = 32;
inline constexpr int32_t DEFAULT_BLK_NUM = 8;
inline constexpr int32_t DEFAULT_BLK_STRIDE = 1;
inline constexpr uint8_t DEFAULT_REPEAT_STRIDE = 8;

// Strides in blocks of 32 B. Fields and parameters are wider than the device's, so that the calls can tell
// what would not fit there.
struct UnaryRepeatParams {
    UnaryRepeatParams() = default;
    UnaryRepeatParams(int32_t dst_block, int32_t src_block, int32_t dst_repeat, int32_t src_repeat)
        : dstBlkStride(dst_block),
          srcBlkStride(src_block),
          dstRepStride(dst_repeat),
          srcRepStride(src_repeat) {}

    int32_t dstBlkStride = DEFAULT_BLK_STRIDE, srcBlkStride = DEFAULT_BLK_STRIDE;
    int32_t dstRepStride = DEFAULT_REPEAT_STRIDE, srcRepStride = DEFAULT_REPEAT_STRIDE;
};

struct BinaryRepeatParams {
    BinaryRepeatParams() = default;
    BinaryRepeatParams(int32_t dst_block, int32_t src0_block, int32_t src1_block, int32_t dst_repeat,
                       int32_t src0_repeat, int32_t src1_repeat)
        : dstBlkStride(dst_block),
          src0BlkStride(src0_block),
          src1BlkStride(src1_block),
          dstRepStride(dst_repeat),
          src0RepStride(src0_repeat),
          src1RepStride(src1_repeat) {}

    int32_t dstBlkStride = DEFAULT_BLK_STRIDE, src0BlkStride = DEFAULT_BLK_STRIDE,
            src1BlkStride = DEFAULT_BLK_STRIDE;
    int32_t dstRepStride = DEFAULT_REPEAT_STRIDE, src0RepStride = DEFAULT_REPEAT_STRIDE,
            src1RepStride = DEFAULT_REPEAT_STRIDE;
};

struct BrcbRepeatParams {
    BrcbRepeatParams() = default;
    BrcbRepeatParams(uint16_t dst_block, uint16_t dst_repeat)
        : dstRepStride(dst_repeat), dstBlkStride(dst_block) {}

    uint16_t dstRepStride = DEFAULT_REPEAT_STRIDE;
    uint16_t dstBlkStride = DEFAULT_BLK_STRIDE;
};

struct CopyRepeatParams {
    CopyRepeatParams() = default;
    CopyRepeatParams(uint16_t dst_block, uint16_t src_block, uint16_t dst_repeat, uint16_t src_repeat)
        : dstStride(dst_block), srcStride(src_block), dstRepeatSize(dst_repeat), srcRepeatSize(src_repeat) {}

    uint16_t dstStride = 0, srcStride = 0;
    uint16_t dstRepeatSize = DEFAULT_REPEAT_STRIDE, srcRepeatSize = DEFAULT_REPEAT_STRIDE;
};

// Lengths and gaps in blocks of 32 B.
struct DataCopyParams {
    DataCopyParams() = default;
    DataCopyParams(uint16_t count, uint16_t length, uint16_t source, uint16_t destination)
        : blockCount(count), blockLen(length), srcStride(source), dstStride(destination) {}

    uint16_t blockCount = 1, blockLen = 0;
    union {
        uint16_t srcGap;
        uint16_t srcStride = 0;
    };
    union {
        uint16_t dstGap;
        uint16_t dstStride = 0;
    };
};

// Length in bytes; gaps in bytes in GM, in blocks of 32 B on chip. The fields hold the gaps of every chip;
// those of all but 3510 are 32 bits, which the calls check.
struct DataCopyExtParams {
    DataCopyExtParams() = default;
    DataCopyExtParams(uint16_t count, uint32_t length, int64_t source, int64_t destination, uint32_t reserved)
        : blockCount(count), blockLen(length), srcStride(source), dstStride(destination), rsv(reserved) {}

    uint16_t blockCount = 1;
    uint32_t blockLen = 0;
    int64_t srcStride = 0, dstStride = 0;
    uint32_t rsv = 0;
};

template <typename T>
struct DataCopyPadExtParams {
    DataCopyPadExtParams() = default;
    DataCopyPadExtParams(bool pad, uint8_t left, uint8_t right, T value)
        : isPad(pad), leftPadding(left), rightPadding(right), paddingValue(value) {}

    bool isPad = false;
    uint8_t leftPadding = 0, rightPadding = 0;
    T paddingValue = 0;
};

}  // namespace AscendC
