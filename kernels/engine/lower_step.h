// Instructions of a sweep as records, with what brings values from buffers of the queues into slots and back.
#pragma once

#include <utility>
#include <vector>

#include "lower_place.h"
#include "sweep.h"

namespace ascend_fuse {

// Records of a launch under construction.
struct Records {
    std::vector<device::TransferRecord> residents, loads, stores;
    std::vector<device::Step> steps;
    std::vector<device::PassRecord> passes;
    std::vector<device::AxisRecord> axes;
    std::vector<device::CopyRecord> copies;

    // Appends axes; the position of the first.
    int32_t add(const Axes& list) {
        const auto first = static_cast<int32_t>(axes.size());
        for (const auto& axis : list) axes.push_back({axis.extent, axis.stride});
        return first;
    }
};

class Stepper {
  public:
    Stepper(const Program& program, const Grid& grid, const Soc& soc, const Layout& layout, Records& records)
        : program_(program), grid_(grid), soc_(soc), layout_(layout), records_(records) {}

    // Adds the steps of a sweep; the reason where the kernels cannot run one.
    std::optional<Error> add(const Sweep& sweep) {
        entered_.assign(program_.values.size(), false);
        for (const auto& [id, share] : sweep.instrs) {
            if (share != Share::after)
                for (const auto& operand : program_.instr(id).operands) enter_slot(operand.value, id);
            if (auto error = add(id, share)) return error;
            if (stored(sweep, id) && layout_.in_slot(id)) add(leave(program_, grid_, soc_, id), Share::all);
        }
        for (int id = 0; id < program_.n_inputs(); ++id)
            if (stored(sweep, id)) add(leave(program_, grid_, soc_, id), Share::all);
        return std::nullopt;
    }

  private:
    bool stored(const Sweep& sweep, int id) const {
        for (const size_t output : sweep.stores)
            if (program_.outputs[output].value == id) return true;
        return false;
    }

    device::Step& step(StepCode code, const device::Operand& out, const std::vector<device::Operand>& in) {
        device::Step step;
        step.code = code;
        step.arity = static_cast<int32_t>(in.size());
        step.out = out;
        for (size_t i = 0; i < in.size(); ++i) step.in[i] = in[i];
        records_.steps.push_back(step);
        return records_.steps.back();
    }

    // An input from its buffer, once in a sweep.
    void enter_slot(int id, int reader) {
        const bool slot =
            id >= 0 && program_.is_input(id) && layout_.in_slot(id) && !carried(program_, reader);
        if (!slot || entered_[static_cast<size_t>(id)]) return;
        entered_[static_cast<size_t>(id)] = true;
        add(enter(program_, grid_, soc_, id), Share::all);
    }

    std::optional<Error> add(int id, Share share) {
        const Expansion made = expand(program_, grid_, soc_, id);
        if (made.refused) return Error{id + 2, "lower: " + made.refused->message};
        add(made, share);
        return std::nullopt;
    }

    void add(const Expansion& made, Share share) {
        const auto temps = layout_.temps(made);
        int64_t blocks = temps.back();
        for (const auto& primitive : made.steps) {
            std::vector<device::Operand> in;
            for (const auto& ref : primitive.in) {
                in.push_back(layout_.operand(ref, temps, blocks));
                if (ref.blocks) blocks += layout_.block_bytes();
            }
            if (share != Share::all && primitive.after != (share == Share::after)) continue;
            device::Step& made_step = step(primitive.code, layout_.operand(primitive.out, temps, 0), in);
            finish(made_step, primitive, temps);
        }
    }

    void finish(device::Step& step, const Primitive& primitive, const std::vector<int64_t>& temps) {
        if (primitive.scratch >= 0)
            step.scratch = static_cast<int32_t>(temps[static_cast<size_t>(primitive.scratch)]);
        step.accumulate = primitive.sums ? 1 : 0;
        step.in_col = static_cast<int32_t>(primitive.in_col);
        step.out_col = static_cast<int32_t>(primitive.out_col);
        step.cols = static_cast<int32_t>(primitive.cols);
        step.axes = static_cast<int32_t>(primitive.map.size());
        step.first_axis = records_.add(primitive.map);
        step.ratio = static_cast<float>(primitive.ratio);
        step.seeded = primitive.seeded ? 1 : 0;
        step.key[0] = static_cast<uint32_t>(primitive.key);
        step.key[1] = static_cast<uint32_t>(primitive.key >> 32);
    }

    const Program& program_;
    const Grid& grid_;
    const Soc& soc_;
    const Layout& layout_;
    Records& records_;
    std::vector<bool> entered_;  // inputs that the sweep has brought into their slots
};

}  // namespace ascend_fuse
