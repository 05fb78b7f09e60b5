"""Every document that a command prints is as its JSON Schema says, without a key more; the schemas travel alone."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import onnx
import pytest
from jsonschema import Draft202012Validator
from jsonschema.exceptions import ValidationError
from onnx.parser import parse_model

from ascend_fuse.cli.main import app_main
from ascend_fuse.error import UsageError
from ascend_fuse.report.schema import bundled, schema_names

CHAIN = """
<ir_version: 10, opset_import: ["" : 17]>
chain (float[batch, 64] x) => (float[batch, 64] y)
<float one = {1.0}> { a = Add (x, one) i = Identity (a) b = Mul (i, x) c = Relu (b) y = CumSum (c, axis) }
"""
# The arguments of a command for each document; M is a model, F the same model fused, D a folder with it.
REJECTS = f"{sys.executable} -c \"import sys; sys.exit(b'Fused' in open(sys.argv[1], 'rb').read())\" {{model}}"
COMMANDS: dict[str, list[list[str]]] = {
    "plan": [["optimize", "M", "-o", "OUT"], ["optimize", "M", "-o", "OUT", "--verify"], ["optimize", "F"]],
    "batch": [["optimize", "M", "F", "--verify", "-o", "OUT/"]],
    "check": [["check", "M", "F", "--min-fusions", "1", "--max-growth", "900%", "--expect", "BASE"]],
    "verification": [["verify", "M", "F"], ["verify", "M", "F", "--kernels"]],
    "difference": [["diff", "M", "F"], ["diff", "M", "M"], ["diff", "F", "M", "--by-place"]],
    "bisect": [["bisect", "M", "--command", "true {model}"], ["bisect", "M", "--command", REJECTS]],
    "explanation": [["explain", "M"], ["explain", "M", "--node", "mul", "--node", "cum"], ["explain", "F"]],
    "sweep": [["explain", "M", "--sweep", "batch=1..8"]],
    "reasons": [["explain", "no-gain"]],
    "config": [["config", "show", "--dim", "batch=3"]],
    "rules": [["rules"], ["rules", "AF302"]],
    "rules-lint": [["rules", "lint"]],
    "soc": [["soc"], ["soc", "Ascend310P3"]],
    "diagnosis": [["doctor"]],
}


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    folder = tmp_path_factory.mktemp("schema")
    names = {"M": "m.onnx", "F": "f.onnx", "OUT": "out.onnx", "OUT/": "out/", "BASE": "base.json"}
    model = parse_model(CHAIN.replace("<float one = {1.0}>", "<float one = {1.0}, int64 axis = {1}>"))
    for node, name in zip(model.graph.node, ("add", "identity", "mul", "relu", "cum"), strict=True):
        node.name = name
    onnx.save(model, folder / "m.onnx")
    found = {short: f"{folder}/{name}" for short, name in names.items()}
    assert app_main(["optimize", found["M"], "-o", found["F"], "-q"]) == 0
    assert app_main(["check", found["M"], found["F"], "--expect", found["BASE"], "--update-baseline", "-q"]) == 0
    return found


def valid(name: str, document: object) -> None:
    Draft202012Validator(json.loads(bundled(name))).validate(document)


def cases() -> list[tuple[str, list[str]]]:
    return [(name, command) for name, commands in COMMANDS.items() for command in commands]


@pytest.mark.parametrize(("name", "command"), cases(), ids=lambda v: "-".join(v) if isinstance(v, list) else v)
def test_what_is_printed_is_as_the_schema_says(
    name: str, command: list[str], files: dict[str, str], capsys: pytest.CaptureFixture[str]
) -> None:
    code = app_main([files.get(word, word) for word in command] + ["--format", "json"])
    # doctor tells of what is not installed here, and bisect of what it was to find
    assert code == 0 or command == ["doctor"] or REJECTS in command
    document = json.loads(capsys.readouterr().out)
    assert document["schema"] == f"ascend-fuse/{name}/1"
    valid(name, document)


def test_a_baseline_is_as_its_schema_says(files: dict[str, str]) -> None:
    document = json.loads(Path(files["BASE"]).read_text("utf-8"))
    valid("baseline", document)
    assert [len(m["fusions"]) for m in document["models"].values()] == [1, 1]


def test_a_failed_check_is_as_its_schema_says(
    files: dict[str, str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "bad.onnx").write_bytes(b"no model")
    args = ["check", files["M"], str(tmp_path / "bad.onnx"), "--expect", files["BASE"], "--ignore", "AF101"]
    assert app_main([*args, "--format", "json"]) == 3
    document = json.loads(capsys.readouterr().out)
    valid("check", document)
    good, bad = document["models"]
    assert [lost["rules"] for lost in good["lost"]] == [["AF101"]]
    assert bad["error"]["exit_code"] == 3


def keys(schema: object, path: str = "$") -> Iterator[tuple[str, dict[str, Any]]]:
    """Every object of a schema that names its keys."""
    if isinstance(schema, dict):
        if "properties" in schema:
            yield path, schema
        for name, inner in schema.items():
            yield from keys(inner, f"{path}.{name}")
    elif isinstance(schema, list):
        for inner in schema:
            yield from keys(inner, path)


@pytest.mark.parametrize("name", schema_names())
def test_a_schema_is_one_and_stands_alone(name: str) -> None:
    whole = json.loads(bundled(name))
    Draft202012Validator.check_schema(whole)
    assert whole["$id"] == f"urn:ascend-fuse:{name}:1"
    assert all(found["additionalProperties"] is False for path, found in keys(whole))
    with pytest.raises(ValidationError):
        valid(name, {"schema": f"ascend-fuse/{name}/1"})


def test_every_schema_has_a_command_and_every_document_a_schema() -> None:
    assert set(schema_names()) == {*COMMANDS, "baseline"}


def each_object(document: Any) -> Iterator[dict[str, Any]]:
    if isinstance(document, dict):
        yield document
        for inner in document.values():
            yield from each_object(inner)
    elif isinstance(document, list):
        for inner in document:
            yield from each_object(inner)


def test_an_undeclared_key_is_refused(files: dict[str, str], capsys: pytest.CaptureFixture[str]) -> None:
    """Wherever an object's keys have names of ours."""
    assert app_main(["optimize", files["M"], "-o", files["OUT"], "--format", "json"]) == 0
    document = json.loads(capsys.readouterr().out)
    free = [document["dims"], document["bounds"], document["by_rule"], document["rule_names"]]  # keys of the user's
    free += [r["sizes"] for r in document["regions"]] + [m["figures"] for m in document["misses"]]
    changed = [found for found in each_object(document) if not any(found is f for f in free)]
    assert len(changed) > 10
    for found in changed:
        found["undeclared"] = 1
        with pytest.raises(ValidationError):
            valid("plan", document)
        del found["undeclared"]
    valid("plan", document)


def test_the_command_prints_them(capsys: pytest.CaptureFixture[str]) -> None:
    assert app_main(["schema"]) == 0
    assert capsys.readouterr().out.split() == list(schema_names())
    assert app_main(["schema", "check"]) == 0
    assert json.loads(capsys.readouterr().out) == json.loads(bundled("check"))
    assert app_main(["schema", "chekc"]) == 2
    assert "did you mean 'check'?" in capsys.readouterr().err


def test_an_unknown_document_is_told() -> None:
    with pytest.raises(UsageError, match="no document is called 'plann'; did you mean 'plan'"):
        bundled("plann")
