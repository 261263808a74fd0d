"""Runs of steps held against each other: the first value that departs, and what a run cannot tell."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from compare.distribution import dividing, judging_steps
from compare.distribution.distributing import Asked
from compare.distribution.judging_steps import FLOAT32, FLOAT64, Runs
from compare.distribution.more_devices import with_more_devices
from compare.distribution.step_verdicts import Found, verdict
from compare.distribution.strategies import BY_NAME
from compare.errors import RequestError
from compare.record.distribution_part import DistributedStep, Distribution, Resumed, StepDeparture, Transfer
from compare.record.vocabulary import FAIL, PASS
from workloads.core import registry
from workloads.core.spec import Arrays
from workloads.protocol.distributing import Unlike, first_unlike, of_equal_parts, part_of

RIGHT = {
    "loss": np.array([2.0, 1.5]),
    "weights@1/a": np.array([[1.0, 2.0]]),
    "weights@2/a": np.array([[1.5, 2.5]]),
    "weights@1/b": np.array([0.25]),
    "weights@2/b": np.array([0.5]),
    "state@1/velocity": np.array([1e-6, 2e-6]),
    "state@2/velocity": np.array([1e-6, 3e-6]),
    "state@2/count": np.array(2),
}


def runs(name: str, changed: Arrays | None = None, dtypes: tuple[str, ...] = (FLOAT32, FLOAT64)) -> Runs:
    changed = changed or {}
    return Runs(
        name,
        {
            dtype: {
                leaf: (changed.get(leaf, array) if dtype in dtypes else array).astype(
                    dtype if array.dtype.kind == "f" else array.dtype
                )
                for leaf, array in RIGHT.items()
            }
            for dtype in (FLOAT32, FLOAT64)
        },
    )


def held(changed: Arrays, **how: tuple[str, ...]) -> tuple[str | None, int | None, str, tuple[int, ...]]:
    found = judging_steps.departure(runs("jax/own", changed, **how), runs("jax/single"), with_state=True)
    return found.verdict, found.step, found.leaf, found.index


def test_the_same_run_holds() -> None:
    found = judging_steps.departure(runs("jax/own"), runs("jax/single"), with_state=True)
    assert (found.verdict, found.against, found.error) == (PASS, "jax/single", 0)


def test_the_first_step_counts_though_a_later_one_is_farther() -> None:
    changed = {"weights@1/b": np.array([0.2500001]), "weights@2/a": np.array([[9.0, 9.0]])}
    assert held(changed) == (FAIL, 1, "b", (0,))


def test_the_first_loss_that_departs_is_told_and_not_the_worst() -> None:
    assert held({"loss": np.array([2.1, 9.0])}) == (FAIL, 1, "loss", ())
    assert held({"loss": np.array([2.0, 1.6])}) == (FAIL, 2, "loss", ())


def test_the_state_of_the_optimizer_is_judged_beside_weights_that_are_the_same() -> None:
    assert held({"state@1/velocity": np.array([2e-6, 4e-6])})[:3] == (FAIL, 1, "optimizer state: velocity")
    assert held({"state@2/count": np.array(1)})[:3] == (FAIL, 2, "optimizer state: count")
    # Rounding of float32 there is nobody's result.
    assert held({"state@1/velocity": np.array([1.00001e-6, 2e-6])}, dtypes=(FLOAT32,))[0] == PASS


def test_an_error_in_one_float_type_alone_is_seen() -> None:
    assert held({"weights@2/a": np.array([[1.5, 2.50001]])}, dtypes=(FLOAT32,)) == (FAIL, 2, "a", (0, 1))
    assert held({"weights@2/a": np.array([[1.5, 2.5 + 1e-10]])}, dtypes=(FLOAT64,)) == (FAIL, 2, "a", (0, 1))


def test_an_array_that_is_missing_fails() -> None:
    whole = runs("jax/own")
    lacking = {
        dtype: {leaf: array for leaf, array in arrays.items() if leaf != "weights@2/b"}
        for dtype, arrays in whole.by_dtype.items()
    }
    found = judging_steps.departure(Runs("jax/own", lacking), runs("jax/single"), with_state=True)
    assert (found.verdict, found.leaf, found.step) == (FAIL, "b", 2) and "only" in found.message


def test_a_nan_fails() -> None:
    assert held({"weights@1/a": np.array([[np.nan, 2.0]])}) == (FAIL, 1, "a", (0, 0))


def test_a_mistake_that_no_array_shows_is_counted() -> None:
    right = runs("jax/in-turn")
    assert judging_steps.blind(right, right.by_dtype[FLOAT64], "summed").seen == 0
    wrong = {**right.by_dtype[FLOAT64], "state@2/velocity": np.array([2e-6, 6e-6])}
    told = judging_steps.blind(right, wrong, "summed")
    assert told.seen == 1 and told.arrays == 4


def test_copies_are_compared_bit_by_bit() -> None:
    one = np.array([[0.0, 1.0]])
    assert first_unlike("a", {"0": one, "1": one.copy()}) is None
    other = np.array([[-0.0, 1.0]])
    found = first_unlike("a", {"0": one, "1": one, "2": other})
    assert found is not None and (found.index, found.devices) == ((0, 0), ("0", "2"))


def test_parts_are_along_the_axis_of_the_examples() -> None:
    array = np.arange(24).reshape(2, 4, 3)
    assert np.array_equal(part_of(array, 1, 1, 2), array[:, 2:])
    assert part_of(array, None, 1, 2) is array


def test_a_batch_that_does_not_divide_or_train_is_refused(tmp_path: Path) -> None:
    with pytest.raises(RequestError, match="expected a batch of mnist_mlp that 3 devices divide, found 32"):
        dividing.divide(registry.get("mnist_mlp"), "smoke", 3, 2, tmp_path)
    with pytest.raises(RequestError, match="expected a workload that trains, found add"):
        dividing.divide(registry.get("add"), None, 2, 2, tmp_path)


def test_the_axis_of_the_examples_is_found(tmp_path: Path) -> None:
    found = dividing.divide(registry.get("bert"), "smoke", 2, 2, tmp_path)
    assert found.axes["tokens"] == 0 and found.axes["attention_draws"] == 1 and found.axes["hidden_draws"] == 2


def test_parts_that_are_alike_are_refused() -> None:
    x = np.broadcast_to(np.arange(3.0), (2, 4, 3))
    with pytest.raises(RequestError, match=r"parts of w's batch 1 that differ, found part 1 like part 0: a reduction"):
        dividing._check_parts_differ("w", {"x": x}, {"x": 0}, 2, 2)
    # A seed that every device is given whole does not make them differ.
    with pytest.raises(RequestError, match="differ"):
        dividing._check_parts_differ("w", {"x": x, "seed": np.zeros((2, 1))}, {"x": 0, "seed": None}, 2, 2)


def test_equal_parts_take_the_first_over_and_over() -> None:
    batch = {"x": np.arange(8).reshape(2, 4), "seed": np.array([3])}
    found = of_equal_parts(batch, {"x": 1, "seed": None}, 2)
    assert found["x"].tolist() == [[0, 1, 0, 1], [4, 5, 4, 5]] and found["seed"] is batch["seed"]


def test_an_input_is_alike_where_all_parts_of_every_batch_are() -> None:
    x = np.array([[1, 2, 1, 2], [3, 4, 3, 4]])
    assert dividing._always_alike(x, 0, 2)
    assert not dividing._always_alike(np.array([[1, 2, 1, 2], [3, 4, 3, 5]]), 0, 2)
    assert not dividing._always_alike(x, None, 2)


FOUND = Found("in-turn", PASS, "", None, (), (Transfer("all-reduce", 1),), None, StepDeparture("jax/single", PASS))


def test_a_step_that_holds_passes() -> None:
    assert verdict(FOUND) == (PASS, "")
    # What equals one device's step needs no equal parts.
    departs = StepDeparture("jax/single", FAIL)
    assert verdict(dataclasses.replace(FOUND, means="single", equal_parts=departs)) == (PASS, "")


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"held": None, "untold": "it never came"}, "nothing to hold it against: it never came"),
        ({"held": FAIL}, "it does not compute what it should"),
        ({"unlike": (Unlike("a", (0,), ("0", "1"), (1.0, 2.0)),)}, "devices hold different values of one array"),
        ({"across": StepDeparture("tf/in-turn", FAIL)}, "the frameworks differ"),
        ({"transfers": ()}, "nothing is exchanged: the step is not distributed"),
        ({"resumed": Resumed(1)}, "resumed from a checkpoint it goes on otherwise"),
        (
            {"equal_parts": StepDeparture("jax/single", FAIL)},
            "replicas of equal parts take another step than one device: the loss adds up over examples, or draws come "
            "from what every device is given whole",
        ),
    ],
)
def test_each_problem_fails_with_its_reason(changed: dict[str, Any], said: str) -> None:
    assert verdict(dataclasses.replace(FOUND, **changed)) == (FAIL, said)


def own(devices: int, batch: int, held: str = PASS) -> Distribution:
    return Distribution(devices=devices, batch=batch, strategies={"jax/own": DistributedStep(verdict=held)})


def test_own_steps_that_hold_are_asked_of_twice_the_devices() -> None:
    asked = Asked([BY_NAME["jax/own"], BY_NAME["jax/spmd"]], "s", 2, 3, timed=True)
    again = with_more_devices(own(2, 8), asked)
    assert again is not None
    assert (list(map(str, again.strategies)), again.devices, again.timed) == (["jax/own"], 4, False)
    assert with_more_devices(own(2, 6), asked) is None
    assert with_more_devices(own(2, 8, FAIL), asked) is None


def test_replicas_of_equal_parts_may_differ_by_what_a_loss_adds_to_its_divisor() -> None:
    right = runs("jax/single").by_dtype[FLOAT64]
    for factor, verdict_of in ((1 + 1e-6, PASS), (0.5, FAIL)):
        changed = {name: array * factor if array.dtype.kind == "f" else array for name, array in right.items()}
        told = judging_steps.departure_of_equal_parts("jax/single", changed, right)
        assert (told.verdict, told.against) == (verdict_of, "jax/single")
    missing = {name: array for name, array in right.items() if name != "weights@2/b"}
    assert judging_steps.departure_of_equal_parts("jax/single", missing, right).verdict == FAIL
