"""Model-local functions: rings, missing ones, their opsets, and deep nesting."""

from __future__ import annotations

from input_case import Case, X, branch, edited, parse
from onnx import FunctionProto, GraphProto, ModelProto, NodeProto, helper

node = helper.make_node


def function(name: str, *nodes: NodeProto, opset: int = 17, domain: str = "local") -> FunctionProto:
    imports = [helper.make_opsetid("", opset), helper.make_opsetid("local", 1)]
    return helper.make_function(domain, name, ["i"], ["o"], list(nodes), imports if opset else imports[1:])


def calling(*functions: FunctionProto, call: str = "F", domain: str = "local") -> ModelProto:
    model = parse(f"g ({X} x) => ({X} y) {{ a = Relu (x) b = Tanh (a) y = Neg (b) }}", more=', "local" : 1')
    last = model.graph.node[2]
    last.op_type, last.domain = call, domain
    model.functions.extend(functions)
    return model


def to(name: str, domain: str = "local") -> NodeProto:
    return node(name, ["i"], ["o"], domain=domain)


def nested(depth: int) -> ModelProto:
    """Ifs within each other, one per level."""
    inner: GraphProto = branch(node("Neg", ["h"], ["r0"]), out="r0", name="b0")
    for k in range(1, depth):
        other = branch(node("Abs", ["h"], [f"e{k}"]), out=f"e{k}", name=f"o{k}")
        choose = node("If", ["c"], [f"r{k}"], then_branch=inner, else_branch=other)
        inner = branch(choose, out=f"r{k}", name=f"b{k}")
    model = parse(f"g ({X} x, bool c) => ({X} y) {{ h = Relu (x) y = Neg (h) }}")
    spare = branch(node("Neg", ["x"], ["spare"]), out="spare", name="e")
    model.graph.node[1].CopyFrom(node("If", ["c"], ["y"], then_branch=inner, else_branch=spare))
    return model


def chained(count: int) -> ModelProto:
    """Functions that call the next one: `count` deep."""
    links = [function(f"F{k}", to(f"F{k + 1}")) for k in range(count)]
    return calling(*links, function(f"F{count}", node("Neg", ["i"], ["o"])), call="F0")


def doubling(count: int) -> ModelProto:
    """Functions that call the next one twice: 2^count calls in all."""
    links = [function(f"F{k}", node(f"F{k + 1}", ["i"], ["t"], domain="local"),
                      node(f"F{k + 1}", ["t"], ["o"], domain="local")) for k in range(count)]  # fmt: skip
    return calling(*links, function(f"F{count}", node("Neg", ["i"], ["o"])), call="F0")


NEG = node("Neg", ["i"], ["o"])
RING = ("calls itself",)
CASES = (
    Case("a function", lambda: calling(function("F", NEG)), 0),
    Case("calls itself", lambda: calling(function("F", to("F"))), 3, (*RING, "local::F")),
    Case("a ring", lambda: calling(function("F", to("G")), function("G", to("H")), function("H", to("F"))), 3, RING),
    Case("an unused ring", lambda: calling(function("F", NEG), function("G", to("H")), function("H", to("G"))), 3, RING),
    Case("a ring through a branch", lambda: calling(function("F", node(
        "If", ["i"], ["o"], then_branch=branch(node("F", ["i"], ["r"], domain="local")), else_branch=branch(
            node("Neg", ["i"], ["r"]))))), 3, RING),
    Case("missing function", lambda: calling(), 0),
    Case("missing inner function", lambda: calling(function("F", to("G"))), 0),
    Case("function twice", lambda: calling(function("F", NEG), function("F", node("Abs", ["i"], ["o"]))), 3,
         ("function local::F", "twice")),
    Case("function without a name", lambda: calling(function("F", NEG), function("", NEG)), 0),
    Case("function of opset 6", lambda: calling(function("F", NEG, opset=6)), 0),
    Case("function of a newer opset", lambda: calling(function("F", NEG, opset=999)), 3, ("local::F", "opset 999")),
    Case("function of another opset", lambda: calling(function("F", NEG, opset=13)), 0),
    Case("function without an opset", lambda: calling(function("F", NEG, opset=0)), 3, ("local::F", "no default opset")),
    Case("function reads nothing", lambda: calling(function("F", node("Neg", ["ghost"], ["o"]))), 3,
         ("local::F", "reads ghost")),
    Case("function reads the graph", lambda: calling(function("F", node("Neg", ["x"], ["o"]))), 3, ("local::F", "reads x")),
    Case("function makes twice", lambda: calling(function("F", NEG, node("Abs", ["i"], ["o"]))), 3,
         ("local::F", "value o is made twice")),
    Case("function makes its input", lambda: calling(function("F", node("Neg", ["i"], ["i"]), NEG)), 3,
         ("value i is made twice",)),
    Case("function makes no output", lambda: calling(function("F", node("Neg", ["i"], ["z"]))), 3, ("local::F", "makes", "o")),
    Case("function passes its input on", lambda: calling(helper.make_function(
        "local", "F", ["i"], ["i"], [], [helper.make_opsetid("", 17)])), 0),
    Case("function with a cycle", lambda: calling(function("F", node("Add", ["i", "z"], ["o"]), node("Neg", ["o"], ["z"]))),
         3, ("cycle",)),
    Case("function of the default domain", lambda: calling(function("Swoosh", NEG, domain=""), call="Swoosh", domain=""), 0),
    Case("function named as an operator", lambda: calling(function("Neg", node("Abs", ["i"], ["o"]), domain=""), call="Neg",
                                                          domain=""), 0),
    Case("function named Tanh, fused around", lambda: calling(function("Tanh", node("Abs", ["i"], ["o"]), domain=""),
                                                              call="Neg", domain=""), 0),
    Case("function of our domain", lambda: calling(function("FusedElementwise_0", NEG, domain="ai.ascendfuse")), 0),
    Case("too many operands", edited(lambda m: m.graph.node[2].input.extend(["x"] * 5)), 3, ("Sigmoid takes 1 operand, not 6",)),
    Case("call with too many operands", lambda: (lambda m: (m.graph.node[2].input.extend(["x"] * 5), m)[1])(
        calling(function("F", NEG))), 0),
    Case("call with too few operands", lambda: (lambda m: (m.graph.node[2].ClearField("input"), m)[1])(
        calling(function("F", NEG))), 0),
    Case("a call of our domain without body", lambda: calling(call="FusedElementwise_1", domain="ai.ascendfuse"), 3,
         ("no body",)),
    Case("50 functions deep", lambda: chained(50), 0),
    Case("3000 functions deep", lambda: chained(3000), 3, ("3001 deep",)),
    Case("2^40 calls", lambda: doubling(40), 0),
    Case("10 Ifs deep", lambda: nested(10), 0),
    Case("24 Ifs deep", lambda: nested(24), 0),
    Case("30 Ifs deep", lambda: nested(30), 0),
    Case("32 Ifs deep", lambda: nested(32), 3, ("nested more than 100 levels",)),
)  # fmt: skip
