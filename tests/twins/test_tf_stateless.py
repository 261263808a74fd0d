"""TensorFlow's programs for a GPU that is not there: variables are parameters, and results where they are updated."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tensorflow as tf

from compare.inputs.at_size import prepare
from compare.sides import mapped, wire
from compare.sides.requests import Loading
from jaxport._framework import Jax
from tf_reference._framework import TensorFlow
from tf_reference._stateless import _hold, _Rewriting, lowered_for, stateless
from workloads.core import registry
from workloads.core.device import GPU, HIGHEST, ON_CPU, Device
from workloads.protocol.framework import Program, Unsupported

PASSES = ("forward", "gradients", "step")
X = tf.constant([[1.0, 2.0], [3.0, 4.0]])


class Held:
    """Two variables, and functions that do different things with them."""

    def __init__(self) -> None:
        self.kernel = tf.Variable([[1.0, -1.0], [0.5, 2.0]])
        self.count = tf.Variable(3.0)

    def reads(self, x: tf.Tensor) -> Any:
        return x @ self.kernel + self.count

    def updates(self, x: tf.Tensor) -> Any:
        before = tf.identity(self.count)
        self.count.assign_add(2.0)
        self.kernel.assign_sub(0.5 * x)
        self.count.assign(self.count * 10.0)
        return before, self.count * tf.reduce_sum(self.kernel)

    def loops(self, x: tf.Tensor) -> Any:
        found = tf.while_loop(
            lambda step, _: step < 3,
            lambda step, value: (step + 1, value @ self.kernel),
            (tf.constant(0), x),
            maximum_iterations=3,
        )[1]
        self.kernel.assign_add(found)
        return found

    def differentiates(self, x: tf.Tensor) -> Any:
        with tf.GradientTape() as tape:
            found = tf.reduce_sum(self.loops(x) ** 2)
        return tape.gradient(found, self.kernel)

    def gathers(self, x: tf.Tensor) -> Any:
        return tf.gather(self.kernel, tf.cast(x[0] - 1, tf.int32))

    def branches(self, x: tf.Tensor) -> Any:
        return tf.cond(tf.reduce_sum(x) > 0, lambda: x @ self.kernel, lambda: x)

    def calls(self, x: tf.Tensor) -> Any:
        return tf.function(self.reads)(x) + tf.function(self.reads)(2 * x)

    def returns_a_variable(self, x: tf.Tensor) -> Any:
        return x, self.kernel

    def scatters(self, x: tf.Tensor) -> Any:
        self.kernel.scatter_nd_update([[0, 0]], [7.0])
        return x

    def updates_in_a_loop(self, x: tf.Tensor) -> Any:
        def body(step: tf.Tensor) -> tf.Tensor:
            self.count.assign_add(1.0)
            return step + 1

        return x + tf.cast(tf.while_loop(lambda step: step < 3, body, (tf.constant(0),))[0], tf.float32)


def flat(found: Any) -> list[np.ndarray]:
    return [np.array(each) for each in tf.nest.flatten(found)]


@pytest.mark.parametrize(
    "function",
    [
        *(Held.reads, Held.updates, Held.loops, Held.differentiates),
        *(Held.gathers, Held.branches, Held.calls, Held.returns_a_variable),
    ],
)
def test_values_in_the_place_of_variables_give_the_same_results_and_updates(function: Callable[..., Any]) -> None:
    held = Held()
    concrete = tf.function(lambda x: function(held, x)).get_concrete_function(X)
    values = stateless(concrete)
    found = flat(tf.function(values.call, jit_compile=True, autograph=False)(X, *values.captured))

    expected = flat(concrete(X))
    by_handle = {id(variable.handle): variable for variable in concrete.variables}
    captured = concrete.captured_inputs
    expected += [by_handle[id(captured[place])].numpy() for place in values.updated]
    assert len(found) == len(expected)
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-6)


def test_only_what_is_updated_is_a_result() -> None:
    held = Held()
    assert stateless(tf.function(held.reads).get_concrete_function(X)).updated == ()
    assert len(stateless(tf.function(held.updates).get_concrete_function(X)).updated) == 2


@pytest.mark.parametrize(
    ("function", "reason"),
    [
        (Held.scatters, "ResourceScatterNdUpdate is given a variable"),
        (Held.updates_in_a_loop, "AssignAddVariableOp is given a variable"),
    ],
)
def test_what_has_no_counterpart_is_refused_by_name(function: Callable[..., Any], reason: str) -> None:
    held = Held()
    concrete = tf.function(lambda x: function(held, x)).get_concrete_function(X)
    with pytest.raises(Unsupported, match=f"no program for a device that is not there: {reason}"):
        stateless(concrete)


def test_what_a_loop_returned_is_not_read_as_what_a_variable_holds_later() -> None:
    held = Held()
    concrete = tf.function(held.loops).get_concrete_function(X)
    graph = concrete.graph.as_graph_def()
    order = [operation.name for operation in concrete.graph.get_operations()]
    loop = next(node for node in graph.node if node.op in ("While", "StatelessWhile"))
    handle = next(
        name for name in loop.input if graph_node(graph, name).attr["dtype"].type == tf.resource.as_datatype_enum
    )
    late = graph.node.add(name="late", op="ReadVariableOp", input=[f"{loop.name}:{list(loop.input).index(handle)}"])
    late.attr["dtype"].type = tf.float32.as_datatype_enum

    before_the_update = [*order[: order.index(loop.name) + 1], "late"]
    rewriting(graph, handle, held).run(before_the_update)
    with pytest.raises(Unsupported, match="a variable that a loop returns is read after it is updated"):
        rewriting(graph, handle, held).run([*order, "late"])


def graph_node(graph: Any, name: str) -> Any:
    return next(node for node in graph.node if node.name == name)


def rewriting(graph: Any, handle: str, held: Held) -> _Rewriting:
    copied = type(graph)()
    copied.CopyFrom(graph)
    return _Rewriting(copied, {handle: _hold(held.kernel)})


def test_a_program_for_a_gpu_needs_none_and_has_no_stage_that_does() -> None:
    held = Held()
    lower, layout = lowered_for(GPU, tf.function(held.updates).get_concrete_function(X), [X])
    assert lower(stage="stablehlo_serialized")
    assert [shape for _, shape in layout.parameters[:1]] == [(2, 2)]
    assert sorted(layout.aliases) == [2, 3]
    with pytest.raises(ValueError, match="not supported on this device"):
        lower(stage="optimized_hlo")


def loaded(side: Any, told: Loading) -> Any:
    asked = dataclasses.asdict(told) | {"target": told.targets[side.side]}
    side.load(wire.unpack_twin(asked, mapped.load(told.arrays)))
    return side


def programs(device: Device, told: Loading) -> dict[str, Program]:
    """The programs of a model that trains, by pass."""
    # Keras numbers the optimizers of a process.
    tf.keras.backend.clear_session()
    side = loaded(TensorFlow(device), told)
    return {pass_: side.program(pass_, "float32") for pass_ in PASSES}


def test_a_models_programs_are_called_alike_on_either_device(tmp_path: Path) -> None:
    told = prepare(registry.get("mnist_mlp"), "smoke", None, tmp_path).loading
    for_cpu = programs(ON_CPU, told)
    for_gpu = programs(Device(precision=HIGHEST, lowers_for=GPU), told)
    for pass_, program in for_cpu.items():
        other = for_gpu[pass_]
        assert other.parameters == program.parameters
        assert sorted(other.results, key=str) == sorted(program.results, key=str)
        assert set(other.states) == set(program.states)


@pytest.mark.parametrize("name", ["mnist_mlp", pytest.param("lstm", marks=pytest.mark.slow)])
def test_a_models_program_for_a_gpu_computes_what_that_for_the_cpu_does(name: str, tmp_path: Path) -> None:
    told = prepare(registry.get(name), "smoke", None, tmp_path).loading
    lowers, executes = loaded(TensorFlow(), told), loaded(Jax(), told)
    case = next(iter(told.cases))
    for pass_ in PASSES:
        for_cpu, for_gpu = (
            executes.execute(executes.compile(lowers.program(pass_, "float32", platform), {}).handle, case)
            for platform in ("cpu", "gpu")
        )
        assert for_cpu.keys() == for_gpu.keys()
        for leaf, expected in for_cpu.items():
            np.testing.assert_array_equal(for_gpu[leaf], expected)
