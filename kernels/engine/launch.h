// One launch of a vector kernel as the device reads it: plain records behind a header, no pointers. Made by
// lower.h on the host, read by op_kernel/. Fields are 32 or 64 bits wide and lie at their natural alignment.
// Formats: docs/design/0008.
#pragma once

#include <cstdint>

namespace ascend_fuse::device {

inline constexpr int32_t launch_version = 1;

// Dtypes of records are those of dtype.h by position. A bool is a byte in GM and in queues, elsewhere in UB
// an f16 that is 0 or 1.
enum DtypeCode : int32_t { f16, bf16, f32, f64, i8, i16, i32, i64, u8, u16, u32, u64, boolean };

// Where an operand stands: in a buffer of the queue of inputs or of outputs, among the inputs that every tile
// shares, in the slots and scratch, or in the step itself.
enum class Place : int32_t { in, out, resident, calc, literal };

// Where a value varies: over rows and cols | over cols alone | over rows alone | nowhere (grid.h).
enum class SpanCode : int32_t { full, line, row, scalar };

// What a step does. Operands and result have one dtype, but for `cast`, comparisons (result f16) and `where`
// (first operand f16); widening, booleans and means are steps of their own.
enum class StepCode : int32_t {
    copy,  // out[r, out_col + j] = in[r, in_col + j] for j < cols (0: all); broadcasts rows, lines, scalars,
           // literals
    spread,  // out[r, c] = in[r, map(c)], map by the axes of the step
    cast,
    add,
    sub,
    mul,
    div,
    pow,
    mod,
    max,
    min,
    eq,
    lt,
    le,
    gt,
    ge,
    where,
    neg,
    abs,
    sqrt,
    rsqrt,
    recip,
    exp,
    log,
    sin,
    cos,
    tanh,
    sigmoid,
    erf,
    relu,
    floor,
    ceil,
    round,
    sign,
    gelu,
    gelu_tanh,
    silu,
    sinh,
    cosh,
    asin,
    acos,
    atan,
    asinh,
    acosh,
    atanh,
    bit_and,
    bit_or,
    bit_xor,
    bit_not,
    index,  // of the column
    reduce_sum,
    reduce_prod,
    reduce_max,
    reduce_min,  // over the cols of a tile
    random_keep,
    random_uniform,
    turn,  // out[c, r] = in[r, c], of one width; either is turned, not both
};

// One value's tile in UB. Row r of a full one begins at offset + r * pitch; a row value is packed. What is
// turned is moved as it lies in memory.
struct Operand {
    Place place = Place::literal;
    SpanCode span = SpanCode::scalar;
    int32_t dtype = f32;
    int32_t offset = 0;  // bytes from the start of the place; of an integer literal its value
    int32_t pitch = 0;   // bytes from row to row
    int32_t cols =
        1;  // elements of a row of a whole tile; where that is the tile's width, a cut tile has fewer
    int32_t blocks = 0;  // bytes from the start of calc: 32 B a row for a row value that a wide step reads
    float number = 0;    // of a floating-point literal
    int32_t turned = 0;  // 1: a full one has a tile's cols as rows, of as many elements as the tile has rows
};

struct Step {
    StepCode code = StepCode::copy;
    int32_t arity = 1;
    int32_t scratch = 0;     // bytes from the start of calc, where the step's own tiles begin
    int32_t accumulate = 0;  // reductions: 1 when the tiles of a row add up in `out`
    int32_t in_col = 0, out_col = 0, cols = 0;  // of copy
    int32_t first_axis = 0, axes = 0;           // of spread
    // Of draws: the share that random_keep drops; the key where it is seeded, else its number among the draws
    // of the launch, whose key is then xor-ed into it.
    float ratio = 0;
    int32_t seeded = 0;
    uint32_t key[2] = {0, 0};
    Operand out;
    Operand in[3];
};

// Extent and stride in elements of one axis, outermost first; stride 0 where the value is repeated.
struct AxisRecord {
    int64_t extent = 1, stride = 0;
};

// One value moved between GM and UB for a tile whose first element is (row, col):
// tile[r, c] <-> tensor[base + rows(row + r) + cols(col + c)], rows and cols by their axes.
struct TransferRecord {
    int32_t tensor = 0;  // in the table of addresses: inputs in the node's order, then outputs, then
                         // workspace; -1: the product that the cube of the same core leaves in UB
    int32_t spare = 0;
    int64_t base = 0;  // elements
    int32_t first_row_axis = 0, row_axes = 0;
    int32_t first_col_axis = 0, col_axes = 0;
    Operand tile;
};

// A sweep: for each tile of the task, or once for it, loads, steps, stores.
struct PassRecord {
    int32_t once = 0;  // 1: not for each tile, and of row values alone
    int32_t first_load = 0, loads = 0;
    int32_t first_step = 0, steps = 0;
    int32_t first_store = 0, stores = 0;
    int32_t outs =
        0;  // 1: steps write to a buffer of the queue of outputs, even where nothing of it is stored
};

// A past that is copied into an output: `bytes` in runs of `run`, `pitch` bytes apart, from `base` on.
struct CopyRecord {
    int32_t from = 0, to = 0;  // tensors
    int64_t bytes = 0, run = 0, pitch = 0, base = 0;
};

struct LaunchHeader {
    int32_t version = launch_version;
    int32_t bytes = 0;  // of header and records
    int32_t block_dim = 0, buffer_num = 0;
    int32_t tensors = 0;  // in the table of addresses
    int32_t tile_rows = 0, tile_cols = 0;
    int32_t row_tasks = 0;  // 1: a task is a block of rows and sweeps its tiles; 0: a task is a tile
    int64_t rows = 0, cols = 0;
    int64_t segment = 0;      // cuts of a row stay inside of segments of that many elements
    int64_t row_segment = 0;  // and blocks of rows inside of segments of that many rows
    int64_t tasks = 0, tasks_per_core = 0;
    int32_t tiles_per_row = 1;
    int32_t in_bytes = 0, out_bytes = 0, resident_bytes = 0, calc_bytes = 0;  // of one buffer each
    int32_t copy_bytes = 0;  // of one buffer for copies, of two
    // Bytes from the start of the header, and how many records.
    int32_t residents_at = 0, residents = 0;  // TransferRecord: loaded once per core
    int32_t loads_at = 0, loads = 0;          // TransferRecord
    int32_t stores_at = 0, stores = 0;        // TransferRecord
    int32_t steps_at = 0, steps = 0;
    int32_t passes_at = 0, passes = 0;
    int32_t axes_at = 0, axes = 0;
    int32_t copies_at = 0, copies = 0;
    uint32_t key[2] = {0, 0};  // of Philox; the runtime's
    uint32_t run[2] = {0, 0};  // number of the run; the runtime's
};

}  // namespace ascend_fuse::device
