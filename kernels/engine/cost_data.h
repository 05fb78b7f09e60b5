// Cycles of vector calls and moves: data/vector_cost.csv and data/move_cost.csv, fitted on 2201.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "ascend_fuse_data.h"
#include "dtype.h"
#include "soc.h"
#include "text.h"

namespace ascend_fuse {

// cycles = k * elements + b, on one vector core.
struct Rate {
    double k = 0;
    double b = 0;
    bool assumed = false;
};

using RateTable = std::map<std::string, Rate, std::less<>>;  // key: call/dtype

inline RateTable read_rates(std::string_view csv) {
    const Table table = read_csv(csv);
    RateTable rates;
    for (const auto& row : table.rows) {
        const Rate rate{to_double(table.field(row, "k")).value_or(0),
                        to_double(table.field(row, "b")).value_or(0), table.field(row, "basis") != "listed"};
        rates[table.field(row, "call") + "/" + table.field(row, "dtype")] = rate;
    }
    return rates;
}

inline const RateTable& rates() {
    static const RateTable table = read_rates(embedded::vector_cost_csv);
    return table;
}

inline const Rate* listed_rate(std::string_view call, std::string_view dtype) {
    const auto found = rates().find(std::string(call) + "/" + std::string(dtype));
    return found == rates().end() ? nullptr : &found->second;
}

// A call without a row for its dtype takes the row of equal lanes: 16-bit as f16 or u16, 32-bit as f32; bytes
// are computed in 16-bit lanes; 64-bit types, which no vector unit adds, as eight 32-bit calls. Such rows are
// assumed.
inline Rate call_rate(std::string_view call, Dtype dtype) {
    if (const Rate* exact = listed_rate(call, name(dtype))) return *exact;
    const int bytes = width(dtype);
    const double times = bytes == 8 ? 8.0 : 1.0;
    const std::string_view first = bytes >= 4 ? "f32" : is_float(dtype) ? "f16" : "u16";
    for (const std::string_view other : {first, std::string_view("f16"), std::string_view("f32")})
        if (const Rate* near = listed_rate(call, other)) return Rate{near->k * times, near->b * times, true};
    // One simple call: 64 lanes and the start-up of Add.
    return Rate{0.0206 * times, 23.2225 * times, true};
}

inline Rate cast_rate(Dtype from, Dtype to) {
    const std::string pair = std::string(name(from)) + ">" + std::string(name(to));
    if (const Rate* listed = listed_rate("Cast", pair)) return *listed;
    const Rate* any = listed_rate("Cast", "any");
    return any ? *any : Rate{0.0156, 20.1204, true};
}

// One row of move_cost.csv.
struct Move {
    double a = 0, b = 0, h = 0;
    double ref_rate = 16;
    bool assumed = false;
};

// The rows that one chip reads: those of its architecture, else those of 2201, scaled to the chip's GM
// bandwidth.
struct MoveTable {
    Move load, load_small, load_stride, store, store_small, store_stride;
    Move head_load_small, head_load_large, load_small_limit, head_store, head_vector, head_kernel,
        small_block;
};

inline std::map<std::string, Move> read_moves(std::string_view csv, int64_t arch) {
    const Table table = read_csv(csv);
    std::map<std::string, Move> moves;
    const auto number = [&](const auto& row, const char* column) {
        return to_double(table.field(row, column)).value_or(0);
    };
    for (const auto& row : table.rows) {
        const bool own = table.field(row, "arch") == std::to_string(arch);
        if (!own && table.field(row, "arch") != "2201") continue;
        Move move{number(row, "a"), number(row, "b"), number(row, "h"), number(row, "ref_rate"), true};
        // Another architecture's row is a guess for this one, whatever its source.
        move.assumed = !own || table.field(row, "basis") != "listed";
        const std::string key = table.field(row, "move");
        if (own || moves.find(key) == moves.end()) moves[key] = move;
    }
    return moves;
}

inline MoveTable move_table(int64_t arch) {
    auto moves = read_moves(embedded::move_cost_csv, arch);
    return MoveTable{moves["Load"],          moves["LoadSmall"],     moves["LoadStride"],
                     moves["Store"],         moves["StoreSmall"],    moves["StoreStride"],
                     moves["HeadLoadSmall"], moves["HeadLoadLarge"], moves["LoadSmallLimit"],
                     moves["HeadStore"],     moves["HeadVector"],    moves["HeadKernel"],
                     moves["SmallBlock"]};
}

// Read once per architecture that data/soc.csv names; others read the 2201 rows as assumed ones.
inline const MoveTable& moves(int64_t arch) {
    static const std::map<int64_t, MoveTable> tables = [] {
        std::map<int64_t, MoveTable> built;
        built[0] = move_table(0);
        for (const auto& soc : socs())
            if (built.find(soc.npu_arch) == built.end()) built[soc.npu_arch] = move_table(soc.npu_arch);
        return built;
    }();
    const auto found = tables.find(arch);
    return found == tables.end() ? tables.at(0) : found->second;
}

}  // namespace ascend_fuse
