// From a vector program at real sizes to the launch that its kernel reads (docs/design/0008).
#pragma once

#include <cstring>
#include <optional>
#include <utility>
#include <vector>

#include "bind.h"
#include "judge.h"
#include "lower_step.h"
#include "lower_transfer.h"
#include "lowered.h"

namespace ascend_fuse {

// Records behind a header in one block, each table on a boundary of 8 B.
class BlockWriter {
  public:
    explicit BlockWriter(device::LaunchHeader header) : header_(header), bytes_(sizeof header) {}

    template <class Record>
    void add(const std::vector<Record>& records, int32_t& at, int32_t& count) {
        at = static_cast<int32_t>(bytes_.size());
        count = static_cast<int32_t>(records.size());
        const size_t size = records.size() * sizeof(Record);
        bytes_.resize(static_cast<size_t>(round_up(at + static_cast<int64_t>(size), 8)));
        if (size > 0) std::memcpy(bytes_.data() + at, records.data(), size);
    }

    device::LaunchHeader& header() { return header_; }

    std::vector<uint8_t> finish() {
        bytes_.resize(static_cast<size_t>(round_up(static_cast<int64_t>(bytes_.size()), align_bytes)));
        header_.bytes = static_cast<int32_t>(bytes_.size());
        std::memcpy(bytes_.data(), &header_, sizeof header_);
        return std::move(bytes_);
    }

  private:
    device::LaunchHeader header_;
    std::vector<uint8_t> bytes_;
};

// What differs in a launch of vector cores behind a product, whose input 0 is the product.
struct Behind {
    Route product;                           // where they find it
    std::vector<int> tensors;                // of the node, by tensor of the program
    std::vector<device::CopyRecord> copies;  // of outputs that leave the cube as they are
};

class Lowering {
  public:
    // Precondition: `tiling` is one of the job's. Behind a product, tiles cut rows that nothing sweeps.
    Lowering(const Job& job, const std::vector<int64_t>& sizes, const Tiling& tiling,
             const Behind* behind = nullptr)
        : job_(job),
          program_(*job.program),
          sizes_(sizes),
          tiling_(tiling),
          behind_(behind),
          whole_(behind != nullptr || tiling.tile_cols == job.grid.cols),
          grid_(whole_ ? job.grid : job.cut),
          layout_(program_, grid_, whole_ ? job.live : job.cut_live, tiling.tile_rows, tiling.tile_cols) {}

    Result<Launch> run() {
        Stepper stepper(program_, grid_, job_.soc, layout_, records_);
        for (int id = 0; id < program_.n_inputs(); ++id)
            if (program_.inputs[static_cast<size_t>(id)].tiled() && layout_.shared(id)) add_resident(id);
        for (const auto& sweep : Sweeper(program_, grid_).run())
            if (auto error = add_sweep(stepper, sweep)) return *error;
        for (size_t i = 0; i < program_.outputs.size(); ++i)
            if (program_.outputs[i].joined()) add_copy(copy_record(program_, sizes_, i));
        if (behind_ != nullptr) move_tensors();
        return finish();
    }

  private:
    int64_t tiles_per_row() const { return tiles_of_row(grid_, tiling_.tile_cols); }

    // Bytes that all tiles of a sweep move of one value.
    int64_t moved(int id, bool once) const {
        const Extent& extent = grid_.values[static_cast<size_t>(id)];
        const int64_t times = once && job_.row_tasks ? 1 : tiles_per_row(), tasks = tiling_.tasks;
        const int64_t blocks = whole_ ? tasks : blocks_of_rows(grid_, tiling_.tile_rows);
        switch (extent.span) {
            case Span::full:
                return grid_.rows * extent.cols * extent.width;
            case Span::line:
                return blocks * extent.cols * extent.width;
            case Span::row:
                return grid_.rows * times * extent.width;
            default:
                return blocks * times * extent.width;
        }
    }

    device::TransferRecord record(const Route& route, const device::Operand& tile) {
        device::TransferRecord record;
        record.tensor = route.tensor;
        record.base = route.base;
        record.row_axes = static_cast<int32_t>(route.rows.size());
        record.first_row_axis = records_.add(route.rows);
        record.col_axes = static_cast<int32_t>(route.cols.size());
        record.first_col_axis = records_.add(route.cols);
        record.tile = tile;
        return record;
    }

    void add_resident(int id) {
        const Extent& extent = grid_.values[static_cast<size_t>(id)];
        const int64_t busy = (tiling_.tasks + tiling_.tasks_per_core - 1) / tiling_.tasks_per_core;
        records_.residents.push_back(record(route_in(program_, grid_, id), layout_.loaded(id)));
        launch_.loaded_bytes += busy * extent.cols * extent.width;
    }

    std::optional<Error> add_sweep(Stepper& stepper, const Sweep& sweep) {
        device::PassRecord pass;
        pass.once = sweep.once ? 1 : 0;
        pass.first_load = static_cast<int32_t>(records_.loads.size());
        for (int id = 0; id < program_.n_inputs(); ++id) {
            if (!sweep.loads[static_cast<size_t>(id)] || layout_.shared(id)) continue;
            const bool product = behind_ != nullptr && id == 0;
            records_.loads.push_back(
                record(product ? behind_->product : route_in(program_, grid_, id), layout_.loaded(id)));
            launch_.loaded_bytes += moved(id, sweep.once);
        }
        pass.loads = static_cast<int32_t>(records_.loads.size()) - pass.first_load;
        pass.first_step = static_cast<int32_t>(records_.steps.size());
        if (auto error = stepper.add(sweep)) return error;
        pass.steps = static_cast<int32_t>(records_.steps.size()) - pass.first_step;
        pass.first_store = static_cast<int32_t>(records_.stores.size());
        for (const size_t output : sweep.stores) {
            const int id = program_.outputs[output].value;
            records_.stores.push_back(record(route_out(program_, grid_, sizes_, output), layout_.stored(id)));
            launch_.stored_bytes += moved(id, sweep.once);
        }
        pass.stores = static_cast<int32_t>(records_.stores.size()) - pass.first_store;
        for (int32_t i = 0; i < pass.steps; ++i)
            if (records_.steps[static_cast<size_t>(pass.first_step + i)].out.place == device::Place::out)
                pass.outs = 1;
        records_.passes.push_back(pass);
        return std::nullopt;
    }

    // The program's tensors as the node numbers them.
    void move_tensors() {
        const auto move = [&](int32_t& tensor) { tensor = behind_->tensors[static_cast<size_t>(tensor)]; };
        for (auto* list : {&records_.residents, &records_.loads, &records_.stores})
            for (auto& transfer : *list) move(transfer.tensor);
        for (auto& copy : records_.copies) {
            move(copy.from);
            move(copy.to);
        }
        for (const auto& copy : behind_->copies) add_copy(copy);
    }

    void add_copy(const device::CopyRecord& copy) {
        records_.copies.push_back(copy);
        launch_.loaded_bytes += records_.copies.back().bytes;
        launch_.stored_bytes += records_.copies.back().bytes;
    }

    device::LaunchHeader header() const {
        const Parts& parts = layout_.parts();
        device::LaunchHeader header;
        header.block_dim = static_cast<int32_t>(tiling_.block_dim);
        header.buffer_num = static_cast<int32_t>(tiling_.buffer_num);
        header.tensors = program_.n_inputs() + static_cast<int32_t>(program_.outputs.size());
        header.tile_rows = static_cast<int32_t>(tiling_.tile_rows);
        header.tile_cols = static_cast<int32_t>(tiling_.tile_cols);
        header.row_tasks = !whole_ && job_.row_tasks ? 1 : 0;
        header.rows = grid_.rows;
        header.cols = grid_.cols;
        header.segment = whole_ ? grid_.cols : grid_.segment;
        header.row_segment = behind_ != nullptr ? grid_.rows : grid_.row_segment;
        header.tasks = tiling_.tasks;
        header.tasks_per_core = tiling_.tasks_per_core;
        header.tiles_per_row = static_cast<int32_t>(tiles_per_row());
        header.in_bytes = static_cast<int32_t>(parts.in);
        header.out_bytes = static_cast<int32_t>(parts.out);
        header.resident_bytes = static_cast<int32_t>(parts.resident);
        header.calc_bytes = static_cast<int32_t>(parts.slots + parts.scratch);
        if (!records_.copies.empty())
            header.copy_bytes =
                static_cast<int32_t>(copy_buffer(tiling_.ub_budget) / align_bytes * align_bytes);
        return header;
    }

    Launch finish() {
        BlockWriter writer(header());
        device::LaunchHeader& header = writer.header();
        writer.add(records_.residents, header.residents_at, header.residents);
        writer.add(records_.loads, header.loads_at, header.loads);
        writer.add(records_.stores, header.stores_at, header.stores);
        writer.add(records_.steps, header.steps_at, header.steps);
        writer.add(records_.passes, header.passes_at, header.passes);
        writer.add(records_.axes, header.axes_at, header.axes);
        writer.add(records_.copies, header.copies_at, header.copies);
        launch_.block_dim = tiling_.block_dim;
        launch_.family = program_.family;
        // Copies come behind the tiles, in their place.
        launch_.ub_bytes = std::max(tiling_.ub_bytes, int64_t{2} * header.copy_bytes);
        launch_.gm_bytes = static_cast<int64_t>(cost_of(job_, tiling_, {}).hbm_bytes);
        launch_.block = writer.finish();
        return std::move(launch_);
    }

    const Job& job_;
    const Program& program_;
    const std::vector<int64_t>& sizes_;
    Tiling tiling_;
    const Behind* behind_;
    bool whole_;
    const Grid& grid_;
    Layout layout_;
    Records records_;
    Launch launch_;
};

inline Result<Job> job_of(const Program& program, const std::vector<int64_t>& sizes, const Soc& soc,
                          const Bounds& bounds) {
    if (auto error = check(bounds)) return *error;
    auto grid = bind(program, sizes);
    if (!grid) return grid.error();
    if (const auto refusal = unsupported_dtype(program, soc)) return wrong("lower: " + refusal->message);
    if (!grid->misplaced.empty()) return wrong("lower: " + grid->misplaced);
    return make_job(program, std::move(*grid), soc, bounds);
}

}  // namespace ascend_fuse
