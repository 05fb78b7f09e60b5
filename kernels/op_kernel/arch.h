// All that differs by chip: what its vector unit and its copies can do, barriers, names of entry points.
// Device code lies in a name space of the chip, so that objects for several chips link into one library.
// __NPU_ARCH__: 1001 910A, 2002 310P, 3002 310B, 2201 910B and 910_93, 3510 950 (CANN's compiler defines it).
#pragma once

#include "../engine/launch.h"
#include "kernel_operator.h"

#ifndef __NPU_ARCH__
#error "__NPU_ARCH__ names the chip"
#endif

#define ASCEND_FUSE_JOIN_(a, b) a##b
#define ASCEND_FUSE_JOIN(a, b) ASCEND_FUSE_JOIN_(a, b)
#define ASCEND_FUSE_ARCH ASCEND_FUSE_JOIN(arch_, __NPU_ARCH__)
#ifdef ASCEND_FUSE_EMULATOR
#define ASCEND_FUSE_KERNEL(name) ASCEND_FUSE_JOIN(ascend_fuse_##name##_, __NPU_ARCH__)
#else
#define ASCEND_FUSE_KERNEL(name) ascend_fuse_##name
#endif

// Calls that a chip's headers do not compile; constants cannot leave them out of functions that are no
// templates.
#define ASCEND_FUSE_WIDE_CASTS (__NPU_ARCH__ != 1001 && __NPU_ARCH__ != 2002)
#define ASCEND_FUSE_INT16 (__NPU_ARCH__ != 1001)
#define ASCEND_FUSE_BF16_CALLS (__NPU_ARCH__ == 3510)

namespace ascend_fuse::device::ASCEND_FUSE_ARCH {

namespace arch {

#if __NPU_ARCH__ == 1001
inline constexpr bool has_copy_pad = false;         // DataCopyPad
inline constexpr bool has_select = false;           // Select with a bit for each element
inline constexpr bool has_block_fill = false;       // Brcb
inline constexpr bool has_float_round = false;      // Cast from f32 to f32
inline constexpr bool has_reduce_sum = false;       // WholeReduceSum of f32
inline constexpr bool has_reduce_limit = false;     // WholeReduceMax that writes values alone
inline constexpr bool has_number_calls = false;     // Maxs and Mins; Adds and Muls of integers
inline constexpr bool has_integer_compare = false;  // Compare of int32, for EQ
inline constexpr bool has_shift = false;            // ShiftLeft and ShiftRight of integers
#elif __NPU_ARCH__ == 2002
inline constexpr bool has_copy_pad = false;
inline constexpr bool has_select = true;
inline constexpr bool has_block_fill = true;
inline constexpr bool has_float_round = false;
inline constexpr bool has_reduce_sum = true;
inline constexpr bool has_reduce_limit = false;
inline constexpr bool has_number_calls = true;
inline constexpr bool has_integer_compare = false;
inline constexpr bool has_shift = false;
#elif __NPU_ARCH__ == 3002
inline constexpr bool has_copy_pad = true;
inline constexpr bool has_select = true;
inline constexpr bool has_block_fill = false;
inline constexpr bool has_float_round = true;
inline constexpr bool has_reduce_sum = true;
inline constexpr bool has_reduce_limit = true;
inline constexpr bool has_number_calls = true;
inline constexpr bool has_integer_compare = false;
inline constexpr bool has_shift = true;
#elif __NPU_ARCH__ == 2201 || __NPU_ARCH__ == 3510
inline constexpr bool has_copy_pad = true;
inline constexpr bool has_select = true;
inline constexpr bool has_block_fill = true;
inline constexpr bool has_float_round = true;
inline constexpr bool has_reduce_sum = true;
inline constexpr bool has_reduce_limit = true;
inline constexpr bool has_number_calls = true;
inline constexpr bool has_integer_compare = true;
inline constexpr bool has_shift = true;
#else
#error "no kernels for this chip"
#endif

// The widest words that TransDataTo5HD takes.
#if __NPU_ARCH__ == 1001
using TurnWord = int16_t;
#else
using TurnWord = int32_t;
#endif

// Whether the vector unit is in the cube's core, and what empties L0C: the vector unit, or FixPipe. Only
// FixPipe's chips load fractals out of rows and transpose squares of any width.
#if __NPU_ARCH__ == 1001 || __NPU_ARCH__ == 2002
#define ASCEND_FUSE_LOAD "load_blocks.h"
#define ASCEND_FUSE_TAKE "../tile/take_vector.h"
inline constexpr bool has_fixpipe = false;
inline constexpr auto product_made = AscendC::HardEvent::M_V;
inline constexpr auto product_taken = AscendC::HardEvent::V_M;
#else
#define ASCEND_FUSE_LOAD "load_rows.h"
#define ASCEND_FUSE_TAKE "../tile/take_fixpipe.h"
inline constexpr bool has_fixpipe = true;
inline constexpr auto product_made = AscendC::HardEvent::M_FIX;
inline constexpr auto product_taken = AscendC::HardEvent::FIX_M;
#endif
#if __NPU_ARCH__ == 2201 || __NPU_ARCH__ == 3510
#define ASCEND_FUSE_CUBE "../block/split.h"
#define ASCEND_FUSE_CORES KERNEL_TYPE_MIX_AIC_1_2
inline constexpr bool coupled = false;
#else
#define ASCEND_FUSE_CUBE "../block/coupled.h"
#define ASCEND_FUSE_CORES KERNEL_TYPE_AICORE
inline constexpr bool coupled = true;
#endif

// How blocks lie in L0A and are loaded there, and the bias table's: the unit of its loads in bytes, and
// whether it widens bf16.
#if __NPU_ARCH__ == 3510
#define ASCEND_FUSE_LOAD_L0 "load_l0_nz.h"
inline constexpr int32_t bias_block = 32;
inline constexpr bool has_bf16_bias = true;
#else
#define ASCEND_FUSE_LOAD_L0 "load_l0_zz.h"
inline constexpr int32_t bias_block = 64;
inline constexpr bool has_bf16_bias = false;
#endif

// How an integer becomes a float: 950 wants the mode by name, 310P and 910A know only the default, which is
// the same.
#if __NPU_ARCH__ == 3510
inline constexpr auto to_float = AscendC::RoundMode::CAST_RINT;
#else
inline constexpr auto to_float = AscendC::RoundMode::CAST_NONE;
#endif

}  // namespace arch

inline constexpr int32_t block_bytes = 32;    // of UB
inline constexpr int32_t repeat_bytes = 256;  // of one iteration of a vector call
inline constexpr int32_t max_repeat = 255;
inline constexpr int32_t max_stride = 255;  // in blocks, from iteration to iteration
inline constexpr int32_t max_bursts = 4095;

__aicore__ inline int32_t round_up(int32_t value, int32_t unit) { return (value + unit - 1) / unit * unit; }
__aicore__ inline int32_t least(int32_t a, int32_t b) { return a < b ? a : b; }

// Calls of the vector unit that depend on each other are kept in order.
__aicore__ inline void barrier() { AscendC::PipeBarrier<PIPE_V>(); }

inline constexpr int32_t scalar_event = 0;  // of V_S and S_V, which queues do not use

// The scalar unit may touch what the vector unit wrote, and the reverse.
__aicore__ inline void begin_scalar() {
    AscendC::SetFlag<AscendC::HardEvent::V_S>(scalar_event);
    AscendC::WaitFlag<AscendC::HardEvent::V_S>(scalar_event);
}
__aicore__ inline void end_scalar() {
    AscendC::SetFlag<AscendC::HardEvent::S_V>(scalar_event);
    AscendC::WaitFlag<AscendC::HardEvent::S_V>(scalar_event);
}

// Results of 16 bits keep infinity and NaN. Without this switch they become the largest value and 0, which is
// what chips do that do not have it.
__aicore__ inline void keep_infinities() {
#if __NPU_ARCH__ == 2201 || __NPU_ARCH__ == 3510
    AscendC::SetCtrlSpr<48, 48>(1);
#endif
}

// g++ drops the attribute of a mere name for uint32_t inside of templates.
struct __attribute__((may_alias)) Word {
    uint32_t value;
};

// A record of the launch, word by word: address spaces of the chip do not copy structures.
template <typename Record>
__aicore__ inline Record fetch(GM_ADDR launch, int32_t table, int32_t index) {
    static_assert(sizeof(Record) % sizeof(Word) == 0, "records are made of words");
    Record record;
    auto* to = reinterpret_cast<Word*>(&record);
    auto* from =
        reinterpret_cast<__gm__ Word*>(launch + table + index * static_cast<int32_t>(sizeof(Record)));
    for (uint32_t i = 0; i < sizeof(Record) / sizeof(Word); ++i) to[i].value = from[i].value;
    return record;
}

}  // namespace ascend_fuse::device::ASCEND_FUSE_ARCH
