// Faults of vector calls.
#include "case.h"

namespace emulator_case {

CASE(address_of_result) {
    const auto a = Scratch().ones();
    Add(a[1], a[64], a[64], 8);  // fault: unaligned-address
}
CASE(mask_beyond_lanes) {
    const auto a = Scratch().ones();
    Add(a, a, a, 65, 1, BinaryRepeatParams());  // fault: mask-range
}
CASE(mask_of_no_lane) {
    const auto a = Scratch().ones();
    uint64_t mask[2] = {0, 0};
    Exp(a, a, mask, 1, UnaryRepeatParams());  // fault: mask-range
}
CASE(repeats_beyond_a_byte) {
    const auto a = Scratch().ones();
    Add(a, a, a, 64, 256, BinaryRepeatParams(1, 1, 1, 0, 0, 0));  // fault: parameter-range
}
CASE(stride_beyond_a_byte) {
    const auto a = Scratch(65536).ones();
    Adds(a, a, 1.0f, 64, 2, UnaryRepeatParams(1, 1, 256, 256));  // fault: parameter-range
}
CASE(overlap_in_part) {
    const auto a = Scratch().ones();
    Mul(a[8], a, a, 64);  // fault: partial-overlap
}
CASE(overlap_of_repeats) {
    const auto a = Scratch().ones();
    Exp(a[64], a, 64, 2, UnaryRepeatParams());  // fault: partial-overlap
}
CASE(overlap_of_widening) {
    Scratch scratch;
    const auto a = scratch.ones();
    Cast(a, a.ReinterpretCast<half>(), RoundMode::CAST_NONE, 64);  // fault: partial-overlap
}
CASE(overlap_of_brcb) {
    const auto a = Scratch().ones();
    Brcb(a, a, 1, BrcbRepeatParams(1, 8));  // fault: partial-overlap
}
CASE(bf16_add) {
    Scratch scratch;
    const auto a = scratch.ones().ReinterpretCast<bfloat16_t>();
    Add(a, a, a, 16);  // fault: unsupported-dtype
}
CASE(int_divide) {
    Scratch scratch;
    const auto a = scratch.ones().ReinterpretCast<int32_t>();
    Div(a, a, a, 8);  // fault: unsupported-dtype
}
CASE(int_order) {
    Scratch scratch;
    const auto a = scratch.ones().ReinterpretCast<int32_t>();
    const auto bits = a.ReinterpretCast<uint8_t>()[4096];
    Compare(bits, a, a, CMPMODE::LT, 64);  // fault: unsupported-dtype
}
CASE(int_add_scalar) {  // on Ascend910A
    Scratch scratch;
    const auto a = scratch.ones().ReinterpretCast<int32_t>();
    Adds(a, a, 1, 8);  // fault: unsupported-dtype
}
CASE(cast_to_int) {  // on Ascend910A
    Scratch scratch;
    const auto a = scratch.ones();
    Cast(a.ReinterpretCast<int32_t>(), a, RoundMode::CAST_RINT, 8);  // fault: unsupported-dtype
}
CASE(cast_of_a_mode) {
    Scratch scratch;
    const auto a = scratch.ones();
    Cast(a[1024], a.ReinterpretCast<half>(), RoundMode::CAST_FLOOR, 8);  // fault: parameter-range
}
CASE(copy_of_lanes) {  // on Ascend910A
    const auto a = Scratch().ones();
    Copy(a[64], a, 64, 1, CopyRepeatParams(1, 1, 8, 8));  // fault: unsupported-call
}
CASE(select_of_a_mode) {  // on Ascend910A
    const auto a = Scratch().ones();
    const auto bits = a.ReinterpretCast<uint8_t>()[4096];
    Select(a, bits, a, 0.0f, SELMODE::VSEL_TENSOR_SCALAR_MODE, 64u);  // fault: unsupported-call
}
CASE(float_sum) {  // on Ascend910A
    const auto a = Scratch().ones();
    WholeReduceSum(a[64], a, 64, 1, 1, 1, 8);  // fault: unsupported-dtype
}
CASE(compare_of_part) {
    const auto a = Scratch().ones();
    const auto bits = a.ReinterpretCast<uint8_t>()[4096];
    Compare(bits, a, a, CMPMODE::GE, 63);  // fault: parameter-range
}
CASE(index_only_of_310b) {  // on Ascend310B1
    const auto a = Scratch().ones();
    WholeReduceMax(a[64], a, 64, 1, 1, 1, 8, ReduceOrder::ORDER_ONLY_INDEX);  // fault: unsupported-call
}
CASE(behind_the_buffer) {
    const auto a = Scratch(256).ones();
    Add(a, a, a, 65);  // fault: buffer-overrun
}
CASE(repeats_behind_the_buffer) {
    const auto a = Scratch(1024).ones();
    Add(a, a, a, 64, 4, BinaryRepeatParams(1, 1, 1, 16, 16, 16));  // fault: buffer-overrun
}
CASE(tensor_beyond_its_buffer) {
    Scratch scratch(256);
    scratch.buffer.Get<float>(65);  // fault: buffer-overrun
}
CASE(vector_on_l1) {
    TPipe pipe;
    TBuf<TPosition::A1> buffer;
    pipe.InitBuffer(buffer, 256);
    const auto a = buffer.Get<float>();
    Duplicate(a, 1.0f, 64);  // fault: unsupported-position
}
CASE(no_such_position) {
    TPipe pipe;
    TBuf<TPosition::MAX> buffer;
    pipe.InitBuffer(buffer, 256);  // fault: unsupported-position
}
CASE(reduction_of_unwritten) {
    Scratch scratch;
    const auto a = scratch.get();
    Duplicate(a, 1.0f, 63);
    PipeBarrier<PIPE_V>();
    WholeReduceSum(a[64], a, 64, 1, 1, 1, 8);  // fault: unwritten-read
}
CASE(scalar_read_of_unwritten) {
    Scratch scratch;
    scratch.get().GetValue(3);  // fault: unwritten-read
}
CASE(gather_by_unwritten) {
    Scratch scratch;
    const auto a = scratch.get();
    Gather(a, a[64], a[128].ReinterpretCast<uint32_t>(), 0, 8);  // fault: unwritten-read
}
CASE(gather_behind_the_buffer) {
    Scratch scratch;
    const auto a = scratch.get();
    Duplicate(a.ReinterpretCast<uint32_t>(), 8192u, 8);
    PipeBarrier<PIPE_V>();
    Gather(a[64], a, a.ReinterpretCast<uint32_t>(), 0, 8);  // fault: buffer-overrun
}

}  // namespace emulator_case
