// What the steps of an instruction are put together from: references to values, tiles between steps,
// conversions.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "cast_path.h"
#include "number.h"
#include "primitive.h"

namespace ascend_fuse {

// A value at a place. In the queues a bool is a byte, and a tile may be turned.
inline Ref ref_of(const Program& program, const Grid& grid, int id, Ref::From from) {
    const auto at = static_cast<size_t>(id);
    const Extent& extent = grid.values[at];
    const Dtype dtype = program.values[at].dtype;
    Ref ref;
    ref.from = from;
    ref.at = id;
    ref.dtype = from == Ref::From::value ? tile_dtype(dtype) : dtype;
    ref.span = extent.span;
    ref.cols = extent.cols;
    ref.turned = from == Ref::From::loaded   ? grid.turns_in(at)
                 : from == Ref::From::stored ? grid.turns_out(at)
                                             : false;
    return ref;
}

// Steps and tiles under construction.
class Maker {
  protected:
    explicit Maker(const Soc& soc) : soc_(soc) {}

    // Both sentences begin with what their figure is (docs/design/0001).
    void refuse_dtype(Dtype dtype, const std::string& where) {
        refuse({"dtype-unsupported", std::string(name(dtype)) + " " + where, "dtype"});
    }
    void refuse_cast(Dtype from, Dtype to) { refuse_dtype(from, "cast to " + std::string(name(to))); }
    void refuse(Refusal why) {
        if (made_.refused) return;
        why.message += " on " + soc_.name;
        made_.refused = std::move(why);
    }

    // A new tile like `like`.
    Ref temp(const Ref& like, Dtype dtype) {
        made_.temps.push_back(Temp{like.span, like.cols, dtype});
        Ref ref = like;
        ref.from = Ref::From::temp;
        ref.at = static_cast<int>(made_.temps.size()) - 1;
        ref.dtype = dtype;
        ref.blocks = false;
        return ref;
    }

    Primitive& step(StepCode code, const Ref& out, std::vector<Ref> in) {
        Primitive primitive;
        primitive.code = code;
        primitive.out = out;
        primitive.in = std::move(in);
        made_.steps.push_back(std::move(primitive));
        return made_.steps.back();
    }

    // `tiles` tiles like `like` for the last step.
    void scratch(const Ref& like, int tiles, Dtype dtype) {
        if (tiles == 0) return;
        made_.steps.back().scratch = static_cast<int>(made_.temps.size());
        for (int i = 0; i < tiles; ++i) temp(like, dtype);
    }

    // A part of UB of its own for the last step.
    void scratch_bytes(int64_t bytes) {
        made_.steps.back().scratch = static_cast<int>(made_.temps.size());
        made_.temps.push_back(Temp{Span::scalar, 1, Dtype::f32, bytes});
    }

    Ref converted(const Ref& ref, Dtype dtype) {
        if (ref.dtype == dtype) return ref;
        Ref at = ref;
        const auto way = cast_path(soc_, ref.dtype, dtype);
        if (!way) {
            refuse_cast(ref.dtype, dtype);
            return ref;
        }
        for (const Dtype next : *way) {
            const Ref to = temp(at, next);
            step(StepCode::cast, to, {at});
            at = to;
        }
        return at;
    }

    // The last of a chain of casts goes to where the result lies.
    void round_to(const Ref& from, const Ref& to) {
        const auto way = cast_path(soc_, from.dtype, to.dtype);
        if (!way) return refuse_cast(from.dtype, to.dtype);
        Ref at = from;
        for (size_t i = 0; i < way->size(); ++i) {
            const Ref next = i + 1 == way->size() ? to : temp(at, (*way)[i]);
            step(StepCode::cast, next, {at});
            at = next;
        }
    }
    const Soc& soc_;
    Expansion made_;
};

class StepMaker : protected Maker {
  protected:
    StepMaker(const Program& program, const Grid& grid, const Soc& soc, int id)
        : Maker(soc),
          program_(program),
          grid_(grid),
          id_(id),
          instr_(program.instr(id)),
          op_(instr_.entry()),
          own_(operand_dtype(program, instr_)),
          result_(value(id)) {}

    void refuse_op(const std::string& how) { refuse({"op-unsupported", op_.name + " " + how, "op"}); }

    Ref value(int id) const { return ref_of(program_, grid_, id, Ref::From::value); }

    Ref literal(const std::string& text, Dtype own, Dtype dtype) const {
        Ref ref;
        ref.dtype = dtype;
        if (is_float(own) || is_bool(own)) {
            ref.number = number_of(text, own);
            ref.whole = bits_of(ref.number, own);
        } else {
            ref.whole = to_int(text).value_or(0);
            ref.number = static_cast<double>(ref.whole);
        }
        return ref;
    }

    // Column c of the result reads column map(c) of what broadcasts inside of its row.
    Ref spread(const Ref& ref, int id, const Ref& out) {
        const auto &from = grid_.extents[static_cast<size_t>(id)],
                   &to = grid_.extents[static_cast<size_t>(id_)];
        Axes axes(to.size() - grid_.split);
        int64_t stride = 1;
        for (size_t i = to.size(); i-- > grid_.split;) {
            axes[i - grid_.split] = Axis{to[i], from[i] > 1 ? stride : 0};
            stride *= from[i];
        }
        step(StepCode::spread, out, {ref}).map = merged(axes);
        return out;
    }

    // A row of one element and a scalar lie alike.
    Ref fitted(Ref ref) const {
        if (ref.span == Span::scalar && result_.span == Span::row && grid_.rows == 1) ref.span = Span::row;
        return ref;
    }

    // Operand `i` in `dtype`, as wide as the result's row.
    Ref operand(size_t i, Dtype dtype) {
        const Operand& operand = instr_.operands[i];
        const bool condition = op_.is("where") && i == 0;
        if (operand.value < 0)
            return literal(operand.literal, condition ? Dtype::boolean : literal_dtype(program_, instr_),
                           tile_dtype(dtype));
        Ref ref = fitted(converted(value(operand.value), tile_dtype(dtype)));
        if (ref.wide() && result_.wide() && ref.cols != result_.cols) {
            Ref wide = ref;
            wide.cols = result_.cols;
            return spread(ref, operand.value, temp(wide, ref.dtype));
        }
        return ref;
    }

    // The operand in a tile of the result's span.
    Ref filled(const Ref& ref) {
        if (ref.is_literal() || ref.span == result_.span) return ref;
        Ref from = ref;
        from.blocks = from.span == Span::row && result_.wide();
        const Ref out = temp(result_, ref.dtype);
        step(StepCode::copy, out, {from});
        return out;
    }

    const Program& program_;
    const Grid& grid_;
    int id_;
    const Instr& instr_;
    const Op& op_;
    Dtype own_;
    Ref result_;
};

}  // namespace ascend_fuse
