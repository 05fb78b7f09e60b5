"""CPU seconds and memory as graphs grow, of ascend-fuse beside onnxsim, OnnxSlim and onnx-graphsurgeon's fold.

    pip install -e '.[bench]'
    python bench/scale.py [--nodes N ...] [--graphs NAME ...] [--tools NAME ...] [--runs N] [--timeout SECONDS]

Each run is a process of its own: the tool is imported and called once on a two-node graph, the model is loaded, then
one call is timed (CPU seconds of all threads of the process; median of the runs).  MiB is the peak of that process,
imports and the model included.  A tool that exceeds the time-out, or fails, is not tried on larger graphs of the kind.
"""

from __future__ import annotations

import argparse
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[1]
NODES = (1_000, 10_000, 100_000)
GRAPH_NAMES = ("chain", "wide", "shared", "literals", "bert")
OURS = "ascend-fuse"
TOOL_NAMES = (OURS, "onnxsim", "OnnxSlim", "graphsurgeon")


@dataclass(frozen=True, slots=True)
class Row:
    """One tool on one graph; `seconds` is None where it took too long or failed, which `note` says."""

    graph: str
    nodes: int
    tool: str
    seconds: float | None
    spread: float
    peak_mib: int
    result_nodes: int
    note: str = ""

    def line(self) -> str:
        head = f"{self.graph:7} {self.nodes:8,} {self.tool:13}"
        if self.seconds is None:
            return f"{head} {self.note}"
        us = self.seconds / self.nodes * 1e6
        tail = f"{us:8.1f} {self.peak_mib:7,} {self.result_nodes:9,}"
        return f"{head} {self.seconds:9.3f} {self.spread:7.3f} {tail}"


HEAD = f"{'graph':7} {'nodes':>8} {'tool':13} {'CPU s':>9} {'± s':>7} {'µs/node':>8} {'MiB':>7} {'nodes out':>9}"


def _child(arguments: Sequence[str], timeout: float | None = None) -> str:
    """The standard output of this file in another process."""
    command = [sys.executable, __file__, *arguments]
    done = subprocess.run(command, check=False, capture_output=True, text=True, timeout=timeout)
    if done.returncode:
        raise RuntimeError((done.stderr.strip().splitlines() or [f"exit {done.returncode}"])[-1][:120])
    return done.stdout.strip().splitlines()[-1]


def row(graph: str, path: Path, nodes: int, tool: str, runs: int, timeout: float) -> Row:
    """Median and half the spread of the runs."""
    found: list[tuple[float, int, int]] = []
    for _ in range(runs):
        try:
            seconds, peak, after = _child(["--one", tool, str(path)], timeout).split()
        except subprocess.TimeoutExpired:
            return Row(graph, nodes, tool, None, 0, 0, 0, f"{f'>{timeout:.0f}':>9}")
        except RuntimeError as error:
            return Row(graph, nodes, tool, None, 0, 0, 0, f"failed: {error}")
        found.append((float(seconds), int(peak), int(after)))
    times = [f[0] for f in found]
    spread = (max(times) - min(times)) / 2
    return Row(graph, nodes, tool, statistics.median(times), spread, max(f[1] for f in found), found[0][2])


def ratios(rows: Sequence[Row]) -> list[str]:
    """Ours against the fastest peer for each graph and size; ours per node at the largest against the smallest."""
    lines = [f"{'graph':7} {'nodes':>8} {'ours / fastest peer':>20} {'peer':13} {'µs/node against the smallest':>28}"]
    for r in rows:
        if r.tool != OURS or r.seconds is None:
            continue
        peers = [(p.seconds, p.tool) for p in rows if (p.graph, p.nodes) == (r.graph, r.nodes) and p.tool != OURS]
        done = sorted((seconds, tool) for seconds, tool in peers if seconds is not None)
        beside = f"{r.seconds / done[0][0]:20.3f} {done[0][1]:13}" if done else f"{'':20} {'none':13}"
        first = next(p for p in rows if (p.graph, p.tool) == (r.graph, OURS))
        grown = f"{r.seconds / r.nodes / ((first.seconds or 1) / first.nodes):28.2f}"
        lines.append(f"{r.graph:7} {r.nodes:8,} {beside} {grown}")
    return lines


def compare(options: argparse.Namespace) -> None:
    rows: list[Row] = []
    print(HEAD, flush=True)
    with tempfile.TemporaryDirectory() as folder:
        for graph in options.graphs:
            tools = list(options.tools)
            for count in sorted(options.nodes):
                path = Path(folder) / "graph.onnx"
                nodes = int(_child(["--build", graph, str(count), str(path)]))
                for tool in tuple(tools):
                    rows.append(row(graph, path, nodes, tool, options.runs, options.timeout))
                    print(rows[-1].line(), flush=True)
                    if rows[-1].seconds is None:
                        tools.remove(tool)
    print()
    print("\n".join(ratios(rows)))


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--nodes", type=int, nargs="+", default=NODES, metavar="N")
    parser.add_argument("--graphs", nargs="+", choices=GRAPH_NAMES, default=GRAPH_NAMES)
    parser.add_argument("--tools", nargs="+", choices=TOOL_NAMES, default=TOOL_NAMES)
    parser.add_argument("--runs", type=int, default=5, metavar="N")
    parser.add_argument("--timeout", type=float, default=120.0, metavar="SECONDS", help="of one run, by the clock")
    parser.add_argument("--one", nargs=2, help=argparse.SUPPRESS)
    parser.add_argument("--build", nargs=3, help=argparse.SUPPRESS)
    return parser


def main() -> None:
    sys.path.append(str(ROOT))  # behind what is installed
    options = _parser().parse_args()
    if options.one:
        from bench.scale_tool import measure

        print(*measure(options.one[0], Path(options.one[1])))
    elif options.build:
        from bench.scale_graph import GRAPHS

        name, count, path = options.build
        model = GRAPHS[name](int(count))
        Path(path).write_bytes(model.SerializeToString())
        print(len(model.graph.node))
    else:
        compare(options)


if __name__ == "__main__":
    main()
