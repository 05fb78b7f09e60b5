// ascend_fuse._engine: the engine for Python. Bad input is a ValueError; every rejection is a Verdict.
#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <string>
#include <utility>
#include <vector>

#include "engine.h"
#include "python/gemm.h"
#include "python/lower.h"
#include "python/part.h"

namespace nb = nanobind;
using namespace ascend_fuse;

namespace {

std::string data(const std::string& name) {
    if (name == "op") return embedded::op_csv;
    if (name == "soc") return embedded::soc_csv;
    if (name == "vector_cost") return embedded::vector_cost_csv;
    if (name == "move_cost") return embedded::move_cost_csv;
    if (name == "cube_cost") return embedded::cube_cost_csv;
    throw nb::value_error("data is one of op, soc, vector_cost, move_cost, cube_cost");
}

std::vector<std::string> soc_names() {
    std::vector<std::string> names;
    for (const auto& soc : socs()) names.push_back(soc.name);
    return names;
}

std::vector<std::string> symbols(const Program& program) {
    std::vector<std::string> names;
    for (int i = 0; i < program.n_symbols; ++i) names.push_back("d" + std::to_string(i));
    return names;
}

void bind_soc(nb::module_& m) {
    nb::class_<Soc> soc(m, "Soc");
    soc.def_ro("name", &Soc::name).def_ro("family", &Soc::family);
    soc.def_ro("cube_vector_combine", &Soc::cube_vector_combine);
    for (const auto& field : soc_fields) {
        const auto member = field.member;
        if (std::string(field.column) == "support_bf16" || std::string(field.column) == "support_fixpipe")
            continue;
        soc.def_prop_ro(field.column, [member](const Soc& self) { return self.*member; });
    }
    soc.def_prop_ro("supports_bf16", &Soc::supports_bf16);
    soc.def_prop_ro("supports_fixpipe", [](const Soc& self) { return self.support_fixpipe != 0; });
    soc.def_prop_ro("vector_cores", &Soc::vector_cores);
    soc.def_prop_ro("cube_cores", &Soc::cube_cores);
    soc.def_prop_ro("ai_cores", [](const Soc& self) { return self.ai_core_cnt; });
    soc.def_prop_ro("freq_mhz", [](const Soc& self) { return self.cube_freq_mhz; });
    soc.def_prop_ro("hbm_bytes_per_s", &Soc::hbm_bytes_per_s);
    soc.def_prop_ro("ub_reserved", &Soc::ub_reserved);
    soc.def("__repr__", [](const Soc& self) { return "Soc('" + self.name + "')"; });
    m.def("soc_names", &soc_names);
    m.def("soc", [](const std::string& name) { return value_or_raise(find_soc(name)); }, nb::arg("name"));
    m.def(
        "soc_from_ini",
        [](const std::string& text, const std::string& name) { return value_or_raise(read_ini(text, name)); },
        nb::arg("text"), nb::arg("name") = "");
}

void bind_bounds(nb::module_& m) {
    nb::class_<Bounds>(m, "Bounds")
        .def(
            "__init__",
            [](Bounds* self, double launch_us, double min_gain, double min_gain_us, double ub_reserve,
               double l1_reserve, int min_tile_k, int streams) {
                const Bounds bounds{launch_us,  min_gain,   min_gain_us, ub_reserve,
                                    l1_reserve, min_tile_k, streams};
                if (const auto error = check(bounds)) throw nb::value_error(error->text().c_str());
                new (self) Bounds(bounds);
            },
            nb::kw_only(), nb::arg("launch_us") = Bounds{}.launch_us, nb::arg("min_gain") = Bounds{}.min_gain,
            nb::arg("min_gain_us") = Bounds{}.min_gain_us, nb::arg("ub_reserve") = Bounds{}.ub_reserve,
            nb::arg("l1_reserve") = Bounds{}.l1_reserve, nb::arg("min_tile_k") = Bounds{}.min_tile_k,
            nb::arg("streams") = Bounds{}.streams)
        .def_ro("launch_us", &Bounds::launch_us)
        .def_ro("min_gain", &Bounds::min_gain)
        .def_ro("min_gain_us", &Bounds::min_gain_us)
        .def_ro("ub_reserve", &Bounds::ub_reserve)
        .def_ro("l1_reserve", &Bounds::l1_reserve)
        .def_ro("min_tile_k", &Bounds::min_tile_k)
        .def_ro("streams", &Bounds::streams);
}

void bind_program(nb::module_& m) {
    nb::class_<Program>(m, "Program")
        .def(
            "__init__",
            [](Program* self, const std::string& text) { new (self) Program(value_or_raise(parse(text))); },
            nb::arg("text"))
        .def("text", [](const Program& self) { return print(self); })
        .def_prop_ro("family", [](const Program& self) { return std::string(name(self.family)); })
        .def_prop_ro("symbols", &symbols)
        .def_prop_ro("n_instr", [](const Program& self) { return self.instrs.size(); })
        .def_prop_ro("n_inputs", [](const Program& self) { return self.inputs.size(); })
        .def_prop_ro("n_outputs", [](const Program& self) { return self.outputs.size(); })
        .def("__repr__",
             [](const Program& self) { return "Program(" + std::string(name(self.family)) + ")"; });
}

void bind_results(nb::module_& m) {
    nb::class_<Tiling>(m, "Tiling")
        .def_ro("block_dim", &Tiling::block_dim)
        .def_ro("buffer_num", &Tiling::buffer_num)
        .def_ro("tile_rows", &Tiling::tile_rows)
        .def_ro("tile_cols", &Tiling::tile_cols)
        .def_ro("ub_bytes", &Tiling::ub_bytes)
        .def_ro("ub_budget", &Tiling::ub_budget)
        .def_ro("l1_budget", &Tiling::l1_budget)
        .def_ro("passes", &Tiling::passes)
        .def_ro("tasks", &Tiling::tasks)
        .def_ro("tasks_per_core", &Tiling::tasks_per_core)
        .def_ro("rows", &Tiling::rows)
        .def_ro("cols", &Tiling::cols);
    nb::class_<Cost>(m, "Cost")
        .def_ro("launch_us", &Cost::launch_us)
        .def_ro("head_us", &Cost::head_us)
        .def_ro("mte2_us", &Cost::mte2_us)
        .def_ro("vector_us", &Cost::vector_us)
        .def_ro("mte3_us", &Cost::mte3_us)
        .def_ro("hbm_us", &Cost::hbm_us)
        .def_ro("cast_us", &Cost::cast_us)
        .def_ro("total_us", &Cost::total_us)
        .def_ro("hbm_bytes", &Cost::hbm_bytes)
        .def_prop_ro("assumed_share", &Cost::assumed_share)
        .def_prop_ro("bound", [](const Cost& self) { return std::string(name(self.bound)); });
    nb::class_<Gain>(m, "Gain")
        .def_ro("launch_us", &Gain::launch_us)
        .def_ro("head_us", &Gain::head_us)
        .def_ro("product_us", &Gain::product_us)
        .def_ro("epilogue_us", &Gain::epilogue_us)
        .def_ro("overlap_us", &Gain::overlap_us);
    nb::class_<Verdict>(m, "Verdict")
        .def_ro("fuse", &Verdict::fuse)
        .def_ro("code", &Verdict::code)
        .def_ro("message", &Verdict::message)
        .def_ro("decides", &Verdict::decides)
        .def_ro("gain", &Verdict::gain)
        .def_ro("before_us", &Verdict::before_us)
        .def_ro("after_us", &Verdict::after_us)
        .def_prop_ro("gain_us", &Verdict::gain_us)
        .def_ro("before_bytes", &Verdict::before_bytes)
        .def_ro("after_bytes", &Verdict::after_bytes)
        .def_ro("assumed_share", &Verdict::assumed_share)
        .def_ro("cores_before", &Verdict::cores_before)
        .def_ro("cores_after", &Verdict::cores_after)
        .def_ro("need_bytes", &Verdict::need_bytes)
        .def_ro("ub_budget", &Verdict::ub_budget)
        .def_ro("without_us", &Verdict::without_us)
        .def_ro("tiling", &Verdict::tiling)
        .def_ro("cost", &Verdict::cost);
}

Solution solve_or_raise(const Program& program, const std::vector<int64_t>& sizes, const Soc& soc,
                        const Bounds& bounds) {
    return value_or_raise(estimate(Part{&program, sizes}, soc, bounds));
}

std::pair<Tiling, Cost> price_or_raise(const Program& program, const std::vector<int64_t>& sizes,
                                       const Soc& soc, const Bounds& bounds) {
    if (const auto error = check(bounds)) throw nb::value_error(error->text().c_str());
    const Solution own = price(program, value_or_raise(bind(program, sizes)), soc, bounds);
    return {own.tiling, own.cost};
}

Verdict judge_or_raise(const Program& fused, const std::vector<int64_t>& sizes,
                       const std::vector<Sized>& parts, const Soc& soc, const Bounds& bounds,
                       const Measured& measured) {
    return value_or_raise(judge(Part{&fused, sizes}, parts_of(parts, measured), soc, bounds));
}

std::optional<std::pair<std::string, std::string>> unsupported_or_raise(const Program& program,
                                                                        const std::vector<int64_t>& sizes,
                                                                        const Soc& soc) {
    const auto refusal = value_or_raise(unsupported(Part{&program, sizes}, soc));
    if (!refusal) return std::nullopt;
    return std::pair(refusal->code, refusal->message);
}

double opaque_or_raise(double bytes, double macs, const std::string& dtype, const Soc& soc,
                       const Bounds& bounds) {
    const auto known = to_dtype(dtype);
    if (!known) throw nb::value_error(("unknown dtype '" + dtype + "'").c_str());
    return opaque_us(bytes, macs, *known, soc, bounds);
}

}  // namespace

NB_MODULE(_engine, m) {
    // Python caches may outlive the interpreter's last collection; their objects are no leaks of ours.
    nb::set_leak_warnings(false);
    m.doc() = "Tiling, cost and verdict of programs on Ascend chips.";
    m.def("data", &data, nb::arg("name"));
    bind_soc(m);
    bind_bounds(m);
    bind_program(m);
    bind_results(m);
    bind_gemm_family(m);
    bind_lowering(m);
    m.def(
        "estimate",
        [](const Program& program, const std::vector<int64_t>& sizes, const Soc& soc, const Bounds& bounds) {
            return solve_or_raise(program, sizes, soc, bounds).cost;
        },
        nb::arg("program"), nb::arg("sizes"), nb::arg("soc"), nb::arg("bounds"));
    m.def(
        "solve",
        [](const Program& program, const std::vector<int64_t>& sizes, const Soc& soc, const Bounds& bounds) {
            return solve_or_raise(program, sizes, soc, bounds).tiling;
        },
        nb::arg("program"), nb::arg("sizes"), nb::arg("soc"), nb::arg("bounds"));
    m.def("price", &price_or_raise, nb::arg("program"), nb::arg("sizes"), nb::arg("soc"), nb::arg("bounds"));
    m.def("judge", &judge_or_raise, nb::arg("fused"), nb::arg("sizes"), nb::arg("parts"), nb::arg("soc"),
          nb::arg("bounds"), nb::arg("measured") = Measured{});
    m.def("unsupported", &unsupported_or_raise, nb::arg("program"), nb::arg("sizes"), nb::arg("soc"));
    m.def("opaque_us", &opaque_or_raise, nb::arg("bytes"), nb::arg("macs"), nb::arg("dtype"), nb::arg("soc"),
          nb::arg("bounds"));
}
