// Program -> text. Printing what was parsed gives the same bytes.
#pragma once

#include <string>

#include "program.h"

namespace ascend_fuse {

inline std::string print_dims(const Dims& dims, int bar = -1) {
    std::string text;
    for (size_t i = 0; i < dims.size(); ++i) {
        if (static_cast<int>(i) == bar) {
            text += i > 0 ? " | " : "| ";
        } else if (i > 0) {
            text += ", ";
        }
        text += dims[i].text();
    }
    return text;
}

inline std::string print_type(const Type& type) {
    return std::string(name(type.dtype)) + "[" + print_dims(type.dims, type.bar) + "]";
}

// `d0, d1*4`: sizes of several factors are products.
inline std::string print_sizes(const Shape& shape) {
    std::string text;
    for (size_t i = 0; i < shape.size(); ++i) {
        if (i > 0) text += ", ";
        for (size_t j = 0; j < shape[i].size(); ++j) text += (j > 0 ? "*" : "") + shape[i][j].text();
    }
    return text;
}

inline std::string print_shape(const std::optional<Shape>& shape) {
    return shape ? " (" + print_sizes(*shape) + ")" : "";
}

inline std::string print_order(const Order& order) {
    std::string text;
    for (const int axis : order) text += (text.empty() ? " <" : " ") + std::to_string(axis);
    return text.empty() ? text : text + ">";
}

inline const char* print_role(const Input& input) {
    if (input.side == Side::none) return input.host ? "host" : "in";
    return input.side == Side::past ? "past" : input.side == Side::left ? "left" : "right";
}

inline std::string print_output(const Program& program, const Output& output) {
    const auto named = [&](int value) { return program.values[static_cast<size_t>(value)].name; };
    std::string text = named(output.value) + print_order(output.order) + print_shape(output.shape);
    if (!output.joined()) return text;
    return text + (output.before ? " before " : " behind ") + named(output.past) + " @" +
           std::to_string(output.axis);
}

inline std::string print_instr(const Program& program, const Instr& instr) {
    std::string text = instr.entry().name;
    for (size_t i = 0; i < instr.operands.size(); ++i) {
        const Operand& operand = instr.operands[i];
        text += i == 0 ? " " : ", ";
        text += operand.value < 0 ? operand.literal : program.values[static_cast<size_t>(operand.value)].name;
    }
    for (size_t i = 0; i < instr.attributes.size(); ++i) {
        text += i == 0 ? " {" : ", ";
        text += instr.attributes[i].first + "=" + instr.attributes[i].second;
    }
    return instr.attributes.empty() ? text : text + "}";
}

inline std::string print(const Program& program) {
    std::string text =
        std::string(name(program.family)) + " 1 [" + print_dims(program.space, program.bar) + "]\n";
    for (size_t i = 0; i < program.values.size(); ++i) {
        const int id = static_cast<int>(i);
        text += program.values[i].name + ": ";
        if (program.is_input(id)) {
            const Input& input = program.inputs[i];
            text += print_type(input.type) + " = " + print_role(input) + print_order(input.order) +
                    print_shape(input.shape);
        } else {
            text += print_type(program.instr(id).type) + " = " + print_instr(program, program.instr(id));
        }
        text += "\n";
    }
    text += "out ";
    for (size_t i = 0; i < program.outputs.size(); ++i)
        text += (i > 0 ? ", " : "") + print_output(program, program.outputs[i]);
    return text;
}

}  // namespace ascend_fuse
