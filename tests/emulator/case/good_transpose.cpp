// TransDataTo5HD without faults.
#include "case.h"

namespace emulator_case {

// A matrix of 16 rows and `repeats` blocks, row by row, turned; one repeat begins `skip` blocks behind its
// lists.
template <typename T>
void turn_rows(GM_ADDR launch, GM_ADDR tensors) {
    constexpr auto lanes = static_cast<uint32_t>(32 / sizeof(T)), blocks = 16 / lanes;
    const auto repeats = static_cast<uint32_t>(parameter(launch, 0));
    const auto skip = static_cast<uint32_t>(parameter(launch, 1));
    const uint32_t cols = (repeats + skip) * lanes;
    Scratch scratch(65536);
    const auto from = scratch.get<T>(), to = from[16 * cols];
    DataCopy(from, tensor<T>(tensors, 0), 16 * cols);
    PipeBarrier<PIPE_ALL>();
    LocalTensor<T> rows[16], made[16];
    for (uint32_t i = 0; i < 16; ++i) {
        rows[i] = from[i * cols];
        made[i] = to[i / blocks * 16 + i % blocks * lanes];
    }
    TransDataTo5HDParams params;
    params.repeatTimes = static_cast<uint8_t>(repeats);
    params.srcRepStride = static_cast<uint16_t>(repeats > 1 ? 1 : skip);
    params.dstRepStride = static_cast<uint16_t>(repeats > 1 ? 16 : 0);
    TransDataTo5HD<T>(made, rows, params);
    PipeBarrier<PIPE_ALL>();
    DataCopy(tensor<T>(tensors, 1), to, 16 * repeats * lanes);
}

CASE(turn_halves) { turn_rows<half>(launch, tensors); }
CASE(turn_words) { turn_rows<int32_t>(launch, tensors); }

}  // namespace emulator_case
