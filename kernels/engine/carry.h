// How a value gets from one place to another that holds it in another dtype or order: into slots, out of
// them, and past them.
#pragma once

#include <utility>

#include "step_maker.h"

namespace ascend_fuse {

// A copy that no instruction reads: its value is brought from its operand to its output at once.
inline bool carried(const Program& program, int id) {
    if (program.is_input(id) || !program.instr(id).entry().is("copy") || !program.is_output(id)) return false;
    for (const auto& instr : program.instrs)
        for (const auto& operand : instr.operands)
            if (operand.value == id) return false;
    return true;
}

// Whether TransDataTo5HD turns words of that many bytes (AscendC: its table of dtypes). Others are turned in
// parts.
inline bool turns_words(const Soc& soc, int64_t bytes) {
    return bytes == 2 || (bytes == 4 && soc.npu_arch != 1001);
}

class Carrier : Maker {
  public:
    explicit Carrier(const Soc& soc) : Maker(soc) {}

    Expansion run(const Ref& from, const Ref& to) {
        if (from.turned != to.turned)
            turn(from, to);
        else
            step(from.dtype == to.dtype ? StepCode::copy : StepCode::cast, to, {from});
        return std::move(made_);
    }

  private:
    // Bytes are turned as f16, which holds each of them.
    void turn(const Ref& from, const Ref& to) {
        Ref in = from, out = to;
        if (width(from.dtype) == 1) {
            in = temp(from, Dtype::f16);
            step(StepCode::cast, in, {from});
        }
        if (width(to.dtype) == 1) out = temp(to, Dtype::f16);
        step(StepCode::turn, out, {in});
        if (const int64_t bytes = width(in.dtype); !turns_words(soc_, bytes))
            scratch_bytes(2 * turned_rows * turned_rows * bytes);
        if (width(to.dtype) == 1) step(StepCode::cast, to, {out});
    }
};

// An input into its slot. Precondition: it has one.
inline Expansion enter(const Program& program, const Grid& grid, const Soc& soc, int id) {
    return Carrier(soc).run(ref_of(program, grid, id, Ref::From::loaded),
                            ref_of(program, grid, id, Ref::From::value));
}

// An output that is an input, or that lives in a slot, into its buffer of the queue.
inline Expansion leave(const Program& program, const Grid& grid, const Soc& soc, int id) {
    const auto from = program.is_input(id) ? Ref::From::loaded : Ref::From::value;
    return Carrier(soc).run(ref_of(program, grid, id, from), ref_of(program, grid, id, Ref::From::stored));
}

}  // namespace ascend_fuse
