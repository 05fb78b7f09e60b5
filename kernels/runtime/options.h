// The options of a session, as text by name: the knobs of docs/design/0006 and where to run.
#pragma once

#include <algorithm>
#include <cstdlib>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "bounds.h"
#include "soc.h"

namespace ascend_fuse {

using Pairs = std::vector<std::pair<std::string, std::string>>;

struct Options {
    std::string
        soc;  // a name or the path of a platform_config .ini; empty: the one that each node was planned for
    std::string backend = "emulator";
    std::string kernels_dir;  // of acl: one file for each npu_arch
    int device_id = 0;
    bool fuse = true;  // false: each instruction as a launch of its own
    bool seeded = false;
    int64_t seed = 0;  // of the session's random numbers, when seeded
    Bounds bounds;
};

inline std::optional<Error> read_number(std::string_view text, double& value) {
    const std::string copy(text);
    char* end = nullptr;
    value = std::strtod(copy.c_str(), &end);
    if (copy.empty() || *end != '\0') return Error{0, "is '" + copy + "', wanted a number"};
    return std::nullopt;
}

template <class Integer>
std::optional<Error> read_integer(std::string_view text, Integer& value) {
    const auto number = to_int(text);
    if (!number || static_cast<int64_t>(static_cast<Integer>(*number)) != *number)
        return Error{0, "is '" + std::string(text) + "', wanted an integer"};
    value = static_cast<Integer>(*number);
    return std::nullopt;
}

inline std::optional<Error> read_switch(std::string_view text, bool& value) {
    if (text != "0" && text != "1") return Error{0, "is '" + std::string(text) + "', wanted 0 or 1"};
    value = text == "1";
    return std::nullopt;
}

inline std::optional<Error> read_backend(std::string_view text, std::string& value) {
    if (text != "emulator" && text != "acl")
        return Error{0, "is '" + std::string(text) + "', wanted emulator or acl"};
    value = text;
    return std::nullopt;
}

struct Knob {
    const char* name;
    std::optional<Error> (*read)(std::string_view text, Options& options);
};

inline constexpr Knob knobs[] = {
    {"soc", [](auto text, auto& o) -> std::optional<Error> { return o.soc = text, std::nullopt; }},
    {"backend", [](auto text, auto& o) { return read_backend(text, o.backend); }},
    {"kernels_dir",
     [](auto text, auto& o) -> std::optional<Error> { return o.kernels_dir = text, std::nullopt; }},
    {"device_id", [](auto text, auto& o) { return read_integer(text, o.device_id); }},
    {"fuse", [](auto text, auto& o) { return read_switch(text, o.fuse); }},
    {"seed", [](auto text, auto& o) { return o.seeded = true, read_integer(text, o.seed); }},
    {"launch_us", [](auto text, auto& o) { return read_number(text, o.bounds.launch_us); }},
    {"min_gain", [](auto text, auto& o) { return read_number(text, o.bounds.min_gain); }},
    {"min_gain_us", [](auto text, auto& o) { return read_number(text, o.bounds.min_gain_us); }},
    {"ub_reserve", [](auto text, auto& o) { return read_number(text, o.bounds.ub_reserve); }},
    {"l1_reserve", [](auto text, auto& o) { return read_number(text, o.bounds.l1_reserve); }},
    {"min_tile_k", [](auto text, auto& o) { return read_integer(text, o.bounds.min_tile_k); }},
    {"streams", [](auto text, auto& o) { return read_integer(text, o.bounds.streams); }},
};

inline Error unknown_option(const std::string& name) {
    std::vector<std::pair<size_t, std::string>> near;
    for (const auto& knob : knobs) near.emplace_back(distance(name, knob.name), knob.name);
    std::sort(near.begin(), near.end());
    std::string message = "unknown option '" + name + "'; near names:";
    for (size_t i = 0; i < 3; ++i) message += (i > 0 ? ", " : " ") + near[i].second;
    return Error{0, message};
}

inline Result<Options> read_options(const Pairs& pairs) {
    Options options;
    for (const auto& [name, text] : pairs) {
        const auto* knob = std::find_if(std::begin(knobs), std::end(knobs),
                                        [&name = name](const Knob& known) { return name == known.name; });
        if (knob == std::end(knobs)) return unknown_option(name);
        if (const auto error = knob->read(text, options))
            return Error{0, "option " + name + " " + error->message};
    }
    if (auto error = check(options.bounds)) return Error{0, "option " + error->message};
    if (options.backend == "acl" && options.kernels_dir.empty())
        return Error{0, "option backend is acl, which needs kernels_dir: the folder of the built kernels"};
    return options;
}

}  // namespace ascend_fuse
