// Where values and tiles between steps stand in UB.
#pragma once

#include <utility>
#include <vector>

#include "cost.h"

namespace ascend_fuse {

// Offsets of a launch with tiles of one size.
class Layout {
  public:
    Layout(const Program& program, const Grid& grid, const Liveness& live, int64_t tile_rows,
           int64_t tile_cols)
        : program_(program), grid_(grid), live_(live), rows_(tile_rows), cols_(tile_cols) {
        parts_ = parts_of(program, grid, live, tile_rows, tile_cols);
        Parts at;
        for (int id = 0; id < static_cast<int>(program.values.size()); ++id) {
            const int64_t bytes = tile_bytes(grid, extent(id), rows_, cols_);
            const bool input = program.is_input(id) && program.inputs[static_cast<size_t>(id)].tiled();
            int64_t& in = shared(id) ? at.resident : at.in;
            loaded_.push_back(in);
            stored_.push_back(at.out);
            if (input) in += bytes;
            if (program.is_output(id)) at.out += bytes;
        }
        int64_t slots = 0;
        for (const auto& slot : live.slots) {
            slots_.push_back(slots);
            slots += slot_bytes(grid, slot, rows_, cols_);
        }
    }

    const Parts& parts() const { return parts_; }

    // Whether all tiles share the input.
    bool shared(int id) const { return resident(grid_, extent(id), cols_); }

    // An input in a buffer of the queue, or among those that all tiles share.
    device::Operand loaded(int id) const {
        return tile(shared(id) ? device::Place::resident : device::Place::in,
                    loaded_[static_cast<size_t>(id)], dtype(id), extent(id).span, extent(id).cols,
                    grid_.turns_in(static_cast<size_t>(id)));
    }

    // An output in a buffer of its queue.
    device::Operand stored(int id) const {
        return tile(device::Place::out, stored_[static_cast<size_t>(id)], dtype(id), extent(id).span,
                    extent(id).cols, grid_.turns_out(static_cast<size_t>(id)));
    }

    // Whether steps read and write the value in a slot.
    bool in_slot(int id) const { return live_.slot[static_cast<size_t>(id)] >= 0; }

    // Where steps read and write the value.
    device::Operand value(int id) const {
        if (in_slot(id)) return in_slots(id, live_.slot[static_cast<size_t>(id)], tile_dtype(dtype(id)));
        return program_.is_input(id) ? loaded(id) : stored(id);
    }

    // What steps make of `ref`; temps of the instruction lie at `temps`, row values in blocks at `blocks`.
    device::Operand operand(const Ref& ref, const std::vector<int64_t>& temps, int64_t blocks) const {
        device::Operand operand = placed(ref, temps);
        operand.span = static_cast<device::SpanCode>(ref.span);
        operand.dtype = static_cast<int32_t>(ref.dtype);
        if (ref.blocks) operand.blocks = static_cast<int32_t>(blocks);
        return operand;
    }

    // Offsets of the tiles of one instruction in calc, and behind them where its blocks begin.
    std::vector<int64_t> temps(const Expansion& steps) const {
        std::vector<int64_t> offsets;
        int64_t at = parts_.slots;
        for (const auto& temp : steps.temps) {
            offsets.push_back(at);
            Room room;
            add_temp(room, grid_, temp);
            at += room_bytes(grid_, room, rows_, cols_);
        }
        offsets.push_back(at);
        return offsets;
    }

    int64_t block_bytes() const { return round_up(rows_, blocks_at_once) * align_bytes; }

  private:
    const Extent& extent(int id) const { return grid_.values[static_cast<size_t>(id)]; }
    Dtype dtype(int id) const { return program_.values[static_cast<size_t>(id)].dtype; }

    device::Operand tile(device::Place place, int64_t offset, Dtype dtype, Span span, int64_t cols,
                         bool turned = false) const {
        const bool wide = span == Span::full || span == Span::line;
        const int64_t own = wide && cols == grid_.cols ? cols_ : cols;
        device::Operand operand;
        operand.place = place;
        operand.span = static_cast<device::SpanCode>(span);
        operand.dtype = static_cast<int32_t>(dtype);
        operand.offset = static_cast<int32_t>(offset);
        operand.cols = static_cast<int32_t>(own);
        operand.pitch = static_cast<int32_t>(turned ? grid_.padded_rows(rows_) * width(dtype)
                                             : wide ? grid_.padded(own) * width(dtype)
                                                    : 0);
        operand.turned = turned ? 1 : 0;
        return operand;
    }

    device::Operand in_slots(int id, int slot, Dtype dtype) const {
        return tile(device::Place::calc, slots_[static_cast<size_t>(slot)], dtype, extent(id).span,
                    extent(id).cols);
    }

    device::Operand placed(const Ref& ref, const std::vector<int64_t>& temps) const {
        switch (ref.from) {
            case Ref::From::value:
                return value(ref.at);
            case Ref::From::loaded:
                return loaded(ref.at);
            case Ref::From::stored:
                return stored(ref.at);
            case Ref::From::sum:
                return in_slots(ref.at, live_.sum[static_cast<size_t>(ref.at)], ref.dtype);
            case Ref::From::temp:
                return tile(device::Place::calc, temps[static_cast<size_t>(ref.at)], ref.dtype, ref.span,
                            ref.cols, ref.turned);
            default:
                device::Operand literal;
                literal.offset = static_cast<int32_t>(ref.whole);
                literal.number = static_cast<float>(ref.number);
                return literal;
        }
    }

    const Program& program_;
    const Grid& grid_;
    const Liveness& live_;
    int64_t rows_, cols_;
    Parts parts_;
    std::vector<int64_t> loaded_, stored_, slots_;  // by value, by value, by slot
};

}  // namespace ascend_fuse
