// The operators of the program text, read once from data/op.csv.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "ascend_fuse_data.h"
#include "text.h"

namespace ascend_fuse {

enum class OpKind { map, reduce, move, random, index, cast, product };

struct Op {
    std::string name;
    int arity = 0;  // -1: one or more
    OpKind kind = OpKind::map;
    std::string types;                      // letters f, i, b that the operands may have
    bool result_bool = false;               // the result is bool whatever the operands are
    bool result_named = false;              // the line's type names the result's dtype
    std::vector<std::string> calls;         // AscendC vector calls, in order
    std::vector<std::string> scalar_calls;  // the same when the last operand is a literal
    int scratch = 0;                        // tiles beside operands and result
    bool assumed = false;                   // some figure of it has no published source

    bool is(std::string_view other) const { return name == other; }
};

inline OpKind to_op_kind(std::string_view text) {
    if (text == "reduce") return OpKind::reduce;
    if (text == "move") return OpKind::move;
    if (text == "random") return OpKind::random;
    if (text == "index") return OpKind::index;
    if (text == "cast") return OpKind::cast;
    return OpKind::map;
}

inline std::vector<std::string> read_calls(std::string_view text) {
    std::vector<std::string> calls;
    for (const auto call : split(text, "/"))
        if (!call.empty()) calls.emplace_back(call);
    return calls;
}

inline std::vector<Op> read_ops(std::string_view csv) {
    const Table table = read_csv(csv);
    std::vector<Op> ops;
    for (const auto& row : table.rows) {
        Op op;
        op.name = table.field(row, "op");
        op.arity = static_cast<int>(to_int(table.field(row, "arity")).value_or(0));
        op.kind = to_op_kind(table.field(row, "kind"));
        op.types = table.field(row, "types");
        op.result_bool = table.field(row, "result") == "bool";
        op.result_named = table.field(row, "result") == "attr";
        op.calls = read_calls(table.field(row, "calls"));
        op.scalar_calls = read_calls(table.field(row, "scalar_calls"));
        op.scratch = static_cast<int>(to_int(table.field(row, "scratch")).value_or(0));
        op.assumed = table.field(row, "basis") == "assumed";
        ops.push_back(std::move(op));
    }
    return ops;
}

inline const std::vector<Op>& ops() {
    static const std::vector<Op> table = [] {
        auto rows = read_ops(embedded::op_csv);
        // The product: no row of the table, as no vector call runs it.
        Op matmul;
        matmul.name = "matmul";
        matmul.arity = 2;
        matmul.kind = OpKind::product;
        matmul.types = "fi";
        matmul.result_named = true;
        rows.push_back(std::move(matmul));
        return rows;
    }();
    return table;
}

// Position in ops(), or -1.
inline int find_op(std::string_view name) {
    const auto& table = ops();
    for (size_t i = 0; i < table.size(); ++i)
        if (table[i].name == name) return static_cast<int>(i);
    return -1;
}

}  // namespace ascend_fuse
