// A program at real sizes: its space as rows x cols, and where each value varies.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "check.h"
#include "join.h"
#include "lie.h"
#include "program.h"
#include "result.h"

namespace ascend_fuse {

// Where a value varies: over rows and cols | over cols alone (a bias) | over rows alone (a row maximum) |
// nowhere.
enum class Span { full, line, row, scalar };

struct Extent {
    Span span = Span::full;
    int64_t cols = 1;        // elements of one row of the value
    int64_t elements = 1;    // distinct elements in GM
    int width = 4;           // bytes of an element
    bool dense = true;       // consecutive rows are consecutive in GM
    bool segmented = false;  // one element for each segment of a row, of which a cut row has one a tile

    bool wide() const { return span == Span::full || span == Span::line; }
    bool swept() const { return wide() || segmented; }  // another in each tile of a cut row
    int64_t bytes() const { return elements * width; }
};

using Sizes = std::vector<std::vector<int64_t>>;  // extents by value

struct Grid {
    int64_t rows = 1;
    int64_t cols = 1;
    int64_t pad = 8;          // elements that a tile row is padded to: 32 B of the narrowest wide value
    int64_t row_pad = 1;      // rows that a tile is padded to: squares that are turned are whole
    int64_t row_segment = 1;  // no tile crosses the end of so many rows: runs begin on blocks of UB
    int64_t row_step = 1;     // tiles that are no segment have a multiple of so many rows, likewise
    int64_t segment = 1;      // elements of a row along which whatever broadcasts inside it is one element
    bool streamable = true;   // columns can be cut, inside segments
    std::vector<Extent> values;
    std::vector<Lie> loads;                // by value: how an input lies
    std::vector<std::vector<Lie>> stores;  // by value, for each output of it
    std::vector<Copy> copies;              // the other parts of outputs
    std::string misplaced;                 // why no block transfer moves a tensor; empty where all are moved
    std::vector<int64_t> space;
    Sizes extents;     // by value, of the rank of the space
    size_t split = 0;  // the first axis of a row
    bool cut = false;  // as a tile inside one segment of a cut row sees it

    int64_t padded(int64_t elements) const { return (elements + pad - 1) / pad * pad; }
    int64_t padded_rows(int64_t rows) const { return (rows + row_pad - 1) / row_pad * row_pad; }
    bool turns_in(size_t id) const { return loads[id].turned; }
    bool turns_out(size_t id) const { return !stores[id].empty() && stores[id].front().turned; }
    // Whether tiles may have so many rows.
    bool takes_rows(int64_t tile) const {
        return tile > 0 && tile <= row_segment && (tile == row_segment || tile % row_step == 0);
    }
    // Whether a row may be on chip as a whole: all its runs begin on blocks there.
    bool takes_whole_rows() const { return segment == cols || !reorders(); }
    // Whether a tensor lies in an order of its own.
    bool reorders() const {
        const auto ordered = [](const Lie& lie) { return lie.ordered; };
        const auto any = [&](const std::vector<Lie>& one) {
            return std::any_of(one.begin(), one.end(), ordered);
        };
        return any(loads) || std::any_of(stores.begin(), stores.end(), any);
    }
};

inline constexpr int64_t align_bytes = 32;  // UB addresses and DataCopy lengths (AscendC)
inline constexpr int64_t max_elements = int64_t{1} << 48;

inline int64_t product(const std::vector<int64_t>& extents, size_t from, size_t to) {
    int64_t total = 1;
    for (size_t i = from; i < to; ++i) total *= extents[i];
    return total;
}

// In floating point, as the product of the extents may not fit an integer.
inline bool too_large(const std::vector<int64_t>& extents) {
    double volume = 1;
    for (const int64_t extent : extents) volume *= static_cast<double>(extent);
    return volume > static_cast<double>(max_elements);
}

// The first value of more elements than the engine counts.
inline std::optional<Error> oversized(const Program& program, const std::vector<int64_t>& sizes) {
    for (size_t id = 0; id < program.values.size(); ++id) {
        const bool past = program.is_input(static_cast<int>(id)) && program.inputs[id].side == Side::past;
        const Value& value = program.values[id];
        if (too_large(resolve(past ? program.inputs[id].type.dims : value.extents, sizes)))
            return wrong(value.name + " has more than 2^48 elements");
    }
    return std::nullopt;
}

// Sizes that the symbolic checks could not compare.
inline std::optional<Error> check_sizes(const Program& program, const Sizes& values,
                                        const std::vector<int64_t>& space) {
    const size_t lead = static_cast<size_t>(program.lead_rank());
    const int64_t row = product(space, lead, space.size());
    for (size_t id = 0; id < values.size(); ++id) {
        const int line = static_cast<int>(id) + 2;  // one line a value, behind the header
        if (product(values[id], lead, space.size()) > row)
            return Error{line, program.values[id].name + " has a longer row than the space"};
        if (program.is_input(static_cast<int>(id))) continue;
        const Instr& instr = program.instr(static_cast<int>(id));
        if (!instr.entry().is("concat") && !instr.entry().is("slice")) continue;
        int64_t total = 0;
        for (const auto& operand : instr.operands) total += values[static_cast<size_t>(operand.value)].back();
        const bool slice = instr.entry().is("slice");
        if (slice ? values[id].back() > total : values[id].back() != total)
            return Error{line, instr.entry().name + " of " + std::to_string(total) +
                                   " elements gives no row of " + std::to_string(values[id].back())};
    }
    return std::nullopt;
}

// The outermost axis from which on every value is either full or constant: the span behind it is contiguous.
inline size_t split_axis(const Program& program, const Sizes& values, const std::vector<int64_t>& space) {
    if (program.bar >= 0) return static_cast<size_t>(program.bar);
    for (size_t split = 0; split < space.size(); ++split) {
        bool flat = true;
        for (const auto& extents : values) {
            const int64_t own = product(extents, split, space.size());
            flat = flat && (own == 1 || own == product(space, split, space.size()));
        }
        if (flat) return split;
    }
    return space.size() - 1;
}

inline Extent extent_of(const std::vector<int64_t>& extents, const std::vector<int64_t>& space, size_t split,
                        Dtype dtype, bool rowwise) {
    Extent extent;
    extent.width = width(dtype);
    extent.cols = product(extents, split, space.size());
    const int64_t own_rows = product(extents, 0, split), rows = product(space, 0, split);
    extent.elements = own_rows * extent.cols;
    extent.dense = own_rows == rows;
    const bool by_col = extent.cols > 1 || product(space, split, space.size()) == 1;
    // With one row nothing tells full from line; values reduced to one element still are row values.
    const bool by_row = rows > 1 ? own_rows > 1 : by_col || rowwise;
    extent.span = by_col ? (by_row ? Span::full : Span::line) : (by_row ? Span::row : Span::scalar);
    return extent;
}

// The trailing elements of a row along which every value is full or one element; all of them mostly.
inline int64_t segment_of(const Program& program, const Sizes& values, const std::vector<int64_t>& space,
                          size_t split) {
    size_t from = space.size();
    while (from > split) {
        for (size_t id = 0; id < values.size(); ++id) {
            if (program.is_input(static_cast<int>(id)) && !program.inputs[id].tiled()) continue;
            const int64_t own = product(values[id], split, space.size());
            if (own > 1 && own < product(space, split, space.size()) && values[id][from - 1] > 1)
                return product(space, from, space.size());
        }
        --from;
    }
    return product(space, split, space.size());
}

// Whether a row may be cut: no moves along it, and no reduction over what broadcasts inside it.
inline bool can_cut(const Program& program, const Grid& grid) {
    for (const auto& instr : program.instrs) {
        if (instr.entry().is("slice") || instr.entry().is("concat")) return false;
        if (instr.entry().kind != OpKind::reduce) continue;
        const Extent& source = grid.values[static_cast<size_t>(instr.operands[0].value)];
        if (source.wide() && source.cols != grid.cols) return false;
    }
    return true;
}

// Blocks of rows, the ends of segments among them.
inline int64_t blocks_of_rows(const Grid& grid, int64_t tile_rows) {
    return grid.rows / grid.row_segment * ((grid.row_segment + tile_rows - 1) / tile_rows);
}

// The grid as a tile inside one segment sees it: what broadcasts inside the row is a row value there.
inline Grid inside_segments(Grid grid) {
    grid.cut = true;
    for (auto& extent : grid.values) {
        if (!extent.wide() || extent.cols == grid.cols) continue;
        extent.segmented = true;
        extent.span = Span::row;
        extent.cols = 1;
        extent.dense = false;
    }
    return grid;
}

// Tiles of one row.
inline int64_t tiles_of_row(const Grid& grid, int64_t tile_cols) {
    if (tile_cols >= grid.cols) return 1;
    return grid.cols / grid.segment * ((grid.segment + tile_cols - 1) / tile_cols);
}

// TransDataTo5HD turns 16 rows at once; bytes are turned as the 16-bit numbers that they are converted to.
inline constexpr int64_t turned_rows = 16;

// Where a tensor of value `id` bounds tiles: rows and cols that are moved begin on blocks of UB.
inline void bound_by(Grid& grid, const Program& program, size_t id, const Lie& lie) {
    const Extent& extent = grid.values[id];
    if (lie.scattered || (lie.turned && (extent.cols != grid.cols || extent.span != Span::full)))
        grid.misplaced = program.values[id].name + " is contiguous along neither the rows nor the cols";
    if (lie.turned) {
        grid.row_pad = std::max(grid.row_pad, extent.width == 1 ? align_bytes : turned_rows);
        grid.pad = std::max(grid.pad, turned_rows);
    }
    int64_t& segment = lie.turned ? grid.row_segment : grid.segment;
    if (!lie.ordered || !extent.wide()) return;
    if (lie.run * extent.width % align_bytes != 0)
        segment = std::min(segment, lie.run);
    else if (lie.turned && lie.run < grid.rows)
        grid.row_step = std::max<int64_t>(grid.row_step, align_bytes / extent.width);
}

// How tensors lie that have an order of their own.
inline void lay(Grid& grid, const Program& program, const std::vector<int64_t>& sizes) {
    grid.row_segment = grid.rows;
    grid.loads.resize(grid.values.size());
    grid.stores.resize(grid.values.size());
    const auto lie = [&](const Axes& axes) { return lie_of(sides_of(axes, grid.space, grid.split, false)); };
    for (size_t id = 0; id < program.inputs.size(); ++id) {
        const Input& input = program.inputs[id];
        if (input.order.empty() || !input.tiled()) continue;
        grid.loads[id] = lie(axes_of(grid.extents[id], aligned_order(input, grid.space.size())));
        Extent& extent = grid.values[id];
        extent.dense = extent.dense && (extent.span != Span::row || grid.loads[id].run == grid.rows);
        bound_by(grid, program, id, grid.loads[id]);
    }
    for (const auto& output : program.outputs) {
        const auto id = static_cast<size_t>(output.value);
        Lie own;
        if (!output.order.empty()) own = lie(axes_of(program, output, sizes));
        if (!own.ordered && output.joined())
            own.run = copy_of(program, output, sizes).own / grid.values[id].width;
        bound_by(grid, program, id, own);
        grid.stores[id].push_back(own);
        if (own.turned != grid.turns_out(id))
            grid.misplaced = program.values[id].name + " is stored both turned and straight";
    }
}

}  // namespace ascend_fuse
