// What one pass over a tile costs the vector unit, as a linear form in the tile's rows and cols.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "liveness.h"
#include "sweep.h"

namespace ascend_fuse {

// Cycles = full * R * P + square * R' * P + row * R + line * P + tile + reductions, with R tile rows, R' of
// whole squares, and P padded tile cols.
// A reduction over C columns with L lanes runs in stages: C -> ceil(C / L) -> … -> 1.
struct Cycles {
    double full = 0, square = 0, row = 0, line = 0, tile = 0;
    std::array<double, 2> reduce_k{}, reduce_b{};  // by lanes: 128 (16 bit), 64 (32 bit)

    double at(const Grid& grid, int64_t rows, int64_t tile_cols) const {
        const double tile_rows = static_cast<double>(rows);
        const double squares = static_cast<double>(grid.padded_rows(rows));
        const double padded_cols = static_cast<double>(grid.padded(tile_cols));
        double cycles = full * tile_rows * padded_cols + square * squares * padded_cols + row * tile_rows +
                        line * padded_cols + tile;
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
    bool once = false;                // for each row of tiles, not for each tile
    std::vector<bool> reads, writes;  // by value
    Cycles all, assumed, casts;       // `assumed` and `casts` are parts of `all`
};

inline constexpr int64_t least_vector_draw = 512;  // elements, as op_kernel/tile/random.h
inline bool has_shift(const Soc& soc) { return soc.npu_arch != 1001 && soc.npu_arch != 2002; }

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

    // Rows without padding are drawn as one, others one by one; short ones by the scalar unit
    // (op_kernel/tile/random.h).
    void draw(const Extent& extent) {
        const bool joined = extent.cols == grid_.cols && grid_.padded(grid_.cols) == grid_.cols;
        const bool by_vector =
            has_shift(soc_) && extent.span == Span::full && (joined || grid_.cols >= least_vector_draw);
        const Rate rate = call_rate(by_vector ? "Philox" : "PhiloxScalar", Dtype::f32);
        call(Rate{rate.k, joined || !by_vector ? rate.b : 0, rate.assumed}, extent, false);
        if (by_vector && !joined) each(rate, false, [&](Cycles& cycles) { cycles.row += rate.b; });
    }

    void turn(const Rate& rate) {
        each(rate, false, [&](Cycles& cycles) {
            cycles.square += rate.k * lanes();
            cycles.tile += rate.b;
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

inline bool commutes(const Op& op) { return is_any(op, {"add", "mul", "max", "min", "eq"}); }

// The call list that runs a step, given where its literals stand.
inline std::vector<std::string> calls_of(const Op& op, const Primitive& step) {
    const bool first = !step.in.empty() && step.in.front().is_literal();
    const bool last = !step.in.empty() && step.in.back().is_literal();
    if ((last || (first && commutes(op))) && !op.scalar_calls.empty()) return op.scalar_calls;
    std::vector<std::string> calls = op.calls;
    if (first) calls.insert(calls.begin(), "Duplicate");
    return calls;
}

// Words that TransDataTo5HD does not take are turned in parts of `word` bytes, three times, square by square
// (op_kernel/tile/turn.h): its start-up falls on each square.
inline Rate turn_rate(const Soc& soc, Dtype dtype) {
    const int64_t bytes = width(dtype);
    if (turns_words(soc, bytes)) return call_rate("TransDataTo5HD", bytes == 2 ? Dtype::f16 : Dtype::f32);
    const int64_t word = turns_words(soc, 4) ? 4 : 2;
    const Rate part = call_rate("TransDataTo5HD", word == 2 ? Dtype::f16 : Dtype::f32);
    const double squares = static_cast<double>(turned_rows * turned_rows);
    return Rate{3 * (part.k * static_cast<double>(bytes / word) + part.b / squares), 0, part.assumed};
}

// Adds a step to a pass.
inline void meter_step(Meter& meter, const Soc& soc, const Primitive& step) {
    Extent out;
    out.span = step.out.span;
    out.cols = step.cols > 0 ? step.cols : step.out.cols;
    for (const auto& ref : step.in)
        if (ref.blocks) meter.spread_row(call_rate("Brcb", ref.dtype), ref.dtype);
    const auto byte = [](Dtype dtype) { return is_bool(dtype) ? Dtype::u8 : dtype; };
    if (step.code == StepCode::cast)
        return meter.call(cast_rate(byte(step.in[0].dtype), byte(step.out.dtype)), out, true);
    if (step.code == StepCode::turn) return meter.turn(turn_rate(soc, step.in[0].dtype));
    if (step.code == StepCode::copy || step.code == StepCode::spread) {
        const bool literal = step.in[0].is_literal();
        return meter.call(call_rate(literal ? "Duplicate" : "Ub2ub", step.out.dtype), out, false);
    }
    const Op& op = op_of(step.code);
    if (op.kind == OpKind::random) return meter.draw(out);
    const Dtype computed = step.in.empty() ? Dtype::f32 : operand_of(step).dtype;
    const bool reduces = op.kind == OpKind::reduce;
    for (const auto& call : calls_of(op, step)) {
        Rate rate = call_rate(call, computed);
        rate.assumed = rate.assumed || op.assumed;
        reduces ? meter.reduce(rate, computed) : meter.call(rate, out, false);
    }
}

class PassMeter {
  public:
    PassMeter(const Program& program, const Grid& grid, const Soc& soc, const std::vector<Expansion>& steps)
        : program_(program), grid_(grid), soc_(soc), steps_(steps) {}

    Pass measure(const Sweep& sweep) const {
        Pass pass;
        pass.once = sweep.once;
        pass.reads = sweep.loads;
        pass.writes.assign(program_.values.size(), false);
        for (const size_t output : sweep.stores)
            pass.writes[static_cast<size_t>(program_.outputs[output].value)] = true;
        Meter meter(pass, soc_, grid_);
        for (const auto& [id, share] : sweep.instrs)
            for (const auto& step : steps_[static_cast<size_t>(id - program_.n_inputs())].steps)
                if (share == Share::all || step.after == (share == Share::after))
                    meter_step(meter, soc_, step);
        for (int id = 0; id < static_cast<int>(program_.values.size()); ++id)
            meter_border(meter, pass, sweep, id);
        return pass;
    }

  private:
    // What a value costs between a queue and the slots.
    void meter_border(Meter& meter, const Pass& pass, const Sweep& sweep, int id) const {
        const bool input = program_.is_input(id), slot = needs_slot(program_, grid_, id);
        if (slot && input && reads(sweep, id)) add(meter, enter(program_, grid_, soc_, id));
        if (pass.writes[static_cast<size_t>(id)] && (slot || input))
            add(meter, leave(program_, grid_, soc_, id));
    }

    void add(Meter& meter, const Expansion& steps) const {
        for (const auto& step : steps.steps) meter_step(meter, soc_, step);
    }

    bool reads(const Sweep& sweep, int value) const {
        for (const auto& [id, share] : sweep.instrs)
            for (const auto& operand : program_.instr(id).operands)
                if (operand.value == value && share != Share::after && !carried(program_, id)) return true;
        return false;
    }

    const Program& program_;
    const Grid& grid_;
    const Soc& soc_;
    const std::vector<Expansion>& steps_;
};

inline std::vector<Pass> passes_of(const Program& program, const Grid& grid, const Soc& soc,
                                   const std::vector<Expansion>& steps) {
    std::vector<Pass> passes;
    const PassMeter meter(program, grid, soc, steps);
    for (const auto& sweep : Sweeper(program, grid).run()) passes.push_back(meter.measure(sweep));
    return passes;
}

}  // namespace ascend_fuse
