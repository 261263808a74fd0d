"""Which of a workload's modes are run."""

from __future__ import annotations

from compare.prove.collect import choose_modes
from workloads.core.modes import ON_REQUEST, TF, TF_GRAPH, TF_KERAS
from workloads.protocol.framework import FORWARD, STEP

MODES = {FORWARD: ["eager", "graph", "jit"], STEP: ["eager", "graph", "keras", "keras-graph", "keras-steps"]}


def test_without_a_choice_all_run_but_those_on_request() -> None:
    assert choose_modes(TF, MODES, ()) == {FORWARD: ["eager", "graph", "jit"], STEP: ["eager", "graph", "keras"]}


def test_those_on_request_run_when_they_are_named() -> None:
    assert choose_modes(TF, MODES, ON_REQUEST) == {FORWARD: ["eager"], STEP: ["eager", "keras-graph", "keras-steps"]}


def test_a_choice_leaves_the_others_out_but_never_the_reference() -> None:
    chosen = choose_modes(TF, MODES, (TF_KERAS, TF_GRAPH))
    assert chosen == {FORWARD: ["eager", "graph"], STEP: ["eager", "graph", "keras"]}
