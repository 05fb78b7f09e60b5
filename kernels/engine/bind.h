// A program at sizes: its grid, for the split of the space along which its tensors lie.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "grid.h"

namespace ascend_fuse {

// The grid of values whose rows end at `split`.
inline Grid cut(const Program& program, const std::vector<int64_t>& sizes, const Sizes& values,
                const std::vector<int64_t>& space, size_t split) {
    Grid grid;
    grid.rows = product(space, 0, split);
    grid.cols = product(space, split, space.size());
    int narrowest = 4;  // tiles between steps have 4 B an element
    for (size_t id = 0; id < values.size(); ++id) {
        const bool rowwise = program.family == Family::rowwise && !program.is_input(static_cast<int>(id));
        const Extent extent = extent_of(values[id], space, split, program.values[id].dtype, rowwise);
        grid.values.push_back(extent);
        if (program.is_input(static_cast<int>(id)) && !program.inputs[id].tiled()) continue;
        // A bool that is spread over a row is an f16 there.
        const int least = extent.wide() ? extent.width : is_bool(program.values[id].dtype) ? 2 : 4;
        narrowest = std::min(narrowest, least);
    }
    grid.split = split;
    grid.segment = segment_of(program, values, space, split);
    grid.streamable = can_cut(program, grid);
    grid.pad = align_bytes / narrowest;
    grid.copies = copies_of(program, sizes);
    grid.space = space;
    grid.extents = values;
    lay(grid, program, sizes);
    return grid;
}

// `sizes`: by symbol number.
inline Result<Grid> bind(const Program& program, const std::vector<int64_t>& sizes) {
    if (program.family == Family::matmul) return wrong("a matmul program is tiled with its product");
    if (static_cast<int>(sizes.size()) != program.n_symbols)
        return wrong("the program has " + std::to_string(program.n_symbols) + " symbols, found " +
                     std::to_string(sizes.size()) + " sizes");
    for (size_t i = 0; i < sizes.size(); ++i)
        if (sizes[i] < 1)
            return wrong("d" + std::to_string(i) + " is " + std::to_string(sizes[i]) + ", wanted 1 or more");
    const auto space = resolve(program.space, sizes);
    if (too_large(space)) return wrong("the space has more than 2^48 elements");
    if (auto error = oversized(program, sizes)) return *error;
    Sizes values;
    for (const auto& value : program.values) values.push_back(resolve(value.extents, sizes));
    if (auto error = check_sizes(program, values, space)) return *error;
    Grid grid = cut(program, sizes, values, space, split_axis(program, values, space));
    // Where an axis is 1 at these sizes, tensors may lie along another one.
    for (size_t split = 1; program.family == Family::transform && split < space.size(); ++split)
        if (!grid.misplaced.empty()) grid = cut(program, sizes, values, space, split);
    return grid;
}

}  // namespace ascend_fuse
