"""What is installed here, and what would run where: for `ascend-fuse doctor`. Nothing is changed."""

from __future__ import annotations

import json
import os
import platform
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

PACKAGES = ("ascend-fuse", "onnx", "numpy")
RUNTIMES = ("onnxruntime", "onnxruntime-cann", "onnxruntime-gpu", "onnxruntime-openvino")
HOMES = ("ASCEND_HOME_PATH", "ASCEND_TOOLKIT_HOME")
TIMEOUT_S = 60
# In a process of its own: a library that does not fit may end it, and a provider that is registered stays.
_PLUGIN = """
import json, sys
from ascend_fuse import runtime
import onnxruntime
path = runtime.get_library_path()
runtime.register()
devices = [d.ep_name for d in onnxruntime.get_ep_devices()]
print(json.dumps({"path": str(path), "registered": runtime.get_ep_name() in devices,
                  "providers": onnxruntime.get_available_providers()}))
"""
_ACL = "import ctypes; ctypes.CDLL('libascendcl.so')"


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that was looked for. `ok`: None where its absence is no fault. `do`: what mends it, if anything."""

    what: str
    found: str
    ok: bool | None = True
    do: str = ""


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """All findings, and where each kind of node would run (node, place)."""

    findings: tuple[Finding, ...]
    places: tuple[tuple[str, str], ...]

    @property
    def ok(self) -> bool:
        return all(f.ok is not False for f in self.findings)


def examine(environment: Mapping[str, str] | None = None) -> Diagnosis:
    """Look at packages, the plugin, CANN and its devices."""
    environment = os.environ if environment is None else environment
    findings = [Finding("Python", f"{platform.python_version()} on {platform.platform()}"), *_packages()]
    plugin, report = _plugin()
    cann = _cann(environment)
    devices = sorted(p.name for p in Path("/dev").glob("davinci[0-9]*"))
    told = ", ".join(devices) or "none"
    findings += [plugin, *cann, Finding("Ascend devices", told, True if devices else None)]
    ready = bool(devices) and all(f.ok for f in cann)
    return Diagnosis(tuple(findings), _places(bool(plugin.ok), ready, report))


def _packages() -> list[Finding]:
    found = [Finding(name, _version(name) or "not installed", bool(_version(name))) for name in PACKAGES]
    runtimes = [f"{name} {v}" for name in RUNTIMES if (v := _version(name))]
    if len(runtimes) > 1:
        do = "keep one of them: they write over each other's files"
        return [*found, Finding("ONNX Runtime", ", ".join(runtimes), False, do)]
    do = "" if runtimes else "pip install onnxruntime"
    return [*found, Finding("ONNX Runtime", ", ".join(runtimes) or "not installed", bool(runtimes), do)]


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return ""


def _apart(code: str) -> tuple[int, str, str]:
    """Exit code, output and last line of the errors of some Python in a process of its own."""
    try:
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=TIMEOUT_S)
    except subprocess.TimeoutExpired:
        return 1, "", f"no answer within {TIMEOUT_S} s"
    lines = done.stderr.strip().splitlines()
    return done.returncode, done.stdout, lines[-1] if lines else f"the process ended with {done.returncode}"


def _plugin() -> tuple[Finding, Mapping[str, object]]:
    code, output, error = _apart(_PLUGIN)
    if code:
        return Finding("plugin", error, False, "reinstall ascend-fuse, or ONNX Runtime 1.24 or newer"), {}
    report: Mapping[str, object] = json.loads(output.strip().splitlines()[-1])
    if not report["registered"]:
        return Finding(
            "plugin", f"{report['path']}: registered, but offers no device", False, "please report it"
        ), report
    return Finding("plugin", f"{report['path']}: loads and registers"), report


def _cann(environment: Mapping[str, str]) -> list[Finding]:
    home = next((environment[name] for name in HOMES if environment.get(name)), "")
    code, _, error = _apart(_ACL)
    do = "source CANN's set_env.sh, then try again"
    return [
        Finding("CANN toolkit", home or "not found (no ASCEND_HOME_PATH)", True if home else None, "" if home else do),
        Finding("libascendcl", "not loadable: " + error if code else "loads", None if code else True),
    ]


def _places(plugin: bool, device: bool, report: Mapping[str, object]) -> tuple[tuple[str, str], ...]:
    """Where each kind of node would run, in a session that `ascend_fuse.runtime.session` makes."""
    providers = report.get("providers")
    cann = isinstance(providers, list) and "CANNExecutionProvider" in providers
    fused = "as functions, on the providers of the session"
    if plugin:
        fused = "kernels, emulated on this CPU (backend emulator)"
        if device:
            fused += "; on the device with backend=acl and kernels built for it, which nobody has tried yet"
    others = "CANNExecutionProvider, if it is added, else CPU" if cann else "CPU"
    return (("fused nodes", fused), ("other nodes", others))
