// The sweeps of a launch over its tiles: what each loads, computes and stores.
#pragma once

#include <algorithm>
#include <utility>
#include <vector>

#include "grid.h"

namespace ascend_fuse {

// Which part of an instruction a sweep runs: all of it, or of a reduction over a cut row what each tile does,
// or what is left to do behind the tiles.
enum class Share { all, sweep, after };

struct Sweep {
    bool once = false;                          // not for each tile of a cut row
    std::vector<bool> loads;                    // by value
    std::vector<std::pair<int, Share>> instrs;  // value ids in text order
    std::vector<size_t> stores;                 // positions among the outputs
};

// By value: how many reductions stand one behind another in front of it.
inline std::vector<int> levels(const Program& program) {
    std::vector<int> level(program.values.size(), 0);
    for (size_t i = 0; i < program.instrs.size(); ++i) {
        const size_t id = program.inputs.size() + i;
        for (const auto& operand : program.instrs[i].operands)
            if (operand.value >= 0)
                level[id] = std::max(level[id], level[static_cast<size_t>(operand.value)]);
        if (program.instrs[i].entry().kind == OpKind::reduce) ++level[id];
    }
    return level;
}

class Sweeper {
  public:
    Sweeper(const Program& program, const Grid& grid)
        : program_(program), grid_(grid), level_(levels(program)) {}

    std::vector<Sweep> run() {
        if (!grid_.cut) return {whole()};
        std::vector<Sweep> sweeps;
        for (int at = 0; at <= *std::max_element(level_.begin(), level_.end()); ++at) {
            for (Sweep sweep : {rows(at), tiles(at)})
                if (!sweep.instrs.empty() || !sweep.stores.empty()) sweeps.push_back(std::move(sweep));
        }
        return sweeps;
    }

  private:
    Sweep empty(bool once) const {
        return Sweep{once, std::vector<bool>(program_.values.size(), false), {}, {}};
    }
    bool swept(int id) const { return grid_.values[static_cast<size_t>(id)].swept(); }
    bool tiled(int id) const {
        return program_.is_input(id) && program_.inputs[static_cast<size_t>(id)].tiled();
    }
    int count() const { return static_cast<int>(program_.values.size()); }

    // A reduction over what lies in other tiles, too.
    bool sums(int id) const {
        return !program_.is_input(id) && program_.instr(id).entry().kind == OpKind::reduce &&
               grid_.values[static_cast<size_t>(program_.instr(id).operands[0].value)].wide();
    }

    Sweep whole() const {
        Sweep sweep = empty(false);
        for (int id = 0; id < count(); ++id) {
            sweep.loads[static_cast<size_t>(id)] = tiled(id);
            if (!program_.is_input(id)) sweep.instrs.emplace_back(id, Share::all);
        }
        for (size_t i = 0; i < program_.outputs.size(); ++i) sweep.stores.push_back(i);
        return sweep;
    }

    void store(Sweep& sweep, int at, bool swept_ones) const {
        for (size_t i = 0; i < program_.outputs.size(); ++i) {
            const int id = program_.outputs[i].value;
            if (level_[static_cast<size_t>(id)] != at || swept(id) != swept_ones) continue;
            sweep.stores.push_back(i);
            if (program_.is_input(id)) sweep.loads[static_cast<size_t>(id)] = true;
        }
    }

    // What is one for each row, once the sweep before has ended.
    Sweep rows(int at) const {
        Sweep sweep = empty(true);
        for (int id = program_.n_inputs(); id < count(); ++id) {
            if (swept(id) || level_[static_cast<size_t>(id)] != at) continue;
            sweep.instrs.emplace_back(id, sums(id) ? Share::after : Share::all);
            for (const auto& operand : program_.instr(id).operands)
                if (operand.value >= 0 && tiled(operand.value) && !sums(id))
                    sweep.loads[static_cast<size_t>(operand.value)] = true;
        }
        store(sweep, at, false);
        return sweep;
    }

    // What differs from tile to tile: the outputs of this level, what feeds its reductions, and all that
    // these need.
    Sweep tiles(int at) const {
        Sweep sweep = empty(false);
        store(sweep, at, true);
        std::vector<bool> needed(level_.size(), false);
        for (const size_t i : sweep.stores) needed[static_cast<size_t>(program_.outputs[i].value)] = true;
        for (int id = count() - 1; id >= 0; --id) {
            const auto place = static_cast<size_t>(id);
            const bool summed = sums(id) && level_[place] == at + 1;
            if (!needed[place] && !summed) continue;
            if (program_.is_input(id)) {
                sweep.loads[place] = true;
                continue;
            }
            if (!swept(id) && !summed) continue;  // it is in its slot
            sweep.instrs.insert(sweep.instrs.begin(), {id, summed ? Share::sweep : Share::all});
            for (const auto& operand : program_.instr(id).operands)
                if (operand.value >= 0) needed[static_cast<size_t>(operand.value)] = true;
        }
        return sweep;
    }

    const Program& program_;
    const Grid& grid_;
    std::vector<int> level_;
};

}  // namespace ascend_fuse
