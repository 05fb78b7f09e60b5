// The engine: program text, SoC, tiling, cost, verdict. Header-only C++17, no exceptions, no dependencies.
// Needs the generated ascend_fuse_data.h on the include path (CMake target ascend_fuse::engine, or
// embed.cmake).
#pragma once

#include "bounds.h"
#include "cost.h"
#include "gemm_judge.h"
#include "ini.h"
#include "judge.h"
#include "lower.h"
#include "parse.h"
#include "print.h"
#include "soc.h"
#include "support.h"
#include "tiling.h"
