// ascend_fuse._engine, matmul family: products with what follows them. Bad input is a ValueError.
#include "python/gemm.h"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <string>
#include <utility>
#include <vector>

#include "engine.h"
#include "python/part.h"

namespace nb = nanobind;
using namespace ascend_fuse;

namespace {

// (buffer, bytes, budget), in the order that data takes.
std::vector<std::pair<std::string, std::pair<int64_t, int64_t>>> buffers(const GemmTiling& tiling) {
    return {{"L1", {tiling.l1_bytes, tiling.l1_budget}},    {"L0A", {tiling.l0a_bytes, tiling.l0a_budget}},
            {"L0B", {tiling.l0b_bytes, tiling.l0b_budget}}, {"L0C", {tiling.l0c_bytes, tiling.l0c_budget}},
            {"BT", {tiling.bt_bytes, tiling.bt_budget}},    {"UB", {tiling.ub_bytes, tiling.ub_budget}}};
}

nb::dict pipes(const GemmCost& cost) {
    nb::dict times;
    const std::pair<const char*, double> all[] = {
        {"launch", cost.launch_us}, {"head", cost.head_us},         {"mte2", cost.mte2_us},
        {"mte1", cost.mte1_us},     {"cube", cost.cube_us},         {"fixpipe", cost.fixpipe_us},
        {"hbm", cost.hbm_us},       {"aiv_mte2", cost.aiv_mte2_us}, {"vector", cost.vector_us},
        {"mte3", cost.mte3_us},     {"flag", cost.flag_us},         {"apart", cost.apart_us}};
    for (const auto& [name, us] : all) times[name] = us;
    return times;
}

void bind_product(nb::module_& m) {
    nb::class_<Gemm>(m, "Gemm")
        .def_ro("batch", &Gemm::batch)
        .def_ro("m", &Gemm::m)
        .def_ro("n", &Gemm::n)
        .def_ro("k", &Gemm::k)
        .def_prop_ro("dtype", [](const Gemm& self) { return std::string(name(self.in)); })
        .def_prop_ro("result", [](const Gemm& self) { return std::string(name(self.out)); })
        .def_prop_ro("left_transposed", [](const Gemm& self) { return self.left.transposed; })
        .def_prop_ro("right_transposed", [](const Gemm& self) { return self.right.transposed; })
        .def_prop_ro("left_run", [](const Gemm& self) { return self.left.run; })
        .def_prop_ro("right_run", [](const Gemm& self) { return self.right.run; })
        .def_prop_ro("macs", &Gemm::macs);
    m.def(
        "bind_gemm",
        [](const Program& program, const std::vector<int64_t>& sizes) {
            if (program.family != Family::matmul) throw nb::value_error("wanted a matmul program");
            return value_or_raise(bind_gemm(program, sizes));
        },
        nb::arg("program"), nb::arg("sizes"));
}

void bind_tiling(nb::module_& m) {
    nb::class_<GemmTiling>(m, "GemmTiling")
        .def_ro("block_dim", &GemmTiling::block_dim)
        .def_ro("buffer_num", &GemmTiling::buffer_num)
        .def_ro("tile_m", &GemmTiling::tile_m)
        .def_ro("tile_n", &GemmTiling::tile_n)
        .def_ro("tile_k", &GemmTiling::tile_k)
        .def_ro("step_k", &GemmTiling::step_k)
        .def_ro("c_buffers", &GemmTiling::c_buffers)
        .def_ro("ub_rows", &GemmTiling::ub_rows)
        .def_ro("tasks", &GemmTiling::tasks)
        .def_ro("tasks_per_core", &GemmTiling::tasks_per_core)
        .def_ro("fuse_tiles", &GemmTiling::fuse_tiles)
        .def_ro("ride", &GemmTiling::ride)
        .def_ro("l1_budget", &GemmTiling::l1_budget)
        .def_ro("ub_budget", &GemmTiling::ub_budget)
        .def_prop_ro("buffers", &buffers);
}

void bind_cost(nb::module_& m) {
    nb::class_<GemmCost>(m, "GemmCost")
        .def_ro("product_us", &GemmCost::product_us)
        .def_ro("epilogue_us", &GemmCost::epilogue_us)
        .def_ro("cast_us", &GemmCost::cast_us)
        .def_ro("total_us", &GemmCost::total_us)
        .def_ro("hbm_bytes", &GemmCost::hbm_bytes)
        .def_prop_ro("bound", [](const GemmCost& self) { return std::string(self.bound); })
        .def_prop_ro("assumed_share", &GemmCost::assumed_share)
        .def_prop_ro("pipes", &pipes);
}

void bind_verdict(nb::module_& m) {
    nb::class_<GemmVerdict>(m, "GemmVerdict")
        .def_ro("fuse", &GemmVerdict::fuse)
        .def_ro("code", &GemmVerdict::code)
        .def_ro("message", &GemmVerdict::message)
        .def_ro("decides", &GemmVerdict::decides)
        .def_ro("before_us", &GemmVerdict::before_us)
        .def_ro("after_us", &GemmVerdict::after_us)
        .def_prop_ro("gain_us", &GemmVerdict::gain_us)
        .def_ro("before_bytes", &GemmVerdict::before_bytes)
        .def_ro("after_bytes", &GemmVerdict::after_bytes)
        .def_ro("assumed_share", &GemmVerdict::assumed_share)
        .def_ro("without_us", &GemmVerdict::without_us)
        .def_ro("cores_before", &GemmVerdict::cores_before)
        .def_ro("cores_after", &GemmVerdict::cores_after)
        .def_ro("need_bytes", &GemmVerdict::need_bytes)
        .def_ro("budget_bytes", &GemmVerdict::budget_bytes)
        .def_ro("gain", &GemmVerdict::gain)
        .def_ro("tiling", &GemmVerdict::tiling)
        .def_ro("alone_tiling", &GemmVerdict::alone_tiling)
        .def_ro("cost", &GemmVerdict::cost)
        .def_ro("alone_cost", &GemmVerdict::alone_cost);
}

GemmVerdict judge_or_raise(const Program& fused, const std::vector<int64_t>& sizes,
                           const std::vector<Sized>& parts, const Soc& soc, const Bounds& bounds,
                           const Measured& measured) {
    return value_or_raise(judge_gemm(Part{&fused, sizes}, parts_of(parts, measured), soc, bounds));
}

std::pair<GemmTiling, GemmCost> solve_or_raise(const Program& program, const std::vector<int64_t>& sizes,
                                               const Soc& soc, const Bounds& bounds) {
    const GemmSolution own = value_or_raise(estimate_gemm(Part{&program, sizes}, soc, bounds));
    return {own.tiling, own.cost};
}

std::pair<GemmTiling, GemmCost> price_or_raise(const Program& program, const std::vector<int64_t>& sizes,
                                               const Soc& soc, const Bounds& bounds) {
    const GemmSolution own = value_or_raise(price_gemm(Part{&program, sizes}, soc, unreserved(bounds)));
    return {own.tiling, own.cost};
}

std::vector<std::pair<std::string, double>> choices_or_raise(const Program& program,
                                                             const std::vector<int64_t>& sizes,
                                                             const Soc& soc, const Bounds& bounds) {
    std::vector<std::pair<std::string, double>> pairs;
    for (const auto& choice : value_or_raise(choices_of(Part{&program, sizes}, soc, bounds)))
        pairs.emplace_back(choice.fuse_tiles, choice.total_us);
    return pairs;
}

}  // namespace

void bind_gemm_family(nb::module_& m) {
    bind_product(m);
    bind_tiling(m);
    bind_cost(m);
    bind_verdict(m);
    m.def("solve_gemm", &solve_or_raise, nb::arg("program"), nb::arg("sizes"), nb::arg("soc"),
          nb::arg("bounds"));
    m.def("price_gemm", &price_or_raise, nb::arg("program"), nb::arg("sizes"), nb::arg("soc"),
          nb::arg("bounds"));
    m.def("class_choices", &choices_or_raise, nb::arg("program"), nb::arg("sizes"), nb::arg("soc"),
          nb::arg("bounds"));
    m.def("judge_gemm", &judge_or_raise, nb::arg("fused"), nb::arg("sizes"), nb::arg("parts"), nb::arg("soc"),
          nb::arg("bounds"), nb::arg("measured") = Measured{});
}
