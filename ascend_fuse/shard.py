"""One part of many models, the same on every machine that sees the same files."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from ascend_fuse.error import UsageError

Sized = tuple[str, int]  # a model's name among its inputs, its bytes


@dataclass(frozen=True, slots=True)
class Shard:
    """Part `index` of `count`, the first being 1."""

    index: int
    count: int

    def __str__(self) -> str:
        return f"{self.index}/{self.count}"


@dataclass(frozen=True, slots=True)
class Share:
    """What one part is of how many models; `digest` is of all their names and sizes: parts of one whole agree in it."""

    shard: Shard
    models: int
    digest: str


def parse_shard(text: str) -> Shard:
    """`2/4`, counted from 1. Raises UsageError."""
    index, slash, count = text.partition("/")
    numbers = [int(n) if n.isascii() and n.isdecimal() and len(n) < 6 else 0 for n in (index, count)]
    if not slash or not 1 <= numbers[0] <= numbers[1]:
        do = "write I/N, the I-th of N parts, as in 1/4"
        raise UsageError("this is no part of a whole", where=f"--shard {text}", do=do)
    return Shard(*numbers)


def file_bytes(path: Path) -> int:
    """How much the model's file weighs, without external data; 0 for one that is not there, which is told later."""
    return path.stat().st_size if path.is_file() else 0


def share(groups: Sequence[Sequence[Sized]], shard: Shard) -> Share:
    """What the shard is a part of; digests agree between shards that saw the same files."""
    found = sorted(model for group in groups for model in group)
    text = "".join(f"{size} {name}\n" for name, size in found)
    return Share(shard, len(found), hashlib.sha256(text.encode("utf-8", "surrogateescape")).hexdigest()[:12])


def part(groups: Sequence[Sequence[Sized]], shard: Shard) -> frozenset[int]:
    """Which groups are the shard's: largest first, each goes to the shard with the least bytes so far.

    Every group is in exactly one shard. Equal ones go by name, so the order of the groups does not matter.
    """
    order = sorted(range(len(groups)), key=lambda k: (-sum(size for _, size in groups[k]), sorted(groups[k])))
    loads = [(0, 0, s) for s in range(shard.count)]  # bytes, models, which
    mine: list[int] = []
    for k in order:
        size, models, s = min(loads)
        loads[s] = size + sum(size for _, size in groups[k]), models + len(groups[k]), s
        if s == shard.index - 1:
            mine.append(k)
    return frozenset(mine)
