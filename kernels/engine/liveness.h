// What a program needs in UB for one tile: queues for inputs and outputs, slots for the values between,
// scratch.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "cost_data.h"
#include "expand.h"
#include "grid.h"

namespace ascend_fuse {

// A place for one value at a time. `width`: bytes per element of a space row; `fixed`: bytes per row of the
// values whose rows have other extents than the space's.
struct Slot {
    Span span = Span::full;
    int64_t width = 0;
    int64_t fixed = 0;
};

// Bytes of the tiles that one instruction needs beside operands and result, as a linear form.
struct Room {
    int64_t full = 0, line = 0;       // per element of a padded space row: of all rows, of one
    int64_t odd = 0, odd_line = 0;    // rows of other extents
    int64_t rows = 0;                 // row values
    int64_t blocks = 0, scalars = 0;  // row values in blocks of 32 B that Brcb fills eight at once
    int64_t fixed = 0;                // bytes

    bool operator==(const Room& other) const {
        return full == other.full && line == other.line && odd == other.odd && odd_line == other.odd_line &&
               rows == other.rows && blocks == other.blocks && scalars == other.scalars &&
               fixed == other.fixed;
    }
};

struct Liveness {
    std::vector<int> last_use;  // by value: index of the last instruction that reads it, -1 for none
    std::vector<int> slot;      // by value: its slot; -1 for what lives in a buffer of a queue alone
    std::vector<int> sum;  // by value: the slot in which the tiles of a cut row add up; -1 where it is `slot`
    std::vector<Slot> slots;
    std::vector<Room> rooms;  // distinct needs of instructions, which share scratch
};

inline constexpr int64_t widest_temp = 4;     // bytes of an element of a row value between steps
inline constexpr int64_t blocks_at_once = 8;  // that Brcb fills

inline void add_temp(Room& room, const Grid& grid, const Temp& temp) {
    if (temp.bytes > 0) {
        room.fixed += temp.bytes;
        return;
    }
    // Each row of a tile fills blocks of 32 B.
    const int64_t bytes = std::max<int64_t>(width(temp.dtype), align_bytes / grid.pad),
                  odd = grid.padded(temp.cols) * bytes;
    const bool whole = temp.cols == grid.cols;
    switch (temp.span) {
        case Span::full:
            (whole ? room.full : room.odd) += whole ? bytes : odd;
            break;
        case Span::line:
            (whole ? room.line : room.odd_line) += whole ? bytes : odd;
            break;
        case Span::row:
            ++room.rows;
            break;
        default:
            ++room.scalars;
    }
}

// An instruction of one call may write over an operand that dies in it, when both cover the same bytes.
inline bool in_place(const Program& program, const Grid& grid, const Instr& instr, int result, int operand) {
    const Extent &to = grid.values[static_cast<size_t>(result)],
                 &from = grid.values[static_cast<size_t>(operand)];
    // The place of a quotient first holds a dividend that is one number for all lanes.
    if (instr.entry().is("div") && instr.operands[0].value != operand) return false;
    return instr.entry().kind == OpKind::map && instr.entry().calls.size() == 1 &&
           instr.entry().scratch == 0 &&
           program.values[static_cast<size_t>(operand)].dtype == instr.type.dtype && to.span == from.span &&
           to.cols == from.cols;
}

// One for all passes over a cut row.
inline bool kept(const Grid& grid, int id) {
    return grid.cut && !grid.values[static_cast<size_t>(id)].swept();
}

// Inputs and outputs live in buffers of the queues; there a bool is a byte, what lies turned in memory is
// turned, and what a cut row computes once would be lost with the tile.
inline bool needs_slot(const Program& program, const Grid& grid, int id) {
    const auto at = static_cast<size_t>(id);
    if (carried(program, id)) return false;
    if (is_bool(program.values[at].dtype)) return true;
    if (program.is_input(id)) return grid.turns_in(at);
    return !program.is_output(id) || kept(grid, id) || grid.turns_out(at);
}

// Slots by first fit in text order, so that kernels and engine agree on the places.
class Placer {
  public:
    Placer(const Program& program, const Grid& grid, const Soc& soc, const std::vector<Expansion>& steps)
        : program_(program), grid_(grid), soc_(soc), steps_(steps) {
        live_.last_use.assign(program.values.size(), -1);
        live_.slot.assign(program.values.size(), -1);
        live_.sum.assign(program.values.size(), -1);
        for (size_t i = 0; i < program.instrs.size(); ++i)
            for (const auto& operand : program.instrs[i].operands)
                if (operand.value >= 0)
                    live_.last_use[static_cast<size_t>(operand.value)] = static_cast<int>(i);
    }

    Liveness run() {
        for (size_t i = 0; i < program_.instrs.size(); ++i) place(static_cast<int>(i));
        for (int id = 0; id < static_cast<int>(program_.values.size()); ++id) {
            const bool slot = live_.slot[static_cast<size_t>(id)] >= 0, input = program_.is_input(id);
            if (slot && input) add_room(enter(program_, grid_, soc_, id));
            if (program_.is_output(id) && (slot || input)) add_room(leave(program_, grid_, soc_, id));
        }
        return std::move(live_);
    }

  private:
    bool needs_slot(int id) const { return ascend_fuse::needs_slot(program_, grid_, id); }
    bool kept(int id) const { return ascend_fuse::kept(grid_, id); }

    int slot_for(int id, int64_t bytes) {
        const Extent& extent = grid_.values[static_cast<size_t>(id)];
        // What is kept shares its place with nothing that is computed again.
        size_t at = kept(id) ? live_.slots.size() : 0;
        while (at < live_.slots.size() && (taken_[at] || live_.slots[at].span != extent.span)) ++at;
        if (at == live_.slots.size()) {
            live_.slots.push_back(Slot{extent.span, 0, 0});
            taken_.push_back(false);
        }
        taken_[at] = true;
        Slot& slot = live_.slots[at];
        const bool odd = extent.wide() && extent.cols != grid_.cols;
        if (odd) slot.fixed = std::max(slot.fixed, grid_.padded(extent.cols) * bytes);
        if (!odd) slot.width = std::max(slot.width, bytes);
        return static_cast<int>(at);
    }

    void take(int id) {
        live_.slot[static_cast<size_t>(id)] =
            slot_for(id, width(tile_dtype(program_.values[static_cast<size_t>(id)].dtype)));
    }

    void free(int id) {
        const int slot = live_.slot[static_cast<size_t>(id)];
        if (slot >= 0 && !kept(id)) taken_[static_cast<size_t>(slot)] = false;
    }

    void release(const Instr& instr, int index) {
        for (const auto& operand : instr.operands)
            if (operand.value >= 0 && live_.last_use[static_cast<size_t>(operand.value)] == index)
                free(operand.value);
    }

    void place(int index) {
        const Instr& instr = program_.instrs[static_cast<size_t>(index)];
        const int id = program_.n_inputs() + index;
        add_room(steps_[static_cast<size_t>(index)]);
        bool reuse = false;
        for (const auto& operand : instr.operands) {
            if (operand.value < 0) continue;
            const auto at = static_cast<size_t>(operand.value);
            const bool read = program_.is_input(operand.value) && !carried(program_, id);
            if (read && needs_slot(operand.value) && live_.slot[at] < 0) take(operand.value);
            reuse = reuse || (live_.slot[at] >= 0 && !kept(operand.value) && live_.last_use[at] == index &&
                              in_place(program_, grid_, instr, id, operand.value));
        }
        if (reuse) release(instr, index);
        if (needs_slot(id)) take(id);
        if (kept(id) && widens(soc_, program_, instr) && instr.entry().kind == OpKind::reduce)
            live_.sum[static_cast<size_t>(id)] = slot_for(id, width(Dtype::f32));
        if (!reuse) release(instr, index);
        if (live_.last_use[static_cast<size_t>(id)] < 0) free(id);  // read by no instruction
    }

    void add_room(const Expansion& steps) {
        Room room;
        for (const auto& temp : steps.temps) add_temp(room, grid_, temp);
        for (const auto& step : steps.steps)
            for (const auto& ref : step.in) room.blocks += ref.blocks ? 1 : 0;
        if (std::find(live_.rooms.begin(), live_.rooms.end(), room) == live_.rooms.end())
            live_.rooms.push_back(room);
    }

    const Program& program_;
    const Grid& grid_;
    const Soc& soc_;
    const std::vector<Expansion>& steps_;
    Liveness live_;
    std::vector<bool> taken_;
};

// `steps`: of each instruction.
inline Liveness liveness(const Program& program, const Grid& grid, const Soc& soc,
                         const std::vector<Expansion>& steps) {
    return Placer(program, grid, soc, steps).run();
}

inline int64_t round_up(int64_t bytes, int64_t unit) { return (bytes + unit - 1) / unit * unit; }

// Bytes of one value's tile of tile_rows x tile_cols.
inline int64_t tile_bytes(const Grid& grid, const Extent& extent, int64_t tile_rows, int64_t tile_cols) {
    const int64_t cols = extent.cols == grid.cols ? tile_cols : extent.cols;
    switch (extent.span) {
        case Span::full:
            return grid.padded_rows(tile_rows) * grid.padded(cols) * extent.width;
        case Span::line:
            return grid.padded(cols) * extent.width;
        case Span::row:
            return round_up(tile_rows * extent.width, align_bytes);
        default:
            return align_bytes;
    }
}

inline int64_t slot_bytes(const Grid& grid, const Slot& slot, int64_t tile_rows, int64_t tile_cols) {
    const int64_t wide = std::max(grid.padded(tile_cols) * slot.width, slot.fixed);
    switch (slot.span) {
        case Span::full:
            return grid.padded_rows(tile_rows) * wide;
        case Span::line:
            return wide;
        case Span::row:
            return round_up(tile_rows * slot.width, align_bytes);
        default:
            return align_bytes;
    }
}

// Inputs that every tile shares: loaded once per core and held in one buffer.
inline bool resident(const Grid& grid, const Extent& extent, int64_t tile_cols) {
    return extent.span == Span::scalar || (extent.span == Span::line && tile_cols == grid.cols);
}

inline int64_t room_bytes(const Grid& grid, const Room& room, int64_t tile_rows, int64_t tile_cols) {
    const int64_t padded = grid.padded(tile_cols);
    return grid.padded_rows(tile_rows) * (padded * room.full + room.odd) + padded * room.line +
           room.odd_line + room.rows * round_up(tile_rows * widest_temp, align_bytes) +
           room.blocks * round_up(tile_rows, blocks_at_once) * align_bytes + room.scalars * align_bytes +
           room.fixed;
}

// The parts of UB that a tile takes, in bytes; of the queues, one buffer.
struct Parts {
    int64_t in = 0, out = 0, resident = 0, slots = 0, scratch = 0;

    int64_t total(int64_t buffer_num) const { return buffer_num * (in + out) + resident + slots + scratch; }
};

inline Parts parts_of(const Program& program, const Grid& grid, const Liveness& live, int64_t tile_rows,
                      int64_t tile_cols) {
    Parts parts;
    for (size_t id = 0; id < program.values.size(); ++id) {
        const int64_t bytes = tile_bytes(grid, grid.values[id], tile_rows, tile_cols);
        const bool input = program.is_input(static_cast<int>(id));
        if (input && program.inputs[id].tiled())
            (resident(grid, grid.values[id], tile_cols) ? parts.resident : parts.in) += bytes;
        if (program.is_output(static_cast<int>(id))) parts.out += bytes;  // however many tensors it goes to
    }
    for (const auto& slot : live.slots) parts.slots += slot_bytes(grid, slot, tile_rows, tile_cols);
    for (const auto& room : live.rooms)
        parts.scratch = std::max(parts.scratch, room_bytes(grid, room, tile_rows, tile_cols));
    return parts;
}

}  // namespace ascend_fuse
