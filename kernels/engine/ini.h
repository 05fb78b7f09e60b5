// A CANN platform_config/*.ini as a Soc. Sections and keys that the engine does not use are skipped.
#pragma once

#include <string>
#include <string_view>

#include "soc.h"

namespace ascend_fuse {

inline bool is_soc_section(std::string_view section) {
    return section == "version" || section == "SoCInfo" || section == "AICoreSpec" ||
           section == "AICoreMemoryRates";
}

// One `key=value` of a section that describes the chip. Empty values mean "not stated".
inline std::optional<Error> read_soc_key(Soc& soc, std::string_view key, std::string_view value, int line) {
    if (key == "SoC_version") soc.name = value;
    if (key == "Short_SoC_version") soc.family = value;
    if (key == "cube_vector_combine") soc.cube_vector_combine = value;
    for (const auto& field : soc_fields) {
        if (key != field.key || value.empty()) continue;
        const auto number = to_int(value);
        if (!number || *number < 0)
            return Error{line, std::string(key) + " is '" + std::string(value) + "', wanted a whole number"};
        soc.*field.member = *number;
    }
    return std::nullopt;
}

// `name` replaces the file's SoC_version unless it is empty.
inline Result<Soc> read_ini(std::string_view text, std::string_view name) {
    Soc soc;
    std::string_view section;
    int line = 0;
    for (const auto raw : split(text, "\n")) {
        ++line;
        const auto content = trim(raw);
        if (content.empty() || content.front() == '#' || content.front() == ';') continue;
        if (content.front() == '[') {
            if (content.back() != ']') return Error{line, "[ without ]"};
            section = content.substr(1, content.size() - 2);
            continue;
        }
        const auto at = content.find('=');
        if (at == std::string_view::npos)
            return Error{line, "wanted key=value, found '" + std::string(content) + "'"};
        if (section.empty()) return Error{line, "a key before the first [section]"};
        if (!is_soc_section(section)) continue;
        if (auto error = read_soc_key(soc, trim(content.substr(0, at)), trim(content.substr(at + 1)), line))
            return *error;
    }
    if (!name.empty()) soc.name = name;
    if (soc.name.empty()) return Error{line, "no SoC_version in [version]"};
    for (const auto& field : soc_fields)
        if (field.needed && soc.*field.member == 0) return Error{line, std::string("no ") + field.key};
    return soc;
}

}  // namespace ascend_fuse
