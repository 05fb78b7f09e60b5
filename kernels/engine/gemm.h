// A matmul program at real sizes: the product as batch x m x n x k, and how its operands lie in memory.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "axis.h"
#include "grid.h"
#include "program.h"

namespace ascend_fuse {

// One operand, seen as inner and outer side of a matrix: left is m x k, right is k x n.
struct GemmOperand {
    int64_t elements = 0;     // distinct ones in GM
    bool transposed = false;  // contiguous along m (left) or k (right) instead of k (left) or n (right)
    int64_t run = 1;          // elements that are contiguous along that side
    bool dense = false;       // one run follows the other, so that whole runs join
    bool scattered = false;   // contiguous along neither side: nothing could load it in blocks
};

struct Gemm {
    int64_t batch = 1, m = 1, n = 1, k = 1;
    Dtype in = Dtype::f16, out = Dtype::f16;  // of the operands, of the product
    GemmOperand left, right;

    double macs() const {
        return static_cast<double>(batch) * static_cast<double>(m) * static_cast<double>(n) *
               static_cast<double>(k);
    }
};

// One operand from the axes of its matrix, outer (m of left) before inner (k of left).
inline GemmOperand operand_of(const Axes& outer, const Axes& inner) {
    GemmOperand operand;
    const int64_t along_inner = run_of(inner), along_outer = run_of(outer);
    const int64_t total = volume(outer) * volume(inner);
    operand.transposed = along_inner == 1 && along_outer > 1;
    operand.run = operand.transposed ? along_outer : along_inner;
    operand.scattered = operand.run == 1 && total > 1;
    operand.dense = run_of(operand.transposed ? joined(inner, outer) : joined(outer, inner)) == total;
    return operand;
}

// Axis `at` continues the even steps of the axes behind it, up to `end`.
inline bool even(const Axes& axes, size_t at, size_t end) {
    int64_t rows = 1, stride = 0;
    for (size_t i = end; i-- > at + 1;) {
        if (rows == 1) stride = axes[i].stride;
        rows *= axes[i].extent;
    }
    return axes[at].extent == 1 || rows == 1 || axes[at].stride == stride * rows;
}

inline Axes padded_axes(const Axes& axes, size_t rank) {
    Axes padded(rank - std::min(rank, axes.size()));
    padded.insert(padded.end(), axes.begin(), axes.end());
    return padded;
}

class GemmReader {
  public:
    GemmReader(const Program& program, const std::vector<int64_t>& sizes)
        : program_(program),
          space_(resolve(program.space, sizes)),
          lead_(static_cast<size_t>(program.bar) - 1) {
        const Instr& product = program.instrs.front();
        left_in_ = &program.inputs[static_cast<size_t>(product.operands[0].value)];
        right_in_ = &program.inputs[static_cast<size_t>(product.operands[1].value)];
        const auto read = [&](const Input& input) {
            return axes_of(resolve(input.type.dims, sizes), input.order);
        };
        k_rank_ = left_in_->type.dims.size() - static_cast<size_t>(left_in_->type.bar);
        left_ = padded_axes(read(*left_in_), lead_ + 1 + k_rank_);
        right_ = padded_axes(read(*right_in_), lead_ + k_rank_ + space_.size() - lead_ - 1);
        for (const auto& output : program.outputs) outs_.push_back(axes_of(program, output, sizes));
    }

    // Where the operands and the outputs lie, cut into batch, outer and inner side.
    struct Matrix {
        Axes batch, outer, inner;
    };
    Matrix left() const { return cut(left_, lead_ + 1); }
    Matrix right() const {
        Matrix matrix;
        matrix.batch = batch_of(right_);
        matrix.outer = part(right_, lead_, lead_ + k_rank_);
        matrix.inner = part(right_, lead_ + k_rank_, right_.size());
        return matrix;
    }
    Matrix out(size_t at) const { return cut(outs_[at], lead_ + 1); }
    // A matrix of the whole space without gaps, m x n for each of the batch.
    Matrix dense() const { return cut(axes_of(space_, {}), lead_ + 1); }

    Gemm read() const {
        Gemm gemm;
        gemm.in = left_in_->type.dtype;
        gemm.out = program_.instrs.front().type.dtype;
        gemm.k = volume(part(left_, lead_ + 1, left_.size()));
        gemm.n = product(space_, lead_ + 1, space_.size());
        const size_t first = first_folded();
        gemm.batch = product(space_, 0, first);
        gemm.m = product(space_, first, lead_ + 1);
        gemm.left = operand_of(part(left_, first, lead_ + 1), part(left_, lead_ + 1, left_.size()));
        gemm.right =
            operand_of(part(right_, lead_, lead_ + k_rank_), part(right_, lead_ + k_rank_, right_.size()));
        gemm.left.elements = volume(left_);
        gemm.right.elements = volume(right_);
        return gemm;
    }

  private:
    // An axis of the batch that a tensor lacks steps by nothing.
    Axes batch_of(const Axes& axes) const {
        Axes batch = part(axes, 0, first_folded());
        for (size_t i = 0; i < batch.size(); ++i) batch[i].extent = space_[i];
        return batch;
    }
    Matrix cut(const Axes& axes, size_t bar) const {
        return Matrix{batch_of(axes), part(axes, first_folded(), bar), part(axes, bar, axes.size())};
    }

    // Lead axes from here on are rows: the right operand does not have them, left and outputs step evenly.
    size_t first_folded() const {
        size_t first = lead_;
        while (first > 0) {
            const size_t at = first - 1;
            bool fits =
                right_[at].extent == 1 && left_[at].extent == space_[at] && even(left_, at, lead_ + 1);
            for (const auto& out : outs_) fits = fits && even(out, at, lead_ + 1);
            if (!fits && space_[at] != 1) break;
            first = at;
        }
        return first;
    }

    const Program& program_;
    std::vector<int64_t> space_;
    size_t lead_ = 0, k_rank_ = 1;
    const Input *left_in_ = nullptr, *right_in_ = nullptr;
    Axes left_, right_;
    std::vector<Axes> outs_;
};

// Precondition: program.family is matmul. `sizes`: by symbol number.
inline Result<Gemm> bind_gemm(const Program& program, const std::vector<int64_t>& sizes) {
    if (static_cast<int>(sizes.size()) != program.n_symbols)
        return wrong("the program has " + std::to_string(program.n_symbols) + " symbols, found " +
                     std::to_string(sizes.size()) + " sizes");
    for (size_t i = 0; i < sizes.size(); ++i)
        if (sizes[i] < 1)
            return wrong("d" + std::to_string(i) + " is " + std::to_string(sizes[i]) + ", wanted 1 or more");
    if (auto error = oversized(program, sizes)) return *error;
    return GemmReader(program, sizes).read();
}

}  // namespace ascend_fuse
