"""What one fused node or one output of a model gave through the kernels, beside what it should."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from ascend_fuse.program.bound import bounds, distance, outside
from ascend_fuse.program.text import parse_program
from ascend_fuse.verify.draw import drawn
from ascend_fuse.verify.exposed import FusedNode
from ascend_fuse.verify.feed import Array
from ascend_fuse.verify.kernel_result import NodeCheck, OutputCheck

MARGIN = 4.0  # times what errors of the nodes' bounds did to an output, tried once with random signs


def check_node(
    fused: FusedNode, values: Mapping[str, Any], session_key: int, saturates: bool
) -> tuple[NodeCheck, dict[str, Array]]:
    """The node on the inputs that it had, and by name the error that each of its outputs may have.

    That is the bound; where it is infinite, what came. `saturates`: as in `bounds`. Masks that it drew follow from the
    key of the session, whose first run it was.
    """
    program = parse_program(fused.program)
    read = [values[n] for n in fused.node.input]
    wanted = bounds(program, read, drawn(program, read, fused.name, session_key), saturates)
    errors: dict[str, Array] = {}
    beyond = free = elements = 0
    share = largest = 0.0
    note = ""
    for name, (right, bound) in zip(fused.node.output, wanted, strict=True):
        if not name:
            continue
        found = values[name]
        if (found.shape, found.dtype) != (right.shape, right.dtype):
            note = f"{found.dtype}{list(found.shape)} where the program gives {right.dtype}{list(right.shape)}"
            continue
        elements += found.size
        beyond += int(np.count_nonzero(outside(found, right, bound)))
        free += int(np.count_nonzero(np.isinf(bound)))
        apart = distance(found, right)
        # Where anything may come, what came is what the model's outputs have to bear.
        errors[name] = np.where(np.isinf(bound), np.where(np.isinf(apart), 0.0, apart), bound)
        apart = np.where(np.isinf(bound), 0.0, apart)
        largest = max(largest, float(np.max(apart, initial=0.0)))
        with np.errstate(all="ignore"):
            share = max(share, float(np.max(np.where(apart > 0, apart / bound, 0.0), initial=0.0)))
    return NodeCheck(fused.name, program.family, elements, beyond, free, share, largest, note), errors


def check_output(name: str, wanted: Any, found: Any, moved: Any) -> OutputCheck:
    """An output of the model; `moved`: what the CPU provider gives with errors of the bounds' size in fused nodes."""
    if wanted.__class__ is not np.ndarray or found.__class__ is not np.ndarray:
        return OutputCheck(name, type(wanted).__name__, (), note="" if wanted == found else "unequal")
    dtype, shape = str(wanted.dtype), tuple(wanted.shape)
    if (found.dtype, found.shape) != (wanted.dtype, wanted.shape):
        return OutputCheck(name, dtype, shape, note=f"the kernels give {found.dtype}{list(found.shape)}")
    if wanted.dtype.kind not in "fiub":
        return OutputCheck(name, dtype, shape, note="" if bool((wanted == found).all()) else "unequal")
    x, y, z = (a.astype(np.float64) for a in (wanted, found, moved))
    with np.errstate(all="ignore"):
        apart, may = np.max(distance(x, y), initial=0.0), np.max(distance(x, z), initial=0.0)
    largest = np.max(np.abs(x), initial=0.0, where=np.isfinite(x))
    return OutputCheck(name, dtype, shape, float(apart), float(MARGIN * may), float(largest))
