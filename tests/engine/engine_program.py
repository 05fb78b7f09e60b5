"""Program texts that the engine's tests share, and the figures of a CANN platform file."""

SOFTMAX = """\
rowwise 1 [d0, d1 | d2]
x0: f32[d0, d1 | d2] = in
x1: f32[d2] = in
v0: f32[d0, d1 | d2] = add x0, x1
v1: f32[d0, d1 | 1] = reduce_max v0
v2: f32[d0, d1 | d2] = sub v0, v1
v3: f32[d0, d1 | d2] = exp v2
v4: f32[d0, d1 | 1] = reduce_sum v3
v5: f32[d0, d1 | d2] = div v3, v4
v6: f32[d0, d1 | d2] = mul v5, 0.5
out v6, v0"""

CHAIN = """\
elementwise 1 [d0, d1, d2]
x0: f32[d0, d1, d2] = in
x1: f32[d0, 1, d2] = in
x2: f32[1] = in (1)
v0: f32[d0, d1, d2] = add x0, x1
v1: f32[d0, d1, d2] = tanh v0
v2: f32[d0, d1, d2] = mul v1, x2
v3: f32[d0, d1, d2] = max v2, -inf
out v3"""

ROTARY = """\
rowwise 1 [d0, d1 | 64]
x0: f16[d0, d1 | 64] = in
x1: f16[d1 | 64] = in (d1, 1, 64)
x2: f16[d1 | 64] = in
h0: i64[2] = host
v0: f16[d0, d1 | 32] = slice x0 {start=32, stop=64}
v1: f16[d0, d1 | 32] = slice x0 {start=0, stop=32}
v2: f16[d0, d1 | 32] = neg v0
v3: f16[d0, d1 | 64] = concat v2, v1
v4: f16[d0, d1 | 64] = mul v3, x2
v5: f16[d0, d1 | 64] = mul x0, x1
v6: f16[d0, d1 | 64] = add v5, v4
out v6 (d0, 1, d1, 64)"""

MASK = """\
elementwise 1 [d0]
x0: f32[d0] = in
m0: bool[d0] = random_keep {ratio=0.1, seed=7}
v0: f32[d0] = mul x0, 1.1111111
v1: f32[d0] = where m0, v0, 0.0
v2: bool[d0] = lt v1, x0
v3: f32[d0] = where v2, 0.0, -3.4028234663852886e+38
out v1, m0, v3"""

VECTOR_ROW = """\
rowwise 1 [| d0]
x0: f16[| d0] = in
v0: f16[| 1] = reduce_sum x0
v1: f16[| d0] = div x0, v0
out v1 (d0)"""

GROUP_NORM = """\
rowwise 1 [d0, 32 | 10, d1]
x0: f32[d0, 32 | 10, d1] = in (d0, 32*10, d1)
x1: f16[1, 32 | 10, 1] = in (32*10, 1)
v0: f32[1, 32 | 10, 1] = cast x1
v1: f32[d0, 32 | 1, 1] = reduce_mean x0
v2: f32[d0, 32 | 10, d1] = sub x0, v1
v3: f32[d0, 32 | 10, d1] = mul v2, v0
out v3 (d0, 32*10, d1), v1 (d0*32)"""

CACHE = """\
rowwise 1 [d0, 8, d1 | 64]
x0: f16[d0, 8, d2, 64] = past
x1: f16[d0, 8, d3, 64] = past
x2: f16[d0, 8, d1 | 64] = in
v0: f16[d0, 8, d1 | 64] = mul x2, 0.5
v1: f16[d0, 8, d1 | 64] = neg v0
out v0, v0 behind x0 @2, v1 before x1 @2"""

MERGED = """\
elementwise 1 [d0, 8, d1, 64]
x0: f32[d0, d2, 8, d1, 64] = past (d0, d2, 8*d1, 64)
x1: f32[d0, 8, d1, 64] = in
v0: f32[d0, 8, d1, 64] = exp x1
out v0 (d0, 1, 8*d1, 64) behind x0 @1"""

CHANNELS_LAST = """\
transform 1 [d0, 64 | d1, d2]
x0: f32[d0, 64 | d1, d2] = in
x1: f32[64 | 1, 1] = in (64)
v0: f32[d0, 64 | d1, d2] = add x0, x1
v1: f16[d0, 64 | d1, d2] = cast v0
out v0, v1 <0 2 3 1>"""

TURNED_NORM = """\
rowwise 1 [d0, d1, d2 | 64]
x0: f32[d0, d1, d2 | 64] = in <0 3 1 2>
v0: f32[d0, d1, d2 | 1] = reduce_mean x0
v1: f32[d0, d1, d2 | 64] = sub x0, v0
out v1 <0 3 1 2> (d0, 64, d1, d2)"""

MOVE = """\
transform 1 [d0, 64 | d1, d2]
x0: f32[d0, 64 | d1, d2] = in
v0: f32[d0, 64 | d1, d2] = copy x0
out v0 <0 2 3 1>"""

ALL = (SOFTMAX, CHAIN, ROTARY, MASK, VECTOR_ROW, GROUP_NORM, CACHE, MERGED)
TURNED = (CHANNELS_LAST, TURNED_NORM, MOVE)


def unary(op: str, dtype: str = "f32") -> str:
    """One elementwise instruction as a program of its own."""
    return f"elementwise 1 [d0]\nx0: {dtype}[d0] = in\nv0: {dtype}[d0] = {op} x0\nout v0"


def binary(op: str, dtype: str = "f32") -> str:
    """One elementwise instruction of two inputs."""
    return f"elementwise 1 [d0]\nx0: {dtype}[d0] = in\nx1: {dtype}[d0] = in\nv0: {dtype}[d0] = {op} x0, x1\nout v0"


def reduction(op: str) -> str:
    """One row reduction."""
    return f"rowwise 1 [d0 | d1]\nx0: f32[d0 | d1] = in\nv0: f32[d0 | 1] = {op} x0\nout v0"


def against(op: str) -> str:
    """A row against a value a row."""
    return f"rowwise 1 [d0 | d1]\nx0: f32[d0 | d1] = in\nx1: f32[d0 | 1] = in\nv0: f32[d0 | d1] = {op} x0, x1\nout v0"


def softmax(dtype: str = "f32") -> str:
    """Softmax over the row."""
    full, row = f"{dtype}[d0 | d1]", f"{dtype}[d0 | 1]"
    return (
        f"rowwise 1 [d0 | d1]\nx0: {full} = in\nv0: {row} = reduce_max x0\nv1: {full} = sub x0, v0\n"
        f"v2: {full} = exp v1\nv3: {row} = reduce_sum v2\nv4: {full} = div v2, v3\nout v4"
    )


INI = """\
# [Platform configuration]
[version]
SoC_version=Ascend910B2
Short_SoC_version=Ascend910B
NpuArch=2201

[SoCInfo]
ai_core_cnt=24
cube_core_cnt=24
vector_core_cnt=48
memory_type=
memory_size=68719476736
l2_size=201326592
cube_vector_combine=split
vir_type_list=2,3,6,12,24
support_bf16=1

[AICoreSpec]
cube_freq=1800
cube_m_size=16
cube_n_size=16
cube_k_size=16
vec_calc_size=128
l0_a_size=65536
l0_b_size=65536
l0_c_size=131072
l1_size=524288
bt_size=1024
ub_size=196608
ubblock_size=32
ubbank_size=4096
ubbank_num=48
support_fixpipe=1

[AICoreMemoryRates]
ddr_rate=32
l2_rate=110
l1_to_l0_a_rate=512
l1_to_l0_b_rate=256
l0_c_to_ub_rate=256
ub_to_l2_rate=64
ub_to_ddr_rate=64

[VectorCoreMemoryRates]
ddr_rate=99

[AICoreintrinsicDtypeMap]
0=Intrinsic_vrec|float16,float32
"""
