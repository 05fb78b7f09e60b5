// Faults of the cube's copies: of a coupled core, and of loads into L0.
#include "case.h"

namespace emulator_case {

// A fractal of sums in L0C, and where it goes.
struct Sums {
    TPipe pipe;
    TBuf<TPosition::CO1> l0c;
    TBuf<TPosition::VECCALC> ub;
    DataCopyParams copy{1, 1, 0, 0};
    DataCopyEnhancedParams how;

    Sums() {
        pipe.InitBuffer(l0c, 4096);
        pipe.InitBuffer(ub, 2048);
        how.blockMode = BlockMode::BLOCK_MODE_MATRIX;
    }
};

CASE(sums_by_the_vector_unit) {  // on Ascend310B1
    Sums sums;
    DataCopy(sums.ub.Get<float>(), sums.l0c.Get<float>(), sums.copy, sums.how);  // fault: unsupported-call
}
CASE(sums_in_other_blocks) {  // on Ascend310P3
    Sums sums;
    sums.how.blockMode = BlockMode::BLOCK_MODE_NORMAL;
    DataCopy(sums.ub.Get<float>(), sums.l0c.Get<float>(), sums.copy, sums.how);  // fault: unsupported-call
}
CASE(sums_from_inside_a_fractal) {  // on Ascend310P3
    Sums sums;
    DataCopy(sums.ub.Get<float>(), sums.l0c.Get<float>()[16], sums.copy,
             sums.how);  // fault: unaligned-address
}
CASE(sums_beyond_the_buffer) {  // on Ascend310P3
    Sums sums;
    sums.copy.blockCount = 3;
    DataCopy(sums.ub.Get<float>(), sums.l0c.Get<float>(), sums.copy, sums.how);  // fault: buffer-overrun
}
CASE(sums_that_nobody_made) {  // on Ascend310P3
    Sums sums;
    const auto rows = sums.ub.Get<float>();
    DataCopy(rows, sums.l0c.Get<float>(), sums.copy, sums.how);
    PipeBarrier<PIPE_ALL>();
    DataCopy(tensor<float>(tensors, 1), rows, 256);  // fault: unwritten-read
}
CASE(sums_without_an_event) {  // on Ascend310P3
    Sums sums;
    const auto rows = sums.ub.Get<float>();
    DataCopy(rows, sums.l0c.Get<float>(), sums.copy, sums.how);
    Adds(rows, rows, 1.0f, 64);  // fault: pipe-race
}

// The same by FixPipe.
struct Fixed : Sums {
    FixpipeParamsM300 params;

    Fixed() {
        params.nSize = 32;
        params.mSize = 16;
        params.srcStride = 16;
        params.dstStride = 32;
    }
    LocalTensor<float> run(Where at = Where::here()) {
        const auto rows = ub.Get<float>();
        Fixpipe<float, float, CFG_NZ>(rows, l0c.Get<float>(), params, at);
        return rows;
    }
};

CASE(sums_by_fixpipe) {  // on Ascend310P3
    Fixed sums;
    sums.run();  // fault: unsupported-call
}
CASE(part_of_a_column) {  // on Ascend310B1
    Fixed sums;
    sums.params.nSize = 24;
    sums.run();  // fault: parameter-range
}
CASE(columns_over_each_other) {  // on Ascend310B1
    Fixed sums;
    sums.params.dstStride = 31;
    sums.run();  // fault: partial-overlap
}
CASE(columns_beyond_the_buffer) {  // on Ascend310B1
    Fixed sums;
    sums.params.nSize = 48;
    sums.run();  // fault: buffer-overrun
}
CASE(columns_without_an_event) {  // on Ascend310B1
    Fixed sums;
    const auto rows = sums.run();
    Adds(rows, rows, 1.0f, 64);  // fault: pipe-race
}
CASE(edge_into_l1) {  // on Ascend310B1
    TPipe pipe;
    TBuf<TPosition::A1> l1;
    TBuf<TPosition::VECCALC> ub;
    pipe.InitBuffer(l1, 512);
    pipe.InitBuffer(ub, 512);
    DataCopy(l1.Get<half>(), ub.Get<half>(), 16);  // fault: unsupported-call
}
CASE(gap_of_910a) {  // on Ascend910A
    TPipe pipe;
    TBuf<TPosition::A1> l1;
    TBuf<TPosition::A2> l0a;
    pipe.InitBuffer(l1, 512);
    pipe.InitBuffer(l0a, 2048);
    LoadData2DParams load;
    load.repeatTimes = 1;
    load.dstGap = 1;
    LoadData(l0a.Get<half>(), l1.Get<half>(), load);  // fault: parameter-range
}
CASE(square_of_a_coupled_chip) {  // on Ascend310P3
    TPipe pipe;
    TBuf<TPosition::A1> l1;
    TBuf<TPosition::A2> l0a;
    pipe.InitBuffer(l1, 512);
    pipe.InitBuffer(l0a, 512);
    LoadData2dTransposeParams load;
    load.repeatTimes = 1;
    LoadDataWithTranspose(l0a.Get<half>(), l1.Get<half>(), load);  // fault: unsupported-call
}

// Four fractals in L1, and where they go.
template <TPosition position>
struct Fractals {
    TPipe pipe;
    TBuf<TPosition::A1> l1;
    TBuf<position> l0;
    LoadData2DParamsV2 block;

    Fractals() {
        pipe.InitBuffer(l1, 2048);
        pipe.InitBuffer(l0, 2048);
        block.mStep = block.kStep = 1;
        block.srcStride = 1;
        block.dstStride = 1;
    }
};
using Left = Fractals<TPosition::A2>;
using Right = Fractals<TPosition::B2>;

CASE(block_by_910b) {  // on Ascend910B1 mixed
    if (!ASCEND_IS_AIC) return;
    Left left;
    LoadData(left.l0.Get<half>(), left.l1.Get<half>(), left.block);  // fault: unsupported-call
}
CASE(fractals_by_950) {  // on Ascend950PR_9599 mixed
    if (!ASCEND_IS_AIC) return;
    Right right;
    LoadData2DParams load;
    load.repeatTimes = 1;
    LoadData(right.l0.Get<half>(), right.l1.Get<half>(), load);  // fault: unsupported-call
}
CASE(square_into_l0a_by_950) {  // on Ascend950PR_9599 mixed
    if (!ASCEND_IS_AIC) return;
    Left left;
    LoadData2dTransposeParams load;
    load.repeatTimes = 1;
    LoadDataWithTranspose(left.l0.Get<half>(), left.l1.Get<half>(), load);  // fault: unsupported-call
}
CASE(half_of_a_square_of_bytes) {  // on Ascend950PR_9599 mixed
    if (!ASCEND_IS_AIC) return;
    Left left;
    left.block.ifTranspose = true;
    LoadData(left.l0.Get<int8_t>(), left.l1.Get<int8_t>(), left.block);  // fault: parameter-range
}
CASE(half_of_a_square_of_floats) {  // on Ascend950PR_9599 mixed
    if (!ASCEND_IS_AIC) return;
    Right right;
    right.block.ifTranspose = true;
    LoadData(right.l0.Get<float>(), right.l1.Get<float>(), right.block);  // fault: parameter-range
}
CASE(columns_of_fractals_over_each_other) {  // on Ascend950PR_9599 mixed
    if (!ASCEND_IS_AIC) return;
    Left left;
    left.block.mStep = left.block.kStep = 2;
    LoadData(left.l0.Get<half>(), left.l1.Get<half>(), left.block);  // fault: partial-overlap
}
CASE(squares_that_reach_into_each_other) {  // on Ascend950PR_9599 mixed
    if (!ASCEND_IS_AIC) return;
    Left left;
    left.block.ifTranspose = true;
    left.block.mStep = 2;
    LoadData(left.l0.Get<int8_t>(), left.l1.Get<int8_t>(), left.block);
    LoadData(left.l0.Get<int8_t>()[512], left.l1.Get<int8_t>(), left.block);  // fault: pipe-race
}
CASE(k_padded_by_950) {  // on Ascend950PR_9599 mixed
    if (!ASCEND_IS_AIC) return;
    Left left;
    TBuf<TPosition::B2> l0b;
    TBuf<TPosition::CO1> l0c;
    left.pipe.InitBuffer(l0b, 2048);
    left.pipe.InitBuffer(l0c, 4096);
    MmadParams params;
    params.m = params.n = params.k = 16;
    params.kDirectionAlign = true;
    Mmad(l0c.Get<float>(), left.l0.Get<float>(), l0b.Get<float>(), params);  // fault: unsupported-call
}
CASE(bias_and_zeros) {  // on Ascend910B1 mixed
    if (!ASCEND_IS_AIC) return;
    Left left;
    TBuf<TPosition::B2> l0b;
    TBuf<TPosition::CO1> l0c;
    TBuf<TPosition::C2> bias;
    left.pipe.InitBuffer(l0b, 2048);
    left.pipe.InitBuffer(l0c, 4096);
    left.pipe.InitBuffer(bias, 64);
    MmadParams params;
    params.m = params.n = params.k = 16;
    Mmad(l0c.Get<float>(), left.l0.Get<half>(), l0b.Get<half>(), bias.Get<float>(),
         params);  // fault: unsupported-call
}

}  // namespace emulator_case
