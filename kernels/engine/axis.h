// The axes of a tensor as they lie in memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "join.h"
#include "program.h"

namespace ascend_fuse {

// An axis of a tensor: its extent, and its step in memory in elements (0: repeated).
struct Axis {
    int64_t extent = 1, stride = 0;
};

using Axes = std::vector<Axis>;

inline std::vector<int64_t> resolve(const Dims& dims, const std::vector<int64_t>& sizes) {
    std::vector<int64_t> extents;
    extents.reserve(dims.size());
    for (const auto& dim : dims)
        extents.push_back(dim.symbol < 0 ? dim.size : sizes[static_cast<size_t>(dim.symbol)]);
    return extents;
}

// The axes of a tensor whose memory is `order` of them.
inline Axes axes_of(const std::vector<int64_t>& extents, const Order& order) {
    Axes axes(extents.size());
    int64_t stride = 1;
    for (size_t p = extents.size(); p-- > 0;) {
        const size_t axis = order.empty() ? p : static_cast<size_t>(order[p]);
        axes[axis] = Axis{extents[axis], extents[axis] > 1 ? stride : 0};
        stride *= extents[axis];
    }
    return axes;
}

// The axes of an output; those outside of a join step over both parts of its tensor.
inline Axes axes_of(const Program& program, const Output& output, const std::vector<int64_t>& sizes) {
    const Dims& dims = program.values[static_cast<size_t>(output.value)].extents;
    Axes axes = axes_of(resolve(dims, sizes), output.order);
    if (!output.joined()) return axes;
    const Shape own = own_shape(program, output);
    const auto at = static_cast<size_t>(output.axis);
    int64_t outside = 0;  // axes that lie outside of the joined one, ones left out
    for (const auto& dim : factors(Shape(own.begin(), own.begin() + output.axis))) outside += !dim.is_one();
    const int64_t part = volume_of(own[at], sizes);
    const int64_t all = part + volume_of(past_shape(program, output)[at], sizes);
    for (size_t p = 0; p < axes.size() && outside > 0; ++p) {
        const size_t axis = output.order.empty() ? p : static_cast<size_t>(output.order[p]);
        if (dims[axis].is_one()) continue;
        axes[axis].stride = axes[axis].stride / part * all;
        --outside;
    }
    return axes;
}

// Elements that follow each other in memory, from the last axis outwards; 1 when none does.
inline int64_t run_of(const Axes& axes) {
    int64_t run = 1;
    for (size_t i = axes.size(); i-- > 0;) {
        if (axes[i].extent > 1 && axes[i].stride != run) break;
        run *= axes[i].extent;
    }
    return run;
}

inline int64_t volume(const Axes& axes) {
    int64_t total = 1;
    for (const auto& axis : axes) total *= axis.extent;
    return total;
}

inline Axes part(const Axes& axes, size_t from, size_t to) {
    return Axes(axes.begin() + static_cast<std::ptrdiff_t>(from),
                axes.begin() + static_cast<std::ptrdiff_t>(to));
}

inline Axes joined(Axes left, const Axes& right) {
    left.insert(left.end(), right.begin(), right.end());
    return left;
}

// The fewest axes that step alike: extents of one left out, even steps joined; none where nothing steps.
inline Axes merged(const Axes& axes) {
    Axes list;
    for (const auto& axis : axes) {
        if (axis.extent == 1) continue;
        if (!list.empty() && list.back().stride == axis.stride * axis.extent)
            list.back() = Axis{list.back().extent * axis.extent, axis.stride};
        else
            list.push_back(axis);
    }
    if (list.size() == 1 && list.front().stride == 0) list.clear();
    return list;
}

// An input's order is of its own type's axes, right-aligned to the space.
inline Order aligned_order(const Input& input, size_t rank) {
    if (input.order.empty()) return {};
    Order order;
    const int missing = static_cast<int>(rank - input.order.size());
    for (int i = 0; i < missing; ++i) order.push_back(i);
    for (const int axis : input.order) order.push_back(axis + missing);
    return order;
}

}  // namespace ascend_fuse
