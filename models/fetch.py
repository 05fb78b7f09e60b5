"""Real models out of the packages that ship them, checked against the manifest's digests."""

import hashlib
import os
import subprocess
import sys
import tempfile
import tomllib
import zipfile
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).parent
CACHE = HERE / ".cache"


class FetchError(RuntimeError):
    """A download that failed, or a file that is not the one in the manifest."""


@dataclass(frozen=True, slots=True)
class Entry:
    """One model of the manifest."""

    package: str
    version: str
    file: str
    sha256: str
    licence: str
    nodes: int
    what: str


def read_manifest(path: Path = HERE / "manifest.toml") -> dict[str, Entry]:
    with path.open("rb") as file:
        return {name: Entry(**fields) for name, fields in tomllib.load(file).items()}


def fetch(name: str, to: Path | None = None) -> Path:
    """The model's path, from the cache or downloaded; with `to`, a copy in that directory instead."""
    manifest = read_manifest()
    if name not in manifest:
        raise FetchError(f"no model {name!r} in the manifest; there are {', '.join(manifest)}")
    entry = manifest[name]
    cached = CACHE / name / Path(entry.file).name
    if not cached.exists():
        _write(cached, _download(entry))
    payload = cached.read_bytes()
    _check(payload, entry, cached)
    if to is None:
        return cached
    _write(to / cached.name, payload)
    return to / cached.name


def _download(entry: Entry) -> bytes:
    wanted = f"{entry.package}=={entry.version}"
    with tempfile.TemporaryDirectory() as folder:
        # Wheels only: pip runs the build of a source package even to download it.
        options = ["--quiet", "--no-deps", "--only-binary", ":all:", "--dest", folder]
        command = [sys.executable, "-m", "pip", "download", *options, wanted]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        wheels = sorted(Path(folder).glob("*.whl"))
        if done.returncode or not wheels:
            raise FetchError(f"pip could not download {wanted}: {done.stderr.strip()[-500:]}")
        with zipfile.ZipFile(wheels[0]) as wheel:
            if entry.file not in wheel.namelist():
                raise FetchError(f"{wheels[0].name} has no file {entry.file}; correct models/manifest.toml")
            payload = wheel.read(entry.file)
    _check(payload, entry, Path(wheels[0].name))
    return payload


def _check(payload: bytes, entry: Entry, where: Path) -> None:
    found = hashlib.sha256(payload).hexdigest()
    if found != entry.sha256:
        raise FetchError(f"{where}: SHA-256 {found}, not {entry.sha256}; delete the file and fetch again")


def _write(path: Path, payload: bytes) -> None:
    """Put the file in place in one step, so that an interrupted run leaves no half of it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(f"{path.name}.{os.getpid()}.part")
    part.write_bytes(payload)
    part.replace(path)
