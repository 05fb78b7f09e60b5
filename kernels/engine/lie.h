// How a tensor lies in memory under the rows and cols of a space: contiguous along one of them, or neither.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "axis.h"

namespace ascend_fuse {

// The axes of a tensor under the rows and under the cols of a space, joined where they step alike.
struct Sides {
    Axes rows, cols;
};

// `axes`: those of the tensor, one for each axis of the space, whose row begins at `split`. An axis that the
// tensor lacks is repeated, but in a row that is on chip as a whole (`cut`: it is not): there it is left out.
inline Sides sides_of(Axes axes, const std::vector<int64_t>& space, size_t split, bool cut) {
    for (size_t i = 0; i < axes.size(); ++i)
        if (axes[i].extent == 1 && (i < split || cut)) axes[i] = Axis{space[i], 0};
    return Sides{merged(part(axes, 0, split)), merged(part(axes, split, axes.size()))};
}

// A tensor in an order of its own. Where `ordered` is false it lies as its type says, and nothing else
// counts.
struct Lie {
    bool ordered = false;
    bool turned = false;     // contiguous along the rows: its tiles are moved as cols x rows, turned on chip
    bool scattered = false;  // contiguous along neither: nothing moves it in blocks
    int64_t run = 0;         // elements that follow each other, where they end before their side does
    int64_t even = 1;        // such runs that step evenly, as one copy moves them
    int64_t step = 0;        // elements from one such run to the next
};

inline Lie lie_of(const Sides& sides) {
    Lie lie;
    lie.ordered = true;
    const auto contiguous = [](const Axes& axes) { return !axes.empty() && axes.back().stride == 1; };
    lie.turned = !sides.cols.empty() && !contiguous(sides.cols) && contiguous(sides.rows);
    const Axes& along = lie.turned || sides.cols.empty() ? sides.rows : sides.cols;
    const Axes& across = lie.turned ? sides.cols : sides.rows;
    lie.scattered = !sides.cols.empty() && !contiguous(along);
    if (along.empty()) return lie;
    lie.run = along.back().extent;
    if (across.empty()) return lie;
    lie.even = across.back().extent;
    lie.step = across.back().stride;
    return lie;
}

}  // namespace ascend_fuse
