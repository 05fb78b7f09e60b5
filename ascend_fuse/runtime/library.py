"""The plugin library: where it lies, and its C surface."""

from __future__ import annotations

import ctypes
from functools import cache
from pathlib import Path

from ascend_fuse.error import UsageError

EP_NAME = "AscendFuseExecutionProvider"
FILE_NAME = "libascend_fuse_plugin.so"


class CTensor(ctypes.Structure):
    """struct AscendFuseTensor of kernels/runtime/c_api.h."""

    _fields_ = (
        ("dtype", ctypes.c_int32),
        ("rank", ctypes.c_int32),
        ("sizes", ctypes.POINTER(ctypes.c_int64)),
        ("address", ctypes.c_void_p),
    )


class CLaunch(ctypes.Structure):
    """struct AscendFuseLaunch."""

    _fields_ = (
        ("block", ctypes.c_char_p),
        ("bytes", ctypes.c_int64),
        ("block_dim", ctypes.c_int64),
        ("family", ctypes.c_int32),
        ("mixed", ctypes.c_int32),
        ("key", ctypes.c_uint64),
        ("run", ctypes.c_uint64),
    )


class CRegion(ctypes.Structure):
    """struct AscendFuseRegion."""

    _fields_ = (("address", ctypes.c_void_p), ("bytes", ctypes.c_int64), ("writable", ctypes.c_int32))


def get_library_path() -> str:
    """Path of the execution-provider library. Raises UsageError when this installation has none."""
    import ascend_fuse

    # Of an editable installation the package lies in two folders.
    for folder in ascend_fuse.__path__:
        path = Path(folder) / FILE_NAME
        if path.is_file():
            return str(path)
    raise UsageError(
        f"this installation has no {FILE_NAME}",
        where=", ".join(ascend_fuse.__path__),
        do="install a wheel, or build one with `pip install .`",
    )


def get_ep_names() -> list[str]:
    """The names of the library's execution providers."""
    return [EP_NAME]


def get_ep_name() -> str:
    """The name of its only one."""
    return EP_NAME


@cache
def load() -> ctypes.CDLL:
    """The library with the types of its calls declared."""
    library = ctypes.CDLL(get_library_path())
    call, text = ctypes.c_void_p, ctypes.c_char_p
    signatures = {
        "counters": (text, ()),
        "reset_counters": (None, ()),
        "error": (text, ()),
        "prepare": (call, (text, text, ctypes.POINTER(CTensor), ctypes.c_int32)),
        "outputs": (ctypes.c_int32, (call,)),
        "output": (CTensor, (call, ctypes.c_int32)),
        "execute": (ctypes.c_int32, (call, ctypes.POINTER(ctypes.c_void_p))),
        "report": (text, (call,)),
        "launch": (text, (ctypes.POINTER(CLaunch), text, ctypes.POINTER(CRegion), ctypes.c_int32)),
        "release": (None, (call,)),
    }
    for name, (result, arguments) in signatures.items():
        function = getattr(library, f"ascend_fuse_{name}")
        function.restype, function.argtypes = result, arguments
    return library
