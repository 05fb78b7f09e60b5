"""Whether every name in a model is text: protobuf hands over what is no UTF-8 as bytes, which nothing can look up."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from onnx import AttributeProto, FunctionProto, GraphProto, ModelProto, NodeProto, TensorProto, ValueInfoProto

from ascend_fuse.graph.view import subgraphs


def has_only_text(model: ModelProto) -> bool:
    """Whether names, sizes, domains and documentation are text; what tensors hold is not looked at."""
    return all(isinstance(s, str) for s in _of_model(model))


def _of_model(model: ModelProto) -> Iterator[object]:
    yield from (model.producer_name, model.producer_version, model.domain, model.doc_string)
    for p in model.metadata_props:
        yield from (p.key, p.value)
    for o in model.opset_import:
        yield o.domain
    yield from _of_graph(model.graph)
    for f in model.functions:
        yield from (f.name, f.domain, f.overload, f.doc_string, *f.input, *f.output, *f.attribute)
        yield from _of_nodes(f.node)
        yield from _of_rest(f)


def _of_graph(graph: GraphProto) -> Iterator[object]:
    yield from (graph.name, graph.doc_string)
    for values in (graph.input, graph.output):
        yield from _of_values(values)
    for t in graph.initializer:
        yield from _of_tensor(t)
    for s in graph.sparse_initializer:
        yield from _of_tensor(s.values)
    yield from _of_nodes(graph.node)
    yield from _of_rest(graph)


def _of_rest(graph: GraphProto | FunctionProto) -> Iterator[object]:
    yield from _of_values(graph.value_info)
    for p in graph.metadata_props:
        yield from (p.key, p.value)


def _of_nodes(nodes: Iterable[NodeProto]) -> Iterator[object]:
    for n in nodes:
        yield from (n.op_type, n.domain, n.name, n.doc_string, n.overload)
        yield from n.input
        yield from n.output
        for p in n.metadata_props:
            yield from (p.key, p.value)
        for a in n.attribute:
            yield a.name
            yield a.ref_attr_name
            if a.type == AttributeProto.TENSOR:
                yield from _of_tensor(a.t)
        for _, inner in subgraphs(n):
            yield from _of_graph(inner)


def _of_tensor(tensor: TensorProto) -> Iterator[object]:
    yield tensor.name
    for e in tensor.external_data:
        yield from (e.key, e.value)


def _of_values(values: Iterable[ValueInfoProto]) -> Iterator[object]:
    for v in values:
        yield v.name
        for d in v.type.tensor_type.shape.dim:
            yield d.dim_param
