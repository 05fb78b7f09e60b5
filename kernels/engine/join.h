// Outputs in two parts, of which one is copied from an input, a past: their text, their checks, their bytes.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "lex.h"
#include "print.h"
#include "program.h"

namespace ascend_fuse {

// One item of the `out` line: name, ` <order> (shape)`, and of a second part the input's name and the axis.
struct OutputText {
    std::string_view name, own, past;
    int axis = 0;
    bool before = false;
    size_t length = 0;
};

// The length of the longest of ` <order>` and ` (shape)` at the front of `text`.
inline size_t own_length(std::string_view text) {
    size_t at = 0;
    for (const auto& [open, close] : {std::pair(" <", '>'), std::pair(" (", ')')}) {
        if (text.substr(at, 2) != open) continue;
        const auto end = text.find(close, at);
        if (end == std::string_view::npos) return std::string_view::npos;
        at = end + 1;
    }
    return at;
}

// The first item of `text`, which another may follow behind a comma.
inline Result<OutputText> read_output(std::string_view text) {
    OutputText item;
    // A comma in a name is left to be refused with it.
    size_t at = std::min({text.find(' '), text.find(", "), text.size()});
    item.name = text.substr(0, at);
    const size_t own = own_length(text.substr(at));
    if (own == std::string_view::npos) return wrong("( or < without its end in " + quote(text));
    item.own = text.substr(at, own);
    at += own;
    item.length = at;
    const auto word = text.substr(at, 8);
    if (word != " behind " && word != " before ") return item;
    item.before = word == " before ";
    at += word.size();
    const auto end = std::min(text.find(',', at), text.size());
    const auto mark = text.find(" @", at);
    const auto axis = mark < end ? text.substr(mark + 2, end - mark - 2) : std::string_view();
    if (mark == at || !is_digits(axis) || axis.size() > 2)
        return wrong("wanted the name of a past and an axis such as @2 in " + quote(text.substr(0, end)));
    item.past = text.substr(at, mark - at);
    item.axis = static_cast<int>(*to_int(axis));
    item.length = end;
    return item;
}

inline Shape past_shape(const Program& program, const Output& output) {
    const Input& past = program.inputs[static_cast<size_t>(output.past)];
    return tensor_shape(past.type.dims, {}, past.shape);
}

inline Shape own_shape(const Program& program, const Output& output) {
    const Value& value = program.values[static_cast<size_t>(output.value)];
    return tensor_shape(value.extents, output.order, output.shape);
}

// The past of a joined output: a past, of no other output, of equal dtype and of equal sizes but along the
// axis.
inline std::optional<Error> check_join(const Program& program, const Output& output) {
    const Value& past = program.values[static_cast<size_t>(output.past)];
    const Value& value = program.values[static_cast<size_t>(output.value)];
    if (!program.is_input(output.past) || program.inputs[static_cast<size_t>(output.past)].side != Side::past)
        return wrong(past.name + " is no past");
    for (const auto& other : program.outputs)
        if (other.past == output.past) return wrong(past.name + " is in two outputs");
    if (past.dtype != value.dtype)
        return wrong(past.name + " is " + std::string(name(past.dtype)) + ", " + value.name + " " +
                     std::string(name(value.dtype)));
    const Shape theirs = past_shape(program, output), ours = own_shape(program, output);
    const auto axis = static_cast<size_t>(output.axis);
    if (theirs.size() != ours.size() || axis >= ours.size())
        return wrong(past.name + " and " + value.name + " have no axis " + std::to_string(axis) +
                     " to be joined along");
    for (size_t i = 0; i < ours.size(); ++i)
        if (i == axis ? theirs[i].size() != 1 || ours[i].size() != 1 : theirs[i] != ours[i])
            return wrong("(" + print_sizes(theirs) + ") and (" + print_sizes(ours) +
                         ") cannot be joined along axis " + std::to_string(axis));
    return std::nullopt;
}

// A past that no output has.
inline std::optional<std::string> unjoined(const Program& program) {
    for (int id = 0; id < program.n_inputs(); ++id) {
        bool found = program.inputs[static_cast<size_t>(id)].side != Side::past;
        for (const auto& output : program.outputs) found = found || output.past == id;
        if (!found) return program.values[static_cast<size_t>(id)].name;
    }
    return std::nullopt;
}

// What a joined output costs beside its value, in bytes.
struct Copy {
    int64_t bytes = 0;  // of the past
    int64_t run = 0;    // of it that follow each other in the output
    int64_t own = 0;    // of the value that follow each other there

    double moved() const { return 2 * static_cast<double>(bytes); }  // read and written
};

inline int64_t volume_of(const Dims& dims, const std::vector<int64_t>& sizes) {
    int64_t volume = 1;
    for (const auto& dim : dims) volume *= dim.symbol < 0 ? dim.size : sizes[static_cast<size_t>(dim.symbol)];
    return volume;
}

// Precondition: output.joined().
inline Copy copy_of(const Program& program, const Output& output, const std::vector<int64_t>& sizes) {
    const Shape past = past_shape(program, output), own = own_shape(program, output);
    const auto axis = static_cast<size_t>(output.axis);
    const int bytes = width(program.values[static_cast<size_t>(output.value)].dtype);
    int64_t outer = 1, inner = bytes;
    for (size_t i = 0; i < axis; ++i) outer *= volume_of(past[i], sizes);
    for (size_t i = axis + 1; i < past.size(); ++i) inner *= volume_of(past[i], sizes);
    const int64_t run = volume_of(past[axis], sizes) * inner;
    return Copy{outer * run, run, volume_of(own[axis], sizes) * inner};
}

inline std::vector<Copy> copies_of(const Program& program, const std::vector<int64_t>& sizes) {
    std::vector<Copy> copies;
    for (const auto& output : program.outputs)
        if (output.joined()) copies.push_back(copy_of(program, output, sizes));
    return copies;
}

}  // namespace ascend_fuse
