"""What each node costs on its own: programs by the engine, others by the roofline of bytes and products."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from ascend_fuse.engine import Engine, Part
from ascend_fuse.graph.dim import Dim, evaluate, product
from ascend_fuse.graph.type import DTYPE_BYTES
from ascend_fuse.graph.view import Node, View, subgraphs
from ascend_fuse.plan import Totals
from ascend_fuse.program.program import Program
from ascend_fuse.program.text import print_program
from ascend_fuse.region.build import Built

COUNTED = 1 << 60  # elements: absurd declared shapes stay numbers that the engine's floats can hold


class Estimate:
    """Costs of single nodes of one view."""

    def __init__(
        self, view: View, engine: Engine, sizes: Mapping[str, int], measured: Mapping[str, float] | None = None
    ) -> None:
        self.view = view
        self.engine = engine
        self.sizes = sizes
        self._measured = measured or {}
        self._parts: dict[int, tuple[Program, Part]] = {}  # by the identity of a program that is held here

    def part(self, built: Built) -> Part:
        """The program's text with a number for each of its symbols; many regions share one program."""
        program = built.program
        known = self._parts.get(id(program))
        if known is None:
            numbers = tuple(max(evaluate(built.sizes[s], self.sizes), 1) for s in program.symbols)
            known = self._parts[id(program)] = program, (print_program(program), numbers)
        return known[1]

    def _count(self, dims: Sequence[Dim]) -> int:
        return min(max(evaluate(product(dims), self.sizes), 0), COUNTED)

    def tensor_bytes(self, name: str) -> int:
        """Bytes of a tensor, 0 when its shape is not known."""
        kind = self.view.type_of(name)
        return 0 if kind.shape is None else self._count(kind.shape) * DTYPE_BYTES.get(kind.dtype, 4)

    def macs(self, node: Node) -> int:
        """Multiply-adds of a product or convolution, 0 for other nodes."""
        if node.op not in ("MatMul", "Gemm", "Conv") or node.domain:
            return 0
        out = self.view.type_of(node.outputs[0]).shape
        left, right = (self.view.type_of(n).shape for n in node.inputs[:2])
        if out is None or left is None or right is None or not left:
            return 0
        if node.op == "Conv":
            return self._count(out) * self._count(right[1:])
        depth = left[0] if node.op == "Gemm" and node.integer("transA", 0) else left[-1]
        return self._count(out) * self._count((depth,))

    def measured_us(self, node: Node) -> float | None:
        """What the profile says of the node's launch; of one with bodies nothing: they are counted by themselves."""
        return None if any(True for _ in subgraphs(node.proto)) else self._measured.get(node.proto.name)

    def own(self, node: Node, cost: Totals) -> Totals:
        """The cost of the node's own launch, its time as measured where it was."""
        us = self.measured_us(node) if cost.launches == 1 else None
        return cost if us is None else replace(cost, time_us=us, measured=1, measured_us=us)

    def opaque(self, node: Node, launches: int) -> Totals:
        """A node with a kernel of its own; one with subgraphs counts their launches without their bytes."""
        if launches > 1:
            return Totals(launches, 0, launches * self.engine.limits.launch_us)
        names = dict.fromkeys(n for n in (*node.inputs, *node.outputs) if n)
        moved = sum(self.tensor_bytes(n) for n in names)
        dtype = self.view.type_of(node.outputs[0]).dtype
        return Totals(1, moved, self.engine.opaque_us(moved, self.macs(node), dtype))

    def program(self, built: Built) -> Totals | None:
        """One launch of the program; None when the chip cannot run it."""
        cost = self.engine.cost(self.part(built))
        return None if cost is None else Totals(1, int(cost.hbm_bytes), cost.total_us)
