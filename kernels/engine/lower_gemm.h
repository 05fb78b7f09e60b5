// A matmul program at real sizes -> the launch block that op_kernel/kernel/matmul.cpp reads (gemm_launch.h).
#pragma once

#include <algorithm>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "gemm_launch.h"
#include "gemm_solve.h"
#include "gemm_support.h"
#include "lower_behind.h"

namespace ascend_fuse {

// Collects records behind a header.
class GemmRecords {
  public:
    explicit GemmRecords(const GemmPlan& plan) : plan_(plan), reader_(*plan.program, *plan.sizes) {}

    std::optional<Refusal> fill() {
        const GemmJob& job = plan_.job;
        fill_sizes();
        if (auto refusal = fill_operands()) return refusal;
        if (job.epilogue.ride.bias) {
            const Program& program = *plan_.program;
            header_.bias_tensor = other_operand(program.instrs[1], program.n_inputs());
            const Dtype dtype = program.values[static_cast<size_t>(header_.bias_tensor)].dtype;
            header_.bias = static_cast<int32_t>(dtype);
        }
        return fill_stores();
    }

    // Header and records, and the vector launch behind them.
    std::vector<uint8_t> block(const std::vector<uint8_t>& vector) {
        std::vector<uint8_t> bytes(sizeof header_);
        header_.stores = static_cast<int32_t>(stores_.size());
        header_.stores_at = append(bytes, stores_);
        header_.axes = static_cast<int32_t>(axes_.size());
        header_.axes_at = append(bytes, axes_);
        if (!vector.empty()) header_.fused_at = append(bytes, vector);
        header_.bytes = static_cast<int32_t>(bytes.size());
        std::memcpy(bytes.data(), &header_, sizeof header_);
        return bytes;
    }
    device::GemmHeader& header() { return header_; }
    int64_t workspace_bytes() const { return workspace_; }
    // Where vector cores find the product: at its place in an output or in the workspace, or in slots.
    Route product() const {
        if (plan_.coupled()) return Route{-1, 0, {}, {}};
        const Gemm& gemm = plan_.job.gemm;
        const Program& program = *plan_.program;
        const int leaves = program.n_inputs() + plan_.job.epilogue.ride.last;
        for (size_t i = 0; i < program.outputs.size(); ++i)
            if (program.outputs[i].value == leaves)
                return route_out(program, plan_.job.epilogue.job.grid, *plan_.sizes, i);
        const int64_t pitch = header_.slots_tensor < 0 ? gemm.n : plan_.tiling.tile_n;
        return Route{header_.tensors - 1, 0, {Axis{gemm.batch * gemm.m, pitch}}, {Axis{gemm.n, 1}}};
    }

  private:
    template <class Record>
    static int32_t append(std::vector<uint8_t>& bytes, const std::vector<Record>& records) {
        const auto at = static_cast<size_t>(round_up(static_cast<int64_t>(bytes.size()), align_bytes));
        bytes.resize(at + records.size() * sizeof(Record));
        if (!records.empty()) std::memcpy(bytes.data() + at, records.data(), records.size() * sizeof(Record));
        return static_cast<int32_t>(at);
    }

    void fill_sizes() {
        const GemmTiling& tiling = plan_.tiling;
        const Gemm& gemm = plan_.job.gemm;
        header_.block_dim = static_cast<int32_t>(plan_.block_dim());
        header_.buffer_num = static_cast<int32_t>(tiling.buffer_num);
        header_.vectors = static_cast<int32_t>(vectors_per_cube(plan_.job.soc));
        header_.in = static_cast<int32_t>(gemm.in);
        header_.leaves = static_cast<int32_t>(plan_.job.epilogue.leaves);
        header_.relu = plan_.job.epilogue.ride.relu ? 1 : 0;
        header_.apart = static_cast<int32_t>(plan_.apart());
        header_.batch = gemm.batch;
        header_.m = gemm.m;
        header_.n = gemm.n;
        header_.k = gemm.k;
        header_.tile_m = static_cast<int32_t>(tiling.tile_m);
        header_.tile_n = static_cast<int32_t>(tiling.tile_n);
        header_.tile_k = static_cast<int32_t>(tiling.tile_k);
        header_.step_k = static_cast<int32_t>(tiling.step_k);
        header_.c_buffers = static_cast<int32_t>(tiling.c_buffers);
        header_.ub_rows = static_cast<int32_t>(tiling.ub_rows);
        header_.tasks = tiling.tasks;
        header_.tasks_per_core = tiling.tasks_per_core;
    }

    int32_t add_axes(const Axes& axes) {
        const auto first = static_cast<int32_t>(axes_.size());
        for (const auto& axis : axes) axes_.push_back(device::AxisRecord{axis.extent, axis.stride});
        return first;
    }
    device::MatrixRecord record(int tensor, int64_t base, const GemmReader::Matrix& matrix, bool transposed) {
        device::MatrixRecord record;
        record.tensor = tensor;
        record.transposed = transposed ? 1 : 0;
        record.base = base;
        const Axes batch = side_of(matrix.batch), outer = side_of(matrix.outer),
                   inner = side_of(matrix.inner);
        record.first_batch_axis = add_axes(batch);
        record.batch_axes = static_cast<int32_t>(batch.size());
        record.first_outer_axis = add_axes(outer);
        record.outer_axes = static_cast<int32_t>(outer.size());
        record.first_inner_axis = add_axes(inner);
        record.inner_axes = static_cast<int32_t>(inner.size());
        return record;
    }

    std::optional<Refusal> fill_operands() {
        const Gemm& gemm = plan_.job.gemm;
        const Instr& product = plan_.program->instrs.front();
        const auto left = reader_.left(), right = reader_.right();
        // L1 takes whole columns of 32 B.
        const int64_t unit = align_bytes / plan_.job.in_width;
        if (auto refusal =
                check_runs(side_of(gemm.left.transposed ? left.outer : left.inner), unit, "a left operand"))
            return refusal;
        if (auto refusal = check_runs(side_of(gemm.right.transposed ? right.outer : right.inner), unit,
                                      "a right operand"))
            return refusal;
        header_.left = record(product.operands[0].value, 0, left, gemm.left.transposed);
        header_.right = record(product.operands[1].value, 0, right, gemm.right.transposed);
        return std::nullopt;
    }

    std::optional<Refusal> add_store(int tensor, int64_t base, const GemmReader::Matrix& matrix) {
        // FixPipe's columns are 16 wide.
        if (auto refusal = check_runs(side_of(matrix.inner), 16, "an output")) return refusal;
        stores_.push_back(device::StoreRecord{0, 0, record(tensor, base, matrix, false)});
        return std::nullopt;
    }

    // Outputs that leave the cube as they are, else the workspace that vector cores read. Coupled chips need
    // neither.
    std::optional<Refusal> fill_stores() {
        const Program& program = *plan_.program;
        const Epilogue& epilogue = plan_.job.epilogue;
        const int first = program.n_inputs();
        const int leaves = first + epilogue.ride.last;
        for (size_t i = 0; i < program.outputs.size(); ++i) {
            const Output& output = program.outputs[i];
            if (output.value != leaves || plan_.coupled()) continue;
            int64_t base = 0;
            if (output.joined() && !output.before)
                base = copy_of(program, output, *plan_.sizes).run / width(epilogue.leaves);
            if (auto refusal = add_store(first + static_cast<int>(i), base, reader_.out(i))) return refusal;
        }
        header_.tensors = first + static_cast<int32_t>(program.outputs.size());
        if (plan_.coupled() || !epilogue.vector || epilogue.stored > 0) return std::nullopt;
        return fill_workspace();
    }

    // Slots stay in L2. Where tiles run apart, each has its place.
    std::optional<Refusal> fill_workspace() {
        const GemmTiling& tiling = plan_.tiling;
        const Gemm& gemm = plan_.job.gemm;
        const int workspace = header_.tensors++;
        const int64_t w = width(plan_.job.epilogue.leaves), tile = tiling.tile_m * tiling.tile_n;
        if (plan_.apart() != 0) {
            workspace_ = gemm.batch * gemm.m * gemm.n * w;
            return add_store(workspace, 0, reader_.dense());
        }
        header_.slots_tensor = workspace;
        workspace_ = slots_per_core * tiling.block_dim * tile * w;
        GemmReader::Matrix slots;
        slots.batch = {Axis{slots_per_core * tiling.block_dim, tile}};
        slots.outer = {Axis{tiling.tile_m, tiling.tile_n}};
        slots.inner = {Axis{tiling.tile_n, 1}};
        if (auto refusal = add_store(workspace, 0, slots)) return refusal;
        stores_.back().per_core = 1;
        return std::nullopt;
    }

    const GemmPlan& plan_;
    GemmReader reader_;
    device::GemmHeader header_;
    std::vector<device::StoreRecord> stores_;
    std::vector<device::AxisRecord> axes_;
    int64_t workspace_ = 0;
};

// GM bytes that cube cores load and store: every tile loads its rows of A and columns of B.
inline std::pair<int64_t, int64_t> cube_traffic(const GemmPlan& plan) {
    const Gemm& gemm = plan.job.gemm;
    const Epilogue& epilogue = plan.job.epilogue;
    int64_t loaded = 0, stored = 0;
    for (const auto& one : classes_of(gemm, plan.tiling.tile_m, plan.tiling.tile_n)) {
        if (one.count == 0) continue;
        // A row alone is loaded twice (op_kernel/tile/load_l1.h).
        const int64_t rows = one.rows == 1 && !gemm.left.transposed ? 2 : one.rows;
        loaded +=
            one.count * ((rows + one.cols) * gemm.k * plan.job.in_width + one.cols * epilogue.bias_width);
        const bool passes = epilogue.vector && epilogue.stored == 0;
        const int64_t copies = plan.coupled() ? 0 : passes ? 1 : epilogue.stored;
        stored += one.count * one.rows * one.cols * width(epilogue.leaves) * copies;
    }
    return {loaded, stored};
}

// The product with the tiling that was solved for it.
inline Result<GemmPlan> plan_of(const Program& program, const std::vector<int64_t>& sizes, const Gemm& gemm,
                                const GemmSolution& own, const Soc& soc, const Bounds& bounds) {
    for (const Ride& ride : rides_of(program, soc)) {
        if (ride_text(ride) != own.tiling.ride) continue;
        auto job = make_gemm_job(program, sizes, gemm, ride, soc, bounds);
        if (!job) return job.error();
        return GemmPlan{&program, &sizes, std::move(*job), own.tiling, own.cost.hbm_bytes};
    }
    return unable("a product whose ride is unknown");
}

// Why the kernels of the chip cannot run the product as it is tiled.
inline std::optional<Refusal> unsupported(const GemmPlan& plan) {
    if (auto refusal = unsupported_product(*plan.program, plan.job.soc)) return refusal;
    if (auto refusal = check_leaves(plan.job)) return refusal;
    GemmRecords records(plan);
    if (auto refusal = records.fill()) return refusal;
    return plan.needs_vector() ? unsupported_behind(plan, records.product()) : std::nullopt;
}

inline Result<GemmPlan> plan_gemm(const Program& program, const std::vector<int64_t>& sizes, const Soc& soc,
                                  const Bounds& bounds) {
    const auto gemm = bind_gemm(program, sizes);
    if (!gemm) return gemm.error();
    if (gemm->left.scattered || gemm->right.scattered) return unable("an operand whose neighbours lie apart");
    GemmOverflow overflow;
    const auto own = solve_gemm(program, sizes, *gemm, soc, bounds, {}, &overflow);
    if (!own) return own.error();
    if (!*own) return unable("a product that fits no tile: " + overflow.buffer + " is too small");
    return plan_of(program, sizes, *gemm, **own, soc, bounds);
}

inline Result<Launch> lower_gemm(const GemmPlan& plan) {
    if (const auto refusal = unsupported(plan)) return unable(refusal->message);
    if (plan.coupled() && plan.apart() != 0) return unable("tiles that run apart on " + plan.job.soc.name);
    GemmRecords records(plan);
    records.fill();
    Launch launch;
    std::vector<uint8_t> vector;
    if (plan.needs_vector()) {
        auto part = lower_behind(plan, records.product());
        if (!part) return part.error();
        vector = std::move(part->block);
        launch.ub_bytes = part->ub_bytes;
        launch.loaded_bytes = part->loaded_bytes;
        launch.stored_bytes = part->stored_bytes;
    }
    launch.block = records.block(vector);
    launch.block_dim = plan.block_dim();
    launch.family = Family::matmul;
    launch.mixed = plan.job.path != Path::coupled;
    launch.workspace_bytes = records.workspace_bytes();
    const auto traffic = cube_traffic(plan);
    launch.loaded_bytes += traffic.first;
    launch.stored_bytes += traffic.second;
    launch.gm_bytes = static_cast<int64_t>(plan.hbm_bytes);
    return launch;
}

// Precondition: program.family is matmul.
inline Result<Launch> lower_gemm(const Program& program, const std::vector<int64_t>& sizes, const Soc& soc,
                                 const Bounds& bounds) {
    const auto plan = plan_gemm(program, sizes, soc, bounds);
    if (!plan) return plan.error();
    return lower_gemm(*plan);
}

}  // namespace ascend_fuse
