"""What the kernels draw in the first run of a session, for the reference (kernels/runtime/random.h)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ascend_fuse.program.evaluate import Run
from ascend_fuse.program.philox import keep_mask, uniform
from ascend_fuse.program.program import Program
from ascend_fuse.verify.feed import Array

_WORD = (1 << 64) - 1


def _mixed(x: int) -> int:
    """The finalizer of SplitMix64 (Steele, Lea, Flood 2014)."""
    x = (x + 0x9E3779B97F4A7C15) & _WORD
    x = ((x ^ (x >> 30)) * 0xBF58476D1CE4E5B9) & _WORD
    x = ((x ^ (x >> 27)) * 0x94D049BB133111EB) & _WORD
    return x ^ (x >> 31)


def node_key(session_key: int, node: str) -> int:
    """The key of a node's draws that have no seed of their own."""
    key = _mixed(session_key)
    for byte in node.encode():
        key = _mixed(key ^ byte)
    return key


def drawn(program: Program, arrays: Sequence[Array], node: str, session_key: int) -> dict[str, Array]:
    """The mask or numbers of each line that draws, by its name, for inputs in the order of the `in` lines."""
    if not program.draws:
        return {}
    run = Run(program, {})
    run.bind(arrays)
    found: dict[str, Array] = {}
    for k, line in enumerate(program.draws):
        seed = line.attributes.get("seed")
        key = node_key(session_key, node) ^ k if seed is None else int(seed) & _WORD
        shape = run.shape(line.type.extents)
        if line.op == "random_uniform":
            found[line.name] = uniform(shape, key, 0)
        else:
            found[line.name] = keep_mask(shape, float(np.float32(float(line.attributes["ratio"]))), key, 0)
    return found
