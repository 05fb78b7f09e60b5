"""Values: made twice, never, in a ring; unsorted nodes; inputs, outputs and initializers given twice."""

from __future__ import annotations

from input_case import CHAIN, Case, X, branch, branching, edited, parse, text
from onnx import GraphProto, ModelProto, TensorProto, helper

node = helper.make_node
info = helper.make_tensor_value_info


def shuffled(model: ModelProto) -> None:
    turn(model.graph.node)


def turn(nodes: list) -> None:
    kept = [helper.make_node("Identity", [], []) for _ in nodes]
    for k, n in zip(reversed(kept), nodes, strict=True):
        k.CopyFrom(n)
    del nodes[:]
    nodes.extend(kept)


def unsorted_branch() -> ModelProto:
    return branching(branch(node("Neg", ["p"], ["r"]), node("Abs", ["h"], ["p"])))


def unsorted_function() -> ModelProto:
    model = parse(f"g ({X} x) => ({X} y) {{ y = local.F (x) }}", more=', "local" : 1')
    model.functions.append(helper.make_function("local", "F", ["i"], ["o"], [
        node("Neg", ["p"], ["o"]), node("Abs", ["i"], ["p"])], [helper.make_opsetid("", 17)]))  # fmt: skip
    return model


def loop(body: GraphProto) -> ModelProto:
    model = parse(f'g ({X} x) => ({X} y) {{ n = Constant <value_int = 2> () h = Relu (x) y = Loop (n, "", h) }}')
    model.graph.node[2].attribute.append(helper.make_attribute("body", body))
    return model


def loop_body(*nodes: object, carried: str = "s_out") -> GraphProto:
    ins = [info("k", TensorProto.INT64, []), info("go", TensorProto.BOOL, []), info("s", 1, [4, 8])]
    return helper.make_graph(list(nodes), "body", ins, [info("go2", TensorProto.BOOL, []), info(carried, 1, [4, 8])])


def same_initializer(model: ModelProto) -> None:
    for value in (1.0, 2.0):
        model.graph.initializer.append(helper.make_tensor("w", 1, [1], [value]))


def made_and_held(model: ModelProto) -> None:
    model.graph.initializer.append(helper.make_tensor("a", 1, [4, 8], [1.0] * 32))


GO = node("Identity", ["go"], ["go2"])
CASES = (
    Case("duplicate node names", edited(lambda m: [setattr(n, "name", "same") for n in m.graph.node]), 0),
    Case("unsorted", edited(shuffled), 0, ("sorted",)),
    Case("unsorted branch", unsorted_branch, 0, ("sorted",)),
    Case("unsorted function", unsorted_function, 0, ("sorted",)),
    Case("made twice", text(f"g ({X} x) => ({X} y) {{ a = Relu (x) a = Tanh (x) y = Neg (a) }}"), 3,
         ("value a is made twice", "Tanh")),
    Case("made twice by one node", text(f"g ({X} x) => ({X} y) {{ a, a = Dropout (x) y = Neg (a) }}"), 3,
         ("value a is made twice",)),
    Case("input made again", text(f"g ({X} x) => ({X} y) {{ x = Relu (x) y = Neg (x) }}"), 3, ("value x is made twice",)),
    Case("initializer made again", edited(made_and_held), 3, ("value a is made twice",)),
    Case("made twice in a branch", lambda: branching(branch(node("Neg", ["h"], ["r"]), node("Abs", ["h"], ["r"]))), 3,
         ("value r is made twice",)),
    Case("made twice in a loop", lambda: loop(loop_body(GO, node("Neg", ["s"], ["s_out"]), node("Abs", ["s"], ["s_out"]))),
         3, ("value s_out is made twice",)),
    Case("loop input made again", lambda: loop(loop_body(GO, node("Neg", ["s"], ["s"]), carried="s")), 3,
         ("value s is made twice",)),
    Case("loop reads nothing", lambda: loop(loop_body(GO, node("Neg", ["ghost"], ["s_out"]))), 3,
         ("reads ghost, which nothing makes",)),
    Case("a loop is fine", lambda: loop(loop_body(GO, node("Neg", ["s"], ["s_out"]))), 0),
    Case("shadows an outer value", lambda: branching(branch(node("Neg", ["x"], ["h"]), node("Abs", ["h"], ["r"]))), 3,
         ("value h", "shadows")),
    Case("shadows a later outer value", lambda: branching(branch(node("Neg", ["x"], ["d"]), node("Abs", ["d"], ["r"]))), 0),
    Case("shadows an input", lambda: branching(branch(node("Neg", ["h"], ["x"]), node("Abs", ["x"], ["r"]))), 3,
         ("value x", "shadows")),
    Case("shadows its own output", lambda: branching(branch(node("Neg", ["h"], ["y"]), out="y")), 0),
    Case("both branches use one name", lambda: branching(
        branch(node("Neg", ["h"], ["r"])), branch(node("Abs", ["h"], ["r"]), name="e")), 0),
    Case("branch reads nothing", lambda: branching(branch(node("Neg", ["ghost"], ["r"]))), 3,
         ("reads ghost, which nothing makes",)),
    Case("branch reads the other", lambda: branching(branch(node("Neg", ["spare"], ["r"]))), 3,
         ("reads spare, which nothing makes",)),
    Case("branch reads a later value", lambda: branching(branch(node("Neg", ["d"], ["r"]))), 0, ("sorted",)),
    Case("branch reads its node", lambda: branching(branch(node("Neg", ["y"], ["r"]))), 3, ("cycle",)),
    Case("branch output is never made", lambda: branching(branch(node("Neg", ["h"], ["q"]))), 3, ("nothing makes", "r")),
    Case("branch output is an outer value", lambda: branching(branch(out="h")), 0),
    Case("branch inside a branch reads out", lambda: branching(branch(helper.make_node(
        "If", ["c"], ["r"], then_branch=branch(node("Neg", ["h"], ["r2"]), out="r2"),
        else_branch=branch(node("Neg", ["h"], ["r3"]), out="r3")))), 0),
    Case("branch inside a branch reads nothing", lambda: branching(branch(helper.make_node(
        "If", ["c"], ["r"], then_branch=branch(node("Neg", ["ghost"], ["r2"]), out="r2"),
        else_branch=branch(node("Neg", ["h"], ["r3"]), out="r3")))), 3, ("reads ghost, which nothing makes",)),
    Case("cycle", text(f"g ({X} x) => ({X} y) {{ a = Add (x, b) b = Tanh (a) y = Neg (b) }}"), 3, ("cycle",)),
    Case("reads itself", text(f"g ({X} x) => ({X} y) {{ a = Add (x, a) y = Neg (a) }}"), 3, ("cycle",)),
    Case("cycle in a branch", lambda: branching(branch(node("Add", ["h", "q"], ["p"]), node("Neg", ["p"], ["q"]),
                                                       node("Abs", ["q"], ["r"]))), 3, ("cycle",)),
    Case("reads nothing", text(f"g ({X} x) => ({X} y) {{ a = Add (x, ghost) y = Neg (a) }}"), 3, ("reads ghost",)),
    Case("output never made", text(f"g ({X} x) => ({X} y, {X} z) {{ y = Neg (x) }}"), 3, ("nothing makes output z",)),
    Case("input twice", text(f"g ({X} x, {X} x) => ({X} y) {{ a = Relu (x) y = Neg (a) }}"), 3, ("input x", "twice")),
    Case("output twice", text(f"g ({X} x) => ({X} y, {X} y) {{ a = Relu (x) y = Neg (a) }}"), 0),
    Case("initializer twice", edited(same_initializer, f"g ({X} x) => ({X} y) {{ a = Add (x, w) y = Neg (a) }}"), 0,
         ("initializer w is given twice",)),
    Case("unused initializer twice", edited(same_initializer), 0, ("initializer w is given twice",)),
    Case("no graph", lambda: ModelProto(ir_version=8), 3, ("no model",)),
    Case("empty graph", text("g () => () { }"), 0),
    Case("empty graph name", edited(lambda m: m.graph.ClearField("name")), 0),
    Case("no nodes", text(f"g ({X} x) => () {{ }}"), 0),
    Case("no outputs", text(f"g ({X} x) => () {{ a = Relu (x) b = Tanh (a) }}"), 0),
    Case("output is an input", text(f"g ({X} x) => ({X} x) {{ }}"), 0),
    Case("output is an input too", text(f"g ({X} x) => ({X} x, {X} y) {{ a = Relu (x) y = Neg (a) }}"), 0),
    Case("output is an initializer", text(f"g ({X} x) => ({X} y, float[2] w) <float[2] w = {{1, 2}}> "
                                          "{ a = Relu (x) y = Neg (a) }"), 0),
    Case("an unnamed input", edited(lambda m: m.graph.input.add()), 3, ("input", "no name")),
    Case("an unnamed output", edited(lambda m: m.graph.output.add()), 3, ("output", "no name")),
    Case("an unnamed initializer", edited(lambda m: m.graph.initializer.add(data_type=1)), 0, ("without a name",)),
    Case("value_info of nothing", edited(lambda m: m.graph.value_info.append(info("ghost", 1, [3]))), 0),
    Case("value_info twice", edited(lambda m: m.graph.value_info.extend([info("a", 1, [4, 8]), info("a", 1, [4, 8])])), 0),
    Case("value_info contradicts", edited(lambda m: m.graph.value_info.append(info("a", 7, [3]))), 0),
    Case("same chain", text(CHAIN), 0),
)  # fmt: skip
