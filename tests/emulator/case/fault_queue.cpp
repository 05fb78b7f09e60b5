// Faults of buffers, queues, events and pipes.
#include "case.h"

namespace emulator_case {

using In = TQue<TPosition::VECIN, 1>;
using Out = TQue<TPosition::VECOUT, 1>;

CASE(more_than_ub) {
    TPipe pipe;
    In in;
    pipe.InitBuffer(in, 2, 96 * 1024);  // fault: memory-overflow
}
CASE(reserved_part_of_ub) {
    TPipe pipe;
    In in;
    pipe.InitBuffer(in, 1, 192 * 1024 - 256 - 8192);
    Out out;
    pipe.InitBuffer(out, 1, 32);  // fault: memory-overflow
}
CASE(more_than_l0a) {
    TPipe pipe;
    TQue<TPosition::A2, 1> left;
    pipe.InitBuffer(left, 2, 64 * 1024);  // fault: memory-overflow
}
CASE(buffers_over_64) {
    TPipe pipe;
    In in[9];
    for (int i = 0; i < 9; ++i) pipe.InitBuffer(in[i], 8, 32);  // fault: too-many-buffers
}
CASE(tensors_over_8) {
    TPipe pipe;
    TQue<TPosition::VECIN, 8> first, second;
    pipe.InitBuffer(first, 8, 32);
    pipe.InitBuffer(second, 1, 32);
    for (int i = 0; i < 8; ++i) first.AllocTensor<float>();
    second.AllocTensor<float>();  // fault: too-many-tensors
}
CASE(tensors_over_4) {  // on Ascend910A
    TPipe pipe;
    TQue<TPosition::VECIN, 8> in;
    pipe.InitBuffer(in, 8, 32);
    for (int i = 0; i < 5; ++i) in.AllocTensor<float>();  // fault: too-many-tensors
}
CASE(dequeue_of_nothing) {
    TPipe pipe;
    In in;
    pipe.InitBuffer(in, 2, 32);
    in.AllocTensor<float>();
    in.DeQue<float>();  // fault: queue-empty
}
CASE(alloc_beyond_the_buffers) {
    TPipe pipe;
    In in;
    pipe.InitBuffer(in, 2, 32);
    for (int i = 0; i < 3; ++i) in.AllocTensor<float>();  // fault: queue-full
}
CASE(enqueue_beyond_the_depth) {
    TPipe pipe;
    In in;
    pipe.InitBuffer(in, 2, 32);
    for (int i = 0; i < 2; ++i) in.EnQue(in.AllocTensor<float>());  // fault: queue-full
}
CASE(tensor_of_another_queue) {
    TPipe pipe;
    In in;
    Out out;
    pipe.InitBuffer(in, 1, 32);
    pipe.InitBuffer(out, 1, 32);
    out.EnQue(in.AllocTensor<float>());  // fault: queue-foreign
}
CASE(queue_without_buffers) {
    In in;
    in.AllocTensor<float>();  // fault: queue-foreign
}
CASE(queue_of_before_the_reset) {
    TPipe pipe;
    In in;
    pipe.InitBuffer(in, 1, 32);
    pipe.Reset();
    in.AllocTensor<float>();  // fault: queue-foreign
}
CASE(enqueue_twice) {
    TPipe pipe;
    TQue<TPosition::VECIN, 2> in;
    pipe.InitBuffer(in, 2, 32);
    const auto a = in.AllocTensor<float>();
    in.EnQue(a);
    in.EnQue(a);  // fault: queue-foreign
}
CASE(free_twice) {
    TPipe pipe;
    In in;
    pipe.InitBuffer(in, 1, 32);
    auto a = in.AllocTensor<float>();
    in.FreeTensor(a);
    in.FreeTensor(a);  // fault: queue-free
}
CASE(left_in_the_queue) {
    TPipe pipe;
    In in;
    pipe.InitBuffer(in, 1, 32);  // fault: queue-left-over
    in.EnQue(in.AllocTensor<float>());
}
CASE(reserved_event) {
    SetFlag<HardEvent::MTE2_V>(6);  // fault: event-range
}
CASE(event_of_910a) {               // on Ascend910A
    SetFlag<HardEvent::MTE2_V>(4);  // fault: event-range
}
CASE(event_that_a_queue_takes) {
    TPipe pipe;
    In in;
    pipe.InitBuffer(in, 1, 32);
    SetFlag<HardEvent::MTE2_V>(0);
    in.EnQue(in.AllocTensor<float>());  // fault: event-set-twice
}
CASE(event_of_a_queue_waited_for) {
    TPipe pipe;
    In in;
    pipe.InitBuffer(in, 1, 32);
    in.EnQue(in.AllocTensor<float>());
    WaitFlag<HardEvent::MTE2_V>(0);
    in.DeQue<float>();  // fault: event-not-set
}
CASE(events_used_up) {
    TPipe pipe;
    for (int i = 0; i < 7; ++i) pipe.AllocEventID<HardEvent::MTE2_V>();  // fault: event-range
}
CASE(event_twice) {
    SetFlag<HardEvent::MTE2_V>(0);
    SetFlag<HardEvent::MTE2_V>(0);  // fault: event-set-twice
}
CASE(event_of_another_pair) {
    SetFlag<HardEvent::MTE2_V>(0);
    WaitFlag<HardEvent::MTE2_MTE3>(0);  // fault: event-not-set
}
CASE(event_left) {
    SetFlag<HardEvent::MTE2_V>(3);  // fault: event-left-over
}
CASE(vector_behind_a_load) {
    const auto a = Scratch().get();
    DataCopy(a, tensor<float>(tensors, 0), 64);
    Add(a, a, a, 64);  // fault: pipe-race
}
CASE(store_behind_a_vector) {
    const auto a = Scratch().get();
    Duplicate(a, 1.0f, 64);
    DataCopy(tensor<float>(tensors, 1), a, 64);  // fault: pipe-race
}
CASE(load_under_a_vector) {
    const auto a = Scratch().ones();
    Add(a[64], a, a, 64);
    DataCopy(a, tensor<float>(tensors, 0), 64);  // fault: pipe-race
}
CASE(load_under_a_store) {
    const auto a = Scratch().ones();
    DataCopy(tensor<float>(tensors, 1), a, 64);
    DataCopy(a, tensor<float>(tensors, 0), 64);  // fault: pipe-race
}
CASE(vector_behind_a_vector) {
    const auto a = Scratch().ones();
    Add(a[64], a, a, 64);
    Add(a[128], a[64], a, 64);  // fault: pipe-race
}
CASE(event_of_too_early) {
    const auto a = Scratch().get();
    SetFlag<HardEvent::MTE2_V>(0);
    DataCopy(a, tensor<float>(tensors, 0), 64);
    WaitFlag<HardEvent::MTE2_V>(0);
    Add(a, a, a, 64);  // fault: pipe-race
}
CASE(scalar_behind_a_vector) {
    const auto a = Scratch().get();
    Duplicate(a, 1.0f, 64);
    a.GetValue(0);  // fault: pipe-race
}
CASE(vector_behind_a_scalar) {
    const auto a = Scratch().get();
    a.SetValue(0, 1.0f);
    Adds(a, a, 1.0f, 1);  // fault: pipe-race
}
CASE(queue_buffer_beyond_its_free) {
    TPipe pipe;
    In in;
    pipe.InitBuffer(in, 1, 256);
    auto a = in.AllocTensor<float>();
    DataCopy(a, tensor<float>(tensors, 0), 64);
    in.EnQue(a);
    a = in.DeQue<float>();
    in.FreeTensor(a);
    Scratch other(256);
    Add(other.get(), a, a, 64);
    a = in.AllocTensor<float>();
    DataCopy(a, tensor<float>(tensors, 0), 64);  // fault: pipe-race
}

}  // namespace emulator_case
