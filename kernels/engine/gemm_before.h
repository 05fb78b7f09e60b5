// What a product and its epilogue cost as launches of their own, and what no tiling of a fused one can help.
#pragma once

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "bind.h"
#include "gemm_solve.h"
#include "judge.h"

namespace ascend_fuse {

// A dtype that the chip's cube or vector unit lacks.
inline std::optional<Refusal> unsupported_cube(const Program& program, const Soc& soc) {
    const Instr& product = program.instrs.front();
    const Dtype in = program.values[static_cast<size_t>(product.operands[0].value)].dtype;
    const auto& depth = cube_table(soc.npu_arch).depth;
    if (depth.find(in) == depth.end())
        return Refusal{"dtype-unsupported", std::string(name(in)) + " in the cube of " + soc.name, "dtype"};
    return unsupported_dtype(program, soc);
}

// What no tiling can help. In this order, as integers are also of a dtype that no epilogue takes.
inline std::optional<Refusal> refusal_of(const Program& program, const Soc& soc) {
    const Instr& product = program.instrs.front();
    const Dtype in = program.values[static_cast<size_t>(product.operands[0].value)].dtype;
    if (!is_float(in))
        return Refusal{"quantised", "a product of " + std::string(name(in)) + " stays apart", "quantised"};
    if (auto refusal = unsupported_cube(program, soc)) return refusal;
    for (const auto& instr : program.instrs) {
        const Op& op = instr.entry();
        if (op.kind == OpKind::reduce || op.is("slice") || op.is("concat"))
            return Refusal{"crosses-reduction", op.name + " needs whole rows, a tile has a part of them",
                           "row"};
    }
    return std::nullopt;
}

// A tensor that no block transfer reaches: its neighbours along the matrix's sides, or along the row of what
// follows the product, are no neighbours in memory.
inline std::optional<Refusal> scattered(const Program& program, const std::vector<int64_t>& sizes,
                                        const Gemm& gemm) {
    std::string name;
    const auto look = [&](int value, int64_t run) {
        const auto& extents = program.values[static_cast<size_t>(value)].extents;
        const auto own = resolve(extents, sizes);
        const bool narrow = product(own, static_cast<size_t>(program.bar), own.size()) == 1;
        if (name.empty() && !narrow && run == 1) name = program.values[static_cast<size_t>(value)].name;
    };
    const Instr& matmul = program.instrs.front();
    for (const auto& [operand, at] : {std::pair(&gemm.left, 0), std::pair(&gemm.right, 1)})
        if (operand->scattered)
            name = program.values[static_cast<size_t>(matmul.operands[static_cast<size_t>(at)].value)].name;
    for (int id = 0; id < program.n_inputs(); ++id) {
        const Input& input = program.inputs[static_cast<size_t>(id)];
        if (input.tiled()) look(id, row_run(program, sizes, id, aligned_order(input, program.space.size())));
    }
    for (const auto& output : program.outputs) look(output.value, row_run(program, sizes, output));
    if (name.empty()) return std::nullopt;
    return Refusal{"axis-not-trailing", name + " has no run of elements that a block transfer could move",
                   "strides"};
}

// The sum of launches; with two streams, of those that use the same cores.
struct Before {
    double cube_us = 0, vector_us = 0;  // whole launches
    double launch_us = 0, head_us = 0, product_us = 0, epilogue_us = 0;
    double bytes = 0, assumed_us = 0;
    int64_t vector_cores = 0;
    GemmSolution alone;  // the product

    double serial_us() const { return cube_us + vector_us; }
    // Cores of their own let other work fill the idle half; at best the longer half alone takes time.
    double total_us(const Soc& soc, const Bounds& bounds) const {
        const bool overlap = bounds.streams > 1 && path_of(soc) != Path::coupled;
        return overlap ? std::max(cube_us, vector_us) : serial_us();
    }
};

inline void add_vector_part(Before& before, const Solution& own, const std::optional<double>& measured_us) {
    const Cost cost = as_measured(own.cost, measured_us);
    before.vector_us += cost.total_us;
    before.launch_us += cost.launch_us;
    before.head_us += cost.head_us;
    before.epilogue_us += cost.total_us - cost.launch_us - cost.head_us;
    before.bytes += cost.hbm_bytes;
    before.assumed_us += cost.assumed_us;
    before.vector_cores = std::max(before.vector_cores, own.tiling.block_dim);
}

inline void add_gemm_part(Before& before, const GemmSolution& own, const std::optional<double>& measured_us) {
    const GemmCost cost = as_measured(own.cost, measured_us);
    const double epilogue_us = std::min(cost.epilogue_us, cost.total_us - cost.launch_us - cost.head_us);
    before.cube_us += cost.total_us;
    before.launch_us += cost.launch_us;
    before.head_us += cost.head_us;
    before.product_us += cost.total_us - cost.launch_us - cost.head_us - epilogue_us;
    before.epilogue_us += epilogue_us;
    before.bytes += cost.hbm_bytes;
    before.assumed_us += cost.assumed_us;
}

// A product that has no tile of its own (a chip without cube figures) is taken as the roofline of an unknown
// kernel.
inline GemmSolution sweep(const Gemm& gemm, const Soc& soc, const Bounds& bounds) {
    GemmSolution own;
    const double out =
        static_cast<double>(gemm.batch) * static_cast<double>(gemm.m) * static_cast<double>(gemm.n);
    own.cost.hbm_bytes = static_cast<double>(gemm.left.elements + gemm.right.elements) * width(gemm.in) +
                         out * width(gemm.out);
    own.cost.launch_us = bounds.launch_us;
    own.cost.total_us = opaque_us(own.cost.hbm_bytes, gemm.macs(), gemm.in, soc, bounds);
    own.cost.product_us = own.cost.total_us - bounds.launch_us;
    own.cost.assumed_us = own.cost.product_us;
    own.cost.bound = "hbm";
    return own;
}

inline Result<GemmSolution> price_gemm(const Part& part, const Soc& soc, const Bounds& bounds) {
    const auto gemm = bind_gemm(*part.program, part.sizes);
    if (!gemm) return gemm.error();
    if (refusal_of(*part.program, soc) || scattered(*part.program, part.sizes, *gemm))
        return sweep(*gemm, soc, bounds);
    const auto own = solve_gemm(*part.program, part.sizes, *gemm, soc, bounds);
    if (!own) return own.error();
    return *own ? **own : sweep(*gemm, soc, bounds);
}

inline Result<Before> price_parts(const std::vector<Part>& parts, const Soc& soc, const Bounds& bounds) {
    if (auto error = check_measured(parts)) return *error;
    Before before;
    for (size_t i = 0; i < parts.size(); ++i) {
        const auto at = [i](const Error& error) {
            return Error{0, "part " + std::to_string(i) + ": " + error.text()};
        };
        if (parts[i].program->family == Family::matmul) {
            const auto own = price_gemm(parts[i], soc, unreserved(bounds));
            if (!own) return at(own.error());
            add_gemm_part(before, *own, parts[i].measured_us);
            before.alone = *own;
            continue;
        }
        auto grid = bind(*parts[i].program, parts[i].sizes);
        if (!grid) return at(grid.error());
        add_vector_part(before, price(*parts[i].program, std::move(*grid), soc, bounds),
                        parts[i].measured_us);
    }
    return before;
}

}  // namespace ascend_fuse
