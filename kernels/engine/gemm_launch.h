// One launch of the matmul kernel as the device reads it: plain records behind a header, and behind these,
// where vector cores have work, a launch of a vector kernel (launch.h). Made by lower_gemm.h. Formats:
// docs/design/0008.
#pragma once

#include <cstdint>

#include "launch.h"

namespace ascend_fuse::device {

// On chips whose copies move whole blocks, UB of a buffer in which columns that GM does not fill come
// together.
inline constexpr int32_t edge_bytes = 2048;

// A matrix in memory: element (i, j) of batch b lies at base + batch(b) + outer(i) + inner(j), each by its
// axes, outermost first. Left is m x k, right k x n, what leaves the cube m x n.
struct MatrixRecord {
    int32_t tensor = 0;      // in the table of addresses
    int32_t transposed = 0;  // 1: neighbours in memory are neighbours along the outer side
    int64_t base = 0;        // elements
    int32_t first_batch_axis = 0, batch_axes = 0;
    int32_t first_outer_axis = 0, outer_axes = 0;
    int32_t first_inner_axis = 0, inner_axes = 0;
};

// Where FixPipe writes a tile. `per_core`: a matrix of one tile, two of them for each cube core.
struct StoreRecord {
    int32_t per_core = 0;
    int32_t spare = 0;
    MatrixRecord matrix;
};

struct GemmHeader {
    int32_t version = launch_version;
    int32_t bytes = 0;  // of header, records and the vector launches behind them
    int32_t block_dim = 0, buffer_num = 0;
    int32_t tensors = 0;       // in the table of addresses
    int32_t vectors = 0;       // vector cores beside one cube core
    int32_t in = f16;          // DtypeCode of left and right
    int32_t leaves = f16;      // of what leaves the cube
    int32_t bias = f16;        // of the bias that rides
    int32_t bias_tensor = -1;  // in the table; -1: none rides
    int32_t relu = 0;          // 1: rides
    int32_t apart = 0;  // set of tile classes that run apart: 1 main, 2 last rows, 4 last cols, 8 corner
    int64_t batch = 1, m = 1, n = 1, k = 1;
    int32_t tile_m = 16, tile_n = 16, tile_k = 16;
    int32_t step_k = 16;    // of A and B in L0
    int32_t c_buffers = 1;  // blocks of C in L0C
    int32_t ub_rows = 0;    // rows of a tile that one vector core holds; 0: it only copies pasts
    int32_t slots_tensor =
        -1;  // in the table: where vector cores find tiles, two slots a cube core; -1: at their place
    int64_t tasks = 0, tasks_per_core = 0;  // n innermost, then m, then batch
    MatrixRecord left, right;
    // Bytes from the start of the header, and how many records.
    int32_t stores_at = 0, stores = 0;  // StoreRecord
    int32_t axes_at = 0, axes = 0;      // AxisRecord
    int32_t fused_at = 0;               // the vector launch: LaunchHeader; 0: none
    int32_t spare = 0;
};

}  // namespace ascend_fuse::device
