// One value between GM and UB: where its rows and columns lie in the tensor.
#pragma once

#include <utility>

#include "axis.h"
#include "grid.h"

namespace ascend_fuse {

// Element (row, col) of the tile's space lies `base` + rows(row) + cols(col) elements from the start of the
// tensor.
struct Route {
    int tensor = 0;  // of the launch's table of addresses
    int64_t base = 0;
    Axes rows, cols;
};

// `axes`: those of the tensor, one for each axis of the space.
inline Route route_of(const Grid& grid, const Axes& axes) {
    Sides sides = sides_of(axes, grid.space, grid.split, grid.cut);
    Route route;
    route.rows = std::move(sides.rows);
    route.cols = std::move(sides.cols);
    return route;
}

// Precondition: the input is tiled.
inline Route route_in(const Program& program, const Grid& grid, int id) {
    const Input& input = program.inputs[static_cast<size_t>(id)];
    const auto& extents = grid.extents[static_cast<size_t>(id)];
    Route route = route_of(grid, axes_of(extents, aligned_order(input, extents.size())));
    route.tensor = id;
    return route;
}

// Elements of the first part along the joined axis and behind it, for the value and for the past.
inline int64_t part_elements(const Shape& shape, int axis, const std::vector<int64_t>& sizes) {
    int64_t elements = 1;
    for (size_t i = static_cast<size_t>(axis); i < shape.size(); ++i) elements *= volume_of(shape[i], sizes);
    return elements;
}

inline Route route_out(const Program& program, const Grid& grid, const std::vector<int64_t>& sizes,
                       size_t index) {
    const Output& output = program.outputs[index];
    Route route = route_of(grid, axes_of(program, output, sizes));
    route.tensor = program.n_inputs() + static_cast<int>(index);
    if (output.joined() && !output.before)
        route.base = part_elements(past_shape(program, output), output.axis, sizes);
    return route;
}

// Precondition: the output is joined.
inline device::CopyRecord copy_record(const Program& program, const std::vector<int64_t>& sizes,
                                      size_t index) {
    const Output& output = program.outputs[index];
    const Copy copy = copy_of(program, output, sizes);
    device::CopyRecord record;
    record.from = output.past;
    record.to = program.n_inputs() + static_cast<int>(index);
    record.bytes = copy.bytes;
    record.run = copy.run;
    record.pitch = copy.run + copy.own;
    record.base = output.before ? copy.own : 0;
    return record;
}

}  // namespace ascend_fuse
