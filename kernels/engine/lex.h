// The pieces of one program line: dims, types, shapes, literals, attributes. Each reader says what is wrong;
// the parser adds the line.
#pragma once

#include <string>
#include <string_view>

#include "program.h"
#include "result.h"
#include "text.h"

namespace ascend_fuse {

inline Error wrong(std::string message) { return Error{0, std::move(message)}; }
inline std::string quote(std::string_view text) { return "'" + std::string(text) + "'"; }

inline bool is_digits(std::string_view text) {
    for (const char c : text)
        if (c < '0' || c > '9') return false;
    // No leading zero: the text must print back unchanged.
    return !text.empty() && (text.size() == 1 || text.front() != '0');
}

inline bool is_name(std::string_view text) {
    if (text.empty() || text == "inf" || text == "nan" || text == "true" || text == "false") return false;
    for (size_t i = 0; i < text.size(); ++i) {
        const char c = text[i];
        const bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
        if (!letter && (i == 0 || c < '0' || c > '9')) return false;
    }
    return true;
}

inline Result<Dim> read_dim(std::string_view text) {
    if (is_digits(text)) {
        const auto size = to_int(text);
        if (size && *size > 0) return Dim{-1, *size};
    } else if (text.size() > 1 && text.size() < 6 && text.front() == 'd' && is_digits(text.substr(1))) {
        return Dim{static_cast<int>(*to_int(text.substr(1))), 0};
    }
    return wrong("wanted a size such as d0 or 64, found " + quote(text));
}

inline Result<Dims> read_dims(std::string_view text) {
    Dims dims;
    if (text.empty()) return dims;
    for (const auto piece : split(text, ", ")) {
        const auto dim = read_dim(piece);
        if (!dim) return dim.error();
        dims.push_back(*dim);
    }
    return dims;
}

// `d0, d1 | d2` with or without the bar, `| d2` when nothing stands before it; `bar` as in Type.
inline Result<Type> read_extents(std::string_view text) {
    Type type;
    auto parts = split(text, " | ");
    if (parts.size() == 2 && parts[0].empty()) return wrong("wanted `| d0` in " + quote(text));
    if (text.substr(0, 2) == "| ") parts = {std::string_view(), text.substr(2)};
    if (parts.size() > 2) return wrong("more than one | in " + quote(text));
    for (const auto part : parts) {
        const auto dims = read_dims(part);
        if (!dims) return dims.error();
        if (parts.size() == 2 && dims->empty() && type.bar >= 0)
            return wrong("nothing behind the | of " + quote(text));
        if (parts.size() == 2 && type.bar < 0) type.bar = static_cast<int>(dims->size());
        type.dims.insert(type.dims.end(), dims->begin(), dims->end());
    }
    return type;
}

inline Result<Type> read_type(std::string_view text) {
    const auto open = text.find('[');
    if (open == std::string_view::npos || text.back() != ']')
        return wrong("wanted a type such as f32[d0, d1], found " + quote(text));
    const auto dtype = to_dtype(text.substr(0, open));
    if (!dtype) return wrong("unknown dtype " + quote(text.substr(0, open)));
    auto type = read_extents(text.substr(open + 1, text.size() - open - 2));
    if (type) type->dtype = *dtype;
    return type;
}

// `d0`, or a product `d0*4*d1`, none of whose factors is 1.
inline Result<Dims> read_size(std::string_view text) {
    Dims size;
    const auto pieces = split(text, "*");
    for (const auto piece : pieces) {
        const auto dim = read_dim(piece);
        if (!dim) return dim.error();
        if (dim->is_one() && pieces.size() > 1) return wrong("a factor of " + quote(text) + " is 1");
        size.push_back(*dim);
    }
    return size;
}

// ` (d0, 1, d1*4)` behind an input or output: the tensor's own shape.
inline Result<std::optional<Shape>> read_shape(std::string_view text) {
    if (text.empty()) return std::optional<Shape>();
    if (text.size() < 3 || text.substr(0, 2) != " (" || text.back() != ')')
        return wrong("wanted a shape such as (d0, d1), found " + quote(text));
    Shape shape;
    text = text.substr(2, text.size() - 3);
    if (text.empty()) return std::optional<Shape>(shape);
    for (const auto piece : split(text, ", ")) {
        const auto size = read_size(piece);
        if (!size) return size.error();
        shape.push_back(*size);
    }
    return std::optional<Shape>(shape);
}

// ` <1 0>` at the front of `text`, which loses it: an order of `rank` axes, not the identity.
inline Result<Order> read_order(std::string_view& text, size_t rank) {
    Order order;
    if (text.substr(0, 2) != " <") return order;
    const auto end = text.find('>');
    if (end == std::string_view::npos) return wrong("< without >");
    std::vector<bool> seen(rank, false);
    bool moved = false;
    for (const auto piece : split(text.substr(2, end - 2), " ")) {
        const auto axis = to_int(piece);
        if (!axis || !is_digits(piece) || static_cast<size_t>(*axis) >= rank ||
            seen[static_cast<size_t>(*axis)])
            return wrong("wanted an order of " + std::to_string(rank) + " axes such as <1 0>, found " +
                         quote(text));
        seen[static_cast<size_t>(*axis)] = true;
        moved = moved || static_cast<size_t>(*axis) != order.size();
        order.push_back(static_cast<int>(*axis));
    }
    if (order.size() != rank || !moved)
        return wrong("wanted another order of all " + std::to_string(rank) + " axes, found " + quote(text));
    text.remove_prefix(end + 1);
    return order;
}

// digits [. digits] [e [+-] digits], with a sign.
inline bool is_decimal(std::string_view text) {
    const bool shaped = text.find_first_not_of("0123456789.+-eE") == std::string_view::npos;
    const auto digit = text.substr(0, 1) == "-" ? text.substr(1, 1) : text.substr(0, 1);
    return shaped && !digit.empty() && is_digits(digit) && to_double(text).has_value();
}

inline bool fits(int64_t value, Dtype dtype) {
    if (is_unsigned(dtype) && value < 0) return false;
    const int bits = 8 * width(dtype) - (is_unsigned(dtype) ? 0 : 1);
    if (bits >= 63) return true;
    const int64_t limit = int64_t{1} << bits;
    return value < limit && value >= -limit;
}

// Whether `text` is a literal of `dtype`.
inline bool is_literal(std::string_view text, Dtype dtype) {
    if (is_bool(dtype)) return text == "true" || text == "false";
    if (is_float(dtype)) return text == "inf" || text == "-inf" || text == "nan" || is_decimal(text);
    const auto value = to_int(text);
    return value && is_digits(text.front() == '-' ? text.substr(1) : text) && fits(*value, dtype);
}

inline bool looks_literal(std::string_view text) {
    return text == "inf" || text == "-inf" || text == "nan" || text == "true" || text == "false" ||
           is_decimal(text);
}

using Attributes = std::vector<std::pair<std::string, std::string>>;

// `key=value, key=value`, without the braces.
inline Result<Attributes> read_attributes(std::string_view text) {
    Attributes attributes;
    for (const auto piece : split(text, ", ")) {
        const auto at = piece.find('=');
        if (at == std::string_view::npos || !is_name(piece.substr(0, at)) || at + 1 == piece.size())
            return wrong("wanted key=value, found " + quote(piece));
        for (const auto& seen : attributes)
            if (seen.first == piece.substr(0, at))
                return wrong("attribute " + quote(seen.first) + " stands twice");
        attributes.emplace_back(piece.substr(0, at), piece.substr(at + 1));
    }
    return attributes;
}

}  // namespace ascend_fuse
