// One instruction of the text as primitive steps on tiles, and the tiles that it needs beside operands and
// result.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "grid.h"
#include "launch.h"
#include "result.h"
#include "soc.h"

namespace ascend_fuse {

using device::StepCode;

// A tile between or beside the steps of one instruction.
struct Temp {
    Span span = Span::full;
    int64_t cols = 1;
    Dtype dtype = Dtype::f32;
    int64_t bytes = 0;  // of a tile that does not grow with the others
};

// What a step reads or writes. A bool is an f16 of 0 or 1.
struct Ref {
    enum class From {
        value,
        loaded,  // an input in its buffer of the queue
        stored,  // an output in its
        sum,     // where a reduction of a cut row adds up, wider than it ends
        temp,
        literal
    };
    From from = From::literal;
    int at = -1;  // value id, or position among the temps
    Dtype dtype = Dtype::f32;
    Span span = Span::scalar;
    int64_t cols = 1;
    double number = 0;    // literals: of floats
    int64_t whole = 0;    // of integers
    bool blocks = false;  // a row value that a wide step reads, 32 B a row
    bool turned = false;  // cols x rows, as in memory

    bool wide() const { return span == Span::full || span == Span::line; }
    bool is_literal() const { return from == From::literal; }
};

struct Primitive {
    StepCode code = StepCode::copy;
    Ref out;
    std::vector<Ref> in;
    int scratch = -1;                           // the first of its own tiles among the temps
    bool sums = false;                          // reductions: the tiles of a cut row add up
    bool after = false;                         // behind the sweep over a cut row, not in it
    int64_t in_col = 0, out_col = 0, cols = 0;  // copy
    Axes map;                                   // spread
    double ratio = 0;                           // random_keep
    bool seeded = false;
    uint64_t key = 0;
};

struct Expansion {
    std::vector<Temp> temps;
    std::vector<Primitive> steps;
    std::optional<Refusal> refused;  // why no kernel of the chip runs it
};

// Steps that are an operator of the text, by its name; `and`, `or` and `not` are made of others.
inline constexpr std::pair<std::string_view, StepCode> step_names[] = {
    {"add", StepCode::add},
    {"sub", StepCode::sub},
    {"mul", StepCode::mul},
    {"div", StepCode::div},
    {"pow", StepCode::pow},
    {"mod", StepCode::mod},
    {"max", StepCode::max},
    {"min", StepCode::min},
    {"eq", StepCode::eq},
    {"lt", StepCode::lt},
    {"le", StepCode::le},
    {"gt", StepCode::gt},
    {"ge", StepCode::ge},
    {"neg", StepCode::neg},
    {"abs", StepCode::abs},
    {"sqrt", StepCode::sqrt},
    {"rsqrt", StepCode::rsqrt},
    {"recip", StepCode::recip},
    {"exp", StepCode::exp},
    {"log", StepCode::log},
    {"sin", StepCode::sin},
    {"cos", StepCode::cos},
    {"tanh", StepCode::tanh},
    {"sigmoid", StepCode::sigmoid},
    {"erf", StepCode::erf},
    {"relu", StepCode::relu},
    {"floor", StepCode::floor},
    {"ceil", StepCode::ceil},
    {"round", StepCode::round},
    {"sign", StepCode::sign},
    {"gelu", StepCode::gelu},
    {"gelu_tanh", StepCode::gelu_tanh},
    {"silu", StepCode::silu},
    {"sinh", StepCode::sinh},
    {"cosh", StepCode::cosh},
    {"asin", StepCode::asin},
    {"acos", StepCode::acos},
    {"atan", StepCode::atan},
    {"asinh", StepCode::asinh},
    {"acosh", StepCode::acosh},
    {"atanh", StepCode::atanh},
    {"bit_and", StepCode::bit_and},
    {"bit_or", StepCode::bit_or},
    {"bit_xor", StepCode::bit_xor},
    {"bit_not", StepCode::bit_not},
    {"index", StepCode::index},
    {"reduce_sum", StepCode::reduce_sum},
    {"reduce_prod", StepCode::reduce_prod},
    {"reduce_max", StepCode::reduce_max},
    {"reduce_min", StepCode::reduce_min},
    {"where", StepCode::where},
    {"random_keep", StepCode::random_keep},
    {"random_uniform", StepCode::random_uniform}};

inline StepCode code_of(const Op& op) {
    for (const auto& [text, code] : step_names)
        if (op.is(text)) return code;
    return StepCode::copy;
}

// Precondition: the step is an operator of the text.
inline const Op& op_of(StepCode code) {
    static const std::vector<int> positions = [] {
        std::vector<int> found(static_cast<size_t>(StepCode::random_uniform) + 1, 0);
        for (const auto& [text, step] : step_names) found[static_cast<size_t>(step)] = find_op(text);
        return found;
    }();
    return ops()[static_cast<size_t>(positions[static_cast<size_t>(code)])];
}

// The operand whose dtype a step computes in: the last that is no literal.
inline const Ref& operand_of(const Primitive& step) {
    for (size_t i = step.in.size(); i-- > 1;)
        if (!step.in[i].is_literal()) return step.in[i];
    return step.in.front();
}

// How a value stands in UB outside of the queues.
inline Dtype tile_dtype(Dtype dtype) { return is_bool(dtype) ? Dtype::f16 : dtype; }

inline bool is_any(const Op& op, std::initializer_list<const char*> names) {
    for (const char* name : names)
        if (op.is(name)) return true;
    return false;
}

// Made of several calls, so that f16 would be rounded more than once.
inline bool is_composite(const Op& op) {
    return is_any(op, {"pow",   "mod",  "rsqrt", "sin",  "cos",   "tanh",      "sigmoid", "erf",
                       "floor", "ceil", "round", "sign", "gelu",  "gelu_tanh", "silu",    "sinh",
                       "cosh",  "asin", "acos",  "atan", "asinh", "acosh",     "atanh"});
}

inline bool is_compare(const Op& op) { return is_any(op, {"eq", "lt", "le", "gt", "ge"}); }

// Logic on the bits of integers, whose operands all lie like the result.
inline bool is_bits(const Op& op) { return is_any(op, {"bit_and", "bit_or", "bit_xor", "bit_not"}); }

// The dtype in which the vector unit computes an instruction on values of `dtype`.
inline Dtype compute_dtype(const Soc& soc, const Op& op, Dtype dtype) {
    const bool byte = dtype == Dtype::i8 || dtype == Dtype::u8;
    if (byte) return Dtype::f16;
    if (op.is("where")) return dtype;  // bits are chosen, whatever they mean
    if (dtype == Dtype::i16 && op.is("eq")) return Dtype::f32;
    const bool native = soc.bf16_vector() && is_any(op, {"add", "sub", "mul", "max", "min"});
    if (dtype == Dtype::bf16) return native ? dtype : Dtype::f32;
    const bool sum = is_any(op, {"reduce_sum", "reduce_mean", "reduce_prod"});
    return dtype == Dtype::f16 && (sum || is_composite(op)) ? Dtype::f32 : dtype;
}

// The dtype of the operands that an instruction computes on (not a condition).
inline Dtype operand_dtype(const Program& program, const Instr& instr) {
    for (size_t i = instr.operands.size(); i-- > 0;)
        if (instr.operands[i].value >= 0 && !(instr.entry().is("where") && i == 0))
            return program.values[static_cast<size_t>(instr.operands[i].value)].dtype;
    return instr.type.dtype;
}

inline bool widens(const Soc& soc, const Program& program, const Instr& instr) {
    const OpKind kind = instr.entry().kind;
    const Dtype dtype = operand_dtype(program, instr);
    return (kind == OpKind::map || kind == OpKind::reduce) &&
           compute_dtype(soc, instr.entry(), dtype) != dtype;
}

}  // namespace ascend_fuse
