// Small text readers that the CSV, INI and program parsers share. None depends on the locale or throws.
#pragma once

#include <charconv>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace ascend_fuse {

inline std::string_view trim(std::string_view text) {
    const char* blank = " \t\r";
    const auto first = text.find_first_not_of(blank);
    if (first == std::string_view::npos) return {};
    return text.substr(first, text.find_last_not_of(blank) - first + 1);
}

// The pieces of `text` between `separator`s; one empty piece for an empty text.
inline std::vector<std::string_view> split(std::string_view text, std::string_view separator) {
    std::vector<std::string_view> pieces;
    for (;;) {
        const auto at = text.find(separator);
        pieces.push_back(text.substr(0, at));
        if (at == std::string_view::npos) return pieces;
        text.remove_prefix(at + separator.size());
    }
}

inline std::optional<int64_t> to_int(std::string_view text) {
    int64_t value = 0;
    const auto end = text.data() + text.size();
    const auto read = std::from_chars(text.data(), end, value);
    if (text.empty() || read.ec != std::errc() || read.ptr != end) return std::nullopt;
    return value;
}

inline std::optional<double> to_double(std::string_view text) {
    double value = 0;
    const auto end = text.data() + text.size();
    const auto read = std::from_chars(text.data(), end, value);
    // result_out_of_range still is a decimal (1e-400, 1e400), just not one of ours.
    if (text.empty() || read.ec != std::errc() || read.ptr != end) return std::nullopt;
    return value;
}

// Fields of one CSV line; a field may stand in double quotes and then hold commas.
inline std::vector<std::string> csv_fields(std::string_view line) {
    std::vector<std::string> fields(1);
    bool quoted = false;
    for (const char c : line) {
        if (c == '"') {
            quoted = !quoted;
        } else if (c == ',' && !quoted) {
            fields.emplace_back();
        } else if (c != '\r') {
            fields.back() += c;
        }
    }
    return fields;
}

// A CSV text without its comment (#) and empty lines: one header and its rows.
struct Table {
    std::vector<std::string> header;
    std::vector<std::vector<std::string>> rows;

    // The field of `row` under `column`; empty when the table has no such column or the row is short.
    std::string field(const std::vector<std::string>& row, std::string_view column) const {
        for (size_t i = 0; i < header.size() && i < row.size(); ++i)
            if (header[i] == column) return row[i];
        return {};
    }
};

inline Table read_csv(std::string_view text) {
    Table table;
    for (const auto line : split(text, "\n")) {
        if (trim(line).empty() || line.front() == '#') continue;
        if (table.header.empty()) {
            table.header = csv_fields(line);
        } else {
            table.rows.push_back(csv_fields(line));
        }
    }
    return table;
}

}  // namespace ascend_fuse
