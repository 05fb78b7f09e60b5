// What vector cores do behind a product, as a vector launch over the product's rows and columns.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "bind.h"
#include "gemm_solve.h"
#include "lower_vector.h"

namespace ascend_fuse {

// A product that is tiled: what its records are made from.
struct GemmPlan {
    const Program* program = nullptr;
    const std::vector<int64_t>* sizes = nullptr;
    GemmJob job;
    GemmTiling tiling;
    double hbm_bytes = 0;

    // The product leaves through UB, all of it by a vector launch.
    bool coupled() const { return job.path == Path::coupled; }

    unsigned apart() const {
        unsigned set = 0;
        for (const auto& one : classes_of(job.gemm, tiling.tile_m, tiling.tile_n))
            if (one.count > 0 && job.epilogue.vector &&
                tiling.fuse_tiles.find(one.letter) == std::string::npos)
                set |= one.bit;
        return set;
    }
    bool needs_vector() const { return coupled() || job.epilogue.vector || !job.epilogue.copies.empty(); }
    // What runs apart, and pasts, have a share for each core, also where it has no tile.
    int64_t block_dim() const {
        if (coupled()) return tiling.block_dim;
        return apart() != 0 || !job.epilogue.copies.empty() ? job.soc.cube_cores() : tiling.block_dim;
    }
};

// Tiles of one cube core that may wait for its vector cores (op_kernel/kernel/matmul.cpp).
inline constexpr int64_t slots_per_core = 2;

inline Error unable(const std::string& what) { return wrong("lower: " + what); }

// The instructions that vector cores run, with the tensors that they read and write.
struct VectorPart {
    Program program;  // input 0 is what leaves the cube
    // Of the node, by tensor of the program; of input 0 the workspace's, if there is one, or -1: none in GM.
    std::vector<int> tensors;
};

// As `behind` has it, but for outputs, which have their places: those that FixPipe stores are none.
inline VectorPart vector_part(const Program& program, const Ride& ride, int product) {
    VectorPart part;
    const bool all = product < 0;
    Program& rest = part.program;
    rest.family = Family::rowwise;
    rest.space = program.space;
    rest.bar = program.bar;
    rest.n_symbols = program.n_symbols;
    std::vector<int> moved(program.values.size(), -1);
    const auto take = [&](int value) {
        moved[static_cast<size_t>(value)] = static_cast<int>(rest.values.size());
        rest.values.push_back(program.values[static_cast<size_t>(value)]);
    };
    const int leaves = program.n_inputs() + ride.last;
    take(leaves);
    rest.inputs.push_back(Input{program.instr(leaves).type, false, std::nullopt, Side::none, {}});
    part.tensors.push_back(product);
    for (int id = 0; id < program.n_inputs(); ++id) {
        const Input& input = program.inputs[static_cast<size_t>(id)];
        bool read = program.is_output(id);
        for (size_t i = static_cast<size_t>(ride.last) + 1; i < program.instrs.size(); ++i)
            for (const auto& operand : program.instrs[i].operands) read = read || operand.value == id;
        for (const auto& output : program.outputs)
            read = read || (output.past == id && (all || output.value != leaves));
        if ((input.side != Side::none && input.side != Side::past) || !read) continue;
        take(id);
        rest.inputs.push_back(input);
        part.tensors.push_back(id);
    }
    for (size_t i = static_cast<size_t>(ride.last) + 1; i < program.instrs.size(); ++i) {
        Instr instr = program.instrs[i];
        for (auto& operand : instr.operands)
            if (operand.value >= 0) operand.value = moved[static_cast<size_t>(operand.value)];
        take(program.n_inputs() + static_cast<int>(i));
        rest.instrs.push_back(std::move(instr));
    }
    for (size_t i = 0; i < program.outputs.size(); ++i) {
        Output output = program.outputs[i];
        if (output.value == leaves && !all) continue;
        output.value = moved[static_cast<size_t>(output.value)];
        if (output.joined()) output.past = moved[static_cast<size_t>(output.past)];
        rest.outputs.push_back(std::move(output));
        part.tensors.push_back(program.n_inputs() + static_cast<int>(i));
    }
    return part;
}

// GM bytes of vector cores: what they load and store of the tiles, and residents once each.
inline std::pair<int64_t, int64_t> vector_traffic(const GemmPlan& plan, const Program& program,
                                                  const Grid& grid) {
    const GemmTiling& tiling = plan.tiling;
    const int64_t vectors = vectors_per_cube(plan.job.soc), cols = std::min(tiling.tile_n, plan.job.gemm.n);
    int64_t loaded = 0, stored = 0;
    for (const auto& one : classes_of(plan.job.gemm, tiling.tile_m, tiling.tile_n)) {
        const int64_t share = one.in(plan.apart()) ? one.rows : rows_per_vector(plan.job, one.rows);
        int64_t chunks = 0;
        for (int64_t at = 0; at < one.rows; at += share)
            chunks += (std::min(share, one.rows - at) + tiling.ub_rows - 1) / tiling.ub_rows;
        const auto bytes = [&](const Extent& extent) {
            const int64_t own = extent.cols == grid.cols ? one.cols : extent.cols;
            const int64_t rows = extent.span == Span::full || extent.span == Span::row ? one.rows : chunks;
            return one.count * rows * own * extent.width;
        };
        for (int id = plan.coupled() ? 1 : 0; id < program.n_inputs(); ++id) {
            const Extent& extent = grid.values[static_cast<size_t>(id)];
            if (program.inputs[static_cast<size_t>(id)].tiled() && !resident(grid, extent, cols))
                loaded += bytes(extent);
        }
        for (const auto& output : program.outputs)
            stored += bytes(grid.values[static_cast<size_t>(output.value)]);
    }
    for (int id = 0; id < program.n_inputs(); ++id) {
        const Extent& extent = grid.values[static_cast<size_t>(id)];
        if (program.inputs[static_cast<size_t>(id)].tiled() && resident(grid, extent, cols))
            loaded += (plan.apart() != 0 ? plan.block_dim() : tiling.block_dim) * vectors * extent.cols *
                      extent.width;
    }
    return {loaded, stored};
}

// Pasts beside tiles: `copies` of outputs that leave the cube as they are.
inline std::vector<device::CopyRecord> cube_copies(const GemmPlan& plan) {
    std::vector<device::CopyRecord> copies;
    if (plan.coupled()) return copies;  // the vector launch has them
    const Program& program = *plan.program;
    const int leaves = program.n_inputs() + plan.job.epilogue.ride.last;
    for (size_t i = 0; i < program.outputs.size(); ++i)
        if (program.outputs[i].joined() && program.outputs[i].value == leaves)
            copies.push_back(copy_record(program, *plan.sizes, i));
    return copies;
}

// A value that broadcasts inside of the row, in tiles that cut it.
inline bool spreads_in_cut_rows(const Program& program, const Grid& grid, int64_t tile_cols) {
    for (size_t id = 0; id < program.values.size() && tile_cols < grid.cols; ++id) {
        const Extent& extent = grid.values[id];
        const bool moved = !program.is_input(static_cast<int>(id)) || program.inputs[id].tiled();
        if (moved && extent.wide() && extent.cols != grid.cols) return true;
    }
    return false;
}

// Why no vector kernel runs what follows the product.
inline std::optional<Refusal> unsupported_behind(const GemmPlan& plan, const Route& product) {
    const VectorPart part = vector_part(*plan.program, plan.job.epilogue.ride, product.tensor);
    const auto grid = bind(part.program, *plan.sizes);
    if (!grid) return std::nullopt;
    if (spreads_in_cut_rows(part.program, *grid, std::min(plan.tiling.tile_n, plan.job.gemm.n)))
        return Refusal{"op-unsupported", "broadcast inside of a row, behind a product that is cut along it",
                       "op"};
    return unsupported(part.program, *grid, plan.job.soc);
}

// The vector launch; its figures are those of all vector cores.
inline Result<Launch> lower_behind(const GemmPlan& plan, const Route& product) {
    const VectorPart part = vector_part(*plan.program, plan.job.epilogue.ride, product.tensor);
    auto grid = bind(part.program, *plan.sizes);
    if (!grid) return grid.error();
    Tiling tiling;
    tiling.block_dim = plan.block_dim() * vectors_per_cube(plan.job.soc);
    tiling.tasks = tiling.block_dim;  // the cube's tiles are its tasks
    tiling.tasks_per_core = 1;
    tiling.buffer_num = plan.tiling.buffer_num;
    tiling.tile_rows = std::max<int64_t>(plan.tiling.ub_rows, 1);
    tiling.tile_cols = std::min(plan.tiling.tile_n, plan.job.gemm.n);
    tiling.ub_budget = plan.tiling.ub_budget;
    const Job job = make_job(part.program, std::move(*grid), plan.job.soc, plan.job.bounds);
    tiling.rows = job.grid.rows;
    tiling.cols = job.grid.cols;
    tiling.ub_bytes = plan.coupled()
                          ? plan.tiling.ub_bytes
                          : parts_of(part.program, job.grid, job.live, tiling.tile_rows, tiling.tile_cols)
                                .total(tiling.buffer_num);
    Behind behind{product, part.tensors, cube_copies(plan)};
    behind.product.tensor = 0;
    auto launch = Lowering(job, *plan.sizes, tiling, &behind).run();
    if (!launch) return launch.error();
    int64_t copied = 0;
    for (const auto& copy : plan.job.epilogue.copies) copied += copy.bytes;
    const auto traffic = plan.job.epilogue.vector || plan.coupled()
                             ? vector_traffic(plan, part.program, job.grid)
                             : std::pair<int64_t, int64_t>{0, 0};
    launch->loaded_bytes = traffic.first + copied;
    launch->stored_bytes = traffic.second + copied;
    return launch;
}

}  // namespace ascend_fuse
