// Faults of global memory and between cores. Tensor 0 is an input, 1 an output, 2 a workspace.
#include "case.h"

namespace emulator_case {

using Blocks = DataCopyExtParams;
using Padding = DataCopyPadExtParams<float>;
using LongPadding = DataCopyPadExtParams<int64_t>;

CASE(load_beyond_a_tensor) {
    const auto a = Scratch().get();
    DataCopyPad(a, tensor<float>(tensors, 0)[1020], Blocks(1, 20, 0, 0, 0),
                Padding());  // fault: gm-out-of-bounds
}
CASE(store_beyond_a_tensor) {
    const auto a = Scratch().ones();
    DataCopyPad(tensor<float>(tensors, 1)[1000], a, Blocks(4, 4, 0, 28, 0));  // fault: gm-out-of-bounds
}
CASE(store_to_an_input) {
    const auto a = Scratch().ones();
    DataCopy(tensor<float>(tensors, 0), a, 8);  // fault: gm-read-only
}
CASE(store_of_unwritten) {
    const auto a = Scratch().get();
    Duplicate(a, 1.0f, 12);
    PipeBarrier<PIPE_ALL>();
    DataCopy(tensor<float>(tensors, 1), a, 16);  // fault: unwritten-read
}
CASE(store_of_padding) {
    const auto a = Scratch().get();
    DataCopyPad(a, tensor<float>(tensors, 0), Blocks(1, 12, 0, 0, 0), Padding());
    PipeBarrier<PIPE_ALL>();
    Exp(a, a, 8);
    PipeBarrier<PIPE_ALL>();
    DataCopy(tensor<float>(tensors, 1), a, 8);  // fault: unwritten-read
}
CASE(load_of_unwritten_output) {
    const auto a = Scratch().get();
    DataCopy(a, tensor<float>(tensors, 2), 8);
    PipeBarrier<PIPE_ALL>();
    DataCopy(tensor<float>(tensors, 1), a, 8);  // fault: unwritten-read
}
CASE(copy_of_part_of_a_block) {
    const auto a = Scratch().get();
    DataCopy(a, tensor<float>(tensors, 0), 12);  // fault: partial-block
}
CASE(copy_to_an_odd_address) {
    const auto a = Scratch().get();
    DataCopy(a[4], tensor<float>(tensors, 0), 8);  // fault: unaligned-address
}
CASE(copy_from_an_odd_address) {
    const auto a = Scratch().get();
    GlobalTensor<float> odd;
    odd.SetGlobalBuffer(reinterpret_cast<float*>(reinterpret_cast<uint64_t*>(tensors)[0] + 2));
    DataCopy(a, odd, 8);  // fault: unaligned-gm
}
CASE(pad_on_910a) {  // on Ascend910A
    const auto a = Scratch().get();
    DataCopyPad(a, tensor<float>(tensors, 0), Blocks(1, 12, 0, 0, 0), Padding());  // fault: unsupported-call
}
CASE(pad_of_64_bits_on_310b) {  // on Ascend310B1
    const auto a = Scratch().get<int64_t>();
    DataCopyPad(a, tensor<int64_t>(tensors, 0), Blocks(1, 8, 0, 0, 0),
                LongPadding());  // fault: unsupported-dtype
}
CASE(blocks_beyond_4095) {
    const auto a = Scratch(160 * 1024).get();
    DataCopyPad(a, tensor<float>(tensors, 0), Blocks(4096, 4, 0, 0, 0), Padding());  // fault: parameter-range
}
CASE(padding_beyond_a_block) {
    const auto a = Scratch().get();
    DataCopyPad(a, tensor<float>(tensors, 0), Blocks(1, 12, 0, 0, 0),
                Padding(true, 9, 0, 0));  // fault: parameter-range
}
CASE(length_of_part_of_an_element) {
    const auto a = Scratch().get();
    DataCopyPad(a, tensor<float>(tensors, 0), Blocks(1, 10, 0, 0, 0), Padding());  // fault: parameter-range
}
CASE(scalar_store_in_the_cache) {
    tensor<float>(tensors, 1).SetValue(0, 1.0f);  // fault: gm-not-cleaned
}
CASE(scalar_store_cleaned_in_part) {
    auto out = tensor<float>(tensors, 1);
    out.SetValue(0, 1.0f);  // fault: gm-not-cleaned
    DataCacheCleanAndInvalid<float, CacheLine::SINGLE_CACHE_LINE, DcciDst::CACHELINE_OUT>(out[1]);
}
CASE(two_cores_on_a_byte) {  // 2 cores
    const auto a = Scratch().ones();
    DataCopyPad(tensor<float>(tensors, 1)[GetBlockIdx() * 7], a, Blocks(1, 32, 0, 0, 0));  // fault: gm-race
}
CASE(two_cores_on_a_cache_line) {  // 2 cores
    auto out = tensor<float>(tensors, 1);
    out.SetValue(GetBlockIdx(), 1.0f);  // fault: gm-race
    DataCacheCleanAndInvalid<float, CacheLine::ENTIRE_DATA_CACHE, DcciDst::CACHELINE_OUT>(out);
}
CASE(load_behind_a_store) {
    const auto a = Scratch().ones();
    DataCopy(tensor<float>(tensors, 2), a, 8);
    DataCopy(a[64], tensor<float>(tensors, 2), 8);  // fault: gm-race
}
CASE(store_behind_a_store) {
    const auto a = Scratch().ones();
    DataCopy(tensor<float>(tensors, 1), a, 8);
    DataCopy(tensor<float>(tensors, 1), a[64], 8);  // fault: gm-race
}
CASE(flag_of_cores_apart) {
    SyncAll();  // fault: cross-core-flag
}
CASE(flag_of_910a) {       // on Ascend910A mixed
    CrossCoreWaitFlag(0);  // fault: unsupported-call
}
CASE(flag_beyond_15) {                                      // mixed
    if (ASCEND_IS_AIV) CrossCoreSetFlag<0, PIPE_MTE3>(16);  // fault: cross-core-flag
}
CASE(flag_of_the_scalar_unit) {                         // mixed
    if (ASCEND_IS_AIV) CrossCoreSetFlag<0, PIPE_S>(1);  // fault: cross-core-flag
}
CASE(flag_left) {  // mixed
    if (ASCEND_IS_AIC) CrossCoreSetFlag<2, PIPE_FIX>(1);
}
CASE(wait_of_a_flag_that_nobody_sets) {          // mixed
    if (ASCEND_IS_AIC) CrossCoreWaitFlag<2>(1);  // fault: deadlock
}
CASE(wait_of_one_vector_core) {                  // mixed
    if (ASCEND_IS_AIC) CrossCoreWaitFlag<2>(1);  // fault: deadlock
    if (ASCEND_IS_AIV && GetSubBlockIdx() == 0) CrossCoreSetFlag<2, PIPE_MTE3>(1);
}
CASE(flag_of_another_pipe) {  // mixed
    if (ASCEND_IS_AIC) return;
    const auto a = Scratch().ones();
    auto work = tensor<float>(tensors, 2);
    DataCopy(work[GetBlockIdx() * 8], a, 8);
    CrossCoreSetFlag<1, PIPE_V>(1);
    CrossCoreWaitFlag<1>(1);
    DataCopy(a[64], work[(1 - GetBlockIdx()) * 8], 8);  // fault: gm-race
}
CASE(cube_pipe_of_a_vector_core) {
    SetFlag<HardEvent::M_MTE1>(0);  // fault: unsupported-call
}

}  // namespace emulator_case
