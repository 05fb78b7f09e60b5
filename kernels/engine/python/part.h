// What both halves of ascend_fuse._engine share: results as exceptions, parts from Python's pairs.
#pragma once

#include <nanobind/nanobind.h>

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "engine.h"

namespace ascend_fuse {

using Sized = std::pair<const Program*, std::vector<int64_t>>;
using Measured = std::vector<std::optional<double>>;  // µs of each part, or empty

template <class T>
T value_or_raise(Result<T> result) {
    if (!result) throw nanobind::value_error(result.error().text().c_str());
    return std::move(*result);
}

inline std::vector<Part> parts_of(const std::vector<Sized>& parts, const Measured& measured) {
    if (!measured.empty() && measured.size() != parts.size()) {
        const std::string text = "measured has " + std::to_string(measured.size()) + " times for " +
                                 std::to_string(parts.size()) + " parts";
        throw nanobind::value_error(text.c_str());
    }
    std::vector<Part> own;
    for (size_t i = 0; i < parts.size(); ++i)
        own.push_back(Part{parts[i].first, parts[i].second, measured.empty() ? std::nullopt : measured[i]});
    return own;
}

}  // namespace ascend_fuse
