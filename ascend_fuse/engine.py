"""The C++ engine for planning: one chip, one set of bounds, programs with numbers for their symbols."""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path

from ascend_fuse import _engine
from ascend_fuse.config import BOUNDS
from ascend_fuse.error import InternalError, SocError, UsageError

DEFAULT_SOC = "Ascend910B3"
MAX_SIZE = 2**31 - 1  # of one axis: the engine and the kernels count with 64 bits, products of sizes included
Part = tuple[str, tuple[int, ...]]  # program text, sizes in the order of its symbols
Times = tuple[float | None, ...]  # measured µs of each part, None where it is estimated; () for none
Question = tuple[Part, tuple[Part, ...], Times]


def is_file(soc: str) -> bool:
    """Whether a chip is given by a CANN platform_config file."""
    return Path(soc).suffix.lower() == ".ini"


def check_size(name: str, size: int) -> None:
    """Raises UsageError for a size that no axis has."""
    if not isinstance(size, int) or isinstance(size, bool) or not 1 <= size <= MAX_SIZE:  # pyright: ignore[reportUnnecessaryIsInstance]
        raise UsageError(f"{name}={size} is no size", where="dims", do=f"give an integer from 1 to {MAX_SIZE}")


def load_soc(name: str) -> _engine.Soc:
    """The chip of that name in any case, or of a CANN platform_config file at that path. Raises SocError."""
    if is_file(name):
        path = Path(name)
        try:
            return _engine.soc_from_ini(path.read_text(encoding="utf-8", errors="replace"), path.stem)
        except OSError as e:
            raise SocError(f"cannot read the platform file: {e.strerror}", where=name, do="give a readable .ini") from e
        except ValueError as e:
            raise SocError(str(e), where=name, do="give a platform_config/*.ini of CANN") from e
    known = {n.casefold(): n for n in _engine.soc_names()}
    try:
        return _engine.soc(known.get(name.casefold(), name))
    except ValueError as e:
        raise SocError(str(e), where="soc", do="`ascend-fuse soc` lists the chips; a path ends in .ini") from e


def bounds(**values: float) -> _engine.Bounds:
    """The user's bounds. Raises UsageError on one out of range."""
    try:
        return _engine.Bounds(**values)  # pyright: ignore[reportArgumentType]
    except ValueError as e:
        raise UsageError(str(e), where="bounds", do="see `ascend-fuse optimize --help`") from e


@lru_cache(maxsize=4096)
def _parsed(text: str) -> _engine.Program:
    try:
        return _engine.Program(text)
    except ValueError as e:
        raise InternalError(f"the engine refuses our program: {e}\n{text}", do="please report it") from e


def is_product(part: Part) -> bool:
    """Whether the program is of the matmul family."""
    return part[0].startswith("matmul ")


def _bound(part: Part) -> tuple[_engine.Program, list[int]]:
    return _parsed(part[0]), list(part[1])


def _pairs(parts: Sequence[Part]) -> list[tuple[_engine.Program, list[int]]]:
    return [_bound(p) for p in parts]


# Asked of the engine, which knows; in the order in which a reader looks for them.
_DTYPES = {"f16": "float16", "bf16": "bfloat16", "f32": "float32", "i8": "int8", "i16": "int16", "i32": "int32"}
_SUM = "elementwise 1 [d0]\nx0: {0}[d0] = in\nv0: {0}[d0] = add x0, x0\nout v0"
_PRODUCT = """matmul 1 [d0 | d1]
x0: {0}[d0 | d2] = left
x1: {0}[d2 | d1] = right
v0: {1}[d0 | d1] = matmul x0, x1
out v0"""


def cube_dtypes(soc: _engine.Soc) -> tuple[str, ...]:
    """What the chip's cube multiplies, as ONNX calls the types."""
    texts = {_DTYPES[t]: _PRODUCT.format(t, "i32" if t == "i8" else t) for t in ("f16", "bf16", "f32", "i8")}
    return _run(texts, [16, 16, 16], soc)


def vector_dtypes(soc: _engine.Soc) -> tuple[str, ...]:
    """What the chip's vector unit adds, as ONNX calls the types."""
    return _run({name: _SUM.format(t) for t, name in _DTYPES.items() if t != "i8"}, [16], soc)


def _run(texts: Mapping[str, str], sizes: list[int], soc: _engine.Soc) -> tuple[str, ...]:
    return tuple(name for name, text in texts.items() if _engine.unsupported(_parsed(text), sizes, soc) is None)


@contextmanager
def _known_sizes() -> Generator[None]:
    """Raises UsageError for sizes that the engine does not count."""
    try:
        yield
    except ValueError as e:
        if "2^48" not in str(e):
            raise
        raise UsageError(f"the sizes are too large: {e}", where="dims", do="give smaller ones") from e


@dataclass(slots=True)
class Engine:
    """Verdicts and estimates, remembered by program and sizes."""

    soc: _engine.Soc
    limits: _engine.Bounds
    _verdicts: dict[Question, _engine.Verdict] = field(default_factory=dict[Question, _engine.Verdict])
    _products: dict[Question, _engine.GemmVerdict] = field(default_factory=dict[Question, _engine.GemmVerdict])
    _unsupported: dict[Part, tuple[str, str] | None] = field(default_factory=dict[Part, "tuple[str, str] | None"])
    _costs: dict[Part, _engine.Cost | _engine.GemmCost | None] = field(
        default_factory=dict[Part, "_engine.Cost | _engine.GemmCost | None"]
    )

    def judge(self, fused: Part, parts: Sequence[Part], measured: Times = ()) -> _engine.Verdict:
        """Whether one launch of `fused` beats a launch for each of `parts`.

        Raises UsageError when the sizes exceed what the engine counts.
        """
        key = (fused, tuple(parts), measured)
        if key not in self._verdicts:
            with _known_sizes():
                self._verdicts[key] = _engine.judge(*_bound(fused), _pairs(parts), self.soc, self.limits, measured)
        return self._verdicts[key]

    def judge_product(self, fused: Part, parts: Sequence[Part], measured: Times = ()) -> _engine.GemmVerdict:
        """The same for a matmul program; one of `parts` is the product alone."""
        key = (fused, tuple(parts), measured)
        if key not in self._products:
            with _known_sizes():
                verdict = _engine.judge_gemm(*_bound(fused), _pairs(parts), self.soc, self.limits, measured)
            self._products[key] = verdict
        return self._products[key]

    def unsupported(self, part: Part) -> tuple[str, str] | None:
        """Why no kernel of the chip runs the program, whatever it costs: reason code and sentence.

        None as well for sizes that exceed what the engine counts: a verdict says so.
        """
        if part not in self._unsupported:
            try:
                self._unsupported[part] = _engine.unsupported(*_bound(part), self.soc)
            except ValueError:
                self._unsupported[part] = None
        return self._unsupported[part]

    def price(self, part: Part) -> tuple[_engine.Tiling, _engine.Cost] | tuple[_engine.GemmTiling, _engine.GemmCost]:
        """One launch as a verdict takes it for what is fused."""
        if is_product(part):
            return _engine.price_gemm(*_bound(part), self.soc, self.limits)
        return _engine.price(*_bound(part), self.soc, self.limits)

    def cost(self, part: Part) -> _engine.Cost | _engine.GemmCost | None:
        """The estimate of one launch; None when the chip cannot run it (another kernel has to)."""
        if part not in self._costs:
            try:
                self._costs[part] = self._estimate(part)
            except ValueError:
                self._costs[part] = None
        return self._costs[part]

    def _estimate(self, part: Part) -> _engine.Cost | _engine.GemmCost:
        b = self.limits  # a launch alone is a library's kernel: what the user reserves is kept from fused nodes only
        free = _engine.Bounds(launch_us=b.launch_us, min_gain=b.min_gain, min_gain_us=b.min_gain_us, streams=b.streams)
        if not is_product(part):
            return _engine.estimate(*_bound(part), self.soc, free)
        return _engine.solve_gemm(*_bound(part), self.soc, free)[1]

    def opaque_us(self, moved: int, macs: int, dtype: str) -> float:
        """The roofline of a node with a kernel of its own, µs: `moved` bytes, `macs` multiply-adds."""
        return _engine.opaque_us(
            moved, macs, dtype if dtype in ("f16", "bf16", "f32", "i8") else "f32", self.soc, self.limits
        )

    def figures(self) -> Mapping[str, float]:
        """The bounds, for the report."""
        return {name: getattr(self.limits, name) for name in BOUNDS}
