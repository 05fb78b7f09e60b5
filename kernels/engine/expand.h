// The primitive steps of one instruction: dtypes widened, booleans as numbers, broadcasts spelled out.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "carry.h"

namespace ascend_fuse {

inline constexpr int64_t max_pieces = 64;        // copies that one slice or concat may take
inline constexpr int64_t max_index = 1LL << 24;  // columns whose numbers f32 holds

class Expander : StepMaker {
  public:
    Expander(const Program& program, const Grid& grid, const Soc& soc, int id)
        : StepMaker(program, grid, soc, id) {}

    Expansion run() {
        switch (op_.kind) {
            case OpKind::cast:
                cast();
                break;
            case OpKind::reduce:
                reduce();
                break;
            case OpKind::move:
                move();
                break;
            case OpKind::random:
                draw();
                break;
            case OpKind::index:
                if (result_.cols > max_index) refuse_op("of " + std::to_string(result_.cols) + " columns");
                step(StepCode::index, result_, {});
                break;
            case OpKind::product:
                refuse_op("in a vector kernel");
                break;
            default:
                map();
        }
        return std::move(made_);
    }

  private:
    void map() {
        const Dtype computed = compute_dtype(soc_, op_, own_);
        if (!supports_map()) return refuse_dtype(own_, "in " + op_.name);
        if (op_.is("where")) return where(computed);
        if (is_bits(op_)) return bits();
        std::vector<Ref> in;
        bool spans = false;
        for (size_t i = 0; i < instr_.operands.size(); ++i) {
            in.push_back(operand(i, computed));
            spans = spans || (!in.back().is_literal() && in.back().span == result_.span);
        }
        for (auto& ref : in) {
            if (ref.is_literal()) continue;
            const bool fill = !spans || is_compare(op_) || is_any(op_, {"pow", "mod"});
            if (fill) ref = filled(ref);
            spans = true;
            ref.blocks = ref.span == Span::row && result_.wide();
        }
        if (is_compare(op_)) {
            step(code_of(op_), result_, in);
            return scratch(result_, op_.scratch, Dtype::i8);
        }
        if (is_bool(own_)) return logic(in);
        const bool widened = computed != own_;
        const Ref out = widened ? temp(result_, computed) : result_;
        if (op_.is("neg") && !is_float(computed)) {
            in.push_back(literal("-1", own_, computed));
            step(StepCode::mul, out, in);
        } else {
            step(code_of(op_), out, in);
            scratch(result_, op_.scratch, Dtype::f32);
        }
        if (widened) round_to(out, result_);
    }

    void logic(std::vector<Ref> in) {
        if (op_.is("and")) {
            step(StepCode::min, result_, in);
        } else if (op_.is("or")) {
            step(StepCode::max, result_, in);
        } else if (op_.is("not")) {
            step(StepCode::sub, result_, {literal("true", Dtype::boolean, Dtype::f16), in[0]});
        } else {  // xor
            step(StepCode::sub, result_, in);
            step(StepCode::abs, result_, {result_});
        }
    }

    void bits() {
        std::vector<Ref> in;
        for (size_t i = 0; i < instr_.operands.size(); ++i) {
            Ref ref = filled(operand(i, own_));
            if (ref.is_literal()) {
                const Ref tile = temp(result_, own_);
                step(StepCode::copy, tile, {ref});
                ref = tile;
            }
            in.push_back(ref);
        }
        step(code_of(op_), result_, in);
        scratch(result_, op_.scratch, Dtype::f32);
    }

    // Chosen by bits: 16 of them as i16, 32 as i32, but for floats that the vector unit knows.
    void where(Dtype computed) {
        Dtype bits = tile_dtype(computed);
        if (bits == Dtype::bf16 || bits == Dtype::u16) bits = Dtype::i16;
        if (bits == Dtype::u32) bits = Dtype::i32;
        std::vector<Ref> in = {filled(operand(0, Dtype::boolean))};
        for (size_t i = 1; i < 3; ++i) {
            in.push_back(filled(operand(i, computed)));
            in.back().dtype = bits;
        }
        const bool widened = computed != own_;
        Ref out = widened ? temp(result_, computed) : result_;
        Ref chosen = out;
        chosen.dtype = bits;
        if (in[0].is_literal()) {
            const Ref& branch = in[0].number != 0 ? in[1] : in[2];
            step(StepCode::copy, chosen, {branch});
        } else {
            step(StepCode::where, chosen, in);
            scratch(result_, op_.scratch, Dtype::i8);
        }
        if (widened) round_to(out, result_);
    }

    void cast() {
        const Dtype to = instr_.type.dtype;
        const Ref from = fitted(value(instr_.operands[0].value));
        if (is_bool(to) && !is_bool(own_)) return truth(from);
        if (from.dtype == tile_dtype(to)) {
            step(StepCode::copy, result_, {from});
            return;
        }
        round_to(from, result_);
    }

    // Whether a number is not 0: NaN is not.
    void truth(const Ref& from) {
        const bool known = from.dtype == Dtype::f16 || from.dtype == Dtype::f32;
        const bool half = width(from.dtype) == 1 || from.dtype == Dtype::i16;
        const Ref number = known ? from : converted(from, half ? Dtype::f16 : Dtype::f32);
        step(StepCode::eq, result_, {number, literal("0", number.dtype, number.dtype)});
        scratch(result_, 1, Dtype::i8);
        step(StepCode::sub, result_, {literal("true", Dtype::boolean, Dtype::f16), result_});
    }

    void reduce() {
        const Ref source = value(instr_.operands[0].value);
        if (!source.wide() || source.cols == 1) {  // each row has one element
            step(StepCode::copy, result_, {fitted(source)});
            return;
        }
        const Dtype computed = compute_dtype(soc_, op_, own_);
        const Ref from = converted(source, computed);
        Ref sum = result_;
        if (computed != own_ && grid_.cut) {
            sum.from = Ref::From::sum;
            sum.dtype = computed;
        } else if (computed != own_) {
            sum = temp(result_, computed);
        }
        step(op_.is("reduce_mean") ? StepCode::reduce_sum : code_of(op_), sum, {from}).sums = grid_.cut;
        scratch(from, op_.scratch, computed);
        const size_t swept = made_.steps.size();
        if (op_.is("reduce_mean")) {
            Ref factor = literal("1", computed, computed);
            factor.number = 1 / static_cast<double>(source.cols);
            step(StepCode::mul, sum, {sum, factor});
        }
        if (computed != own_) round_to(sum, result_);
        for (size_t i = swept; i < made_.steps.size(); ++i) made_.steps[i].after = grid_.cut;
    }

    void move() {
        if (!op_.is("broadcast") && !op_.is("copy")) return pieces();
        const int id = instr_.operands[0].value;
        if (carried(program_, id_)) {
            const auto from = program_.is_input(id) ? Ref::From::loaded : Ref::From::value;
            made_ = Carrier(soc_).run(fitted(ref_of(program_, grid_, id, from)),
                                      ref_of(program_, grid_, id_, Ref::From::stored));
            return;
        }
        Ref from = fitted(value(id));
        if (from.wide() && result_.wide() && from.cols != result_.cols) {
            spread(from, id, result_);
            return;
        }
        from.blocks = from.span == Span::row && result_.wide();
        step(StepCode::copy, result_, {from});
    }

    // Runs along the last axis, for each place on the other axes of the row.
    void pieces() {
        const auto& to = grid_.extents[static_cast<size_t>(id_)];
        const int64_t outer = product(to, grid_.split, to.size() - 1);
        if (outer * static_cast<int64_t>(instr_.operands.size()) > max_pieces)
            return refuse_op("in " + std::to_string(outer) + " parts of a row");
        int64_t at = 0;
        for (const auto& operand : instr_.operands) {
            const auto& from = grid_.extents[static_cast<size_t>(operand.value)];
            const int64_t start = to_int(attribute("start")).value_or(0);
            const int64_t length = op_.is("slice") ? to.back() : from.back();
            for (int64_t part = 0; part < outer; ++part) {
                Primitive& copy = step(StepCode::copy, result_, {fitted(value(operand.value))});
                copy.in_col = column(from, to, part) + start;
                copy.out_col = part * to.back() + at;
                copy.cols = length;
            }
            at += length;
        }
    }

    // Where the run of `part`, counted over the other axes of the result's row, begins in the operand's row.
    int64_t column(const std::vector<int64_t>& from, const std::vector<int64_t>& to, int64_t part) const {
        int64_t col = 0, stride = from.back();
        for (size_t i = to.size() - 1; i-- > grid_.split;) {
            if (from[i] > 1) col += part % to[i] * stride;
            part /= to[i];
            stride *= from[i];
        }
        return col;
    }

    std::string attribute(std::string_view name) const {
        for (const auto& [key, text] : instr_.attributes)
            if (key == name) return text;
        return "";
    }

    void draw() {
        const Extent& extent = grid_.values[static_cast<size_t>(id_)];
        const bool plain = extent.dense && (extent.span == Span::full || extent.span == Span::row);
        if (!plain || (extent.wide() && extent.cols != grid_.cols)) return refuse_op("of a repeated draw");
        Primitive& drawn = step(code_of(op_), result_, {});
        for (int before = program_.n_inputs(); before < id_; ++before)
            drawn.key += program_.instr(before).entry().kind == OpKind::random ? 1 : 0;
        drawn.ratio = to_double(attribute("ratio")).value_or(0);
        const auto seed = to_int(attribute("seed"));
        drawn.seeded = seed.has_value();
        if (seed) drawn.key = static_cast<uint64_t>(*seed);
        scratch(result_, op_.scratch, Dtype::f32);
    }

    bool supports_map() const {
        if (is_bool(own_)) return true;
        if (width(own_) == 8) return false;
        if (is_float(own_) || op_.is("where")) return true;
        if (own_ == Dtype::i16 && soc_.npu_arch == 1001 && !is_bits(op_))
            return op_.is("eq");  // by way of f32
        const bool byte = width(own_) == 1;
        if (is_any(op_, {"max", "min", "eq"})) return !is_unsigned(own_) || byte;
        const bool counted = is_bits(op_) || is_any(op_, {"add", "sub", "mul", "neg"});
        return counted && (own_ == Dtype::i16 || own_ == Dtype::i32);
    }
};

// The first dtype that the chip's vector unit cannot hold.
inline std::optional<Refusal> unsupported_dtype(const Program& program, const Soc& soc) {
    for (const auto& value : program.values) {
        const bool held = value.dtype != Dtype::f64 && (value.dtype != Dtype::bf16 || soc.supports_bf16());
        if (!held)
            return Refusal{"dtype-unsupported", std::string(name(value.dtype)) + " on " + soc.name, "dtype"};
    }
    return std::nullopt;
}

// Precondition: `id` is an instruction.
inline Expansion expand(const Program& program, const Grid& grid, const Soc& soc, int id) {
    return Expander(program, grid, soc, id).run();
}

// By instruction.
inline std::vector<Expansion> expand_all(const Program& program, const Grid& grid, const Soc& soc) {
    std::vector<Expansion> all;
    all.reserve(program.instrs.size());
    for (size_t id = program.inputs.size(); id < program.values.size(); ++id)
        all.push_back(expand(program, grid, soc, static_cast<int>(id)));
    return all;
}

// Why no kernel of the chip runs the program, whatever it costs: the first reason.
inline std::optional<Refusal> unsupported(const Program& program, const Grid& grid, const Soc& soc) {
    if (auto refusal = unsupported_dtype(program, soc)) return refusal;
    if (!grid.misplaced.empty()) return Refusal{"axis-not-trailing", grid.misplaced, "axis"};
    for (auto& made : expand_all(program, grid, soc))
        if (made.refused) return std::move(made.refused);
    return std::nullopt;
}

}  // namespace ascend_fuse
