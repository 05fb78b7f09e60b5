"""Names that steer terminals and Markdown, are endless, or are no text at all; many inputs."""

from __future__ import annotations

from input_case import CHAIN, Case, X, edited, parse
from onnx import ModelProto, helper

ODD = {
    "newline": "a\nb\r\nc", "escape": "\x1b[2J\x1b]0;title\x07", "nul": "a\0b", "right to left": "\u202eevil\u2066",
    "html": "<script>alert(1)</script>&amp;", "markdown": "|`*_[x](http://x)_*`|\n# head\n", "markup": "[red]x[/red]",
    "blank": " ", "surrogate": "\ufffd\U0001f600", "line separator": "a\u2028b\x85c", "quotes": "\"'\\",
    "combining": "a" + "\u0301" * 50, "template": "{{7*7}}${IFS}$(id)%s{0}", "path": "../../etc/passwd",
    "long": "n" * 10**6, "comma": "a,b;c=d", "question": "?1",
}  # fmt: skip


def named(name: str) -> ModelProto:
    """Every name of a model that fuses, and of one node that does not."""
    model = parse(
        f"g ({X} x) => ({X} y, {X} z) {{ a = Relu (x) b = Tanh (a) y = Sigmoid (b) z = com.x.Do (a) }}",
        more=', "com.x" : 1',
    )
    model.graph.name = name
    values = {v: f"{v}{name}" for v in "xabyz"}
    for n in model.graph.node:
        n.name = f"{n.op_type}{name}"
        for field in (n.input, n.output):
            kept = [values[v] for v in field]
            del field[:]
            field.extend(kept)
    for v in (*model.graph.input, *model.graph.output):
        v.name = values[v.name]
    model.graph.input[0].type.tensor_type.shape.dim[0].dim_param = name
    model.graph.output[0].type.tensor_type.shape.dim[0].dim_param = name
    model.doc_string = model.producer_name = name
    model.metadata_props.add(key=name, value=name)
    return model


def bad_of(name: str) -> ModelProto:
    """A model that is refused for a value of that name."""
    model = parse()
    model.graph.node[1].input[0] = name
    return model


def operator_of(name: str) -> ModelProto:
    model = parse()
    model.graph.node[1].op_type = name
    return model


def domain_of(name: str) -> ModelProto:
    model = parse()
    model.graph.node[1].domain = name
    return model


def broken_text(field: bytes) -> bytes:
    """A name that is not UTF-8."""
    return parse(CHAIN.replace("Relu (x)", "Relu (x)")).SerializeToString().replace(b"Tanh", field)


def wide(count: int) -> ModelProto:
    model = parse()
    kind = model.graph.input[0].type
    for k in range(count):
        model.graph.input.add(name=f"i{k}").type.CopyFrom(kind)
    return model


CASES = (
    *(Case(f"names with {what}", lambda name=name: named(name), 0) for what, name in ODD.items()),
    *(Case(f"an error names {what}", lambda name=name: bad_of(name), 3, ("which nothing makes",)) for what, name in ODD.items()),
    *(Case(f"an operator of {what}", lambda name=name: operator_of(name), 0) for what, name in ODD.items()),
    *(Case(f"a domain of {what}", lambda name=name: domain_of(name), 0) for what, name in ODD.items()),
    Case("an operator that is no text", lambda: broken_text(b"T\xff\xfeh"), 3, ("cannot parse",)),
    Case("metadata twice", edited(lambda m: [m.metadata_props.add(key="k", value=v) for v in "ab"]), 0),
    Case("options of ours that are no JSON", edited(lambda m: m.metadata_props.add(key="ascend_fuse.options", value="{")), 0),
    Case("20,000 inputs", lambda: wide(20_000), 0),
    Case("node metadata", edited(lambda m: m.graph.node[0].metadata_props.add(key="k\n", value="\x1b")), 0),
    Case("a node input of its own name", edited(lambda m: m.graph.node[1].CopyFrom(helper.make_node("Tanh", ["a"], ["b"], "a"))), 0),
)  # fmt: skip
