"""What remains between two honest programs has a name; what merely looks like it has none."""

from __future__ import annotations

import pytest

from compare.hlo import bindings, levels
from compare.hlo.align import Reason, ReasonKind
from compare.hlo.align.explanations import EXPLANATIONS, explain
from compare.hlo.graph import Graph

ADD = "add { a = f32[] parameter(0)\n b = f32[] parameter(1)\n ROOT c = f32[] add(a, b) }"
MULTIPLY = "mul { a = f32[] parameter(0)\n b = f32[] parameter(1)\n ROOT c = f32[] multiply(a, b) }"

WRAPPED = """i = s32[4] parameter(0)
z = s32[] constant(0)
zs = s32[4] broadcast(z), dimensions={}
n = s32[] constant(9)
ns = s32[4] broadcast(n), dimensions={}
below = pred[4] compare(i, zs), direction=LT
added = s32[4] add(i, ns)
ROOT r = s32[4] select(below, added, i)"""
FILLED = """x = f32[4] parameter(0)
i = s32[4] parameter(1)
n = s32[] constant(9)
ns = s32[4] broadcast(n), dimensions={}
valid = pred[4] compare(i, ns), direction=LT
c = f32[] constant(nan)
cs = f32[4] broadcast(c), dimensions={}
ROOT r = f32[4] select(valid, x, cs)"""
COMPLEX = FILLED.replace("x = f32", "x = c64").replace("(nan)", "((0, 1))").replace("c = f32", "c = c64")
COMPLEX = COMPLEX.replace("cs = f32", "cs = c64").replace("r = f32", "r = c64")
SCATTERED = """x = f32[5,3] parameter(0)
i = s32[4] parameter(1)
u = f32[4,3] parameter(2)
z = s32[] constant(0)
zs = s32[4] broadcast(z), dimensions={}
j = s32[4] maximum(i, zs)
ROOT r = f32[5,3] scatter(x, j, u), to_apply=add, update_window_dims={1}, inserted_window_dims={0},
  scatter_dims_to_operand_dims={0}, index_vector_dim=1"""
GATHERED = """x = f32[5,3] parameter(0)
i = s32[4] parameter(1)
z = s32[] constant(0)
zs = s32[4] broadcast(z), dimensions={}
j = s32[4] maximum(i, zs)
ROOT r = f32[4,3] gather(x, j), slice_sizes={1,3}, offset_dims={1}, collapsed_slice_dims={0},
  start_index_map={0}, index_vector_dim=1"""
ONE_HOT = """labels = s32[4] parameter(0)
rows = s32[4,9] broadcast(labels), dimensions={0}
classes = s32[4,9] iota(), iota_dimension=1
same = pred[4,9] compare(classes, rows), direction=EQ
ROOT r = f32[4,9] convert(same)"""
SOFTMAX = """x = f32[4,9] parameter(0)
m = f32[4,9] parameter(1)
i = s32[4,1] parameter(2)
shifted = f32[4,9] subtract(x, m)
e = f32[4,9] exponential(shifted)
z = f32[] constant(0)
s = f32[4] reduce(e, z), dimensions={1}, to_apply=add
ss = f32[4,9] broadcast(s), dimensions={0}
soft = f32[4,9] divide(e, ss)
squared = f32[4] multiply(s, s)
logs = f32[4] log(s)
wide = f32[4,9] broadcast(logs), dimensions={0}
logged = f32[4,9] subtract(shifted, wide)
logit = f32[4,1] gather(x, i), slice_sizes={1,1}, offset_dims={}, collapsed_slice_dims={1}, start_index_map={1},
  index_vector_dim=2, operand_batching_dims={0}, start_indices_batching_dims={0}
ROOT r = (f32[4,9], f32[4], f32[4,9], f32[4,1]) tuple(soft, squared, logged, logit)"""
TANH = """x = f32[4] parameter(0)
t = f32[4] tanh(x)
c = f32[] constant(1)
cs = f32[4] broadcast(c), dimensions={}
squared = f32[4] multiply(t, t)
rest = f32[4] subtract(cs, t)
ROOT r = (f32[4], f32[4]) tuple(squared, rest)"""
RSQRT = """v = f32[4] parameter(0)
root = f32[4] rsqrt(v)
ROOT r = f32[4] divide(root, v)"""
UNUSED = "x = f32[4] parameter(0)\nunused = f32[4] parameter(1)\nROOT r = f32[4] negate(x)"

EXPLAINED = {
    "unused argument": [(UNUSED, "unused")],
    "index wrap-around": [(WRAPPED, "below"), (WRAPPED, "added"), (WRAPPED, "r"), (WRAPPED, "zs")],
    "NaN for invalid indices": [(FILLED, "r"), (FILLED, "valid"), (FILLED, "cs")],
    "clamped scatter": [(SCATTERED, "j"), (SCATTERED, "zs")],
    "one-hot labels": [(ONE_HOT, "same"), (ONE_HOT, "rows"), (ONE_HOT, "classes"), (SOFTMAX, "logit")],
    "softmax normalized elsewhere": [(SOFTMAX, "soft"), (SOFTMAX, "squared"), (SOFTMAX, "ss")],
    "logarithm of a softmax": [(SOFTMAX, "logged"), (SOFTMAX, "wide")],
    "derivative of tanh": [(TANH, "squared"), (TANH, "rest")],
    "derivative of rsqrt": [(RSQRT, "r")],
}
NOT_EXPLAINED = [
    pytest.param(UNUSED, "x", id="an argument that is read"),
    pytest.param(WRAPPED.replace("direction=LT", "direction=GT"), "r", id="a choice by another test"),
    pytest.param(FILLED.replace("nan", "0.5"), "valid", id="a choice of another number"),
    pytest.param(COMPLEX, "valid", id="a choice of a complex number"),
    pytest.param(GATHERED, "j", id="a clamp for a gather"),
    pytest.param(ONE_HOT.replace("direction=EQ", "direction=LT"), "same", id="labels below a class"),
    pytest.param(SOFTMAX.replace("to_apply=add", "to_apply=mul"), "soft", id="a quotient by a product"),
    pytest.param(SOFTMAX.replace("log(s)", "sqrt(s)"), "logged", id="a root"),
    pytest.param(SOFTMAX.replace("exponential(shifted)", "tanh(shifted)"), "logit", id="a gather of no logits"),
    pytest.param(TANH.replace("tanh(x)", "sine(x)"), "squared", id="another derivative"),
    pytest.param(RSQRT.replace("rsqrt(v)", "sqrt(v)"), "root", id="another root"),
]


def graph_of(program: str) -> Graph:
    text = f"HloModule m\n{ADD}\n{MULTIPLY}\nENTRY e {{\n{program}\n}}"
    return levels.read(levels.Subject("test", bindings.hlo_from_text(text)))


def reason_of(program: str, name: str) -> Reason | None:
    graph = graph_of(program)
    (node,) = [node for node in graph if node.name == name]
    return explain(node, graph)


def explained(program: str, name: str) -> str:
    reason = reason_of(program, name)
    return reason.name if reason else ""


def test_every_explanation_has_an_example() -> None:
    assert set(EXPLAINED) == {explanation.reason.name for explanation in EXPLANATIONS}
    assert all(explanation.reason.meaning for explanation in EXPLANATIONS)
    assert {explanation.reason.kind for explanation in EXPLANATIONS} == {ReasonKind.FRONTEND}


@pytest.mark.parametrize(
    ("name", "program", "value"), [(name, *example) for name, examples in EXPLAINED.items() for example in examples]
)
def test_a_known_difference_has_its_name(name: str, program: str, value: str) -> None:
    assert explained(program, value) == name


@pytest.mark.parametrize(("program", "value"), NOT_EXPLAINED)
def test_what_merely_looks_like_it_has_none(program: str, value: str) -> None:
    assert explained(program, value) == ""


def test_what_a_rule_of_numerics_would_rewrite_has_the_name_of_the_rule() -> None:
    program = """x = f32[4] parameter(0)
c = f32[] constant(3)
cs = f32[4] broadcast(c), dimensions={}
n = f32[4] negate(x)
ROOT r = f32[4] divide(n, cs)"""
    assert explained(program, "r") == "division by a constant"
    reason = reason_of(program, "r")
    assert reason and reason.kind == ReasonKind.RULE and reason.meaning
    assert explained(program, "n") == ""
