// What the matmul kernel does, by chip and by how tensors lie.
#pragma once

#include <optional>
#include <string>

#include "gemm_before.h"

namespace ascend_fuse {

// Why no kernel of the chip runs the product or what follows it, whatever their sizes.
inline std::optional<Refusal> unsupported_product(const Program& program, const Soc& soc) {
    const Instr& product = program.instrs.front();
    const Dtype in = program.values[static_cast<size_t>(product.operands[0].value)].dtype;
    if (auto refusal = unsupported_cube(program, soc)) return refusal;
    if (!is_float(in) && in != Dtype::i8)
        return Refusal{"dtype-unsupported", std::string(name(in)) + " in matmul on " + soc.name, "dtype"};
    return std::nullopt;
}

// FixPipe writes integers as they are and floats in any dtype of theirs.
inline std::optional<Refusal> check_leaves(const GemmJob& job) {
    const Dtype in = job.gemm.in, leaves = job.epilogue.leaves;
    const bool writes = is_float(in) ? is_float(leaves) && leaves != Dtype::f64 : leaves == Dtype::i32;
    const bool lies =
        job.soc.fixpipe() || in != Dtype::i8 || (!job.gemm.left.transposed && job.gemm.right.transposed);
    if (writes && lies) return std::nullopt;
    if (!lies) return Refusal{"dtype-unsupported", "i8 in a transposed matmul on " + job.soc.name, "dtype"};
    const std::string which = std::string(name(leaves)) + " from a matmul of " + std::string(name(in));
    return Refusal{"dtype-unsupported", which + " on " + job.soc.name, "dtype"};
}

// One side of a matrix: its axes joined where they step alike, innermost last.
inline Axes side_of(const Axes& axes) {
    Axes list = merged(axes);
    if (list.empty() && volume(axes) > 1) list.push_back(Axis{volume(axes), 0});
    return list;
}

// Whether neighbours along `axes` are neighbours in memory, in runs of whole `unit` elements.
inline std::optional<Refusal> check_runs(const Axes& axes, int64_t unit, const std::string& what) {
    if (axes.empty()) return std::nullopt;
    if (axes.back().stride != 1)
        return Refusal{"op-unsupported", "matmul with " + what + " whose neighbours do not lie side by side",
                       "op"};
    if (axes.size() > 1 && axes.back().extent % unit != 0)
        return Refusal{"op-unsupported",
                       "matmul with " + what + " in runs of " + std::to_string(axes.back().extent) +
                           " elements, wanted a multiple of " + std::to_string(unit),
                       "op"};
    return std::nullopt;
}

}  // namespace ascend_fuse
