// Faults of TransDataTo5HD.
#include "case.h"

namespace emulator_case {

// Sixteen blocks, `step` elements apart.
template <typename T>
struct List {
    LocalTensor<T> blocks[16];

    List(const LocalTensor<T>& first, uint32_t step) {
        for (uint32_t i = 0; i < 16; ++i) blocks[i] = first[i * step];
    }
};

CASE(turn_unaligned) {
    const auto a = Scratch().ones();
    const List<float> from(a, 8), to(a[1028], 8);
    TransDataTo5HD<float>(to.blocks, from.blocks, {});  // fault: unaligned-address
}
CASE(turn_in_place) {
    const auto a = Scratch().ones();
    const List<float> from(a, 8), to(a[64], 8);
    TransDataTo5HD<float>(to.blocks, from.blocks, {});  // fault: partial-overlap
}
CASE(turn_to_one_block) {
    const auto a = Scratch().ones();
    const List<float> from(a, 8), to(a[1024], 0);
    TransDataTo5HD<float>(to.blocks, from.blocks, {});  // fault: partial-overlap
}
CASE(turn_repeats_that_meet) {
    const auto a = Scratch().ones();
    const List<float> from(a, 8), to(a[1024], 8);
    TransDataTo5HD<float>(to.blocks, from.blocks, {false, false, 2, 8, 0});  // fault: partial-overlap
}
CASE(turn_one_repeat_with_a_stride) {
    const auto a = Scratch(4096).ones();
    const List<float> from(a, 8), to(a[896], 8);
    TransDataTo5HD<float>(to.blocks, from.blocks, {false, false, 1, 16, 0});  // fault: buffer-overrun
}
CASE(turn_words_of_four_bytes) {  // on Ascend910A
    const auto a = Scratch().ones();
    const List<float> from(a, 8), to(a[1024], 8);
    TransDataTo5HD<float>(to.blocks, from.blocks, {});  // fault: unsupported-dtype
}
CASE(turn_bf16) {
    Scratch scratch;
    const auto a = scratch.ones().ReinterpretCast<bfloat16_t>();
    const List<bfloat16_t> from(a, 16), to(a[2048], 16);
    TransDataTo5HD<bfloat16_t>(to.blocks, from.blocks, {});  // fault: unsupported-dtype
}
CASE(turn_what_nobody_wrote) {
    Scratch scratch;
    const auto a = scratch.get<float>();
    const List<float> from(a, 8), to(a[1024], 8);
    TransDataTo5HD<float>(to.blocks, from.blocks, {});
    PipeBarrier<PIPE_ALL>();
    DataCopy(tensor<float>(tensors, 1), a[1024], 128);  // fault: unwritten-read
}
CASE(turn_without_a_barrier) {
    Scratch scratch;
    const auto a = scratch.ones();
    Adds(a, a, 1.0f, 128);
    const List<float> from(a, 8), to(a[1024], 8);
    TransDataTo5HD<float>(to.blocks, from.blocks, {});  // fault: pipe-race
}

}  // namespace emulator_case
