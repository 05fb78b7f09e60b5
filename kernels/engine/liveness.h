// What a program needs in UB for one tile: queues for inputs and outputs, slots for the values between,
// scratch.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "cost_data.h"
#include "grid.h"

namespace ascend_fuse {

// A place for one value at a time. `width`: bytes per element of a space row; `fixed`: bytes per row of the
// values whose rows have other extents than the space's.
struct Slot {
    Span span = Span::full;
    int64_t width = 0;
    int64_t fixed = 0;
};

struct Liveness {
    std::vector<int> last_use;  // by value: index of the last instruction that reads it, -1 for none
    std::vector<int> slot;      // by value: its slot; -1 for inputs and outputs, which live in queue buffers
    std::vector<Slot> slots;
    int64_t scratch_width = 0;  // bytes per element of a space row, shared by all instructions
    int64_t scratch_row = 0;    // bytes per row: 32 B blocks that Brcb fills
};

// The dtype in which the vector unit computes an instruction on values of `dtype`.
inline Dtype compute_dtype(const Soc& soc, const Op& op, Dtype dtype) {
    if (dtype == Dtype::bf16 && !soc.bf16_vector()) return Dtype::f32;
    const bool accumulates = op.is("reduce_sum") || op.is("reduce_mean");
    return accumulates && (dtype == Dtype::f16 || dtype == Dtype::bf16) ? Dtype::f32 : dtype;
}

// The dtype of the operands that an instruction computes on (not a condition).
inline Dtype operand_dtype(const Program& program, const Instr& instr) {
    for (size_t i = instr.operands.size(); i-- > 0;)
        if (instr.operands[i].value >= 0 && !(instr.entry().is("where") && i == 0))
            return program.values[static_cast<size_t>(instr.operands[i].value)].dtype;
    return instr.type.dtype;
}

inline bool widens(const Soc& soc, const Program& program, const Instr& instr) {
    const OpKind kind = instr.entry().kind;
    const Dtype dtype = operand_dtype(program, instr);
    return (kind == OpKind::map || kind == OpKind::reduce) &&
           compute_dtype(soc, instr.entry(), dtype) != dtype;
}

inline void add_scratch(Liveness& live, const Soc& soc, const Program& program, const Grid& grid,
                        size_t index) {
    const Instr& instr = program.instrs[index];
    const Extent& result = grid.values[index + program.inputs.size()];
    const Dtype own = operand_dtype(program, instr);
    const int64_t computed = width(compute_dtype(soc, instr.entry(), own));
    int64_t tiles = instr.entry().scratch * computed;
    int64_t blocks = 0;
    bool any_wide = result.wide();
    for (const auto& operand : instr.operands) {
        if (operand.value < 0) continue;
        const Extent& extent = grid.values[static_cast<size_t>(operand.value)];
        any_wide = any_wide || extent.wide();
        if (extent.wide() && widens(soc, program, instr)) tiles += 4;  // an f32 copy of the operand
        if (extent.span == Span::row && result.wide()) blocks += align_bytes;
        // An operand that is broadcast inside of the row is spread out first.
        if (extent.wide() && result.wide() && extent.cols != result.cols && instr.entry().kind == OpKind::map)
            tiles += computed;
    }
    if (result.wide() && widens(soc, program, instr)) tiles += 4;
    if (any_wide) live.scratch_width = std::max(live.scratch_width, tiles);
    live.scratch_row = std::max(live.scratch_row, blocks);
}

// An instruction of one call may write over an operand that dies in it, when both cover the same bytes.
inline bool in_place(const Program& program, const Grid& grid, const Instr& instr, int result, int operand) {
    const Extent &to = grid.values[static_cast<size_t>(result)],
                 &from = grid.values[static_cast<size_t>(operand)];
    return instr.entry().kind == OpKind::map && instr.entry().calls.size() == 1 &&
           instr.entry().scratch == 0 &&
           program.values[static_cast<size_t>(operand)].dtype == instr.type.dtype && to.span == from.span &&
           to.cols == from.cols;
}

inline void release(Liveness& live, std::vector<bool>& taken, const Instr& instr, int index) {
    for (const auto& operand : instr.operands)
        if (operand.value >= 0 && live.slot[static_cast<size_t>(operand.value)] >= 0 &&
            live.last_use[static_cast<size_t>(operand.value)] == index)
            taken[static_cast<size_t>(live.slot[static_cast<size_t>(operand.value)])] = false;
}

inline int take_slot(Liveness& live, std::vector<bool>& taken, const Extent& extent, int64_t cols,
                     int64_t pad) {
    size_t at = 0;
    while (at < live.slots.size() && (taken[at] || live.slots[at].span != extent.span)) ++at;
    if (at == live.slots.size()) {
        live.slots.push_back(Slot{extent.span, 0, 0});
        taken.push_back(false);
    }
    taken[at] = true;
    Slot& slot = live.slots[at];
    const bool odd = extent.wide() && extent.cols != cols;
    if (odd) slot.fixed = std::max(slot.fixed, (extent.cols + pad - 1) / pad * pad * extent.width);
    if (!odd) slot.width = std::max<int64_t>(slot.width, extent.width);
    return static_cast<int>(at);
}

// Values by last use; slots by first fit in text order, so kernels and engine agree on the places.
inline Liveness liveness(const Program& program, const Grid& grid, const Soc& soc) {
    Liveness live;
    live.last_use.assign(program.values.size(), -1);
    live.slot.assign(program.values.size(), -1);
    for (size_t i = 0; i < program.instrs.size(); ++i)
        for (const auto& operand : program.instrs[i].operands)
            if (operand.value >= 0) live.last_use[static_cast<size_t>(operand.value)] = static_cast<int>(i);
    std::vector<bool> taken;
    for (size_t i = 0; i < program.instrs.size(); ++i) {
        const Instr& instr = program.instrs[i];
        const int id = program.n_inputs() + static_cast<int>(i);
        add_scratch(live, soc, program, grid, i);
        bool reuse = false;
        for (const auto& operand : instr.operands)
            reuse = reuse || (operand.value >= 0 && live.slot[static_cast<size_t>(operand.value)] >= 0 &&
                              live.last_use[static_cast<size_t>(operand.value)] == static_cast<int>(i) &&
                              in_place(program, grid, instr, id, operand.value));
        if (reuse) release(live, taken, instr, static_cast<int>(i));
        if (!program.is_output(id))
            live.slot[static_cast<size_t>(id)] =
                take_slot(live, taken, grid.values[static_cast<size_t>(id)], grid.cols, grid.pad);
        if (!reuse) release(live, taken, instr, static_cast<int>(i));
        if (!program.is_output(id) && live.last_use[static_cast<size_t>(id)] < 0)
            taken[static_cast<size_t>(live.slot[static_cast<size_t>(id)])] = false;  // computed, never read
    }
    return live;
}

inline int64_t round_up(int64_t bytes, int64_t unit) { return (bytes + unit - 1) / unit * unit; }

// Bytes of one value's tile of tile_rows x tile_cols.
inline int64_t tile_bytes(const Grid& grid, const Extent& extent, int64_t tile_rows, int64_t tile_cols) {
    const int64_t cols = extent.cols == grid.cols ? tile_cols : extent.cols;
    switch (extent.span) {
        case Span::full:
            return tile_rows * grid.padded(cols) * extent.width;
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
            return tile_rows * wide;
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

inline int64_t ub_bytes(const Program& program, const Grid& grid, const Liveness& live, int64_t tile_rows,
                        int64_t tile_cols, int buffer_num) {
    int64_t total = 0;
    for (size_t i = 0; i < program.inputs.size(); ++i) {
        if (!program.inputs[i].tiled()) continue;
        const int buffers = resident(grid, grid.values[i], tile_cols) ? 1 : buffer_num;
        total += buffers * tile_bytes(grid, grid.values[i], tile_rows, tile_cols);
    }
    for (size_t id = 0; id < program.values.size(); ++id)
        if (program.is_output(static_cast<int>(id)))  // one buffer, however many tensors it goes to
            total += buffer_num * tile_bytes(grid, grid.values[id], tile_rows, tile_cols);
    for (const auto& slot : live.slots) total += slot_bytes(grid, slot, tile_rows, tile_cols);
    total += tile_rows * grid.padded(tile_cols) * live.scratch_width;
    return total + round_up(tile_rows, 8) * live.scratch_row;  // Brcb fills eight blocks at once
}

}  // namespace ascend_fuse
