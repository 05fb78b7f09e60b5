"""External data: which files, and that every tensor lies whole inside one in the model's folder. Nothing is read."""

from __future__ import annotations

import os
import stat
from dataclasses import dataclass, field
from pathlib import Path

from onnx import ModelProto, TensorProto

from ascend_fuse.error import ModelError
from ascend_fuse.graph.tensor import fault, size_bytes, tensors

MAX_DIGITS = 18  # of an offset or length: more than any file has, less than Python refuses to read
BESIDE = "put the data beside the model"
AGAIN = "export the model again"


def external_file(tensor: TensorProto) -> str:
    """The relative path of an external tensor's file, "" when the tensor is in the model."""
    if tensor.data_location != TensorProto.EXTERNAL:
        return ""
    return next((e.value for e in reversed(tensor.external_data) if e.key == "location"), "")


def external_files(model: ModelProto) -> tuple[str, ...]:
    """Relative paths of all external data files, in order of first use."""
    return tuple(dict.fromkeys(f for t in tensors(model) if (f := external_file(t))))


def check_external(model: ModelProto, source: Path) -> None:
    """Every external tensor lies inside a file under the folder of the model's file. Raises ModelError.

    `source` may be the folder itself.
    """
    folder = _Folder(source)
    for t in tensors(model):
        if t.data_location == TensorProto.EXTERNAL:
            _check(t, folder)


@dataclass(slots=True)
class _Folder:
    """Where the data may be. A model that is a link may have its data beside itself or beside what it links to."""

    source: Path
    sizes: dict[str, int] = field(default_factory=dict[str, int])

    @property
    def path(self) -> Path:
        return self.source if self.source.is_dir() else self.source.parent

    def size(self, name: str, tensor: str) -> int:
        if name not in self.sizes:
            self.sizes[name] = self._measure(name, tensor)
        return self.sizes[name]

    def _measure(self, name: str, tensor: str) -> int:
        root = self.path.resolve()
        path, shown = Path(os.path.normpath(root / name)), str(self.path / name)
        if os.path.isabs(name) or root not in path.parents:
            raise ModelError(f"{tensor} lies outside the model's folder", where=shown, do=BESIDE)
        try:
            found, real = path.stat(), path.resolve()
        except FileNotFoundError as e:
            raise ModelError(f"the data file of {tensor} is missing", where=shown, do="copy it beside the model") from e
        except (OSError, ValueError, RuntimeError) as e:  # names that no file can have; links in a ring
            why = getattr(e, "strerror", None) or str(e)
            raise ModelError(f"the data file of {tensor} cannot be found: {why}", where=shown, do=AGAIN) from e
        # a link out of the folder could lead to any file of this machine; ONNX Runtime refuses it, too
        if not {root, self.source.resolve().parent} & set(real.parents):
            what = f"{tensor} lies outside the model's folder, behind a link to {real}"
            raise ModelError(what, where=shown, do="put the file itself beside the model")
        if not stat.S_ISREG(found.st_mode):
            raise ModelError(f"the data of {tensor} is in no regular file", where=shown, do=BESIDE)
        return found.st_size


def _check(tensor: TensorProto, folder: _Folder) -> None:
    name = f"tensor {tensor.name}"
    fields = {e.key: e.value for e in tensor.external_data}
    location = fields.get("location", "")
    if not location:
        raise ModelError(f"{name} has external data but no location", where="external_data", do=AGAIN)
    wrong = fault(tensor)
    if wrong:
        raise ModelError(f"{name} {wrong}", where=location, do=AGAIN)
    size, wanted = folder.size(location, name), size_bytes(tensor)
    offset, length = _number(fields, "offset", name, location), _number(fields, "length", name, location)
    if length not in (0, wanted):
        what = f"{name} has {length} bytes of data, but its shape takes {wanted}"
        raise ModelError(what, where=location, do=AGAIN)
    if offset + wanted > size:
        do = f"the file has {size} bytes; copy it again"
        raise ModelError(f"{name} ends at byte {offset + wanted}", where=str(folder.path / location), do=do)


def _number(fields: dict[str, str], key: str, tensor: str, location: str) -> int:
    text = fields.get(key) or "0"
    if not (text.isascii() and text.isdecimal()) or len(text) > MAX_DIGITS:
        shown = text if len(text) <= 40 else f"{text[:40]}…"
        raise ModelError(f"the {key} of {tensor} is {shown!r}, not a number of bytes", where=location, do=AGAIN)
    return int(text)
