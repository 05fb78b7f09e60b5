"""Philox4x32-10 (Salmon et al., SC 2011) on numpy: what kernels draw, for the reference.

Counter = (element index / 4, number of the run), key = the launch's, word = element index mod 4 (docs/design/0008).
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

Words = npt.NDArray[np.uint64]  # of 32 bits each
MULTIPLIERS = (0xD2511F53, 0xCD9E8D57)
WEYL = (0x9E3779B9, 0xBB67AE85)
ROUNDS = 10
_LOW = np.uint64(0xFFFFFFFF)
_HALF = np.uint64(32)


def philox(counters: tuple[Words, Words, Words, Words], key: int) -> tuple[Words, Words, Words, Words]:
    """Four words of 32 bits for each counter of four; `key` has 64 bits."""
    c0, c1, c2, c3 = counters
    k0, k1 = key & 0xFFFFFFFF, key >> 32
    for _ in range(ROUNDS):
        first, second = c0 * np.uint64(MULTIPLIERS[0]), c2 * np.uint64(MULTIPLIERS[1])
        c0, c1, c2, c3 = (
            (second >> _HALF) ^ c1 ^ np.uint64(k0), second & _LOW, (first >> _HALF) ^ c3 ^ np.uint64(k1), first & _LOW
        )  # fmt: skip
        k0, k1 = (k0 + WEYL[0]) & 0xFFFFFFFF, (k1 + WEYL[1]) & 0xFFFFFFFF
    return c0, c1, c2, c3


def _words(shape: tuple[int, ...], key: int, run: int) -> Words:
    """The word of each element."""
    count = math.prod(shape)
    index = np.arange((count + 3) // 4, dtype=np.uint64)
    given = np.full_like(index, run & 0xFFFFFFFF), np.full_like(index, run >> 32)
    words = np.stack(philox((index & _LOW, index >> _HALF, *given), key), axis=-1)
    return words.reshape(-1)[:count].reshape(shape)


def keep_mask(shape: tuple[int, ...], ratio: float, key: int, run: int) -> npt.NDArray[np.bool_]:
    """Which elements of a value of that shape are kept in that run: those whose word / 2^32 is `ratio` or more."""
    return _words(shape, key, run).astype(np.float64) / 2.0**32 >= ratio


def uniform(shape: tuple[int, ...], key: int, run: int) -> npt.NDArray[np.float32]:
    """Numbers in [0, 1) of that shape and run: the upper 24 bits of each word."""
    return (_words(shape, key, run) >> np.uint64(8)).astype(np.float32) * np.float32(2.0**-24)
