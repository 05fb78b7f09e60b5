// Launches of vector kernels in ascend_fuse._engine.
#pragma once

#include <nanobind/nanobind.h>

void bind_lowering(nanobind::module_& m);
