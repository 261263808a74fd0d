"""The contract that every registered workload keeps, on both real sides, at size smoke."""

from __future__ import annotations

from typing import Any

import pytest
from runs import JUDGED, LEAN_MODES, WHOLE

from compare.record.vocabulary import CELLS
from workloads.core.spec import GATES

pytestmark = pytest.mark.process

VISIBLY = 0.85
"""Which part of its loss a model that visibly learns may keep: mask_rcnn keeps 0.78 after 50 steps, the others less."""
MODES = {"tf/eager", "tf/graph", "tf/autocluster", "tf/jit", "jax/eager", "jax/jit"}


@pytest.fixture(params=JUDGED)
def judged(request: pytest.FixtureRequest, zoo: dict[str, Any]) -> dict[str, Any]:
    return zoo[request.param]


@pytest.fixture(params=WHOLE)
def whole(request: pytest.FixtureRequest, zoo: dict[str, Any]) -> dict[str, Any]:
    """A workload whose programs were compiled and profiled too."""
    return zoo[request.param]


def training_of(judged: dict[str, Any]) -> bool:
    return judged["parity"]["gates"]["training"]["verdict"] != "not_applicable"


def test_parity_holds_and_no_side_failed_at_anything(judged: dict[str, Any]) -> None:
    messages = [each["message"] for gate in judged["parity"]["gates"].values() for each in gate["comparisons"]]
    assert judged["parity"]["verdict"] == "pass", [message for message in messages if message]
    assert judged["failures"] == []


def test_every_gate_compared_something_or_says_why_it_does_not_apply(judged: dict[str, Any]) -> None:
    assert tuple(judged["parity"]["gates"]) == GATES
    for gate in judged["parity"]["gates"].values():
        assert gate["reason"] if gate["verdict"] == "not_applicable" else gate["comparisons"]


def test_tensorflow_against_itself_stands_beside_every_float_comparison(judged: dict[str, Any]) -> None:
    rounding = judged["parity"]["gates"]["rounding"]["comparisons"]
    assert all(each["noise"] is not None for each in rounding)


def test_both_twins_have_a_float64_self_of_their_own(judged: dict[str, Any]) -> None:
    assert all("native" in source for source in judged["parity"]["oracle"].values())


def test_four_cells_are_filled_and_agree(whole: dict[str, Any]) -> None:
    assert tuple(whole["compiled"]) == CELLS
    for cell in whole["compiled"].values():
        assert not cell["reason"]
        assert cell["kernels"] == len(cell["kernel_names"]) > 0
        assert cell["instructions"] >= cell["kernels"]
        assert cell["bytes"] > 0
        assert cell["error"] < 1e-4


def test_kernels_were_seen_to_run_in_every_mode(whole: dict[str, Any]) -> None:
    assert set(whole["profile"]) >= MODES | ({"jax/donated"} if training_of(whole) else set())
    for mode in whole["profile"].values():
        assert mode["kernels"] == len(mode["names"]) > 0


def test_programs_and_their_alignment_are_counted(whole: dict[str, Any]) -> None:
    alignment, programs = whole["alignment"], whole["programs"]
    assert alignment["matched"] > 0
    assert programs["tf"]["instructions"] > 0 < programs["jax"]["instructions"]
    assert alignment["frontier"] or not alignment["tf_only"] + alignment["jax_only"]
    assert {"stablehlo", "hlo", "optimized_hlo"} <= set(whole["stages"]["tf"]) & set(whole["stages"]["jax"])


def test_training_learns_on_both_sides(judged: dict[str, Any]) -> None:
    assert bool(judged["trajectory"]) == training_of(judged)
    for mode in judged["trajectory"].values():
        assert len(mode["loss"]) >= 50
        assert sum(mode["loss"][-5:]) < VISIBLY * sum(mode["loss"][:5])


@pytest.mark.parametrize("name", ["mnist_mlp", "conv_mnist"])
def test_what_keras_trains_by_itself_is_judged(name: str, zoo: dict[str, Any]) -> None:
    assert "tf/keras" in zoo[name]["trajectory"]
    assert "tf/keras" in {each["found_from"] for each in zoo[name]["parity"]["gates"]["training"]["comparisons"]}


def test_kernels_of_what_keras_trains_by_itself_were_seen_to_run(zoo: dict[str, Any]) -> None:
    assert zoo["mnist_mlp"]["profile"]["tf/keras"]["kernels"] > 0


def test_the_running_example_shows_four_kernels_in_eager_mode(zoo: dict[str, Any]) -> None:
    assert zoo["running_example"]["profile"]["tf/eager"]["names"] == ["Pow", "Mul", "AddV2", "Mean"]
    assert zoo["sum_of_products"]["profile"]["tf/eager"]["kernels"] == 3
    assert zoo["scale_and_add"]["profile"]["tf/jit"]["kernels"] == 1


def test_a_model_that_is_judged_in_few_modes_was_judged_in_those(zoo: dict[str, Any]) -> None:
    rounding = zoo["conv_mnist"]["parity"]["gates"]["rounding"]["comparisons"]
    assert {each["found_from"] for each in rounding} == {"jax/jit", "jax/tuned"}
    assert set(zoo["conv_mnist"]["trajectory"]) == {"tf/eager", "jax/jit", *map(str, LEAN_MODES)}
    assert zoo["conv_mnist"]["profile"] == {}
