"""Measured node times in place of estimates: whose they are, what they decide, how they are told."""

from __future__ import annotations

import json
from pathlib import Path
from statistics import median

import onnx
import pytest
from profile_case import MODEL, RUNS, event, profiled, save, summary, trace

import ascend_fuse
from ascend_fuse.error import UsageError
from ascend_fuse.measurement import read_measurement
from ascend_fuse.plan import Region

LAUNCH_US = 10.0
NAMES = ("first", "second", "third", "product", "last")
NEG = MODEL.replace("=> (float[batch, 64] y, float[batch, 64] z)", "=> (float[batch, 64] c)")
NEG = NEG[: NEG.index("  [first]")] + "  c = Neg (x)\n}"


@pytest.fixture
def model(tmp_path: Path) -> Path:
    return save(tmp_path / "m.onnx")


def neg_us(folder: Path) -> float:
    """The estimate of the node without a name, alone."""
    return ascend_fuse.optimize(save(folder / "neg.onnx", NEG)).plan.totals_before.time_us


def chain(result: ascend_fuse.Result) -> Region:
    return next(r for r in result.plan.regions if "first" in r.names)


def test_a_real_profile_replaces_estimates(model: Path, tmp_path: Path) -> None:
    """Of six launches five have names: their times are the medians of the runs, whatever is fused."""
    path = profiled(model, tmp_path)
    events = [e for e in json.loads(path.read_text("utf-8")) if e["cat"] == "Node"]
    times = {n: [e["dur"] for e in events if e["name"] == f"{n}_kernel_time"] for n in NAMES}
    assert {len(runs) for runs in times.values()} == {RUNS}
    plan = ascend_fuse.optimize(model, profile=path).plan
    whole = plan.totals_before
    assert plan.profile_source == "ONNX Runtime, CPUExecutionProvider"
    assert (whole.launches, whole.measured) == (6, 5)
    assert whole.measured_us == pytest.approx(sum(median(runs) for runs in times.values()))
    assert whole.time_us == pytest.approx(whole.measured_us + neg_us(tmp_path))
    for miss in plan.misses:
        if miss.name in NAMES:
            assert (miss.cost.measured, miss.cost.time_us) == (1, median(times[miss.name]))


def test_a_cpus_times_are_told_as_such(model: Path, tmp_path: Path) -> None:
    result = ascend_fuse.optimize(model, profile=profiled(model, tmp_path))
    told = " ".join(result.notes)
    assert "was measured by CPUExecutionProvider: neither its times nor gains from them are this chip's" in told
    assert "nodes without a name are estimated" in told
    for form in ("text", "markdown", "json"):
        assert "CPUExecutionProvider" in result.report(form)


def test_measured_parts_decide_a_verdict(model: Path, tmp_path: Path) -> None:
    """The time before is what was measured, and the judge decides by it; after is estimated as ever."""
    names = {"first": "Add", "second": "Sigmoid", "third": "Exp"}
    slow = trace(tmp_path / "slow.json", [event(n, 100, op) for n, op in names.items()])
    fast = trace(tmp_path / "fast.json", [event(n, 0.1, op) for n, op in names.items()])
    estimated = chain(ascend_fuse.optimize(model)).figures
    kept = chain(ascend_fuse.optimize(model, profile=slow)).figures
    neg = neg_us(tmp_path)
    assert (kept.before.measured, kept.before.measured_us) == (3, 300.0)
    assert kept.before.time_us == pytest.approx(300 + neg)
    assert kept.after == estimated.after
    assert kept.before.hbm_bytes == estimated.before.hbm_bytes
    refused = ascend_fuse.optimize(model, profile=fast).plan
    assert not any("first" in r.names for r in refused.regions)
    (miss,) = (m for m in refused.misses if m.name == "first")
    assert (miss.miss.code, miss.miss.figures["measured"]) == ("no-gain", 3)
    assert miss.miss.figures["before_us"] == pytest.approx(0.3 + neg, abs=2e-3)
    assert (miss.cost.time_us, miss.cost.measured) == (0.1, 1)


def test_a_product_is_measured_too(tmp_path: Path) -> None:
    text = """<ir_version: 10, opset_import: ["" : 17]>
    m (float16[512, 1024] x, float16[1024, 1024] w) => (float16[512, 1024] y) {
      [product] p = MatMul (x, w) [act] y = Tanh (p)
    }"""
    model = save(tmp_path / "p.onnx", text)
    profile = trace(tmp_path / "t.json", [event("product", 70, "MatMul"), event("act", 30, "Tanh")])
    (region,) = ascend_fuse.optimize(model, profile=profile, soc="Ascend910B1").plan.regions
    assert region.family == "matmul"
    assert (region.figures.before.time_us, region.figures.before.measured_us) == (100.0, 100.0)
    slow = trace(tmp_path / "s.json", [event("product", 1, "MatMul"), event("act", 1, "Tanh")])
    assert ascend_fuse.optimize(model, profile=slow, soc="Ascend910B1").plan.regions == ()


def test_msprof_times_get_the_launch_that_they_lack(model: Path, tmp_path: Path) -> None:
    path = summary(
        tmp_path / "op_summary_0.csv", {"first": "4.5", "second": 5, "third": 6.5, "trans_Cast_0": 2, "last": "N/A"}
    )
    result = ascend_fuse.optimize(model, profile=path)
    before = chain(result).figures.before
    assert (before.measured, before.measured_us) == (3, 4.5 + 5 + 6.5 + 3 * LAUNCH_US)
    assert result.plan.profile_source == "msprof"
    assert any("times trans_Cast_0, which the model has not" in n for n in result.notes)
    assert not any("CPU" in n for n in result.notes)
    cheap = ascend_fuse.optimize(model, profile=path, launch_us=5.0)
    assert chain(cheap).figures.before.measured_us == 4.5 + 5 + 6.5 + 3 * 5.0


def test_several_runs_count_by_their_median(tmp_path: Path) -> None:
    path = trace(tmp_path / "t.json", [event("a", us, "Add") for us in (900, 12, 14, 13, 11)])
    assert read_measurement(path).times["a"].us == 13
    path = trace(tmp_path / "t.json", [event("a", us, "Add") for us in (10, 20)])
    assert read_measurement(path).times["a"].us == 15
    whole = tmp_path / "chrome.json"
    whole.write_text(
        json.dumps({"traceEvents": [event("a", 3, "Add"), {"cat": "Session", "name": "model_run", "dur": 9}]})
    )
    assert set(read_measurement(whole).times) == {"a"}


def test_names_that_may_mean_another_node_are_not_used(tmp_path: Path) -> None:
    """A name of two nodes, of another operator, and one that ONNX Runtime may have made up for a nameless node."""
    text = """<ir_version: 10, opset_import: ["" : 17]>
    m (float[64] x) => (float[64] y, float[64] z, float[64] u, float[64] v) {
      [twice] y = Exp (x) [twice] z = Neg (x) [Sqrt_3] u = Sqrt (x) v = Sqrt (y) [other] q = Abs (x) [fine] w = Abs (q)
    }"""
    proto = onnx.parser.parse_model(text)
    events = [
        event("twice", 7, "Exp"),
        event("Sqrt_3", 7, "Sqrt", 3),
        event("other", 7, "Add"),
        event("fine", 7, "Abs"),
    ]
    found = read_measurement(trace(tmp_path / "t.json", events)).matched(proto, LAUNCH_US)
    assert found.times == {"fine": 7.0}
    assert any("may mean other nodes by twice, Sqrt_3, other: estimated" in n for n in found.notes)


def test_a_node_with_bodies_is_its_bodies(tmp_path: Path) -> None:
    """ONNX Runtime's time of an If contains that of its branch, whose nodes are counted by themselves."""
    text = """<ir_version: 10, opset_import: ["" : 17]>
    m (bool c, float[64] x) => (float[64] y) {
      [choice] y = If (c) <then_branch = t () => (float[64] a) { [inner] a = Exp (x) },
                           else_branch = e () => (float[64] b) { [other] b = Neg (x) }>
    }"""
    profile = trace(tmp_path / "t.json", [event("choice", 500, "If"), event("inner", 40, "Exp")])
    model = save(tmp_path / "if.onnx", text)
    total = ascend_fuse.optimize(model, profile=profile).plan.totals_before
    assert (total.measured, total.measured_us) == (1, 40.0)


def test_a_profile_is_recorded(model: Path, tmp_path: Path) -> None:
    """The same again is nothing to do; without it, or with other times, the model is planned anew."""
    path = trace(tmp_path / "t.json", [event("first", 50, "Add")])
    fused = tmp_path / "f.onnx"
    digest = ascend_fuse.optimize(model, output=fused, profile=path).plan.profile_digest
    assert digest
    assert ascend_fuse.optimize(fused, profile=path).plan.already_fused
    assert not ascend_fuse.optimize(fused).plan.already_fused
    trace(path, [event("first", 60, "Add")])
    again = ascend_fuse.optimize(fused, profile=path).plan
    assert (again.already_fused, again.profile_digest != digest) == (False, True)


def test_a_plan_is_applied_with_its_profile(model: Path, tmp_path: Path) -> None:
    path, other = (trace(tmp_path / f"{us}.json", [event("first", us, "Add")]) for us in (50, 60))
    file = tmp_path / "plan.json"
    planned = ascend_fuse.optimize(model, plan=file, profile=path)
    for profile, says in (("", "give that file with --profile"), (other, "it was made with other measured times")):
        with pytest.raises(UsageError, match=says):
            ascend_fuse.apply(model, file, profile=profile)
    done = ascend_fuse.apply(model, file, profile=path)
    assert done.plan.regions == planned.plan.regions
    assert done.model.SerializeToString() == planned.model.SerializeToString()


def test_a_sweep_leaves_the_profile_out(model: Path, tmp_path: Path) -> None:
    path = trace(tmp_path / "t.json", [event("first", 500, "Add")])
    found = ascend_fuse.sweep(model, "batch", (1, 2), ascend_fuse.Settings(profile=str(path)))
    assert found.notes == (f"{path} is not used: its times are of one size",)
    assert all(s.before.measured == 0 for s in found.samples)


@pytest.mark.parametrize(
    ("name", "text", "says"),
    [
        ("t.json", "[", "t.json: this is no JSON"),
        ("t.json", "[]", "t.json: it has no event of a node"),
        ("t.json", "{}", "t.json: it has no event of a node"),
        ("t.json", json.dumps([event("first", -1, "Add")]), "t.json: event 0: -1 is no duration; give microseconds"),
        ("t.json", json.dumps([event("first", "x", "Add")]), "event 0: 'x' is no duration"),
        ("t.json", json.dumps([event("first", True, "Add")]), "event 0: True is no duration"),
        ("t.json", json.dumps([event("first", float("nan"), "Add")]), "event 0: nan is no duration"),
        (
            "t.json",
            json.dumps([event("x", 1, "Add")]),
            "t.json: none of its names is a node of the model; profile this",
        ),
        ("t.csv", "", "t.csv:1: it has no column 'op name'"),
        ("t.csv", "Op Name,Duration\na,1\n", "t.csv:1: it has no column 'task duration(us)'"),
        ("t.csv", "Op Name,Task Duration(us)\n", "t.csv: it has no task with a duration"),
        ("t.csv", "Op Name,Task Duration(us)\nfirst,1\nfirst,fast\n", "t.csv:3: 'fast' is no duration"),
    ],
)
def test_a_bad_profile_is_told(name: str, text: str, says: str, model: Path, tmp_path: Path) -> None:
    path = tmp_path / name
    path.write_text(text, "utf-8")
    with pytest.raises(UsageError) as caught:
        ascend_fuse.optimize(model, profile=path)
    assert says in caught.value.sentence()
    assert (caught.value.exit_code, bool(caught.value.do)) == (2, True)


def test_a_profile_that_cannot_be_read_is_told(model: Path, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="cannot read the profile: No such file"):
        ascend_fuse.optimize(model, profile=tmp_path / "absent.json")
    (tmp_path / "b.json").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(UsageError, match="it is no text"):
        ascend_fuse.optimize(model, profile=tmp_path / "b.json")


def test_a_profile_is_of_one_model_and_is_not_written_over(model: Path, tmp_path: Path) -> None:
    path = trace(tmp_path / "t.json", [event("first", 50, "Add")])
    with pytest.raises(UsageError, match="a profile is of one model"):
        ascend_fuse.optimize_all([model], ascend_fuse.Settings(profile=str(path)), output=tmp_path / "out")
    with pytest.raises(UsageError, match="the profile"):
        ascend_fuse.optimize(model, profile=path, reports=path)
