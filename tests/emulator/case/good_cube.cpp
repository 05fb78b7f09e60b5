// A product of 40 x 70 and 70 x 50 on 950, with the loads into L0 that the vendor's documents have for it.
#include "case.h"

namespace emulator_case {

inline constexpr int32_t product_m = 40, product_n = 50, product_k = 70;

// One load, or one for each 32 elements of k where squares of bytes reach beyond the rows.
struct Load {
    uint16_t m_step, k_step;
    int32_t from;
    uint16_t to;
    int32_t calls = 1;
    int32_t apart = to;  // fractals from one call's to the next
};

// Rows of an operand in L1 that lie behind each other in a column, whole fractals.
struct Operand {
    bool across = false;
    int32_t group = 0;
    Load load;
};

template <typename T>
void multiply(GM_ADDR tensors, const Operand& left, const Operand& right) {
    using Sum = std::conditional_t<std::is_same_v<T, int8_t>, int32_t, float>;
    if (!ASCEND_IS_AIC) return;
    TPipe pipe;
    TBuf<TPosition::A1> l1;
    TBuf<TPosition::A2> a;
    TBuf<TPosition::B2> b;
    TBuf<TPosition::CO1> c;
    pipe.InitBuffer(l1, 65536);
    pipe.InitBuffer(a, 32768);
    pipe.InitBuffer(b, 32768);
    pipe.InitBuffer(c, 16384);
    const auto in = [&](int index, const LocalTensor<T>& to, const Operand& operand, int32_t side) {
        Nd2NzParams copy;
        copy.ndNum = 1;
        copy.nValue = operand.across ? product_k : side;
        copy.dValue = copy.srcDValue = operand.across ? side : product_k;
        copy.dstNzC0Stride = operand.group;
        copy.dstNzNStride = 1;
        DataCopy(to, tensor<T>(tensors, index), copy);
    };
    const auto up = [&](const LocalTensor<T>& to, const LocalTensor<T>& from, const Operand& operand) {
        const Load& load = operand.load;
        LoadData2DParamsV2 block;
        block.mStep = load.m_step;
        block.kStep = load.k_step;
        block.srcStride = load.from;
        block.dstStride = load.to;
        block.ifTranspose = operand.across;
        for (int32_t i = 0; i < load.calls; ++i) {
            block.mStartPosition = i * load.m_step;
            LoadData(to[i * load.apart * 512 / static_cast<int32_t>(sizeof(T))], from, block);
            PipeBarrier<PIPE_MTE1>();
        }
    };
    const auto l1a = l1.Get<T>(), l1b = l1.Get<T>()[32768 / sizeof(T)];
    in(0, l1a, left, product_m);
    in(1, l1b, right, product_n);
    PipeBarrier<PIPE_ALL>();
    up(a.Get<T>(), l1a, left);
    up(b.Get<T>(), l1b, right);
    PipeBarrier<PIPE_ALL>();
    MmadParams product;
    product.m = product_m;
    product.n = product_n;
    product.k = product_k;
    Mmad(c.Get<Sum>(), a.Get<T>(), b.Get<T>(), product);
    PipeBarrier<PIPE_ALL>();
    FixpipeParamsV220 out;
    out.nSize = product_n;
    out.mSize = product_m;
    out.srcStride = 48;
    out.dstStride = product_n;
    Fixpipe<Sum, Sum, CFG_ROW_MAJOR>(tensor<Sum>(tensors, 2), c.Get<Sum>(), out);
}

CASE(product_of_halves) { multiply<half>(tensors, {false, 48, {3, 5, 3, 3}}, {false, 64, {4, 5, 4, 4}}); }
CASE(product_of_halves_across) {
    multiply<half>(tensors, {true, 80, {5, 3, 5, 3}}, {true, 80, {5, 4, 5, 4}});
}
CASE(product_of_rows_of_fractals) {  // A as 910B has it
    multiply<half>(tensors, {false, 48, {1, 5, 3, 1, 3, 5}}, {false, 64, {4, 5, 4, 4}});
}
CASE(product_of_floats) { multiply<float>(tensors, {false, 48, {3, 9, 3, 3}}, {false, 64, {4, 9, 4, 4}}); }
CASE(product_of_floats_across) {
    multiply<float>(tensors, {true, 80, {5, 6, 5, 3}}, {true, 80, {5, 8, 5, 4}});
}
CASE(product_of_bytes) { multiply<int8_t>(tensors, {false, 48, {3, 3, 3, 3}}, {false, 64, {4, 3, 4, 4}}); }
CASE(product_of_bytes_across) {
    multiply<int8_t>(tensors, {true, 96, {2, 2, 6, 3, 3}}, {true, 96, {6, 2, 6, 4}});
}

}  // namespace emulator_case
