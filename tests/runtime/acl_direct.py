"""The stand-in libascendcl called directly: python -m tests.runtime.acl_direct NAME.

y = relu(x) is queued, and something is done to its tensors before anybody waits: in the log unless it is allowed.
"""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Callable

import numpy as np

from ascend_fuse import _engine
from ascend_fuse.program.text import parse_program
from ascend_fuse.runtime.library import load
from tests.kernels.emulated import lowered

BYTES = 512
RELU = "elementwise 1 [d0]\nx0: f32[d0] = in\nv0: f32[d0] = relu x0\nout v0"


class Direct:
    """A device with x and y on it, two streams and a kernel."""

    def __init__(self) -> None:
        load()  # the plugin, which emulates
        self.library = ctypes.CDLL("libascendcl.so")
        self.host = np.linspace(-1, 1, BYTES // 4, dtype=np.float32)
        made: _engine.Launch = lowered(parse_program(RELU), [self.host], "Ascend910B3", (0, 0, 0))
        self.cores = made.block_dim
        self.x, self.y, self.block = self.memory(BYTES), self.memory(BYTES), self.memory(len(made.block))
        self.call("aclrtMemcpy", self.block, len(made.block), made.block, len(made.block), 1)
        self.write(self.x)
        self.kernel = self.made("aclrtBinaryGetFunction", None, b"ascend_fuse_elementwise")
        self.one, self.two = self.made("aclrtCreateStream"), self.made("aclrtCreateStream")
        self.event = self.made("aclrtCreateEventExWithFlag", after=(1,))

    def call(self, name: str, *arguments: object) -> None:
        answer = self.library[name](*(ctypes.c_void_p(a) if isinstance(a, int) else a for a in arguments))
        assert answer == 0, (name, answer)

    def made(self, name: str, *before: object, after: tuple[int, ...] = ()) -> int:
        """The handle that a call hands back through a pointer."""
        handle = ctypes.c_void_p()
        self.call(name, *before, ctypes.byref(handle), *after)
        assert handle.value
        return handle.value

    def memory(self, size: int) -> int:
        return self.made("aclrtMalloc", after=(size, 0))

    def write(self, to: int) -> None:
        self.call("aclrtMemcpy", to, BYTES, self.host.ctypes.data, BYTES, 1)

    def read(self, at: int) -> np.ndarray:
        found = np.empty_like(self.host)
        self.call("aclrtMemcpy", found.ctypes.data, BYTES, at, BYTES, 2)
        return found

    def launch(self, stream: int, x: int, y: int) -> None:
        arguments = self.made("aclrtKernelArgsInit", self.kernel)
        block = ctypes.c_void_p(self.block)
        self.call("aclrtKernelArgsAppend", arguments, ctypes.byref(block), 8, ctypes.byref(ctypes.c_void_p()))
        place = self.made("aclrtKernelArgsAppendPlaceHolder", arguments)
        buffer = self.made("aclrtKernelArgsGetPlaceHolderBuffer", arguments, place, 16)
        (ctypes.c_uint64 * 2).from_address(buffer)[:] = [x, y]
        self.call("aclrtKernelArgsFinalize", arguments)
        self.call("aclrtLaunchKernelWithConfig", self.kernel, self.cores, stream, None, arguments, None)

    def order(self) -> None:
        """What comes on stream two, after what is on stream one."""
        self.call("aclrtRecordEvent", self.event, self.one)
        self.call("aclrtStreamWaitEvent", self.two, self.event)


# What comes between the launch and the wait for it.
EARLY: dict[str, Callable[[Direct], object]] = {
    "read": lambda d: d.read(d.y),
    "overwrite": lambda d: d.write(d.x),
    "free": lambda d: d.call("aclrtFree", d.x),
    "free_block": lambda d: d.call("aclrtFree", d.block),
    "other_stream": lambda d: d.launch(d.two, d.y, d.x),
    "destroy": lambda d: d.call("aclrtDestroyStream", d.one),
}
ALLOWED: dict[str, Callable[[Direct], object]] = {
    "nothing": lambda d: None,
    "read_input": lambda d: d.read(d.x),
    "same_stream": lambda d: d.launch(d.one, d.y, d.x),
    "event": lambda d: (d.order(), d.launch(d.two, d.y, d.x)),
    "wait": lambda d: (d.call("aclrtSynchronizeStream", d.one), d.write(d.x)),
    "wait_for_event": lambda d: (d.order(), d.call("aclrtSynchronizeEvent", d.event), d.write(d.x)),
    "wait_beyond": lambda d: (d.order(), d.call("aclrtSynchronizeStream", d.two), d.write(d.x)),
}


def main() -> None:
    direct = Direct()
    direct.launch(direct.one, direct.x, direct.y)
    (EARLY | ALLOWED)[sys.argv[1]](direct)
    if sys.argv[1] in ALLOWED:
        direct.call("aclrtSynchronizeDevice")
        print("relu", np.array_equal(direct.read(direct.y), np.maximum(direct.host, 0)))


if __name__ == "__main__":
    main()
