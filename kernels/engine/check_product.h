// The operands of a product against its space.
#pragma once

#include <string>

#include "lex.h"
#include "print.h"
#include "program.h"

namespace ascend_fuse {

// Lead axes of an operand of a product: the space's or 1, right-aligned, `behind` axes standing after them.
inline std::optional<Error> check_lead(const Program& program, const Input& input, size_t behind) {
    const Dims& dims = input.type.dims;
    const size_t lead = static_cast<size_t>(program.bar) - 1;
    if (dims.size() < behind || dims.size() - behind > lead)
        return wrong(print_type(input.type) + " has too few or too many axes");
    const size_t own = dims.size() - behind;
    for (size_t i = 0; i < own; ++i)
        if (!dims[i].is_one() && dims[i] != program.space[lead - own + i])
            return wrong("extent " + dims[i].text() + " is neither 1 nor the space's " +
                         program.space[lead - own + i].text());
    return std::nullopt;
}

// left [lead, m | k], right [lead, k | n], result [lead, m | n].
inline std::optional<Error> check_product(const Program& program, const Instr& instr, const Dims& result) {
    if (program.family != Family::matmul || !program.instrs.empty())
        return wrong("matmul is the first instruction of a matmul program and of no other");
    const auto input = [&](size_t at) {
        return program.inputs[static_cast<size_t>(instr.operands[at].value)];
    };
    const Input left = input(0), right = input(1);
    if (left.side != Side::left || right.side != Side::right) return wrong("matmul takes left, then right");
    if (result != program.space) return wrong("matmul gives the whole space");
    const bool whole = !is_float(left.type.dtype);
    if (whole ? instr.type.dtype != Dtype::i32 : !is_float(instr.type.dtype))
        return wrong("a product of " + std::string(name(left.type.dtype)) + " is not " +
                     std::string(name(instr.type.dtype)));
    const size_t k = left.type.dims.size() - static_cast<size_t>(left.type.bar);
    const size_t n = program.space.size() - static_cast<size_t>(program.bar);
    const Dims &from = left.type.dims, &to = right.type.dims;
    if (left.type.bar < 1 || k == 0 || to.size() - static_cast<size_t>(right.type.bar) != n ||
        to.size() < n + k)
        return wrong("wanted left [lead, m | k] and right [lead, k | n]");
    for (size_t i = 0; i < k; ++i)
        if (from[from.size() - k + i] != to[to.size() - n - k + i])
            return wrong("the k axes of " + print_type(left.type) + " and " + print_type(right.type) +
                         " differ");
    for (size_t i = 0; i < n; ++i)
        if (to[to.size() - n + i] != program.space[program.space.size() - n + i])
            return wrong("the n axes of " + print_type(right.type) + " are not the space's");
    if (from[from.size() - k - 1] != program.space[static_cast<size_t>(program.bar) - 1])
        return wrong("the m axis of " + print_type(left.type) + " is not the space's");
    if (auto error = check_lead(program, left, k + 1)) return error;
    return check_lead(program, right, k + n);
}

}  // namespace ascend_fuse
