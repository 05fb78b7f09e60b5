// ascend_fuse._engine: what a vector kernel is launched with. Bad input and what no kernel runs is a
// ValueError.
#include "python/lower.h"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "engine.h"
#include "python/part.h"

namespace nb = nanobind;
using namespace ascend_fuse;

using Tile = std::tuple<int64_t, int64_t, int64_t, int64_t>;  // rows, cols, buffers, cores

void bind_lowering(nb::module_& m) {
    nb::class_<Launch>(m, "Launch")
        .def_prop_ro("block",
                     [](const Launch& self) {
                         return nb::bytes(reinterpret_cast<const char*>(self.block.data()),
                                          self.block.size());
                     })
        .def_ro("block_dim", &Launch::block_dim)
        .def_prop_ro("family", [](const Launch& self) { return std::string(name(self.family)); })
        .def_ro("mixed", &Launch::mixed)
        .def_ro("workspace_bytes", &Launch::workspace_bytes)
        .def_ro("ub_bytes", &Launch::ub_bytes)
        .def_ro("loaded_bytes", &Launch::loaded_bytes)
        .def_ro("stored_bytes", &Launch::stored_bytes)
        .def_ro("gm_bytes", &Launch::gm_bytes);
    m.def(
        "lower",
        [](const Program& program, const std::vector<int64_t>& sizes, const Soc& soc, const Bounds& bounds,
           const std::optional<Tile>& tile) {
            if (!tile) return value_or_raise(lower(program, sizes, soc, bounds));
            Tiling tiling;
            std::tie(tiling.tile_rows, tiling.tile_cols, tiling.buffer_num, tiling.block_dim) = *tile;
            return value_or_raise(lower(program, sizes, soc, bounds, tiling));
        },
        nb::arg("program"), nb::arg("sizes"), nb::arg("soc"), nb::arg("bounds"),
        nb::arg("tile") = nb::none());
}
