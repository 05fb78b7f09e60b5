"""A builder for ONNX graphs that names values as PyTorch's exporter does, and saving with sparse weights."""

import zlib
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

DType = Literal["float32", "float16", "bfloat16"]
Weights = Literal["random", "zero-external"]
Dim = int | str

ELEM_TYPES = {"float32": TensorProto.FLOAT, "float16": TensorProto.FLOAT16, "bfloat16": TensorProto.BFLOAT16}
# Rough minima of each type; exporters write torch.finfo(dtype).min into masks.
LOWEST = {"float32": -3.4028234663852886e38, "float16": -65504.0, "bfloat16": -3.3895313892515355e38}
PAGE_BYTES = 4096  # external tensors start on a page, so that a runtime can map them
EXTERNAL_BYTES = 1024  # smaller ones stay in the model file, as exporters do


class Builder:
    """Collects nodes and weights; names and weights depend on the scope alone, so the output repeats."""

    def __init__(self, name: str, dtype: DType, opset: int, weights: Weights = "random") -> None:
        if dtype not in ELEM_TYPES:
            raise ValueError(f"dtype {dtype!r}: must be one of {', '.join(ELEM_TYPES)}")
        if weights not in ("random", "zero-external"):
            raise ValueError(f"weights {weights!r}: must be random or zero-external")
        self.name = name
        self.dtype = dtype
        self.opset = opset
        self.weights = weights
        self.elem_type = ELEM_TYPES[dtype]
        self.nodes: list[onnx.NodeProto] = []
        self.initializers: list[TensorProto] = []
        self.inputs: list[onnx.ValueInfoProto] = []
        self.outputs: list[onnx.ValueInfoProto] = []
        self._path = ""
        self._count: Counter[str] = Counter()
        self._external_bytes = 0

    @contextmanager
    def scope(self, name: str) -> Iterator[None]:
        """Names inside get the prefix `/name`, as modules give them."""
        outer = self._path
        self._path = f"{outer}/{name}"
        yield
        self._path = outer

    def input(self, name: str, shape: Sequence[Dim], elem_type: int | None = None) -> str:
        self.inputs.append(helper.make_tensor_value_info(name, elem_type or self.elem_type, list(shape)))
        return name

    def output(self, value: str, name: str, shape: Sequence[Dim], elem_type: int | None = None) -> None:
        """Make `value` the graph output `name`: the node that writes it writes `name` instead."""
        for node in self.nodes:
            for names in (node.input, node.output):
                for k, old in enumerate(names):
                    if old == value:
                        names[k] = name
        self.outputs.append(helper.make_tensor_value_info(name, elem_type or self.elem_type, list(shape)))

    def nodes_of(self, op: str, inputs: Sequence[str], outputs: int, **attributes: Any) -> tuple[str, ...]:
        """The outputs of a new node."""
        path = f"{self._path}/{op}"
        count = self._count[path]
        self._count[path] += 1
        name = f"{path}_{count}" if count else path
        results = tuple(f"{name}_output_{k}" for k in range(outputs))
        self.nodes.append(helper.make_node(op, list(inputs), list(results), name=name, **attributes))
        return results

    def node(self, op: str, *inputs: str, **attributes: Any) -> str:
        """The only output of a new node."""
        return self.nodes_of(op, inputs, 1, **attributes)[0]

    def scalar(self, value: float) -> str:
        """A rank-0 Constant of the model's dtype."""
        return self._constant(np.array(value, helper.tensor_dtype_to_np_dtype(self.elem_type)))

    def filled(self, value: float, shape: Sequence[int]) -> str:
        """A Constant of the model's dtype with one value throughout."""
        return self._constant(np.full(shape, value, helper.tensor_dtype_to_np_dtype(self.elem_type)))

    def float32(self, value: float | Sequence[float]) -> str:
        """A Constant in float32 whatever the model's dtype, where exporters compute in float32."""
        return self._constant(np.array(value, np.float32))

    def int64(self, value: int | Sequence[int]) -> str:
        return self._constant(np.array(value, np.int64))

    def boolean(self, value: bool) -> str:
        return self._constant(np.array(value, np.bool_))

    def _constant(self, value: np.ndarray) -> str:
        return self.node("Constant", value=numpy_helper.from_array(value))

    def weight(self, name: str, shape: Sequence[int], mean: float = 0.0, std: float | None = None) -> str:
        """An initializer: normal around `mean`, by default with the deviation that keeps a product's size."""
        full_name = ".".join([*self._path.strip("/").split("/"), name]).lstrip(".")
        np_dtype = helper.tensor_dtype_to_np_dtype(self.elem_type)
        size_bytes = int(np.prod(shape, dtype=np.int64)) * np_dtype.itemsize
        if self.weights == "zero-external" and size_bytes >= EXTERNAL_BYTES:
            self.initializers.append(self._zero_external(full_name, shape, size_bytes))
            return full_name
        rng = np.random.default_rng(zlib.crc32(full_name.encode()))
        drawn = rng.standard_normal(tuple(shape), np.float32)
        values = drawn * np.float32(std or shape[0] ** -0.5) + np.float32(mean)
        self.initializers.append(numpy_helper.from_array(values.astype(np_dtype), full_name))
        return full_name

    def _zero_external(self, name: str, shape: Sequence[int], size_bytes: int) -> TensorProto:
        tensor = TensorProto(name=name, data_type=self.elem_type, dims=shape)
        tensor.data_location = TensorProto.EXTERNAL
        entries = {"location": "weights.bin", "offset": str(self._external_bytes), "length": str(size_bytes)}
        for key, value in entries.items():
            tensor.external_data.add(key=key, value=value)
        self._external_bytes += -(-size_bytes // PAGE_BYTES) * PAGE_BYTES
        return tensor

    def model(self) -> onnx.ModelProto:
        graph = helper.make_graph(self.nodes, self.name, self.inputs, self.outputs, self.initializers)
        opsets = [helper.make_opsetid("", self.opset)]
        return helper.make_model(
            graph,
            opset_imports=opsets,
            ir_version=helper.find_min_ir_version_for(opsets),
            producer_name="ascend-fuse models",
        )


def save(model: onnx.ModelProto, path: str | Path) -> Path:
    """Write `model` to `path`, checked; zero weights become a sparse file beside it, which takes no disk."""
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    end_bytes = 0
    weights_path = path.with_name(path.name + ".data")
    for tensor in model.graph.initializer:
        if tensor.data_location != TensorProto.EXTERNAL:
            continue
        entries = {entry.key: entry for entry in tensor.external_data}
        entries["location"].value = weights_path.name
        end_bytes = max(end_bytes, int(entries["offset"].value) + int(entries["length"].value))
    if end_bytes:
        with weights_path.open("wb") as file:
            file.truncate(end_bytes)
    path.write_bytes(model.SerializeToString(deterministic=True))
    onnx.checker.check_model(str(path), full_check=True)
    return path
