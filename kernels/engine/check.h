// Types of one instruction against the op table: arity, dtypes, literals, broadcasting, result.
#pragma once

#include <string>

#include "check_product.h"
#include "lex.h"
#include "program.h"

namespace ascend_fuse {

// The extents of `type` right-aligned to the space; ones where the type has no axis.
inline Result<Dims> align(const Program& program, const Type& type) {
    const size_t lead = static_cast<size_t>(program.lead_rank());
    const size_t row = static_cast<size_t>(program.row_rank());
    if (program.family == Family::elementwise && type.bar >= 0) return wrong("elementwise types have no |");
    size_t behind = type.dims.size() < row ? type.dims.size() : row;
    if (type.bar >= 0) behind = type.dims.size() - static_cast<size_t>(type.bar);
    const size_t before = type.dims.size() - behind;
    if (before > lead || behind > row) return wrong("more axes than the space has");
    Dims extents(lead + row);
    for (size_t i = 0; i < before; ++i) extents[lead - before + i] = type.dims[i];
    for (size_t i = 0; i < behind; ++i) extents[lead + row - behind + i] = type.dims[before + i];
    for (size_t i = 0; i < extents.size(); ++i) {
        const bool free = i >= lead;  // slices and concats make rows of other extents
        if (!free && !extents[i].is_one() && extents[i] != program.space[i])
            return wrong("extent " + extents[i].text() + " is neither 1 nor the space's " +
                         program.space[i].text());
    }
    return extents;
}

inline std::string print_extents(const Dims& extents) {
    std::string text;
    for (const auto& dim : extents) text += (text.empty() ? "" : ", ") + dim.text();
    return "[" + text + "]";
}

// numpy broadcasting of two aligned shapes; nullopt when they do not fit.
inline std::optional<Dims> broadcast(const Dims& left, const Dims& right) {
    Dims joined = left;
    for (size_t i = 0; i < joined.size(); ++i) {
        if (joined[i].is_one()) joined[i] = right[i];
        if (!right[i].is_one() && right[i] != joined[i]) return std::nullopt;
    }
    return joined;
}

// The dtype that literal operands take: that of the other operands, or the result's where those are of
// another kind.
inline Dtype literal_dtype(const Program& program, const Instr& instr) {
    const bool choice = instr.entry().is("where");
    for (size_t i = choice ? 1 : 0; i < instr.operands.size(); ++i)
        if (instr.operands[i].value >= 0)
            return program.values[static_cast<size_t>(instr.operands[i].value)].dtype;
    return instr.type.dtype;
}

inline std::optional<Error> check_operands(const Program& program, const Instr& instr) {
    const Op& op = instr.entry();
    const int count = static_cast<int>(instr.operands.size());
    if (op.arity < 0 ? count < 1 : count != op.arity)
        return wrong(op.name + " takes " + (op.arity < 0 ? "one or more" : std::to_string(op.arity)) +
                     " operands, found " + std::to_string(count));
    const Dtype wanted = literal_dtype(program, instr);
    const bool choice = op.is("where");
    bool any_value = count == 0;
    for (size_t i = 0; i < instr.operands.size(); ++i) {
        const Operand& operand = instr.operands[i];
        const Dtype dtype = choice && i == 0 ? Dtype::boolean : wanted;
        if (operand.value < 0) {
            if (op.kind != OpKind::map) return wrong(op.name + " takes no literal");
            if (!is_literal(operand.literal, dtype))
                return wrong(quote(operand.literal) + " is no literal of " + std::string(name(dtype)));
            continue;
        }
        any_value = true;
        const Value& value = program.values[static_cast<size_t>(operand.value)];
        if (program.is_input(operand.value) && program.inputs[static_cast<size_t>(operand.value)].host)
            return wrong(value.name + " is a host input; no instruction reads it");
        const Side side = program.is_input(operand.value)
                              ? program.inputs[static_cast<size_t>(operand.value)].side
                              : Side::none;
        if (side == Side::past) return wrong(value.name + " is a past; no instruction reads it");
        if (side != Side::none && op.kind != OpKind::product)
            return wrong(value.name + " is an operand of the product; only matmul reads it");
        if (value.dtype != dtype)
            return wrong(value.name + " is " + std::string(name(value.dtype)) + ", wanted " +
                         std::string(name(dtype)));
    }
    if (!any_value) return wrong("all operands of " + op.name + " are literals");
    if (count > 0 && op.types.find(kind(wanted)) == std::string::npos)
        return wrong(op.name + " does not take " + std::string(name(wanted)));
    return std::nullopt;
}

// Row extents of concat: their sum, when all are constants. Symbolic sums are checked when sizes are bound.
inline std::optional<Error> check_concat(const Program& program, const Instr& instr, const Dims& result) {
    int64_t total = 0;
    bool constant = result.back().symbol < 0;
    for (const auto& operand : instr.operands) {
        const Dims& extents = program.values[static_cast<size_t>(operand.value)].extents;
        for (size_t i = 0; i + 1 < extents.size(); ++i)
            if (!extents[i].is_one() && extents[i] != result[i])
                return wrong("operand of shape " + print_extents(extents) + " does not fit " +
                             print_extents(result));
        constant = constant && extents.back().symbol < 0;
        total += extents.back().size;
    }
    if (constant && total != result.back().size)
        return wrong("rows of " + std::to_string(total) + " joined make no row of " + result.back().text());
    return std::nullopt;
}

// `start` and `stop`, where a slice has them, must agree with its result.
inline std::optional<Error> check_slice(const Instr& instr, const Dim& from, const Dim& to) {
    std::optional<int64_t> start, stop;
    for (const auto& [key, text] : instr.attributes) {
        if (key == "start") start = to_int(text);
        if (key == "stop") stop = to_int(text);
    }
    if (!start || !stop) return wrong("slice wants {start=, stop=}, both whole numbers");
    if (*start < 0 || *stop <= *start) return wrong("slice takes nothing from start to stop");
    if (from.symbol < 0 && *stop > from.size) return wrong("slice stops behind the row of " + from.text());
    if (to.symbol >= 0 || to.size != *stop - *start)
        return wrong("slice takes " + std::to_string(*stop - *start) + " elements, the line says " +
                     to.text());
    return std::nullopt;
}

inline std::optional<Error> check_move(const Program& program, const Instr& instr, const Dims& result) {
    const Op& op = instr.entry();
    const bool within = op.is("broadcast") || op.is("copy");
    if (!within && !program.has_row()) return wrong(op.name + " needs a rowwise program");
    if (op.is("concat")) return check_concat(program, instr, result);
    const Dims& from = program.values[static_cast<size_t>(instr.operands[0].value)].extents;
    const size_t kept = op.is("slice") ? result.size() - 1 : result.size();
    for (size_t i = 0; i < kept; ++i)
        if (from[i] != result[i] && !(op.is("broadcast") && from[i].is_one()))
            return wrong(op.name + " of " + print_extents(from) + " does not give " + print_extents(result));
    if (op.is("slice")) return check_slice(instr, from.back(), result.back());
    return std::nullopt;
}

// One row of the space, alike for all of them.
inline std::optional<Error> check_index(const Program& program, const Dims& result) {
    if (program.family == Family::elementwise) return wrong("index needs a rowwise program");
    const auto lead = static_cast<size_t>(program.lead_rank());
    for (size_t i = 0; i < result.size(); ++i)
        if (i < lead ? !result[i].is_one() : result[i] != program.space[i])
            return wrong("index gives a row of the space, the line says " + print_extents(result));
    return std::nullopt;
}

inline std::optional<Error> check_extents(const Program& program, const Instr& instr, const Dims& result) {
    const Op& op = instr.entry();
    if (op.kind == OpKind::random) return std::nullopt;
    if (op.kind == OpKind::index) return check_index(program, result);
    if (op.kind == OpKind::product) return check_product(program, instr, result);
    if (op.kind == OpKind::move) return check_move(program, instr, result);
    Dims expected(result.size());
    for (const auto& operand : instr.operands) {
        if (operand.value < 0) continue;
        const Dims& extents = program.values[static_cast<size_t>(operand.value)].extents;
        const auto joined = broadcast(expected, extents);
        if (!joined)
            return wrong("shapes " + print_extents(expected) + " and " + print_extents(extents) +
                         " do not fit");
        expected = *joined;
    }
    if (op.kind == OpKind::reduce) {
        if (!program.has_row()) return wrong(op.name + " needs a rowwise program");
        for (size_t i = static_cast<size_t>(program.lead_rank()); i < expected.size(); ++i)
            expected[i] = Dim{};
    }
    if (expected != result)
        return wrong(op.name + " gives " + print_extents(expected) + ", the line says " +
                     print_extents(result));
    return std::nullopt;
}

inline std::optional<Error> check_instr(const Program& program, const Instr& instr, const Dims& result) {
    if (const auto error = check_operands(program, instr)) return error;
    const Op& op = instr.entry();
    Dtype dtype = op.result_bool ? Dtype::boolean : literal_dtype(program, instr);
    if (op.result_named) dtype = instr.type.dtype;
    if (op.is("random_keep") && !is_bool(dtype)) return wrong(op.name + " gives bool");
    if ((op.is("random_uniform") || op.kind == OpKind::index) && dtype != Dtype::f32)
        return wrong(op.name + " gives f32");
    if (instr.type.dtype != dtype)
        return wrong(op.name + " gives " + std::string(name(dtype)) + ", the line says " +
                     std::string(name(instr.type.dtype)));
    return check_extents(program, instr, result);
}

}  // namespace ascend_fuse
