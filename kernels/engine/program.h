// The program text v1 as data (docs/design/0001). Value ids: inputs first, then instructions, in text order.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "dtype.h"
#include "op.h"

namespace ascend_fuse {

inline constexpr int max_instructions = 64;
inline constexpr int max_inputs = 16;
inline constexpr int max_outputs = 8;

enum class Family { elementwise, rowwise, matmul, transform };

inline constexpr Family families[] = {Family::elementwise, Family::rowwise, Family::matmul,
                                      Family::transform};

inline const char* name(Family family) {
    constexpr const char* names[] = {"elementwise", "rowwise", "matmul", "transform"};
    return names[static_cast<int>(family)];
}

// One extent: symbol d<symbol>, or a constant when symbol < 0.
struct Dim {
    int symbol = -1;
    int64_t size = 1;

    bool is_one() const { return symbol < 0 && size == 1; }
    bool operator==(const Dim& other) const { return symbol == other.symbol && size == other.size; }
    bool operator!=(const Dim& other) const { return !(*this == other); }
    std::string text() const { return symbol >= 0 ? "d" + std::to_string(symbol) : std::to_string(size); }
};

using Dims = std::vector<Dim>;

// A tensor's own shape: each of its sizes is the product of one or more extents.
using Shape = std::vector<Dims>;

// A type as written. `bar`: how many dims stand before the `|`; -1 without one.
struct Type {
    Dtype dtype = Dtype::f32;
    Dims dims;
    int bar = -1;
};

// The extents of a value, padded with ones to the rank of the space (lead axes, then row axes).
struct Value {
    std::string name;
    Dtype dtype = Dtype::f32;
    Dims extents;
};

// What an input that lies on no axes of the space is: an operand of the product, or a part of an output.
enum class Side { none, left, right, past };

// Axis p of the memory is axis order[p] of the type; empty: the identity.
using Order = std::vector<int>;

struct Input {
    Type type;
    bool host = false;           // steers the body only; no kernel reads it
    std::optional<Shape> shape;  // the tensor's own, where it is not the type's
    Side side = Side::none;
    Order order;

    // Whether tiles of it are loaded.
    bool tiled() const { return !host && side == Side::none; }
};

struct Operand {
    int value = -1;       // value id; -1: a literal
    std::string literal;  // as written
};

struct Instr {
    Type type;
    int op = 0;  // position in ops()
    std::vector<Operand> operands;
    std::vector<std::pair<std::string, std::string>> attributes;

    const Op& entry() const { return ops()[static_cast<size_t>(op)]; }
};

struct Output {
    int value = 0;
    std::optional<Shape> shape;
    Order order;
    int past = -1;        // value id of the input that is the other part of the tensor; -1: it has one part
    int axis = 0;         // dimension of the tensor along which the parts lie
    bool before = false;  // the value lies in front of the past

    bool joined() const { return past >= 0; }
};

struct Program {
    Family family = Family::elementwise;
    Dims space;
    int bar = -1;  // axes before the | of the space; -1 for elementwise, which has none
    int n_symbols = 0;
    std::vector<Input> inputs;
    std::vector<Instr> instrs;
    std::vector<Output> outputs;
    std::vector<Value> values;  // inputs, then instructions

    int lead_rank() const { return bar >= 0 ? bar : static_cast<int>(space.size()); }
    int row_rank() const { return static_cast<int>(space.size()) - lead_rank(); }
    // Whether cols are a row, which reductions and moves run along.
    bool has_row() const { return family == Family::rowwise || family == Family::matmul; }
    int n_inputs() const { return static_cast<int>(inputs.size()); }
    bool is_input(int value) const { return value < n_inputs(); }
    bool is_output(int value) const {
        for (const auto& output : outputs)
            if (output.value == value) return true;
        return false;
    }
    // Precondition: !is_input(value).
    const Instr& instr(int value) const { return instrs[static_cast<size_t>(value - n_inputs())]; }
};

// `dims` as they lie in memory.
inline Dims reordered(const Dims& dims, const Order& order) {
    if (order.empty()) return dims;
    Dims memory;
    for (const int axis : order) memory.push_back(dims[static_cast<size_t>(axis)]);
    return memory;
}

// A tensor's own shape: `shape`, or an extent each.
inline Shape tensor_shape(const Dims& dims, const Order& order, const std::optional<Shape>& shape) {
    if (shape) return *shape;
    Shape own;
    for (const auto& dim : reordered(dims, order)) own.push_back(Dims{dim});
    return own;
}

// The extents of a shape in order, its products taken apart.
inline Dims factors(const Shape& shape) {
    Dims dims;
    for (const auto& size : shape) dims.insert(dims.end(), size.begin(), size.end());
    return dims;
}

// Shapes hold the same extents in the same order once ones are dropped.
inline bool same_but_ones(const Dims& left, const Dims& right) {
    size_t i = 0, j = 0;
    for (;;) {
        while (i < left.size() && left[i].is_one()) ++i;
        while (j < right.size() && right[j].is_one()) ++j;
        if (i == left.size() || j == right.size()) return i == left.size() && j == right.size();
        if (left[i++] != right[j++]) return false;
    }
}

}  // namespace ascend_fuse
