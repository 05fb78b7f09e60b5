// What the user may bound. Names are those of the configuration keys.
#pragma once

#include <optional>
#include <string>

#include "result.h"

namespace ascend_fuse {

struct Bounds {
    double launch_us = 10.0;  // scheduling of one kernel; 5 to 15 are usual
    double min_gain = 0.03;   // of the time before
    double min_gain_us = 1.0;
    double ub_reserve = 0.0;  // share of UB that stays unused
    double l1_reserve = 0.0;  // share of L1 that stays unused
    int min_tile_k = 16;
    int streams = 1;  // 2: launches that use other cores overlap
};

// For a launch of its own, a library's kernel: what the user reserves is kept from fused nodes only.
inline Bounds unreserved(Bounds bounds) {
    bounds.l1_reserve = bounds.ub_reserve = 0;
    bounds.min_tile_k = Bounds{}.min_tile_k;
    return bounds;
}

// The first field outside of its range, if any.
inline std::optional<Error> check(const Bounds& bounds) {
    const auto outside = [](const char* field, double value, double low,
                            double high) -> std::optional<Error> {
        if (value >= low && value <= high) return std::nullopt;  // NaN fails too
        const auto text = [](double x) {
            std::string digits = std::to_string(x);
            digits.erase(digits.find_last_not_of('0') + 1);
            return digits.back() == '.' ? digits.substr(0, digits.size() - 1) : digits;
        };
        return Error{
            0, std::string(field) + " is " + text(value) + ", wanted " + text(low) + " to " + text(high)};
    };
    if (auto error = outside("launch_us", bounds.launch_us, 0, 1000)) return error;
    if (auto error = outside("min_gain", bounds.min_gain, 0, 1)) return error;
    if (auto error = outside("min_gain_us", bounds.min_gain_us, 0, 1e6)) return error;
    if (auto error = outside("ub_reserve", bounds.ub_reserve, 0, 0.95)) return error;
    if (auto error = outside("l1_reserve", bounds.l1_reserve, 0, 0.95)) return error;
    if (auto error = outside("streams", bounds.streams, 1, 2)) return error;
    return outside("min_tile_k", bounds.min_tile_k, 1, 4096);
}

}  // namespace ascend_fuse
