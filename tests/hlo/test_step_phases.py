"""Phases of a training step are told by names and by who reads what; what neither tells is unknown."""

from __future__ import annotations

import pytest

from compare.hlo import bindings, op_names
from compare.hlo.step_phases import of_operations, phases

STEP = """HloModule step
fused { a = f32[8] parameter(0) b = f32[8] parameter(1) ROOT m = f32[8] multiply(a, b), metadata={op_name="%s"} }
ENTRY e {
  w = f32[8] parameter(0)
  x = f32[8] parameter(1)
  t = f32[8] parameter(2)
  scaled = f32[8] negate(x), metadata={op_name="jit(step)/neg"}
  forward = f32[8] multiply(w, scaled), metadata={op_name="jit(step)/jvp()/mul"}
  loss = f32[8] exponential(forward), metadata={op_name="jit(step)/exp"}
  copied = f32[8] copy(scaled)
  gradient = f32[8] multiply(copied, forward), metadata={op_name="jit(step)/transpose(jvp())/mul"}
  update = f32[8] fusion(w, gradient), kind=kLoop, calls=fused
  count = f32[8] cosine(t), metadata={op_name="jit(step)/cos"}
  corrected = f32[8] negate(count), metadata={op_name="jit(step)/neg"}
  decayed = f32[8] multiply(update, corrected), metadata={op_name="jit(step)/mul"}
  decay = f32[8] sine(t), metadata={op_name="jit(step)/sin"}
  ROOT r = (f32[8], f32[8], f32[8], f32[8]) tuple(decayed, loss, decay, count) }
"""


def told(fused: str = "jit(step)/sub") -> dict[str, str]:
    return phases(bindings.hlo_from_text(STEP % fused))


def test_what_names_do_not_tell_the_values_do() -> None:
    found = told()
    assert {
        name: found.get(name, "") for name in ("scaled", "forward", "loss", "copied", "gradient", "decay", "count")
    } == {
        "scaled": "forward",
        "forward": "forward",
        "loss": "forward",
        "copied": "forward",
        "gradient": "backward",
        "decay": "",
        "count": "optimizer",
    }
    assert found["update"] == "optimizer"


@pytest.mark.parametrize(
    ("fused", "phase"),
    [
        ("jit(step)/transpose(jvp())/mul", "backward"),
        ("jit(step)/transpose(jvp())/mul;jit(step)/sub", "backward"),
        ("jit(step)/optimizer/mul", "optimizer"),
    ],
)
def test_a_fusion_is_of_the_phase_of_what_it_computes(fused: str, phase: str) -> None:
    assert told(fused)["update"] == phase


def test_a_fusion_of_a_gradient_and_its_update_is_of_both() -> None:
    text = """HloModule both
fused { a = f32[8] parameter(0) w = f32[8] parameter(1)
  g = f32[8] sine(a), metadata={op_name="gradient_tape/f/Sin"}
  ROOT u = f32[8] subtract(w, g), metadata={op_name="AssignSub"} }
ENTRY e { a = f32[8] parameter(0) w = f32[8] parameter(1) ROOT f = f32[8] fusion(a, w), kind=kLoop, calls=fused }
"""
    assert phases(bindings.hlo_from_text(text)) == {"f": "backward and optimizer"}


def test_what_reads_a_gradient_and_is_read_by_one_is_unknown() -> None:
    text = """HloModule twice
ENTRY e { a = f32[8] parameter(0)
  first = f32[8] sine(a), metadata={op_name="gradient_tape/f/Sin"}
  between = f32[8] negate(first), metadata={op_name="Neg"}
  ROOT second = f32[8] cosine(between), metadata={op_name="gradient_tape/g/Cos"} }
"""
    assert phases(bindings.hlo_from_text(text)) == {"first": "backward", "second": "backward"}


def test_a_loop_over_steps_has_the_phases_of_its_body() -> None:
    text = """HloModule loop
body { s = f32[8] parameter(0)
  g = f32[8] sine(s), metadata={op_name="jit(f)/while/body/transpose(jvp())/sin"}
  ROOT u = f32[8] subtract(s, g), metadata={op_name="jit(f)/while/body/sub"} }
cond { s = f32[8] parameter(0) ROOT p = pred[] constant(true) }
ENTRY e { a = f32[8] parameter(0) ROOT w = f32[8] while(a), condition=cond, body=body }
"""
    found = phases(bindings.hlo_from_text(text))
    assert (found["g"], found["u"]) == ("backward", "optimizer")


def test_without_a_gradient_there_is_nothing_to_tell() -> None:
    text = (
        'HloModule f ENTRY e { a = f32[8] parameter(0) ROOT b = f32[8] sine(a), metadata={op_name="jit(f)/jvp()/sin"} }'
    )
    assert phases(bindings.hlo_from_text(text)) == {}


@pytest.mark.parametrize(
    ("op_name", "phase"),
    [
        ("jit(step)/jvp(Dense)/dot_general", "forward"),
        ("jit(step)/transpose(jvp(Dense))/dot_general", "backward"),
        ("jit(step)/checkpoint/transpose(jvp())/mul", "backward"),
        ("PartitionedCall/gradient_tape/dense/MatMul", "backward"),
        ("gradients/dense/MatMul", "backward"),
        ("adam/AssignSubVariableOp", "optimizer"),
        ("PartitionedCall/sgd_1/mul", "optimizer"),
        ("jit(step)/optimizer/sub", "optimizer"),
        ("jit(adam)/sub", ""),
        ("jit(step)/transpose", ""),
        ("dense/MatMul", ""),
        ("madam/Sub", ""),
        ("", ""),
    ],
)
def test_the_phase_of_a_name(op_name: str, phase: str) -> None:
    assert op_names.phase(op_name) == phase


def test_nodes_of_a_graph_without_a_gradient_have_no_phase() -> None:
    assert not dict(of_operations(["dense/MatMul", "adam/Sub"]))
