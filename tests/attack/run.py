"""Tries many random models and keeps those that fail.

python -m tests.attack.run --seeds 0:10000 [--jobs 2] [--keep FOLDER]
"""

from __future__ import annotations

import argparse
import sys
import time
import traceback
from collections import Counter, defaultdict
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import onnx

from tests.attack.property import Seen, Violation, check, random_model

CHUNK = 25
NOTHING = Seen(0, 0, 0)


@dataclass(frozen=True, slots=True)
class Found:
    """One seed; `kind` is empty when all properties hold."""

    seed: int
    kind: str = ""
    detail: str = ""
    seen: Seen = NOTHING


def attempt(seed: int, keep: Path) -> Found:
    """Check one seed; the model of a failure is saved as SEED.onnx, what was raised beside it."""
    model = onnx.ModelProto()
    try:
        graph = random_model(seed)
        model = graph.model()
        onnx.checker.check_model(model, full_check=True)
        return Found(seed, seen=check(graph, model))
    except Exception as error:  # every failure is counted, whatever it is
        kind = error.kind if isinstance(error, Violation) else f"{type(error).__name__}: {_where(error)}"
        keep.mkdir(parents=True, exist_ok=True)
        (keep / f"{seed}.onnx").write_bytes(model.SerializeToString())
        (keep / f"{seed}.txt").write_text("".join(traceback.format_exception(error)), "utf-8")
        return Found(seed, kind, str(error).splitlines()[0][:160] if str(error) else "")


def _where(error: BaseException) -> str:
    """The innermost function of ours that raised it."""
    frames = [f for f in traceback.extract_tb(error.__traceback__) if "ascend_fuse" in f.filename]
    return f"{Path(frames[-1].filename).name}:{frames[-1].name}" if frames else "outside ascend_fuse"


def attempts(first: int, last: int, keep: Path) -> list[Found]:
    return [attempt(seed, keep) for seed in range(first, last)]


def search(first: int, last: int, jobs: int, keep: Path) -> list[Found]:
    """All seeds of [first, last), with progress on stderr."""
    found: list[Found] = []
    begin = time.monotonic()
    with ProcessPoolExecutor(jobs) as pool:
        parts = [(k, min(k + CHUNK, last)) for k in range(first, last, CHUNK)]
        for part in pool.map(attempts, *zip(*parts, strict=True), [keep] * len(parts)):
            found += part
            failed = sum(bool(f.kind) for f in found)
            rate = len(found) / (time.monotonic() - begin)
            print(f"\r{len(found):,} of {last - first:,}, {failed} failed, {rate:.1f}/s ", end="", file=sys.stderr)
    print(file=sys.stderr)
    return found


def summary(found: list[Found]) -> str:
    """Counts, then the failures by kind, the most frequent first, with a few seeds each."""
    fused, nested, cleanups = (
        sum(getattr(f.seen, name) for f in found) for name in ("fused", "nested", "cleanups")
    )  # fmt: skip
    lines = [f"{len(found):,} models, {fused:,} fused nodes, {nested:,} regions in bodies and functions, "
             f"{cleanups:,} cleanups, {sum(bool(f.kind) for f in found):,} failures"]  # fmt: skip
    seeds: defaultdict[str, list[Found]] = defaultdict(list)
    for f in found:
        if f.kind:
            seeds[f.kind].append(f)
    for kind, count in Counter({k: len(v) for k, v in seeds.items()}).most_common():
        some = ", ".join(str(f.seed) for f in seeds[kind][:5])
        lines.append(f"{count:6} {kind} (seeds {some})\n       {seeds[kind][0].detail}")
    return "\n".join(lines)


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--seeds", default="0:10000", metavar="FIRST:LAST", help="without LAST; default 0:10000")
    parser.add_argument("--jobs", type=int, default=2, metavar="N")
    parser.add_argument(
        "--keep", type=Path, default=Path("build/attack"), help="folder for failing models; default build/attack"
    )
    options = parser.parse_args()
    first, last = (int(part) for part in options.seeds.split(":"))
    found = search(first, last, options.jobs, options.keep)
    print(summary(found))
    return int(any(f.kind for f in found))


if __name__ == "__main__":
    sys.exit(main())
