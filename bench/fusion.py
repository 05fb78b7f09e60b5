"""Launches and bytes per block, and launches of whole models, of ascend-fuse beside other tools: `docs/fusion.md`.

    pip install -e '.[bench]'
    python bench/fusion.py [--blocks NAME ...] [--tools NAME ...] [--models DIR ...] [--timeout S] > docs/fusion.md

The page goes to standard output, progress to standard error.  Each tool has a process of its own; one that is not
installed, fails or takes too long shows as a gap.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

import onnx

from ascend_fuse.config import DEFAULT_SOC
from ascend_fuse.error import VerificationError
from bench.fusion_block import BLOCKS, LAYERS, Block
from bench.fusion_count import COARSE, EXACT, Count, compulsory_bytes, original
from bench.fusion_page import BlockRow, ModelRow, page
from bench.fusion_tool import EXPORTED, OURS, PEERS, Tool, installed


def marginal(block: Block, tools: Sequence[Tool], folder: Path) -> BlockRow:
    """What one layer more costs with each tool, and the least bytes that it could."""
    paths = [folder / f"{layers}.onnx" for layers in LAYERS]
    for path, layers in zip(paths, LAYERS, strict=True):
        onnx.save(block.build(layers), path)
    before = [original(path) for path in paths]
    found: dict[str, Count] = {}
    for tool in tools:
        few, more = (tool.count(*at, sized=True) for at in zip(paths, before, strict=True))
        found[tool.name] = more - few
    few_bytes, more_bytes = (compulsory_bytes(*at) for at in zip(paths, before, strict=True))
    through = 2 * next(iter(before[0].feed.values())).nbytes  # the block's own input and output, which layers share
    return BlockRow(block.name, block.aim, more_bytes - few_bytes + through, found)


def block_rows(names: Sequence[str], tools: Sequence[Tool]) -> Iterator[BlockRow]:
    """One row for each block whose builder is there."""
    for block in BLOCKS:
        if block.name in names and block.available():
            print(block.name, file=sys.stderr, flush=True)
            with tempfile.TemporaryDirectory() as folder:
                yield marginal(block, tools, Path(folder))


def model_rows(folders: Sequence[Path], tools: Sequence[Tool]) -> Iterator[ModelRow]:
    """One row for each different model under the folders that runs and launches something."""
    seen: set[bytes] = set()
    for path in sorted((p for folder in folders for p in folder.rglob("*.onnx")), key=lambda p: (p.stem, str(p))):
        content = path.read_bytes()
        if content in seen:
            continue
        seen.add(content)
        print(path.name, file=sys.stderr, flush=True)
        try:
            before = original(path)
        except VerificationError as error:
            print(f"{path.name} is left out: {error.what}", file=sys.stderr)
            continue
        found = {tool.name: tool.count(path, before) for tool in tools}
        if found[EXPORTED].launches:
            yield ModelRow(path.stem, found)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    names = tuple(block.name for block in BLOCKS)
    parser.add_argument("--blocks", nargs="*", choices=names, default=names, metavar="NAME")
    parser.add_argument("--tools", nargs="*", choices=PEERS, default=PEERS, metavar="NAME", help="beside ours")
    parser.add_argument("--models", nargs="+", type=Path, default=(), metavar="DIR", help="whole models to count")
    parser.add_argument("--timeout", type=float, default=300.0, metavar="S", help="seconds of one tool on one model")
    return parser


def main() -> None:
    options = _parser().parse_args()
    tools = [Tool(name, options.timeout) for name in (EXPORTED, OURS, *options.tools)]
    versions = {tool.name: installed(tool.name) for tool in tools}
    blocks = tuple(block_rows(options.blocks, tools))
    models = tuple(model_rows(options.models, tools))
    for tool in tools:
        tool.stop()
    sys.stdout.write(page(blocks, models, versions, (EXACT, COARSE), DEFAULT_SOC))


if __name__ == "__main__":
    main()
