"""External data: where it may lie, how long it must be. `w.bin` (64 bytes) lies beside the model, as do some links."""

from __future__ import annotations

from input_case import Case, X, branch, branching, parse
from onnx import ModelProto, TensorProto, helper

ADD = f"g ({X} x) => ({X} y) {{ a = Add (x, w) b = Tanh (a) y = Sigmoid (b) }}"


def external(**fields: str | None) -> TensorProto:
    given = {"location": "w.bin", "offset": "0", "length": "32", **fields}
    tensor = TensorProto(name="w", data_type=TensorProto.FLOAT, dims=[8], data_location=TensorProto.EXTERNAL)
    for key, value in given.items():
        if value is not None:
            tensor.external_data.add(key=key, value=value)
    return tensor


def beside(dims: tuple[int, ...] = (8,), kind: int = TensorProto.FLOAT, **fields: str | None) -> ModelProto:
    model = parse(ADD)
    tensor = external(**fields)
    del tensor.dims[:]
    tensor.dims.extend(dims)
    tensor.data_type = kind
    model.graph.initializer.append(tensor)
    return model


def in_a_constant(**fields: str | None) -> ModelProto:
    model = parse(f"g ({X} x) => ({X} y) {{ w = Constant () a = Add (x, w) y = Sigmoid (a) }}")
    model.graph.node[0].attribute.append(helper.make_attribute("value", external(**fields)))
    return model


def in_a_function(**fields: str | None) -> ModelProto:
    model = parse(f"g ({X} x) => ({X} y) {{ y = local.F (x) }}", more=', "local" : 1')
    held = helper.make_node("Constant", [], ["w"], value=external(**fields))
    model.functions.append(helper.make_function("local", "F", ["i"], ["o"], [
        held, helper.make_node("Add", ["i", "w"], ["o"])], [helper.make_opsetid("", 17)]))  # fmt: skip
    return model


def in_a_branch(**fields: str | None) -> ModelProto:
    inner = branch(helper.make_node("Add", ["h", "w"], ["r"]))
    inner.initializer.append(external(**fields))
    return branching(inner)


OUTSIDE = ("outside the model's folder", "tensor w")
CASES = (
    Case("whole", beside, 0),
    Case("no length", lambda: beside(length=None), 0),
    Case("no offset", lambda: beside(offset=None), 0),
    Case("empty offset", lambda: beside(offset=""), 0),
    Case("at the end", lambda: beside(offset="32"), 0),
    Case("unknown key", lambda: beside(colour="red"), 0),
    Case("checksum", lambda: beside(checksum="0" * 40), 0),
    Case("in a folder", lambda: beside(location="sub/v.bin"), 0),
    Case("through a folder and back", lambda: beside(location="sub/../w.bin"), 0),
    Case("link within the folder", lambda: beside(location="link.bin"), 0),
    Case("up", lambda: beside(location="../secret"), 3, OUTSIDE),
    Case("far up", lambda: beside(location="../../../../../../../../etc/passwd"), 3, OUTSIDE),
    Case("absolute", lambda: beside(location="/etc/passwd"), 3, OUTSIDE),
    Case("empty location", lambda: beside(location=""), 3, ("tensor w", "location")),
    Case("no location", lambda: beside(location=None), 3, ("tensor w", "location")),
    Case("location is the folder", lambda: beside(location="."), 3, ("tensor w",)),
    Case("location is a folder", lambda: beside(location="sub"), 3, ("tensor w", "no regular file")),
    Case("location is a pipe", lambda: beside(location="pipe"), 3, ("tensor w", "no regular file")),
    Case("location with NUL", lambda: beside(location="w\0.bin"), 3, ("tensor w",)),
    Case("very long location", lambda: beside(location="w" * 10**5), 3, ("tensor w",)),
    Case("location is the model", lambda: beside(location="bad.onnx"), 0),
    Case("missing", lambda: beside(location="gone.bin"), 3, ("tensor w", "missing", "beside the model")),
    Case("dangling link", lambda: beside(location="dangling.bin"), 3, ("tensor w", "missing")),
    Case("too short", lambda: beside(offset="48"), 3, ("tensor w", "64 bytes")),
    Case("too short without length", lambda: beside(offset="48", length=None), 3, ("tensor w", "64 bytes")),
    Case("length of less", lambda: beside(length="16"), 3, ("tensor w", "16", "32")),
    Case("length of more", lambda: beside(length="64"), 3, ("tensor w", "64", "32")),
    Case("length 0", lambda: beside(length="0"), 0),
    Case("offset is text", lambda: beside(offset="abc"), 3, ("tensor w", "offset", "abc")),
    Case("offset is hex", lambda: beside(offset="0x10"), 3, ("tensor w", "offset")),
    Case("offset is a fraction", lambda: beside(offset="1.5"), 3, ("tensor w", "offset")),
    Case("offset in other digits", lambda: beside(offset="\u0663"), 3, ("tensor w", "offset")),
    Case("offset with blanks", lambda: beside(offset=" 1_6 "), 3, ("tensor w", "offset")),
    Case("length is text", lambda: beside(length="all"), 3, ("tensor w", "length", "all")),
    Case("negative offset", lambda: beside(offset="-8"), 3, ("tensor w", "offset", "-8")),
    Case("negative length", lambda: beside(length="-1"), 3, ("tensor w", "length")),
    Case("huge offset", lambda: beside(offset=str(10**30)), 3, ("tensor w",)),
    Case("endless offset", lambda: beside(offset="9" * 10**5), 3, ("tensor w", "offset")),
    Case("negative size", lambda: beside(dims=(-8,)), 3, ("tensor w", "-8")),
    Case("strings", lambda: beside(kind=TensorProto.STRING), 3, ("tensor w", "string")),
    Case("a key twice", lambda: (lambda m: (m.graph.initializer[0].external_data.add(key="offset", value="8"), m)[1])(
        beside()), 0),
    Case("in a Constant", in_a_constant, 0),
    Case("in a Constant, outside", lambda: in_a_constant(location="../secret"), 3, OUTSIDE),
    Case("in a function, outside", lambda: in_a_function(location="../secret"), 3, OUTSIDE),
    Case("in a branch, outside", lambda: in_a_branch(location="../secret"), 3, OUTSIDE),
    Case("in a branch", in_a_branch, 0),
    Case("linked out of the folder", lambda: beside(location="out.bin"), 3, OUTSIDE),
    Case("folder linked out", lambda: beside(location="outside/v.bin"), 3, OUTSIDE),
)  # fmt: skip
