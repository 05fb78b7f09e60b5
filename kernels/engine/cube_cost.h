// Figures of the cube: data/cube_cost.csv, for one architecture.
#pragma once

#include <map>
#include <string>

#include "ascend_fuse_data.h"
#include "dtype.h"
#include "soc.h"
#include "text.h"

namespace ascend_fuse {

struct CubeTable {
    std::map<Dtype, double> depth;  // over the chip's cube_k; no entry: the cube has no such type
    double load = 0, small = 1, store = 0, flag = 0, sync = 0;
};

inline CubeTable read_cube_table(std::string_view csv, const std::string& arch) {
    const Table table = read_csv(csv);
    CubeTable cube;
    bool own = false;
    for (const auto& row : table.rows) own = own || table.field(row, "arch") == arch;
    for (const auto& row : table.rows) {
        const double value = to_double(table.field(row, "value")).value_or(0);
        const std::string key = table.field(row, "key"), from = table.field(row, "arch");
        if (key == "load") cube.load = value;
        if (key == "small") cube.small = value;
        if (key == "store") cube.store = value;
        if (key == "flag") cube.flag = value;
        if (key == "sync") cube.sync = value;
        const auto dtype = to_dtype(table.field(row, "dtype"));
        if (key == "depth" && dtype && from == (own ? arch : "any")) cube.depth[*dtype] = value;
    }
    return cube;
}

// Read once per architecture that data/soc.csv names; others read the `any` rows.
inline const CubeTable& cube_table(int64_t arch) {
    static const std::map<int64_t, CubeTable> tables = [] {
        std::map<int64_t, CubeTable> built;
        built[0] = read_cube_table(embedded::cube_cost_csv, "0");
        for (const auto& soc : socs())
            if (built.find(soc.npu_arch) == built.end())
                built[soc.npu_arch] = read_cube_table(embedded::cube_cost_csv, std::to_string(soc.npu_arch));
        return built;
    }();
    const auto found = tables.find(arch);
    return found == tables.end() ? tables.at(0) : found->second;
}

// How the product leaves the cube.
enum class Path {
    coupled,  // L0C -> UB of the same core
    split,    // FixPipe to GM; vector cores read it back
};

inline Path path_of(const Soc& soc) {
    return soc.cube_vector_combine == "split" ? Path::split : Path::coupled;
}

// Vector cores that share the tile of one cube core.
inline int64_t vectors_per_cube(const Soc& soc) {
    if (path_of(soc) == Path::coupled) return 1;
    return std::max<int64_t>(1, soc.vector_cores() / soc.cube_cores());
}

}  // namespace ascend_fuse
