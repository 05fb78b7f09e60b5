"""Sessions of ONNX Runtime in which our execution provider runs the fused nodes."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from ascend_fuse.error import UsageError
from ascend_fuse.runtime.library import EP_NAME, get_library_path
from ascend_fuse.runtime.run import Option, option_text

if TYPE_CHECKING:
    from onnx import ModelProto

OLDEST = (1, 24)  # the C interface that the plugin needs
REGISTRATION = "ascend-fuse"


def _onnxruntime() -> Any:  # its stubs lack the plugin calls
    try:
        import onnxruntime  # pyright: ignore[reportMissingTypeStubs]
    except ImportError as e:
        raise UsageError("onnxruntime is not installed", do="pip install 'onnxruntime>=1.24'") from e
    found = re.match(r"(\d+)\.(\d+)", onnxruntime.__version__)
    if not found or (int(found[1]), int(found[2])) < OLDEST:
        raise UsageError(
            f"onnxruntime {onnxruntime.__version__} cannot load the plugin",
            do=f"install onnxruntime {OLDEST[0]}.{OLDEST[1]} or newer",
        )
    return onnxruntime


def _found() -> list[Any]:
    return [d for d in _onnxruntime().get_ep_devices() if d.ep_name == EP_NAME]


def register() -> None:
    """Makes the provider's devices known to ONNX Runtime, once per process. Raises UsageError where it cannot be."""
    if _found():
        return
    runtime = _onnxruntime()
    try:
        runtime.register_execution_provider_library(REGISTRATION, get_library_path())
    except Exception as e:  # ONNX Runtime's own exceptions have no common base
        raise UsageError(f"ONNX Runtime does not load the plugin: {e}", where=get_library_path()) from e


def devices(backend: Literal["emulator", "acl"] = "emulator") -> list[Any]:
    """The one device of that backend, for `SessionOptions.add_provider_for_devices`; registers the library.

    Raises UsageError for `acl` where libascendcl.so is not found.
    """
    register()
    found = [d for d in _found() if d.ep_metadata["backend"] == backend]
    if not found:
        raise UsageError(
            f"no device for backend {backend}: ONNX Runtime found "
            + (", ".join(d.ep_metadata["backend"] for d in _found()) or "none"),
            do="source CANN's set_env.sh, so that libascendcl.so is found" if backend == "acl" else "",
        )
    return found[:1]


def session(
    model: str | Path | bytes | ModelProto,
    *,
    soc: str = "",
    backend: Literal["emulator", "acl"] = "emulator",
    session_options: Any = None,
    **options: Option,
) -> Any:
    """An InferenceSession that runs fused nodes through our kernels and everything else on the CPU.

    `soc`: the chip; without it each node's own, or the device's. `options` are the provider's by name, as
    docs/runtime.md has them. Further providers come with `session_options`.
    Raises UsageError for an option that the provider refuses.
    """
    runtime = _onnxruntime()
    settings = session_options or runtime.SessionOptions()
    chosen = {"soc": soc} if soc else {}
    settings.add_provider_for_devices(devices(backend), chosen | {k: option_text(v) for k, v in options.items()})
    source = str(model) if isinstance(model, (str, Path)) else model
    try:
        # Without the fallback, a provider that cannot be made is an error and no session on the CPU alone.
        return runtime.InferenceSession(
            source if isinstance(source, (str, bytes)) else source.SerializeToString(),
            settings,
            enable_fallback=0,
        )
    except Exception as e:
        told = re.search(r"ascend-fuse: (.*)", str(e))
        if told is None:
            raise
        raise UsageError(told[1], where="session") from e
