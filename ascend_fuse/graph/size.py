"""Which numbers stand in for symbolic sizes while estimating; the model itself stays symbolic."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping

from onnx import GraphProto, TensorProto

from ascend_fuse.error import UsageError
from ascend_fuse.graph.dim import Dim, Sym

BATCH, SEQUENCE, OTHER = 1, 128, 64  # docs/design/0003: the documented defaults
_BATCH_NAMES = ("batch", "bs", "b", "n")
_SEQUENCE_NAMES = ("seq", "len", "time", "token", "past")
_INTEGERS = (TensorProto.INT64, TensorProto.INT32)
FRESH = "?"  # how a size begins that inference had to name itself


def default(name: str, used: Mapping[str, int] | None = None) -> int:
    """The size assumed for a symbol that the user gave no number: by its name, else by its use (`by_use`)."""
    low = name.lower()
    if low in _BATCH_NAMES or low.startswith("batch"):
        return BATCH
    if any(part in low for part in _SEQUENCE_NAMES):
        return SEQUENCE
    return (used or {}).get(name, OTHER)


def by_use(graph: GraphProto) -> dict[str, int]:
    """What the graph's inputs say of sizes whose names say nothing (PyTorch's `s10`).

    Axis 1 of integers with two axes (token ids, masks) is a sequence; what is only ever axis 0, of at least one input
    with further axes, is a batch.
    """
    uses: dict[str, set[tuple[int, int, bool]]] = {}  # axis, rank, integer
    for v in graph.input:
        tensor = v.type.tensor_type
        dims = tensor.shape.dim
        for axis, d in enumerate(dims):
            if d.dim_param:
                uses.setdefault(d.dim_param, set()).add((axis, len(dims), tensor.elem_type in _INTEGERS))
    found: dict[str, int] = {}
    for name, seen in uses.items():
        if (1, 2, True) in seen:
            found[name] = SEQUENCE
        elif all(axis == 0 for axis, _, _ in seen) and any(rank > 1 for _, rank, _ in seen):
            found[name] = BATCH
    return found


class Sizes(Mapping[str, int]):
    """Symbol → number: the user's, else the default, remembered for the report; `used` is what `by_use` found."""

    def __init__(self, given: Mapping[str, int], used: Mapping[str, int] | None = None) -> None:
        self.given = dict(given)
        self.used = dict(used or {})
        self.assumed: dict[str, int] = {}

    @property
    def declared(self) -> dict[str, int]:
        """The assumed sizes that a user can give instead: those that an input declares."""
        return {name: n for name, n in self.assumed.items() if not name.startswith(FRESH)}

    @property
    def undeclared(self) -> int:
        """How many sizes were assumed that no input declares; nobody can give them."""
        return len(self.assumed) - len(self.declared)

    def __getitem__(self, name: str) -> int:
        if name in self.given:
            return self.given[name]
        return self.assumed.setdefault(name, default(name, self.used))

    def __iter__(self):
        return iter(self.given | self.assumed)

    def __len__(self) -> int:
        return len(self.given | self.assumed)


def symbols(dims: Iterable[Dim]) -> frozenset[str]:
    """The names in some sizes."""
    return frozenset(s for d in dims if isinstance(d, Sym) for s in d.symbols)


def check_sizes(dims: Mapping[str, int], declared: Collection[str], where: str = "--dim") -> None:
    """Raises UsageError for a size that no input declares or that is not positive."""
    for name, size in dims.items():
        if name not in declared:
            known = ", ".join(sorted(declared)) or "none"
            raise UsageError(f"no size is called {name!r}", where=where, do=f"the model's are: {known}")
        if size < 1:
            raise UsageError(f"{name}={size}", where=where, do="give a positive number")
