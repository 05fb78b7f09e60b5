"""One launch of the engine on the emulated chip: with a tile of one's own, or measured apart from its program."""

from __future__ import annotations

import ctypes
import json
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from ascend_fuse.config import DEFAULT_SOC
from ascend_fuse.error import KernelError
from ascend_fuse.runtime.counter import NodeCounters, read_node
from ascend_fuse.runtime.library import CLaunch, CRegion, load

if TYPE_CHECKING:
    from ascend_fuse._engine import Launch

FAMILIES = ("elementwise", "rowwise", "matmul", "transform")


def launch(
    made: Launch,
    inputs: Sequence[npt.NDArray[Any]],
    outputs: Sequence[npt.NDArray[Any]],
    soc: str = DEFAULT_SOC,
    *,
    key: int = 0,
    run: int = 0,
) -> NodeCounters:
    """What the launch did; `outputs` are filled. All arrays are C-contiguous; `key` and `run` decide what it draws.

    Raises KernelError when the kernel stops.
    """
    workspace = [np.empty(made.workspace_bytes, np.uint8)] if made.workspace_bytes else []
    table = [*((a, 0) for a in inputs), *((a, 1) for a in (*outputs, *workspace))]
    regions = (CRegion * len(table))(*(CRegion(a.ctypes.data, a.nbytes, writable) for a, writable in table))
    family = FAMILIES.index(made.family)
    record = CLaunch(made.block, len(made.block), made.block_dim, family, made.mixed, key, run)
    report = load().ascend_fuse_launch(ctypes.byref(record), soc.encode(), regions, len(table))
    if report is None:
        raise KernelError(load().ascend_fuse_error().decode(), where=soc)
    return read_node(json.loads(report))
