"""Models as ONNX text, cleaned and run before and after on ONNX Runtime with awkward inputs, bit for bit."""

from __future__ import annotations

import numpy as np
import onnx
from onnx import checker, helper
from onnx.parser import parse_model

from ascend_fuse.cleanup.claim import Claim
from ascend_fuse.cleanup.model import Found, clean_all, find_all
from ascend_fuse.graph.scope import infer
from ascend_fuse.proof.cleanup import prove_claims
from ascend_fuse.rule.load import RuleSet, load_rules
from tests.equal import assert_equal, session

RULES = load_rules()
SIZES = ({"N": 3, "M": 5}, {"N": 1, "M": 4})
AWKWARD = (0.0, -0.0, np.nan, np.inf, -np.inf, 1e-40, -1.5)


def model_of(text: str, opset: int = 17) -> onnx.ModelProto:
    """The model of `graph (…) => (…) { … }`, checked."""
    model = parse_model(f'<ir_version: 8, opset_import: ["" : {opset}]>\n{text}')
    checker.check_model(model)
    return model


def found_in(model: onnx.ModelProto, rules: RuleSet = RULES) -> list[Found]:
    """The claims of all scopes."""
    return find_all(model, infer(model), rules)


def brief(claim: Claim) -> str:
    """`AF002 y=x`, `AF009 s=[2, 3]`, `AF009 s gone`."""
    if claim.is_dead:
        return f"{claim.rule} {claim.output} gone"
    value = claim.kept if claim.constant is None else str(claim.constant.tolist())
    return f"{claim.rule} {claim.output}={value}"


def cleaned(model: onnx.ModelProto, rules: RuleSet = RULES) -> tuple[onnx.ModelProto, list[str]]:
    """A cleaned copy, proved and run against the model, and the claims in brief."""
    after = onnx.ModelProto()
    after.CopyFrom(model)
    found = found_in(after, rules)
    prove_claims(found)
    clean_all(found)
    checker.check_model(after, full_check=True)
    same_outputs(model, after)
    return after, [brief(c) for f in found for c in f.claims]


def feeds_of(model: onnx.ModelProto, sizes: dict[str, int]) -> dict[str, np.ndarray]:
    """Random inputs that begin with awkward numbers; small positive integers."""
    rng = np.random.default_rng(7)
    held = {t.name for t in model.graph.initializer}
    feeds: dict[str, np.ndarray] = {}
    for v in model.graph.input:
        if v.name in held:
            continue
        kind = v.type.tensor_type
        shape = [d.dim_value if d.HasField("dim_value") else sizes[d.dim_param] for d in kind.shape.dim]
        dtype = helper.tensor_dtype_to_np_dtype(kind.elem_type)
        value = np.asarray(rng.standard_normal(shape) * 3)
        if dtype.kind in "iu":
            value = np.abs(value) + 1
        elif dtype.kind == "f":
            flat = value.reshape(-1)
            flat[: len(AWKWARD)] = AWKWARD[: flat.size]
            value = flat.reshape(shape)
        feeds[v.name] = np.asarray(value.astype(dtype))
    return feeds


def same_outputs(before: onnx.ModelProto, after: onnx.ModelProto) -> None:
    """Both have the same interface and give the same bits."""
    assert [v.name for v in before.graph.output] == [v.name for v in after.graph.output]
    assert [v.name for v in before.graph.input] == [v.name for v in after.graph.input]
    one, other = session(before), session(after)
    for sizes in SIZES:
        feeds = feeds_of(before, sizes)
        assert_equal(one.run(None, feeds), other.run(None, feeds))


def operators(model: onnx.ModelProto) -> list[str]:
    """Operators of the main graph, in order."""
    return [n.op_type for n in model.graph.node]
