// The matmul family of ascend_fuse._engine.
#pragma once

#include <nanobind/nanobind.h>

void bind_gemm_family(nanobind::module_& m);
