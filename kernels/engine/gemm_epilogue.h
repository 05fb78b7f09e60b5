// What follows a product, as a program of its own over the product's rows and columns, cut in two: what rides
// on FixPipe, and what the vector unit does.
#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include "bind.h"
#include "cost.h"
#include "cube_cost.h"
#include "gemm.h"

namespace ascend_fuse {

// The steps that FixPipe does for free.
struct Ride {
    bool bias = false, relu = false, cast = false;
    int last = 0;  // instruction whose value leaves FixPipe; 0: the product itself
};

// One value that vector cores move between GM and UB.
struct Transfer {
    int value = 0;    // of the epilogue's program
    int64_t run = 0;  // contiguous elements of a row; 0: as the extent says
};

struct Epilogue {
    Program program;  // rowwise, input 0 is what leaves the cube
    Ride ride;
    Job job;
    std::vector<Transfer> loads, stores;  // without input 0
    std::vector<Transfer> outputs;        // with it
    bool vector = false;                  // the vector unit has work
    int64_t stored = 0;                   // outputs of the node that what leaves the cube is as well
    std::vector<Copy> copies;             // the other parts of outputs
    Dtype leaves = Dtype::f16;            // dtype of input 0
    int64_t bias_width = 0;               // bytes of an element of the bias that rides
};

inline int readers(const Program& program, int value) {
    int count = 0;
    for (const auto& instr : program.instrs)
        for (const auto& operand : instr.operands) count += operand.value == value ? 1 : 0;
    return count;
}

// An input that varies along n alone.
inline bool is_bias(const Program& program, int value) {
    if (value < 0 || !program.is_input(value)) return false;
    const Input& input = program.inputs[static_cast<size_t>(value)];
    const Dims& extents = program.values[static_cast<size_t>(value)].extents;
    if (!input.tiled() || !input.order.empty()) return false;
    for (size_t i = 0; i < extents.size(); ++i) {
        const bool behind = i >= static_cast<size_t>(program.bar);
        if (behind ? extents[i] != program.space[i] : !extents[i].is_one()) return false;
    }
    return true;
}

// The other operand when `instr` reads `value` once.
inline int other_operand(const Instr& instr, int value) {
    if (instr.operands.size() != 2) return -1;
    if (instr.operands[0].value == value) return instr.operands[1].value;
    return instr.operands[1].value == value ? instr.operands[0].value : -1;
}

// The longest run of [add bias], [relu], [cast] behind the product whose inner values nobody else reads.
inline Ride ride_of(const Program& program, bool with_bias) {
    Ride ride;
    for (size_t i = 1; i < program.instrs.size(); ++i) {
        const int value = program.n_inputs() + ride.last;
        const Instr& instr = program.instrs[i];
        if (static_cast<int>(i) != ride.last + 1 || program.is_output(value) || readers(program, value) != 1)
            break;
        const Op& op = instr.entry();
        const bool reads = !instr.operands.empty() &&
                           (instr.operands.front().value == value || other_operand(instr, value) >= 0);
        const Dtype from = program.values[static_cast<size_t>(value)].dtype;
        const bool bias = op.is("add") && is_bias(program, other_operand(instr, value));
        if (!reads) break;
        if (bias && with_bias && !ride.bias && !ride.relu && !ride.cast) {
            ride.bias = true;
        } else if (op.is("relu") && !ride.relu && !ride.cast) {
            ride.relu = true;
        } else if (op.kind == OpKind::cast && !ride.cast && from == Dtype::f32 &&
                   (instr.type.dtype == Dtype::f16 || instr.type.dtype == Dtype::bf16)) {
            ride.cast = true;
        } else {
            break;
        }
        ride.last = static_cast<int>(i);
    }
    return ride;
}

// The instructions behind `ride`, over an input that stands for what leaves the cube.
inline Program behind(const Program& program, const Ride& ride) {
    Program rest;
    rest.family = Family::rowwise;
    rest.space = program.space;
    rest.bar = program.bar;
    rest.n_symbols = program.n_symbols;
    const int leaves = program.n_inputs() + ride.last;
    std::vector<int> moved(program.values.size(), -1);
    const auto take = [&](int value) {
        moved[static_cast<size_t>(value)] = static_cast<int>(rest.values.size());
        rest.values.push_back(program.values[static_cast<size_t>(value)]);
    };
    take(leaves);
    rest.inputs.push_back(Input{program.instr(leaves).type, false, std::nullopt, Side::none, {}});
    for (int id = 0; id < program.n_inputs(); ++id) {
        const Input& input = program.inputs[static_cast<size_t>(id)];
        bool read = program.is_output(id);
        for (size_t i = static_cast<size_t>(ride.last) + 1; i < program.instrs.size(); ++i)
            for (const auto& operand : program.instrs[i].operands) read = read || operand.value == id;
        if (input.side != Side::none || !read) continue;
        take(id);
        rest.inputs.push_back(input);
    }
    for (size_t i = static_cast<size_t>(ride.last) + 1; i < program.instrs.size(); ++i) {
        Instr instr = program.instrs[i];
        for (auto& operand : instr.operands)
            if (operand.value >= 0) operand.value = moved[static_cast<size_t>(operand.value)];
        take(program.n_inputs() + static_cast<int>(i));
        rest.instrs.push_back(std::move(instr));
    }
    for (const Output& output : program.outputs)  // where their tensors lie, `stores` says
        rest.outputs.push_back(Output{moved[static_cast<size_t>(output.value)], {}, {}, -1, 0, false});
    return rest;
}

// Contiguous elements of one row of the space in a tensor of that order.
inline int64_t row_run(const Program& program, const std::vector<int64_t>& sizes, int value,
                       const Order& order) {
    if (order.empty()) return 0;
    const Dims& extents = program.values[static_cast<size_t>(value)].extents;
    const Axes axes = axes_of(resolve(extents, sizes), order);
    return run_of(part(axes, static_cast<size_t>(program.bar), axes.size()));
}

inline int64_t row_run(const Program& program, const std::vector<int64_t>& sizes, const Output& output) {
    if (output.order.empty() && !output.joined()) return 0;
    const Axes axes = axes_of(program, output, sizes);
    return run_of(part(axes, static_cast<size_t>(program.bar), axes.size()));
}

inline Result<Epilogue> make_epilogue(const Program& program, const std::vector<int64_t>& sizes,
                                      const Ride& ride, const Soc& soc, const Bounds& bounds) {
    Epilogue epilogue;
    epilogue.ride = ride;
    epilogue.program = behind(program, ride);
    const Program& rest = epilogue.program;
    auto grid = bind(rest, sizes);
    if (!grid) return grid.error();
    epilogue.job = make_job(rest, std::move(*grid), soc, bounds);
    epilogue.job.program = nullptr;  // it would dangle when the epilogue moves
    epilogue.leaves = rest.values.front().dtype;
    epilogue.vector = !rest.instrs.empty();
    epilogue.copies = copies_of(program, sizes);
    if (ride.bias) epilogue.bias_width = width(program.instrs.front().type.dtype);
    for (int id = 1; id < rest.n_inputs(); ++id) {
        const Input& input = rest.inputs[static_cast<size_t>(id)];
        if (input.host) continue;
        epilogue.loads.push_back(
            Transfer{id, row_run(rest, sizes, id, aligned_order(input, rest.space.size()))});
    }
    for (size_t i = 0; i < rest.outputs.size(); ++i) {
        const int value = rest.outputs[i].value;
        epilogue.outputs.push_back(Transfer{value, row_run(program, sizes, program.outputs[i])});
        if (value == 0)
            ++epilogue.stored;
        else
            epilogue.stores.push_back(epilogue.outputs.back());
    }
    return epilogue;
}

}  // namespace ascend_fuse
