"""Chips: every record carries over, a platform file reads the same, unknown names help."""

import csv

import pytest
from engine_program import INI

from ascend_fuse import _engine
from ascend_fuse.engine import cube_dtypes, vector_dtypes


def records() -> list[dict[str, str]]:
    lines = [line for line in _engine.data("soc").splitlines() if not line.startswith("#")]
    return list(csv.DictReader(lines))


def test_all_rows_are_there() -> None:
    names = [record["soc"] for record in records()]
    assert _engine.soc_names() == names
    assert len(set(names)) == 19
    assert {"Ascend910A", "Ascend310P3", "Ascend910B2", "Ascend910_9391", "Ascend950PR_9599"} <= set(names)


@pytest.mark.parametrize("record", records(), ids=lambda record: record["soc"])
def test_a_row_reads_as_written(record: dict[str, str]) -> None:
    soc = _engine.soc(record["soc"])
    for column, text in record.items():
        if column == "soc":
            assert soc.name == text
        elif column in ("family", "cube_vector_combine"):
            assert getattr(soc, column) == text
        elif column == "support_bf16":
            assert soc.supports_bf16 == (text == "1")
        elif column == "support_fixpipe":
            assert soc.supports_fixpipe == (text == "1")
        else:
            assert getattr(soc, column) == int(text or 0), column


def test_cores_of_fused_and_split_chips() -> None:
    assert _engine.soc("Ascend910A").vector_cores == 32
    assert _engine.soc("Ascend910B2").vector_cores == 48
    assert _engine.soc("Ascend910B2").cube_cores == 24
    assert _engine.soc("Ascend310P3").cube_cores == 8


def test_bandwidth_is_the_vendors_estimate() -> None:
    assert _engine.soc("Ascend910B2").hbm_bytes_per_s == pytest.approx(1800e6 * 24 * 32)


def test_a_platform_file_reads_like_the_record() -> None:
    read, known = _engine.soc_from_ini(INI, ""), _engine.soc("Ascend910B2")
    for column in records()[0]:
        name = {"soc": "name", "support_bf16": "supports_bf16", "support_fixpipe": "supports_fixpipe"}.get(
            column, column
        )
        assert getattr(read, name) == getattr(known, name), column


def test_a_name_replaces_the_files_own() -> None:
    assert _engine.soc_from_ini(INI.replace("\n", "\r\n"), "mine").name == "mine"


@pytest.mark.parametrize(
    ("old", "new", "what"),
    [
        ("ub_size=196608", "ub_size=many", "line 29: ub_size is 'many'"),
        ("ub_size=196608", "ub_size", "line 29: wanted key=value"),
        ("ub_size=196608\n", "", "no ub_size"),
        ("cube_freq=1800", "cube_freq=0", "no cube_freq"),
        ("ddr_rate=32", "ddr_rate=-1", "ddr_rate is '-1'"),
        ("[SoCInfo]", "[SoCInfo", r"line 7: \[ without"),
        ("[version]", "stray=1", "before the first"),
    ],
)
def test_a_broken_platform_file_is_told_by_line(old: str, new: str, what: str) -> None:
    assert old in INI
    with pytest.raises(ValueError, match=what):
        _engine.soc_from_ini(INI.replace(old, new, 1), "")


@pytest.mark.parametrize("text", ["", "\x00\x01", "[a]\n=\n"])
def test_no_platform_file_at_all(text: str) -> None:
    with pytest.raises(ValueError):
        _engine.soc_from_ini(text, "name")


def test_an_unknown_chip_lists_near_names() -> None:
    with pytest.raises(ValueError, match="Ascend910B2") as raised:
        _engine.soc("ascend910b2")
    assert "unknown SoC 'ascend910b2'" in str(raised.value)


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("launch_us", -1.0),
        ("min_gain", 1.5),
        ("min_gain_us", float("nan")),
        ("ub_reserve", 1.0),
        ("l1_reserve", -0.1),
        ("min_tile_k", 0),
    ],
)
def test_a_bound_out_of_range_is_named(field: str, value: float) -> None:
    with pytest.raises(ValueError, match=rf"{field} is .*, wanted"):
        _engine.Bounds(**{field: value})


def test_bounds_have_the_documented_defaults() -> None:
    b = _engine.Bounds()
    assert (b.launch_us, b.min_gain, b.min_gain_us) == (10.0, 0.03, 1.0)
    assert (b.ub_reserve, b.l1_reserve, b.min_tile_k) == (0.0, 0.0, 16)


def test_data_has_no_other_names() -> None:
    with pytest.raises(ValueError, match="op, soc, vector_cost, move_cost"):
        _engine.data("ops")


def test_no_cost_is_free() -> None:
    lines = [line for line in _engine.data("vector_cost").splitlines() if not line.startswith("#")]
    rows = list(csv.DictReader(lines))
    assert all(float(row["k"]) > 0 and float(row["b"]) > 0 for row in rows)
    assert all(row["note"] for row in rows if row["basis"] == "assumed")


@pytest.mark.parametrize(
    ("chip", "cube", "lacking"),
    [
        ("Ascend910B3", ("float16", "bfloat16", "float32", "int8"), ()),
        ("Ascend310P3", ("float16", "int8"), ("bfloat16",)),
        ("Ascend910A", ("float16", "int8"), ("bfloat16", "int16")),
    ],
)
def test_the_types_that_cube_and_vector_unit_take(chip: str, cube: tuple[str, ...], lacking: tuple[str, ...]) -> None:
    soc = _engine.soc(chip)
    assert cube_dtypes(soc) == cube
    added = ("float16", "bfloat16", "float32", "int16", "int32")
    assert vector_dtypes(soc) == tuple(t for t in added if t not in lacking)
