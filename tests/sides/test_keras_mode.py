"""What Keras trains by itself: judged like a port, no excuse for one, and refused where it cannot run."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from numpy_model import HONEST

from compare.parity import judge
from compare.parity.evidence import Evidence
from compare.record.vocabulary import FAIL, PASS
from tf_reference import Model, _keras
from workloads._target import TargetError

KERAS = ("tf/keras", "float32")


def with_keras(factor: float, evidence: Evidence = HONEST) -> Evidence:
    """The evidence with a run of Keras whose losses are off by a factor."""
    run = dict(evidence.trajectories["tf/jit", "float32"])
    run["loss"] = (run["loss"] * factor).astype(np.float32)
    return dataclasses.replace(evidence, trajectories={**evidence.trajectories, KERAS: run})


def test_it_is_judged_by_the_training_gate() -> None:
    honest = judge(with_keras(1.0)).gates["training"]
    assert honest.verdict == PASS
    assert "tf/keras" in {each.found_from for each in honest.comparisons}
    wrong = judge(with_keras(1.01)).gates["training"]
    assert wrong.verdict == FAIL
    assert {each.found_from for each in wrong.comparisons if each.verdict == FAIL} == {"tf/keras"}


def test_a_wrong_one_excuses_no_port() -> None:
    honest, wrong = (judge(with_keras(factor)).gates["training"] for factor in (1.0, 1.5))
    bounds = [
        {(each.found_from, each.leaf): each.bound for each in gate.comparisons if each.found_from.startswith("jax")}
        for gate in (honest, wrong)
    ]
    assert bounds[0] == bounds[1] != {}


# What a twin may hand over


class Fitted:
    """A model as Keras hands it over, which notes what it is trained on."""

    def __init__(self, compiled: bool = True, jit_compile: bool = True) -> None:
        self.compiled, self.jit_compile = compiled, jit_compile
        self.seen: list[Any] = []

    def train_on_batch(self, x: Any, y: Any, return_dict: bool) -> dict[str, float]:
        assert return_dict
        self.seen.append((x, y))
        return {"loss": 0.1, "accuracy": 1.0}


def model(keras: Any, step: Any = abs) -> Model:
    return Model(forward=abs, step=step, keras=keras)


@pytest.mark.parametrize(
    ("inputs", "seen"),
    [(("images", "labels"), ("images", "labels")), (("ids", "mask", "labels"), (["ids", "mask"], "labels"))],
)
def test_the_last_input_is_what_is_to_be_predicted(inputs: Sequence[str], seen: object) -> None:
    fitted = Fitted()
    result = _keras.training_step(model(fitted))(*inputs)
    assert fitted.seen == [seen]
    assert result["loss"].dtype == np.float32


@pytest.mark.parametrize("keras", [Fitted(compiled=False), Fitted(jit_compile=False), SimpleNamespace()])
def test_a_model_that_xla_does_not_compile_is_one_line(keras: Any) -> None:
    with pytest.raises(
        TargetError, match=r"expected Model\.keras after compile\(optimizer=\.\.\., loss=\.\.\., jit_compile"
    ):
        _keras.check(model(keras))


def test_a_model_without_a_step_is_one_line() -> None:
    with pytest.raises(TargetError, match=r"expected step beside Model\.keras, found none"):
        _keras.check(model(Fitted(), step=None))


def test_no_model_and_a_compiled_one_are_fine() -> None:
    _keras.check(model(None))
    _keras.check(model(Fitted()))
