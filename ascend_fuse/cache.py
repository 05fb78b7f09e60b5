"""What was planned and proved before, kept by content: a hit gives the bytes that a run would give (0013).

An entry is a file: SHA-256 of the rest, newline, one line of JSON, newline, the model without the weights that its
source has. Only data is read from it, never code.
"""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from google.protobuf.message import DecodeError
from onnx import ModelProto

import ascend_fuse
from ascend_fuse import _engine
from ascend_fuse.error import UsageError
from ascend_fuse.graph.light import give_weights, without_weights
from ascend_fuse.graph.save import write_atomically
from ascend_fuse.graph.target import PART
from ascend_fuse.plan import Plan, miss_json, to_json
from ascend_fuse.plan_file import from_json, misses_from_json

SCHEMA = "ascend-fuse/cache/1"
SUFFIX = ".entry"
MAX_BYTES = 2 << 30  # of all entries together
STALE_SECONDS = 24 * 3600  # after which a temporary file is that of a process which was killed
LIBRARIES = ("onnx", "protobuf", "numpy", "onnxruntime")  # what inference, written bytes and proofs rest on
# CACHEDIR.TAG: https://bford.info/cachedir
MARKS = {"CACHEDIR.TAG": "Signature: 8a477f597d28d172789f06886806bc55\n", ".gitignore": "*\n"}


@dataclass(frozen=True, slots=True)
class Kept:
    """What planning, edit and proofs gave. The plan's estimates are as precise as they are written."""

    model: ModelProto
    plan: Plan
    notes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Cache:
    """The entries in a folder, which is made when the first is written."""

    folder: Path

    def check(self) -> Cache:
        """Itself. Raises UsageError when the folder is something else."""
        if self.folder.exists() and not self.folder.is_dir():
            raise UsageError("the cache is no folder", where=str(self.folder), do="name a folder, or give --no-cache")
        return self

    def entry(self, model: ModelProto, options: Mapping[str, object], rules_digest: str) -> Entry | None:
        """Where the result for this model is kept, None for a model that is not kept.

        `options` are all that decide the result, digests of their files included; `rules_digest` is of all rules.
        """
        split = without_weights(model)
        if split is None:
            return None
        light, weights = split
        h = hashlib.sha256()
        for part in (SCHEMA, tool_digest(), rules_digest, json.dumps(options, sort_keys=True)):
            h.update(_sha256(part.encode()))
        h.update(_sha256(light.SerializeToString(deterministic=True)))
        for name, digest in sorted(weights.items()):
            h.update(_sha256(name.encode()) + digest)
        return Entry(self, self.folder / f"{h.hexdigest()}{SUFFIX}", weights)

    def prune(self, keep: Path) -> None:
        """Remove the entries used longest ago until the others fit; `keep` stays. Other processes may do the same."""
        total = 0
        for used, size, path in sorted(self._files(), reverse=True):
            total += size
            stale = path.suffix != SUFFIX and used < time.time() - STALE_SECONDS
            if path != keep and (total > MAX_BYTES or stale):
                path.unlink(missing_ok=True)

    def _files(self) -> Iterator[tuple[float, int, Path]]:
        """When each was used last, its size, its path."""
        for path in self.folder.iterdir():
            with suppress(FileNotFoundError):  # another process was faster
                if path.suffix in (SUFFIX, PART):
                    found = path.stat()
                    yield found.st_mtime, found.st_size, path


@dataclass(frozen=True, slots=True)
class Entry:
    """One result, kept or not yet; `weights` are the digests of the source's large initializers."""

    cache: Cache
    path: Path
    weights: Mapping[str, bytes]

    def read(self, source: ModelProto) -> Kept | None:
        """What is kept, with the weights of the model that the entry is for; None without any.

        What is not whole is removed.
        """
        try:
            digest, rest = self.path.read_bytes().split(b"\n", 1)
            if hashlib.sha256(rest).hexdigest().encode() != digest:
                raise ValueError("not what was written")
            kept = _decoded(rest, source)
        except FileNotFoundError:
            return None
        except (OSError, ValueError, KeyError, TypeError, DecodeError, UsageError):
            with suppress(OSError):
                self.path.unlink(missing_ok=True)
            return None
        with suppress(OSError):  # one that may be read only
            self.path.touch()
        return kept

    def write(self, kept: Kept) -> str:
        """Keep it; why that cannot be, which is no reason to fail, else ""."""
        split = without_weights(kept.model, self.weights)
        if split is None:
            return ""
        light, weights = split
        line = json.dumps(_head(kept, weights), allow_nan=False).encode()
        if _plan(json.loads(line)) != kept.plan:  # a plan has got what an entry cannot hold
            return "not kept in the cache: its plan would not come back as it is; please report it"
        rest = line + b"\n" + light.SerializeToString(deterministic=True)
        if len(rest) > MAX_BYTES:
            return f"not kept in the cache: it would take more than {MAX_BYTES >> 30} GiB"
        try:
            _make(self.cache.folder)
            write_atomically(self.path, lambda path: _fill(path, hashlib.sha256(rest).hexdigest().encode(), rest))
            self.cache.prune(self.path)
        except (OSError, UsageError) as e:
            return f"not kept in the cache: {e}"
        return ""


def _head(kept: Kept, weights: Iterable[str]) -> dict[str, object]:
    """What an entry has beside the model; of the plan also what its own JSON has not."""
    return {
        "plan": to_json(kept.plan), "rule_names": dict(kept.plan.rule_names),
        "passed": [miss_json(m) for m in kept.plan.passed], "notes": list(kept.notes), "weights": sorted(weights),
    }  # fmt: skip


def _plan(head: Mapping[str, Any]) -> Plan:
    passed = misses_from_json(head["passed"])
    return replace(from_json(head["plan"]), rule_names=dict(head["rule_names"]), passed=passed)


def _decoded(rest: bytes, source: ModelProto) -> Kept:
    line, body = rest.split(b"\n", 1)
    head: Mapping[str, Any] = json.loads(line)
    model = ModelProto.FromString(body)
    give_weights(model, frozenset(head["weights"]), source)
    return Kept(model, _plan(head), tuple(head["notes"]))


def _make(folder: Path) -> None:
    """The folder, marked as one that backups and version control leave out."""
    if not folder.is_dir():
        folder.mkdir(parents=True, exist_ok=True)
        for name, text in MARKS.items():
            (folder / name).write_text(text, "utf-8")


def _fill(path: Path, digest: bytes, rest: bytes) -> None:
    with path.open("wb") as stream:
        stream.writelines((digest, b"\n", rest))


def _sha256(data: bytes) -> bytes:
    return hashlib.sha256(data).digest()


@cache
def tool_digest() -> str:
    """Of this tool as it is installed, engine and tables included, and of the libraries that it rests on.

    The version alone would not do: a checkout changes without one.
    """
    h = hashlib.sha256(ascend_fuse.__version__.encode())
    for name in LIBRARIES:
        h.update(f"{name} {_version(name)}\n".encode())
    for folder in map(Path, ascend_fuse.__path__):
        for path in sorted(folder.rglob("*.py")):
            h.update(path.relative_to(folder).as_posix().encode() + b"\n" + _sha256(path.read_bytes()))
    if _engine.__file__:
        h.update(_sha256(Path(_engine.__file__).read_bytes()))
    return h.hexdigest()


def _version(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:  # a build of ONNX Runtime under another name
        return ""
