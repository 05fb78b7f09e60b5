// A program's symbols from real tensors (docs/design/0001): strict, every size must equal what the others
// bind.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "program.h"
#include "result.h"
#include "tensor.h"

namespace ascend_fuse {

inline constexpr int64_t unbound = -1;

inline Shape input_shape(const Program& program, size_t input) {
    const Input& in = program.inputs[input];
    return tensor_shape(in.type.dims, in.order, in.shape);
}

// A size of a tensor: the product of its extents; `unbound` while one of them is.
inline int64_t size_of(const Dims& factors, const std::vector<int64_t>& sizes) {
    int64_t total = 1;
    for (const auto& dim : factors) {
        const int64_t size = dim.symbol < 0 ? dim.size : sizes[static_cast<size_t>(dim.symbol)];
        if (size == unbound) return unbound;
        total *= size;
    }
    return total;
}

inline Error disagrees(const Program& program, size_t input, const Tensor& tensor,
                       const std::string& wanted) {
    return Error{0, "input " + program.values[input].name + " is " + std::string(name(tensor.dtype)) +
                        text(tensor.sizes, tensor.rank) + " where the program has " + wanted};
}

// Sizes of tensors below 0 are unknown and bind nothing, as those of a graph's values before it runs.
// By symbol; `unbound` where nothing tells. `inputs`: one for each of the program's, host ones are not looked
// at.
inline Result<std::vector<int64_t>> bind_known(const Program& program, const std::vector<Tensor>& inputs) {
    std::vector<int64_t> sizes(static_cast<size_t>(program.n_symbols), unbound);
    if (inputs.size() != program.inputs.size())
        return Error{0, std::to_string(inputs.size()) + " inputs where the program has " +
                            std::to_string(program.inputs.size())};
    for (size_t i = 0; i < inputs.size(); ++i) {
        if (program.inputs[i].host) continue;
        const Shape shape = input_shape(program, i);
        if (inputs[i].dtype != program.values[i].dtype)
            return disagrees(program, i, inputs[i], std::string(name(program.values[i].dtype)));
        if (inputs[i].rank != shape.size())
            return disagrees(program, i, inputs[i], std::to_string(shape.size()) + " dimensions");
        for (size_t d = 0; d < shape.size(); ++d) {
            if (shape[d].size() != 1 || shape[d][0].symbol < 0 || inputs[i].sizes[d] < 0) continue;
            int64_t& size = sizes[static_cast<size_t>(shape[d][0].symbol)];
            if (size == unbound) size = inputs[i].sizes[d];
        }
    }
    for (size_t i = 0; i < inputs.size(); ++i) {
        if (program.inputs[i].host) continue;
        const Shape shape = input_shape(program, i);
        for (size_t d = 0; d < shape.size(); ++d) {
            const int64_t wanted = size_of(shape[d], sizes), found = inputs[i].sizes[d];
            if (wanted != unbound && found >= 0 && wanted != found)
                return disagrees(program, i, inputs[i],
                                 std::to_string(wanted) + " at dimension " + std::to_string(d));
        }
    }
    return sizes;
}

// What comes out, by output; `sizes` by symbol.
inline std::vector<Form> output_forms(const Program& program, const std::vector<int64_t>& sizes) {
    std::vector<Form> forms;
    for (const auto& output : program.outputs) {
        const Type& type = program.is_input(output.value)
                               ? program.inputs[static_cast<size_t>(output.value)].type
                               : program.instr(output.value).type;
        Form form{type.dtype, {}};
        for (const auto& factors : tensor_shape(type.dims, output.order, output.shape))
            form.sizes.push_back(size_of(factors, sizes));
        if (output.joined()) {
            const Shape past = input_shape(program, static_cast<size_t>(output.past));
            const auto axis = static_cast<size_t>(output.axis);
            form.sizes[axis] += size_of(past[axis], sizes);
        }
        forms.push_back(std::move(form));
    }
    return forms;
}

// The program without the pasts that have no elements, as a KV cache has none at first: what is joined to one
// is the whole output. `sizes` that no other value has become 1, as the engine has no empty axes.
inline Program without_empty_pasts(Program program, const std::vector<int64_t>& sizes) {
    for (auto& output : program.outputs) {
        if (!output.joined()) continue;
        const auto past = static_cast<size_t>(output.past);
        int64_t elements = 1;
        for (const auto& factors : input_shape(program, past)) elements *= size_of(factors, sizes);
        if (elements > 0) continue;
        program.inputs[past].host = true;
        program.inputs[past].side = Side::none;
        program.values[past].extents = Dims(program.space.size());
        output.past = -1;
    }
    return program;
}

}  // namespace ascend_fuse
