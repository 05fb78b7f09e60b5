// A program as one program for each of its instructions: what runs where fusing does not pay.
#pragma once

#include <algorithm>
#include <utility>
#include <vector>

#include "program.h"

namespace ascend_fuse {

// Where an output of a step goes: to an output of the whole program, else to memory that later steps read.
struct StepOutput {
    int value =
        -1;  // value id of the whole program whose plain tensor it is; -1 where nobody may read it as such
    int output = -1;  // position among the whole program's outputs; -1: none of them
};

// The symbols are those of the whole program, so that its sizes serve.
struct StepProgram {
    Program program;
    std::vector<int> inputs;  // value ids of the whole program, by input
    std::vector<StepOutput> outputs;
    int draw = 0;  // draws of the whole program before this one
};

class StepCutter {
  public:
    explicit StepCutter(const Program& whole) : whole_(whole) {}

    std::vector<StepProgram> run() {
        for (int id = 0; id < whole_.n_inputs(); ++id)
            if (whole_.is_output(id)) add(id);
        for (int id = whole_.n_inputs(); id < static_cast<int>(whole_.values.size()); ++id) add(id);
        return std::move(steps_);
    }

  private:
    // A step that computes the value, or copies it where it is an input that comes out again.
    void add(int id) {
        step_ = StepProgram();
        own_.assign(whole_.values.size(), -1);
        const bool given = whole_.is_input(id);
        Program& program = step_.program;
        program.n_symbols = whole_.n_symbols;
        const bool product = !given && whole_.instr(id).entry().kind == OpKind::product;
        program.family = product || whole_.family != Family::matmul ? whole_.family : Family::rowwise;
        program.bar = whole_.bar;
        if (given)
            read(id);
        else
            for (const auto& operand : whole_.instr(id).operands)
                if (operand.value >= 0) read(operand.value);
        for (const auto& output : whole_.outputs)
            if (output.value == id && output.joined()) read(output.past);
        if (!given) compute(id);
        program.space = space_of(id);
        write(id);
        step_.draw = draws_;
        if (!given && whole_.instr(id).entry().kind == OpKind::random) ++draws_;
        steps_.push_back(std::move(step_));
    }

    void read(int id) {
        int& own = own_[static_cast<size_t>(id)];
        if (own >= 0) return;
        Program& program = step_.program;
        own = program.n_inputs();
        Input input;
        if (whole_.is_input(id)) {
            input = whole_.inputs[static_cast<size_t>(id)];
        } else {
            input.type = whole_.instr(id).type;
        }
        program.inputs.push_back(std::move(input));
        program.values.push_back(whole_.values[static_cast<size_t>(id)]);
        step_.inputs.push_back(id);
    }

    void compute(int id) {
        Instr instr = whole_.instr(id);
        for (auto& operand : instr.operands)
            if (operand.value >= 0) operand.value = own_[static_cast<size_t>(operand.value)];
        own_[static_cast<size_t>(id)] = static_cast<int>(step_.program.values.size());
        step_.program.instrs.push_back(std::move(instr));
        step_.program.values.push_back(whole_.values[static_cast<size_t>(id)]);
    }

    // The result's lead axes, and the widest row that the step touches.
    Dims space_of(int id) const {
        const Value& result = whole_.values[static_cast<size_t>(id)];
        if (step_.program.family == Family::matmul) return whole_.space;
        Dims space = result.extents;
        const auto lead = static_cast<size_t>(whole_.lead_rank());
        if (whole_.is_input(id) || whole_.bar < 0 || whole_.instr(id).entry().is("concat")) return space;
        for (const auto& operand : whole_.instr(id).operands) {
            if (operand.value < 0) continue;
            const Dims& extents = whole_.values[static_cast<size_t>(operand.value)].extents;
            for (size_t i = lead; i < space.size(); ++i)
                if (whole_.instr(id).entry().is("slice") || space[i].is_one()) space[i] = extents[i];
        }
        return space;
    }

    bool read_later(int id) const {
        for (const auto& instr : whole_.instrs)
            for (const auto& operand : instr.operands)
                if (operand.value == id) return true;
        return false;
    }

    // A copy of the value, for an output in an order of its own beside the plain one that later steps read.
    int copied(int id) {
        Program& program = step_.program;
        Instr instr;
        instr.type = whole_.instr(id).type;
        instr.op = find_op("copy");
        instr.operands.push_back(Operand{own_[static_cast<size_t>(id)], {}});
        program.instrs.push_back(std::move(instr));
        program.values.push_back(whole_.values[static_cast<size_t>(id)]);
        return static_cast<int>(program.values.size()) - 1;
    }

    void write(int id) {
        bool plain = false;  // an output of the whole program is the value as later steps read it
        for (size_t k = 0; k < whole_.outputs.size(); ++k) {
            Output output = whole_.outputs[k];
            if (output.value != id) continue;
            const bool as_is = !output.joined() && output.order.empty();
            step_.outputs.push_back({as_is && !whole_.is_input(id) ? id : -1, static_cast<int>(k)});
            plain = plain || as_is;
            const bool apart = whole_.family != Family::matmul && !whole_.is_input(id) &&
                               !output.order.empty() && read_later(id);
            output.value = apart ? copied(id) : own_[static_cast<size_t>(id)];
            if (output.joined()) output.past = own_[static_cast<size_t>(output.past)];
            step_.program.outputs.push_back(std::move(output));
        }
        if (plain || (!step_.outputs.empty() && (whole_.is_input(id) || !read_later(id)))) return;
        Output output;
        output.value = own_[static_cast<size_t>(id)];
        step_.outputs.push_back({id, -1});
        step_.program.outputs.push_back(std::move(output));
    }

    const Program& whole_;
    StepProgram step_;
    std::vector<int> own_;  // by value of the whole program: id in the step
    std::vector<StepProgram> steps_;
    int draws_ = 0;
};

// In an order in which each reads what ones before it wrote.
inline std::vector<StepProgram> steps_of(const Program& program) { return StepCutter(program).run(); }

}  // namespace ascend_fuse
