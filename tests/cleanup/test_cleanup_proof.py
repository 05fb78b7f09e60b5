"""The proof catches claims that do not hold, also those that the finders would never make."""

from __future__ import annotations

from dataclasses import replace

import cleanup_case
import numpy as np
import pytest
from cleanup_case import found_in, model_of

from ascend_fuse.cleanup.claim import Claim
from ascend_fuse.cleanup.model import Found
from ascend_fuse.error import InternalError
from ascend_fuse.proof.cleanup import prove_claims

# what is wrong, opset, graph whose first node makes `a`, what is claimed to be kept
WRONG = [
    ("another operator", 17, "g (float[N,8] x) => (float[N,8] y) { a = Relu (x) y = Relu (a) }", "x"),
    ("another operand", 17, "g (float[N,8] x, float[N,8] z) => (float[N,8] y) { a = Identity (x) y = Add (a, z) }", "z"),
    ("training", 17, "g (float[N,8] x) => (float[N,8] y) <float r = {0.5}, bool t = {1}> { a = Dropout (x, r, t) y = Relu (a) }", "x"),
    ("training of the caller", 17, "g (float[N,8] x, bool t) => (float[N,8] y) { a = Dropout (x, , t) y = Relu (a) }", "x"),
    ("a mask that is read", 17, "g (float[N,8] x) => (float[N,8] y, bool[N,8] n) { a, m = Dropout (x) y = Relu (a) n = Not (m) }", "x"),
    ("a mask that is an output", 17, "g (float[N,8] x) => (float[N,8] y, bool[N,8] m) { a, m = Dropout (x) y = Relu (a) }", "x"),
    ("another type", 17, "g (float[N,8] x) => (float16[N,8] y) { a = Cast <to = 10> (x) y = Abs (a) }", "x"),
    ("another shape", 17, "g (float[N,8] x) => (float[K,4] y) <int64[2] s = {-1, 4}> { a = Reshape (x, s) y = Relu (a) }", "x"),
    ("another rank", 17, "g (float[1,8] x) => (float[8] y) { a = Squeeze (x) y = Relu (a) }", "x"),
    ("a flattened shape", 17, "g (float[N,2,8] x) => (float[N,16] y) { a = Flatten (x) y = Relu (a) }", "x"),
    ("a wider shape", 17, "g (float[1,8] x) => (float[2,8] y) <int64[2] s = {2, 8}> { a = Expand (x, s) y = Relu (a) }", "x"),
    ("a further axis", 17, "g (float[8] x) => (float[1,8] y) <int64[1] s = {0}> { a = Unsqueeze (x, s) y = Relu (a) }", "x"),
    ("an unknown shape", 17, "g (float[1,1] x, int64[2] s) => (float[A,B] y) { a = Expand (x, s) y = Relu (a) }", "x"),
    ("moved axes", 17, "g (float[8,8] x) => (float[8,8] y) { a = Transpose (x) y = Relu (a) }", "x"),
    ("moved axes of size 1", 17, "g (float[1,1] x) => (float[1,1] y) { a = Transpose <perm = [1, 0]> (x) y = Relu (a) }", "x"),
    ("not 1", 17, "g (float[N,8] x) => (float[N,8] y) <float one = {1.0000001}> { a = Mul (x, one) y = Relu (a) }", "x"),
    ("1 / x", 17, "g (float[N,8] x) => (float[N,8] y) <float one = {1}> { a = Div (one, x) y = Relu (a) }", "x"),
    ("a higher rank", 17, "g (float[8] x) => (float[1,8] y) <float[1,1] one = {1}> { a = Mul (x, one) y = Relu (a) }", "x"),
    ("an override", 17, "g (float[N,8] x, float one) => (float[N,8] y) <float one = {1}> { a = Mul (x, one) y = Relu (a) }", "x"),
    ("powers of integers", 17, "g (int64[N] x) => (int64[N] y) <int64 one = {1}> { a = Pow (x, one) y = Abs (a) }", "x"),
    ("x + 0.0", 17, "g (float[N,8] x) => (float[N,8] y) <float zero = {0}> { a = Add (x, zero) y = Neg (a) }", "x"),
    ("x - -0.0", 17, "g (float[N,8] x) => (float[N,8] y) <float zero = {-0.0}> { a = Sub (x, zero) y = Neg (a) }", "x"),
    ("0 - x", 17, "g (int32[N] x) => (int32[N] y) <int32 zero = {0}> { a = Sub (zero, x) y = Abs (a) }", "x"),
    ("x + 1", 17, "g (int32[N] x) => (int32[N] y) <int32 one = {1}> { a = Add (x, one) y = Abs (a) }", "x"),
    ("x * 0", 17, "g (int32[N] x) => (int32[N] y) <int32 zero = {0}> { a = Mul (x, zero) y = Abs (a) }", "x"),
]  # fmt: skip


def claimed(model: cleanup_case.onnx.ModelProto, *claims: Claim) -> list[Found]:
    """The main graph with other claims than were found."""
    return [replace(found_in(model)[-1], claims=claims)]


@pytest.mark.parametrize(("opset", "text", "kept"), [w[1:] for w in WRONG], ids=[w[0] for w in WRONG])
def test_a_wrong_stand_in(opset: int, text: str, kept: str) -> None:
    claim = Claim("AF002", 0, "first", "a", kept, None, "is it")
    with pytest.raises(InternalError, match=r"cleanup proof: first is not .*please report the model") as error:
        prove_claims(claimed(model_of(text, opset), claim))
    assert error.value.exit_code == 5


FOLDED = """g (float[2,N] x) => (int64 y) <int64 nil = {0}, int64 one = {1}>
  { s = Shape (x) n = Gather (s, nil) m = Gather (s, one) a = Add (n, n) y = Mul (a, m) }"""


@pytest.mark.parametrize(
    ("node", "output", "value"),
    [
        (3, "a", np.asarray(5)),
        (3, "a", np.asarray([4])),
        (3, "a", np.asarray(4, np.int32)),
        (2, "m", np.asarray(1009)),
        (2, "m", np.asarray(7)),
        (4, "y", np.asarray(4)),
    ],
)
def test_a_wrong_constant(node: int, output: str, value: np.ndarray) -> None:
    """Another number, shape, type; a size that is not known, whichever number is said."""
    claim = Claim("AF009", node, "made", output, "", value, "")
    with pytest.raises(InternalError, match="cleanup proof: made is not always"):
        prove_claims(claimed(model_of(FOLDED), claim))


def test_a_right_constant() -> None:
    prove_claims(claimed(model_of(FOLDED), Claim("AF009", 3, "made", "a", "", np.asarray(4), "")))


def test_a_constant_of_the_callers_numbers() -> None:
    text = "g (int64 s) => (int64 y) { a = Add (s, s) y = Neg (a) }"
    claim = Claim("AF009", 0, "made", "a", "", np.asarray(4), "")
    with pytest.raises(InternalError, match="made of constants and shapes alone"):
        prove_claims(claimed(model_of(text), claim))


@pytest.mark.parametrize(
    ("text", "node", "output"),
    [
        ("g (float[N] x) => (float[N] y) { a = Relu (x) y = Relu (a) }", 0, "a"),
        ("g (float[N] x) => (float[N] a, float[N] y) { a = Relu (x) y = Relu (x) }", 0, "a"),
        ("g (float[N] x) => (float[N] y) { a = Relu (x) b = Identity (a) y = Relu (b) }", 0, "a"),
        ("g (float[N] x, bool c) => (float[N] y) { a = Relu (x) y = If (c) < then_branch = t () => (float[N] p) { p = Neg (a) }, else_branch = e () => (float[N] q) { q = Neg (x) } > }", 0, "a"),
        ("g (float[N] x) => (float[N] y) { a = RandomUniformLike (x) b = Abs (a) y = Relu (x) }", 0, "a"),
    ],
    ids=["read", "an output", "read under another name", "captured", "random"],
)  # fmt: skip
def test_a_node_that_is_not_dead(text: str, node: int, output: str) -> None:
    model = model_of(text)
    others = [c for c in found_in(model)[-1].claims if c.node != node]
    with pytest.raises(InternalError, match="dead is not"):
        prove_claims(claimed(model, Claim("AF009", node, "dead", output, "", None, ""), *others))


def test_a_value_that_rests_on_a_declaration() -> None:
    """Type and shape of an unknown operator's output are declared only."""
    text = "g (float[2,8] x) => (float[2,8] y) <float[2,8] u> { u = own.Op (x) a = Cast <to = 1> (u) s = Shape (u) y = Reshape (x, s) }"
    model = cleanup_case.parse_model(f'<ir_version: 8, opset_import: ["" : 17, "own" : 1]>\n{text}')
    for claim in (
        Claim("AF004", 1, "it", "a", "u", None, ""),
        Claim("AF009", 2, "it", "s", "", np.asarray([2, 8]), ""),
    ):
        with pytest.raises(InternalError, match="it is not"):
            prove_claims(claimed(model, claim))
