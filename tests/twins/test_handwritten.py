"""Kernels that were written by hand, as a mode of TensorFlow: right, judged like a port, and no excuse for one."""

from __future__ import annotations

import dataclasses
from pathlib import Path
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
from tf_reference import Model
from tf_reference._block_lstm import block_lstm
from tf_reference._framework import TensorFlow
from workloads.core import registry
from workloads.protocol.framework import Twin, Unsupported

TIME, BATCH, FEATURES, UNITS = 4, 3, 5, 6
MODE = "tf/handwritten"


@pytest.fixture(scope="module")
def cell() -> keras.layers.LSTMCell:
    made = keras.layers.LSTMCell(UNITS)
    made.build((None, FEATURES))
    draws = np.random.default_rng(0)
    made.set_weights([draws.standard_normal(weight.shape).astype(np.float32) for weight in made.weights])
    return made


@pytest.fixture(scope="module")
def arguments() -> list[tf.Tensor]:
    draws = np.random.default_rng(1)
    shapes = (TIME, BATCH, FEATURES), (BATCH, UNITS), (BATCH, UNITS)
    return [tf.constant(draws.standard_normal(shape), tf.float32) for shape in shapes]


def step_by_step(cell: Any, sequences: tf.Tensor, hidden: tf.Tensor, state: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
    states = []
    for values in tf.unstack(sequences):
        _, (hidden, state) = cell(values, [hidden, state])
        states.append((hidden, state))
    return tf.stack([each[0] for each in states]), tf.stack([each[1] for each in states])


def second_version(cell: Any, sequences: tf.Tensor, hidden: tf.Tensor, state: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
    """By BlockLSTMV2, which has Keras' order of gates."""
    none = tf.zeros([UNITS])
    steps = tf.raw_ops.BlockLSTMV2(
        seq_len_max=tf.constant(TIME, tf.int64), x=sequences, cs_prev=state, h_prev=hidden,
        w=tf.concat([cell.kernel, cell.recurrent_kernel], 0), wci=none, wcf=none, wco=none,
        b=cell.bias.value, cell_clip=-1.0,
    )  # fmt: skip
    return steps.h, steps.cs


def with_gradients(function: Any, cell: Any, arguments: list[tf.Tensor]) -> tuple[list[Any], list[Any]]:
    sources = [*arguments, *(weight.value for weight in cell.weights)]
    with tf.GradientTape() as tape:
        for argument in arguments:
            tape.watch(argument)
        hidden, state = function(cell, *arguments)
        value = tf.reduce_sum(hidden * tf.cos(hidden)) + tf.reduce_sum(state[-1])
    return [hidden.numpy(), state.numpy()], [np.asarray(gradient) for gradient in tape.gradient(value, sources)]


def test_the_operation_is_keras_own_cell_over_time_and_so_is_its_gradient(
    cell: Any, arguments: list[tf.Tensor]
) -> None:
    expected, found = (with_gradients(function, cell, arguments) for function in (step_by_step, block_lstm))
    for ones, others in zip(expected, found, strict=True):
        for one, other in zip(ones, others, strict=True):
            np.testing.assert_allclose(other, one, rtol=2e-5, atol=2e-6)


def test_the_second_version_gives_the_same_values_and_a_wrong_gradient(cell: Any, arguments: list[tf.Tensor]) -> None:
    (values, gradients), (others, wrong) = (
        with_gradients(function, cell, arguments) for function in (step_by_step, second_version)
    )
    np.testing.assert_allclose(others[0], values[0], rtol=2e-5, atol=2e-6)
    assert max(np.abs(one - other).max() for one, other in zip(gradients, wrong, strict=True)) > 0.1


# As a mode


@pytest.mark.parametrize(("name", "pass_"), [("softmax", "forward"), ("lstm_cell", "forward"), ("lstm", "step")])
def test_a_twin_that_hands_them_over_runs_its_main_pass_with_them(name: str, pass_: str, tmp_path: Path) -> None:
    side = TensorFlow()
    twin = of(name, tmp_path)
    modes = side.load(twin)["modes"]
    assert [ran for ran, has in modes.items() if "handwritten" in has] == [pass_]
    composed, by_hand = (side.outputs(mode, pass_, twin.first_case, "float32") for mode in ("graph", "handwritten"))
    assert composed.keys() == by_hand.keys()
    for leaf, array in composed.items():
        np.testing.assert_allclose(by_hand[leaf], array, rtol=1e-4, atol=1e-5)
    names = [run.name for run in side.profile("handwritten")[0]]
    assert any("BlockLSTM" in each or "Softmax" in each for each in names), names


@pytest.mark.parametrize("main_pass", ["forward", "gradients"])
def test_a_step_by_such_kernels_is_no_mode_of_another_pass_that_is_asked_for(main_pass: str, tmp_path: Path) -> None:
    modes = TensorFlow().load(dataclasses.replace(of("lstm", tmp_path), main_pass=main_pass))["modes"]
    assert [ran for ran, has in modes.items() if "handwritten" in has] == ["step"]


def test_a_twin_that_hands_over_none_has_no_such_mode(tmp_path: Path) -> None:
    side = TensorFlow()
    twin = of("add", tmp_path)
    assert all("handwritten" not in modes for modes in side.load(twin)["modes"].values())
    with pytest.raises(Unsupported, match=r"expected Model\.handwritten, found none"):
        side.outputs("handwritten", "forward", twin.first_case, "float32")


def of(name: str, folder: Path) -> Twin:
    told = prepare(registry.get(name), "smoke", None, folder).loading
    return wire.unpack_twin(dataclasses.asdict(told) | {"target": told.targets["tf"]}, mapped.load(told.arrays))


# As it is judged


def with_kernels(factor: float, evidence: Evidence = HONEST) -> Evidence:
    """The evidence with a run of kernels whose results are off by a factor."""
    outputs = dict(evidence.outputs)
    for (mode, pass_, case), run in evidence.outputs.items():
        if mode == "tf/jit" and pass_ == "forward":
            outputs[MODE, pass_, case] = {leaf: (array * factor).astype(array.dtype) for leaf, array in run.items()}
    return dataclasses.replace(evidence, outputs=outputs)


def test_kernels_that_are_off_fail_and_excuse_no_port() -> None:
    honest, wrong = (judge(with_kernels(factor)).gates["rounding"] for factor in (1.0, 1.01))
    assert honest.verdict == PASS and MODE in {each.found_from for each in honest.comparisons}
    assert wrong.verdict == FAIL
    assert {each.found_from for each in wrong.comparisons if each.verdict == FAIL} == {MODE}
    bounds = [
        {(each.found_from, each.case, each.leaf): each.bound for each in gate.comparisons if each.found_from != MODE}
        for gate in (honest, wrong)
    ]
    assert bounds[0] == bounds[1] != {}


def test_a_model_says_nothing_of_kernels_unless_asked() -> None:
    assert Model(abs).handwritten is None
