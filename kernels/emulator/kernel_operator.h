// The device header, for a host compiler: the AscendC calls that our kernels use, executed and checked.
#pragma once

#include "cast.h"
#include "compare.h"
#include "copy.h"
#include "cross.h"
#include "cube_copy.h"
#include "cube_fixpipe.h"
#include "cube_mmad.h"
#include "fill.h"
#include "queue.h"
#include "reduce.h"
#include "sync.h"
#include "transpose.h"
#include "vector_unary.h"
