// Kernels without faults, whose results Python checks. Inputs come first in the table of tensors, then
// outputs.
#include "case.h"

namespace emulator_case {

// Four buffers of 16 KiB, filled and emptied with all pipes stopped.
struct Bench {
    TPipe pipe;
    TBuf<TPosition::VECCALC> buffers[4];
    GM_ADDR tensors;

    explicit Bench(GM_ADDR of) : tensors(of) {
        for (auto& buffer : buffers) pipe.InitBuffer(buffer, 16384);
    }
    template <typename T>
    LocalTensor<T> get(int buffer) {
        return buffers[buffer].Get<T>();
    }
    template <typename T>
    LocalTensor<T> load(int index, int64_t count) {
        const auto local = get<T>(index);
        const DataCopyExtParams blocks(1, static_cast<uint32_t>(count * sizeof(T)), 0, 0, 0);
        DataCopyPad(local, tensor<T>(tensors, index), blocks, DataCopyPadExtParams<T>());
        PipeBarrier<PIPE_ALL>();
        return local;
    }
    template <typename T>
    void store(int index, const LocalTensor<T>& local, int64_t count) {
        PipeBarrier<PIPE_ALL>();
        DataCopyPad(tensor<T>(tensors, index), local,
                    DataCopyExtParams(1, static_cast<uint32_t>(count * sizeof(T)), 0, 0, 0));
    }
};

template <typename D, typename S>
void cast_all(GM_ADDR launch, GM_ADDR tensors) {
    const int64_t count = parameter(launch, 1);
    if (parameter(launch, 3) != 0) SetCtrlSpr<48, 48>(1);
    Bench bench(tensors);
    const auto to = bench.get<D>(1);
    Cast(to, bench.load<S>(0, count), static_cast<RoundMode>(parameter(launch, 2)),
         static_cast<uint32_t>(count));
    bench.store(1, to, count);
}

CASE(cast) {
    constexpr void (*table[])(GM_ADDR, GM_ADDR) = {
        cast_all<half, float>,       cast_all<bfloat16_t, float>, cast_all<float, half>,
        cast_all<float, bfloat16_t>, cast_all<int32_t, float>,    cast_all<int16_t, float>,
        cast_all<int64_t, float>,    cast_all<int32_t, half>,     cast_all<int8_t, half>,
        cast_all<uint8_t, half>,     cast_all<half, uint8_t>,     cast_all<float, int32_t>,
        cast_all<float, int64_t>,    cast_all<int32_t, int64_t>,  cast_all<int16_t, int32_t>,
        cast_all<float, float>,
    };
    table[parameter(launch, 0)](launch, tensors);
}

template <typename T>
void binary_all(GM_ADDR launch, GM_ADDR tensors) {
    const int64_t count = parameter(launch, 2);
    Bench bench(tensors);
    const auto a = bench.load<T>(0, count), b = bench.load<T>(1, count), c = bench.get<T>(2);
    const auto n = static_cast<int32_t>(count);
    switch (parameter(launch, 1)) {
        case 0:
            Add(c, a, b, n);
            break;
        case 1:
            Sub(c, a, b, n);
            break;
        case 2:
            Mul(c, a, b, n);
            break;
        case 3:
            Max(c, a, b, n);
            break;
        case 4:
            Min(c, a, b, n);
            break;
        default:
            Div(c, a, b, n);
    }
    bench.store(2, c, count);
}

CASE(binary) {
    constexpr void (*table[])(GM_ADDR, GM_ADDR) = {binary_all<float>, binary_all<half>, binary_all<int32_t>,
                                                   binary_all<int16_t>};
    table[parameter(launch, 0)](launch, tensors);
}

CASE(unary) {
    const int64_t count = parameter(launch, 1);
    const auto n = static_cast<int32_t>(count);
    Bench bench(tensors);
    const auto a = bench.load<float>(0, count), b = bench.get<float>(1);
    switch (parameter(launch, 0)) {
        case 0:
            Exp(b, a, n);
            break;
        case 1:
            Ln(b, a, n);
            break;
        case 2:
            Sqrt(b, a, n);
            break;
        case 3:
            Rsqrt(b, a, n);
            break;
        case 4:
            Reciprocal(b, a, n);
            break;
        case 5:
            Abs(b, a, n);
            break;
        case 6:
            Relu(b, a, n);
            break;
        case 7:
            Adds(b, a, 2.5f, n);
            break;
        case 8:
            Muls(b, a, 2.5f, n);
            break;
        case 9:
            Maxs(b, a, 0.5f, n);
            break;
        default:
            Mins(b, a, 0.5f, n);
    }
    bench.store(1, b, count);
}

CASE(bits) {
    Bench bench(tensors);
    const auto a = bench.load<uint32_t>(0, 64), b = bench.get<uint32_t>(1);
    const auto left = a.ReinterpretCast<uint16_t>(), to = b.ReinterpretCast<uint16_t>();
    switch (parameter(launch, 0)) {
        case 0:
            ShiftLeft(b, a, 3u, 64);
            break;
        case 1:
            ShiftRight(b, a, 3u, 64);
            break;
        case 2:
            ShiftRight(b.ReinterpretCast<int32_t>(), a.ReinterpretCast<int32_t>(), 3, 64);
            break;
        case 3:
            And(to, left, left[64], 64);
            break;
        case 4:
            Or(to, left, left[64], 64);
            break;
        default:
            Not(to, left, 128);
    }
    bench.store(1, b, parameter(launch, 0) == 3 || parameter(launch, 0) == 4 ? 32 : 64);
}

// Tensors: left, right, bits, chosen.
template <typename T>
void compare_all(GM_ADDR launch, GM_ADDR tensors) {
    const int64_t count = parameter(launch, 2);
    const auto mode = static_cast<CMPMODE>(parameter(launch, 1));
    Bench bench(tensors);
    const auto a = bench.load<T>(0, count), b = bench.load<T>(1, count);
    const auto bits = bench.get<uint8_t>(2);
    const auto chosen = bench.get<T>(3);
    Compare(bits, a, b, mode, static_cast<uint32_t>(count));
    PipeBarrier<PIPE_V>();
    Select(chosen, bits, a, b, SELMODE::VSEL_TENSOR_TENSOR_MODE, static_cast<uint32_t>(count));
    bench.store(2, bits, count / 8);
    bench.store(3, chosen, count);
}

CASE(compare) { (parameter(launch, 0) == 0 ? compare_all<float> : compare_all<half>)(launch, tensors); }

// Only whole lanes of the tail are known: unknown lanes must not spoil their neighbours in a byte of bits.
CASE(select_of_a_tail) {
    Bench bench(tensors);
    const auto a = bench.load<float>(0, 3);
    const auto bits = bench.get<uint8_t>(2);
    const auto chosen = bench.get<float>(3);
    CompareScalar(bits, a, 0.0f, CMPMODE::GT, 64u);
    PipeBarrier<PIPE_V>();
    Select(chosen, bits, a, -1.0f, SELMODE::VSEL_TENSOR_SCALAR_MODE, 64u);
    bench.store(1, chosen, 3);
}

// rows x 64 of which `mask` count, rows `stride` blocks apart; results one after another.
CASE(whole_reduce) {
    const int64_t rows = parameter(launch, 1), mask = parameter(launch, 2), stride = parameter(launch, 3);
    Bench bench(tensors);
    const auto a = bench.load<float>(0, rows * stride * 8), b = bench.get<float>(1);
    const auto n = static_cast<int32_t>(mask), repeats = static_cast<int32_t>(rows),
               step = static_cast<int32_t>(stride);
    switch (parameter(launch, 0)) {
        case 0:
            WholeReduceSum(b, a, n, repeats, 1, 1, step);
            break;
        case 1:
            WholeReduceMax(b, a, n, repeats, 1, 1, step, ReduceOrder::ORDER_ONLY_VALUE);
            break;
        case 2:
            WholeReduceMin(b, a, n, repeats, 1, 1, step, ReduceOrder::ORDER_ONLY_VALUE);
            break;
        default:
            WholeReduceMax(b, a, n, repeats, 1, 1, step);
    }
    bench.store(1, b, parameter(launch, 0) == 3 ? rows * 2 : rows);
}

// A column added to rows: Brcb, then a block stride of 0.
CASE(broadcast_rows) {
    const int64_t rows = parameter(launch, 0);
    Bench bench(tensors);
    const auto a = bench.load<float>(0, rows * 64), column = bench.load<float>(1, rows);
    const auto blocks = bench.get<float>(2), sum = bench.get<float>(3);
    Duplicate(blocks, 0.0f, 16);
    PipeBarrier<PIPE_V>();
    Brcb(blocks, column, static_cast<int32_t>((rows + 7) / 8), BrcbRepeatParams(1, 8));
    PipeBarrier<PIPE_V>();
    Add(sum, a, blocks, 64, static_cast<int32_t>(rows), BinaryRepeatParams(1, 1, 0, 8, 8, 1));
    bench.store(2, sum, rows * 64);
}

// Rows added up in place: the destination is the second source and stands still.
CASE(accumulate_rows) {
    const int64_t rows = parameter(launch, 0);
    Bench bench(tensors);
    const auto a = bench.load<float>(0, rows * 64), sum = bench.get<float>(1);
    Duplicate(sum, 0.0f, 64);
    PipeBarrier<PIPE_V>();
    Add(sum, a, sum, 64, static_cast<int32_t>(rows), BinaryRepeatParams(1, 1, 1, 0, 8, 0));
    bench.store(1, sum, 64);
}

// Every other lane of a mask of bits.
CASE(mask_of_bits) {
    Bench bench(tensors);
    const auto a = bench.load<float>(0, 128), b = bench.get<float>(1);
    Duplicate(b, 0.0f, 128);
    PipeBarrier<PIPE_V>();
    uint64_t mask[2] = {0x5555555555555555, 0};
    Adds(b, a, 1.0f, mask, 2, UnaryRepeatParams(1, 1, 8, 8));
    bench.store(1, b, 128);
}

CASE(gather) {
    Bench bench(tensors);
    const auto a = bench.load<float>(0, 64);
    const auto offsets = bench.load<uint32_t>(1, 64);
    const auto to = bench.get<float>(2);
    Gather(to, a, offsets, 0u, 64u);
    bench.store(2, to, 64);
}

CASE(copy_lanes) {
    Bench bench(tensors);
    const auto a = bench.load<float>(0, 128), b = bench.get<float>(1);
    Copy(b, a, 64, 2, CopyRepeatParams(1, 1, 8, 0));
    bench.store(1, b, 128);
}

}  // namespace emulator_case
