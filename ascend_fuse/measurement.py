"""Measured times of a model's nodes, from a profile of ONNX Runtime or of msprof (docs/design/0006)."""

from __future__ import annotations

import csv
import io
import json
import math
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from typing import NoReturn, cast

from onnx import ModelProto, NodeProto

from ascend_fuse.error import UsageError
from ascend_fuse.graph.scope import scopes

KERNEL = "_kernel_time"  # how ONNX Runtime's events of a node end
NAME, DURATION = "op name", "task duration(us)"  # columns of msprof's op_summary
CPU = "CPUExecutionProvider"
SHOWN = 5  # names in one note


@dataclass(frozen=True, slots=True)
class Timed:
    """What a profile says of one name: the median, µs; `op` is its operator, "" where the profile has other names.

    `invented`: ONNX Runtime makes such a name for a node that has none.
    """

    us: float
    op: str = ""
    invented: bool = False


@dataclass(frozen=True, slots=True)
class Measurement:
    """The times of a profile by name, and who measured them; `on_chip`: they lack what the host takes to launch."""

    path: Path
    source: str
    times: Mapping[str, Timed]
    on_chip: bool = False

    def matched(self, model: ModelProto, launch_us: float) -> Matched:
        """The times of the model's nodes as launches, in all scopes. Raises UsageError when there are none."""
        nodes = [n for s in scopes(model) for n in s.graph.node]
        count = Counter(n.name for n in nodes if n.name)
        nameless = {n.op_type for n in nodes if not n.name and n.op_type != "Constant"}
        found: dict[str, float] = {}
        doubtful: list[str] = []
        for node in nodes:
            timed = self.times.get(node.name) if node.name else None
            if timed is None:
                continue
            if count[node.name] == 1 and _is_of(timed, node, nameless):
                found[node.name] = timed.us + (launch_us if self.on_chip else 0.0)
            elif node.name not in doubtful:
                doubtful.append(node.name)
        if not found:
            do = "profile this very model, with ONNX Runtime's optimisations off, which rename nodes"
            raise UsageError("none of its names is a node of the model", where=f"{self.path}", do=do)
        return Matched(found, self.source, tuple(self._notes(count, doubtful, bool(nameless))))

    def _notes(self, known: Mapping[str, int], doubtful: list[str], nameless: bool) -> Iterable[str]:
        if CPU in self.source:
            yield f"{self.path.name} was measured by {CPU}: neither its times nor gains from them are this chip's"
        if absent := [n for n, t in self.times.items() if n not in known and not (nameless and t.invented)]:
            yield f"{self.path.name} times {_listed(absent)}, which the model has not"
        if doubtful:
            yield f"{self.path.name} may mean other nodes by {_listed(doubtful)}: estimated"
        if nameless and any(t.invented for t in self.times.values()):
            yield "nodes without a name are estimated: a profile has invented names for them"


@dataclass(frozen=True, slots=True)
class Matched:
    """What a profile says of one model: µs of a launch by the node's name."""

    times: Mapping[str, float] = field(default_factory=dict[str, float])
    source: str = ""
    notes: tuple[str, ...] = ()


def _is_of(timed: Timed, node: NodeProto, nameless: set[str]) -> bool:
    """Whether the name is surely the node's: of its operator, and not made up for another one."""
    return timed.op in ("", node.op_type) and not (timed.invented and node.op_type in nameless)


def read_measurement(path: Path) -> Measurement:
    """The profile in the file. Raises UsageError with file and line, or what is wrong with it."""
    try:
        text = path.read_text("utf-8-sig")
    except (OSError, UnicodeDecodeError) as e:
        what = e.strerror if isinstance(e, OSError) else "it is no text"
        raise UsageError(f"cannot read the profile: {what}", where=str(path), do="name a readable file") from e
    return _events(path, text) if text.lstrip()[:1] in ("[", "{") else _summary(path, text)


def _events(path: Path, text: str) -> Measurement:
    """What ONNX Runtime's trace says: events of category Node, one a run."""
    try:
        document = json.loads(text)
    except (ValueError, RecursionError) as e:
        do = "end the session (or call end_profiling), which completes the file"
        raise UsageError(f"this is no JSON: {e}", where=str(path), do=do) from e
    events = cast("dict[str, object]", document).get("traceEvents") if isinstance(document, dict) else document
    runs: dict[str, list[float]] = {}
    about: dict[str, tuple[str, bool]] = {}
    providers: set[str] = set()
    for k, event in enumerate(cast("list[object]", events) if isinstance(events, list) else []):
        e = cast("dict[str, object]", event) if isinstance(event, dict) else {}
        name = e.get("name")
        if e.get("cat") != "Node" or not isinstance(name, str) or not name.endswith(KERNEL):
            continue
        if not (name := name.removesuffix(KERNEL)):
            continue
        args = cast("dict[str, object]", e["args"]) if isinstance(e.get("args"), dict) else {}
        op = str(args.get("op_name", ""))
        runs.setdefault(name, []).append(_us(e.get("dur"), f"{path}: event {k}"))
        about[name] = op, name == f"{op}_{args.get('node_index')}"
        providers.add(str(args.get("provider", "an unnamed provider")))
    if not runs:
        _empty(path, "no event of a node", "sess_options.enable_profiling of ONNX Runtime")
    times = {name: Timed(median(all_us), *about[name]) for name, all_us in runs.items()}
    return Measurement(path, f"ONNX Runtime, {', '.join(sorted(providers))}", times)


def _summary(path: Path, text: str) -> Measurement:
    """What msprof's op_summary says: one row a task; a task without a duration is left out."""
    rows = csv.reader(io.StringIO(text, newline=""))
    columns = [c.strip().lower() for c in next(rows, list[str]())]
    lacking = [name for name in (NAME, DURATION) if name not in columns]
    if lacking:
        do = 'give a trace of ONNX Runtime (.json), or an op_summary of msprof with "Op Name" and "Task Duration(us)"'
        raise UsageError(f"it has no column {lacking[0]!r}", where=f"{path}:1", do=do)
    at_name, at_us = columns.index(NAME), columns.index(DURATION)
    runs: dict[str, list[float]] = {}
    try:
        for row in rows:
            where = f"{path}:{rows.line_num}"
            if len(row) > max(at_name, at_us) and row[at_us].strip() not in ("", "N/A"):
                runs.setdefault(row[at_name].strip(), []).append(_us(row[at_us], where))
    except csv.Error as e:
        raise UsageError(f"this is no CSV: {e}", where=f"{path}:{rows.line_num}", do="export it again") from e
    if not runs:
        _empty(path, "no task with a duration", "msprof --output with op_summary")
    return Measurement(path, "msprof", {name: Timed(median(all_us)) for name, all_us in runs.items()}, on_chip=True)


def _us(value: object, where: str) -> float:
    try:
        us = float(cast("str", value))
    except (TypeError, ValueError):
        us = math.nan
    if isinstance(value, bool) or not math.isfinite(us) or us < 0:
        raise UsageError(f"{value!r} is no duration", where=where, do="give microseconds")
    return us


def _empty(path: Path, what: str, maker: str) -> NoReturn:
    raise UsageError(f"it has {what}", where=str(path), do=f"give what {maker} writes")


def _listed(names: list[str]) -> str:
    more = f" and {len(names) - SHOWN} more" if len(names) > SHOWN else ""
    return ", ".join(names[:SHOWN]) + more
