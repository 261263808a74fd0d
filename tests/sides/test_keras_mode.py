"""What Keras trains by itself: judged like a port, no excuse for one, and refused where it cannot run."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

import keras
import numpy as np
import pytest
import tensorflow as tf
from numpy_model import HONEST

from compare.inputs.at_size import prepare
from compare.parity import judge
from compare.parity.evidence import Evidence
from compare.record.vocabulary import FAIL, PASS
from compare.sides import mapped, wire
from tf_reference import Model, _keras
from tf_reference._framework import TensorFlow
from workloads.core import registry
from workloads.core.target import TargetError

KERAS = ("tf/keras", "float32")
KERAS_MODES = (_keras.KERAS, _keras.GRAPH, _keras.STEPS)


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


# As fit is told to compile


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory) -> Any:
    return {
        name: prepare(registry.get(name), "smoke", None, tmp_path_factory.mktemp(name)).loading
        for name in ("mnist_mlp", "lstm")
    }


def twin_of(told: Any) -> Any:
    asked = dataclasses.asdict(told) | {"target": told.targets["tf"]}
    return wire.unpack_twin(asked, mapped.load(told.arrays))


@pytest.mark.parametrize("name", ["mnist_mlp", "lstm"])
def test_every_way_of_compiling_takes_the_same_step(name: str, told: Any) -> None:
    side, twin = TensorFlow(), twin_of(told[name])
    modes = side.load(twin)["modes"]["step"]
    assert set(KERAS_MODES) <= set(modes)
    steps = {mode: side.outputs(mode, "step", twin.first_case, "float32") for mode in ("graph", *KERAS_MODES)}
    for mode in KERAS_MODES:
        for leaf, array in steps["graph"].items():
            np.testing.assert_allclose(steps[mode][leaf], array, rtol=1e-4, atol=1e-6, err_msg=f"{mode} {leaf}")


def test_an_execution_of_several_steps_takes_as_many_as_it_is_divided_by(told: Any) -> None:
    side, twin = TensorFlow(), twin_of(told["mnist_mlp"])
    side.load(twin)
    prepared = side.prepare("keras-steps")
    counts = next(variable for name, variable in side._loaded.session("float32").state.items() if "iteration" in name)
    before = int(counts.numpy())
    prepared.call()
    assert int(counts.numpy()) - before == prepared.steps == _keras.STEPS_PER_EXECUTION > 1


def test_each_mode_is_compiled_as_it_says_and_auto_is_without_xla_on_a_cpu(told: Any) -> None:
    side, twin = TensorFlow(), twin_of(told["mnist_mlp"])
    side.load(twin)
    handed = side._loaded.session("float32").model
    assert [_keras.compile_for(handed, mode).jit_compile for mode in KERAS_MODES] == [True, False, True]
    untold = keras.Model(handed.keras.inputs, handed.keras.outputs)
    untold.compile(optimizer=handed.optimizer, loss=handed.keras.loss)
    assert untold.jit_compile == any(each.device_type != "CPU" for each in tf.config.list_physical_devices())


def test_a_class_without_symbolic_inputs_is_trained_in_one_way() -> None:
    assert _keras.modes(model(Fitted())) == ["keras"]
    assert _keras.modes(model(None)) == []
