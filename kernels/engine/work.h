// What one pass over a tile costs the vector unit, as a linear form in the tile's rows and cols.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "liveness.h"

namespace ascend_fuse {

// Cycles = full * R * P + row * R + line * P + tile + reductions, with R tile rows and P padded tile cols.
// A reduction over C columns with L lanes runs in stages: C -> ceil(C / L) -> … -> 1.
struct Cycles {
    double full = 0, row = 0, line = 0, tile = 0;
    std::array<double, 2> reduce_k{}, reduce_b{};  // by lanes: 128 (16 bit), 64 (32 bit)

    void add_row_work(const Cycles& other) {
        row += other.row;
        tile += other.tile;
    }

    double at(double tile_rows, int64_t tile_cols, double padded_cols) const {
        double cycles = full * tile_rows * padded_cols + row * tile_rows + line * padded_cols + tile;
        for (size_t i = 0; i < reduce_k.size(); ++i) {
            if (reduce_k[i] == 0) continue;
            const int64_t lanes = i == 0 ? 128 : 64;
            int64_t left = tile_cols;
            do {
                cycles += reduce_k[i] * tile_rows * static_cast<double>(left) + reduce_b[i];
                left = (left + lanes - 1) / lanes;
            } while (left > 1);
        }
        return cycles;
    }
};

// One sweep over the tiles: what it reads, writes and computes.
struct Pass {
    std::vector<bool> reads, writes;  // by value
    Cycles all, assumed, casts;       // `assumed` and `casts` are parts of `all`
};

// Adds one call to a pass. `elements` are those of `extent` per tile.
class Meter {
  public:
    Meter(Pass& pass, const Soc& soc, const Grid& grid) : pass_(pass), soc_(soc), grid_(grid) {}

    void call(const Rate& rate, const Extent& extent, bool cast) {
        const double k = rate.k * lanes();
        each(rate, cast, [&](Cycles& cycles) {
            const double share = static_cast<double>(extent.cols) / static_cast<double>(grid_.cols);
            if (extent.span == Span::full) cycles.full += k * share;
            if (extent.span == Span::line) cycles.line += k * share;
            if (extent.span == Span::row) cycles.row += k;
            cycles.tile += rate.b + (extent.span == Span::scalar ? k : 0);
        });
    }

    void reduce(const Rate& rate, Dtype dtype) {
        const size_t at = width(dtype) == 2 ? 0 : 1;
        each(rate, false, [&](Cycles& cycles) {
            cycles.reduce_k[at] += rate.k * lanes();
            cycles.reduce_b[at] += rate.b;
        });
    }

    // Each row value fills a block of 32 B before a wide instruction reads it.
    void spread_row(const Rate& rate, Dtype dtype) {
        each(rate, false, [&](Cycles& cycles) {
            cycles.row += rate.k * lanes() * static_cast<double>(align_bytes / width(dtype));
            cycles.tile += rate.b;
        });
    }

  private:
    // The figures are of 2201, whose vector unit has 128 16-bit lanes; other chips scale by theirs.
    double lanes() const { return 128.0 / static_cast<double>(soc_.vec_calc_size); }

    template <class Add>
    void each(const Rate& rate, bool cast, Add add) {
        add(pass_.all);
        if (rate.assumed || soc_.npu_arch != 2201) add(pass_.assumed);
        if (cast) add(pass_.casts);
    }

    Pass& pass_;
    const Soc& soc_;
    const Grid& grid_;
};

inline bool commutes(const Op& op) {
    return op.is("add") || op.is("mul") || op.is("max") || op.is("min") || op.is("and") || op.is("or") ||
           op.is("xor") || op.is("eq") || op.is("where");
}

// The call list that runs an instruction, given where its literals stand.
inline std::vector<std::string> calls_of(const Instr& instr) {
    const Op& op = instr.entry();
    const bool first = !instr.operands.empty() && instr.operands.front().value < 0;
    const bool last = !instr.operands.empty() && instr.operands.back().value < 0;
    if ((last || (first && commutes(op))) && !op.scalar_calls.empty()) return op.scalar_calls;
    std::vector<std::string> calls = op.calls;
    if (first) calls.insert(calls.begin(), "Duplicate");
    return calls;
}

inline void meter_operands(Meter& meter, const Soc& soc, const Program& program, const Grid& grid,
                           const Instr& instr, const Extent& result) {
    const Dtype own = operand_dtype(program, instr), computed = compute_dtype(soc, instr.entry(), own);
    for (const auto& operand : instr.operands) {
        if (operand.value < 0) continue;
        const Extent& extent = grid.values[static_cast<size_t>(operand.value)];
        const Dtype dtype = program.values[static_cast<size_t>(operand.value)].dtype;
        if (widens(soc, program, instr) && dtype == own) meter.call(cast_rate(own, computed), extent, true);
        if (instr.entry().kind != OpKind::map) continue;
        if (extent.span == Span::row && result.wide())
            meter.spread_row(call_rate("Brcb", computed), computed);
        if (extent.wide() && result.wide() && extent.cols != result.cols)
            meter.call(call_rate("Ub2ub", computed), result, false);
    }
}

inline void meter_instr(Pass& pass, const Soc& soc, const Program& program, const Grid& grid, int id) {
    Meter meter(pass, soc, grid);
    const Instr& instr = program.instr(id);
    const Op& op = instr.entry();
    const Extent& result = grid.values[static_cast<size_t>(id)];
    const Dtype own = operand_dtype(program, instr), computed = compute_dtype(soc, op, own);
    if (op.kind == OpKind::cast) {
        meter.call(cast_rate(own, instr.type.dtype), result, true);
        return;
    }
    meter_operands(meter, soc, program, grid, instr, result);
    const auto calls = calls_of(instr);
    for (size_t i = 0; i < calls.size(); ++i) {
        Rate rate = call_rate(calls[i], op.kind == OpKind::random ? Dtype::f32 : computed);
        rate.assumed = rate.assumed || op.assumed;
        const bool over_row = op.kind == OpKind::reduce && i == 0;
        const Extent& source = over_row ? grid.values[static_cast<size_t>(instr.operands[0].value)] : result;
        if (over_row && source.wide()) {
            meter.reduce(rate, computed);
        } else {
            meter.call(rate, result, false);
        }
    }
    if (widens(soc, program, instr) && !is_bool(instr.type.dtype))
        meter.call(cast_rate(computed, own), result, true);
}

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

// Pass over everything, the whole row being on chip.
inline Pass whole_pass(const Program& program, const Grid& grid, const Soc& soc) {
    Pass pass{std::vector<bool>(program.values.size(), false),
              std::vector<bool>(program.values.size(), false),
              {},
              {},
              {}};
    for (int id = 0; id < static_cast<int>(program.values.size()); ++id) {
        if (program.is_input(id)) {
            pass.reads[static_cast<size_t>(id)] = program.inputs[static_cast<size_t>(id)].tiled();
        } else {
            meter_instr(pass, soc, program, grid, id);
        }
        pass.writes[static_cast<size_t>(id)] = program.is_output(id);
    }
    return pass;
}

// Pass number `at` of a streamed row: feeds the reductions of that level and writes the outputs of that
// level; what they need is computed again from the inputs, row values excepted, which stay.
inline Pass stream_pass(const Program& program, const Grid& grid, const Soc& soc,
                        const std::vector<int>& level, int at) {
    const size_t count = program.values.size();
    Pass pass{std::vector<bool>(count, false), std::vector<bool>(count, false), {}, {}, {}};
    std::vector<bool> needed(count, false);
    for (size_t id = 0; id < count; ++id) {
        const bool reduces = !program.is_input(static_cast<int>(id)) &&
                             program.instr(static_cast<int>(id)).entry().kind == OpKind::reduce;
        const bool written = program.is_output(static_cast<int>(id)) && level[id] == at;
        pass.writes[id] = written;
        needed[id] = written || (reduces && level[id] == at + 1) ||
                     (!grid.values[id].swept() && !program.is_input(static_cast<int>(id)) && level[id] == at);
    }
    for (int id = static_cast<int>(count) - 1; id >= 0; --id) {
        if (!needed[static_cast<size_t>(id)]) continue;
        if (program.is_input(id)) {
            pass.reads[static_cast<size_t>(id)] = true;
            continue;
        }
        // Row values of earlier passes are there already.
        const bool reduces = program.instr(id).entry().kind == OpKind::reduce;
        const int own = level[static_cast<size_t>(id)] - (reduces ? 1 : 0);
        if (!grid.values[static_cast<size_t>(id)].swept() && own < at) continue;
        meter_instr(pass, soc, program, grid, id);
        for (const auto& operand : program.instr(id).operands)
            if (operand.value >= 0) needed[static_cast<size_t>(operand.value)] = true;
    }
    return pass;
}

// The passes of a streamed row: one more than the reductions that stand one behind another, less the last one
// when nothing wide is left to do.
inline std::vector<Pass> stream_passes(const Program& program, const Grid& grid, const Soc& soc) {
    const auto level = levels(program);
    const int deepest = *std::max_element(level.begin(), level.end());
    std::vector<Pass> passes;
    for (int at = 0; at <= deepest; ++at) passes.push_back(stream_pass(program, grid, soc, level, at));
    bool wide_tail = deepest == 0;
    for (size_t id = 0; id < level.size(); ++id)
        wide_tail = wide_tail || (level[id] == deepest && grid.values[id].swept());
    if (!wide_tail) {
        // Row values alone: they are finished and written at the end of the pass before.
        const Pass tail = passes.back();
        passes.pop_back();
        for (size_t id = 0; id < level.size(); ++id)
            passes.back().writes[id] = passes.back().writes[id] || tail.writes[id];
        passes.back().all.add_row_work(tail.all);
        passes.back().assumed.add_row_work(tail.assumed);
        passes.back().casts.add_row_work(tail.casts);
    }
    return passes;
}

}  // namespace ascend_fuse
