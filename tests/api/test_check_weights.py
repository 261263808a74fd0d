"""A Keras model against an nnx module: weights are paired by name, judged as they stand, and carried where asked."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import keras
import numpy as np
import pytest
import tensorflow as tf
from flax import nnx

import jaxport

pytestmark = pytest.mark.usefixtures("programs_here")

INPUTS = {"x": "f32[4,5]"}
EPSILON = 1e-3
WEIGHTS = {
    "first/kernel": ("first.kernel",),
    "first/bias": ("first.bias",),
    "norm/gamma": ("norm.scale",),
    "norm/beta": ("norm.bias",),
    "norm/moving_mean": ("norm.mean",),
    "norm/moving_variance": ("norm.var",),
}


def original() -> Any:
    keras.utils.set_random_seed(0)
    layers = [keras.layers.Dense(4, name="first"), keras.layers.BatchNormalization(name="norm", epsilon=EPSILON)]
    model: Any = keras.Sequential([keras.Input((5,)), *layers])
    model.get_layer("norm").moving_mean.assign([0.1, 0.2, 0.3, 0.4])
    model.get_layer("norm").moving_variance.assign([0.5, 1.5, 2.5, 3.5])
    return model


class Port(nnx.Module):
    def __init__(
        self, epsilon: float = EPSILON, hold: Callable[[jax.Array], jax.Array] = jnp.asarray, trains: bool = False
    ) -> None:
        rngs = nnx.Rngs(0)
        self.first = nnx.Linear(5, 4, rngs=rngs)
        self.norm = nnx.BatchNorm(4, momentum=0.99, epsilon=epsilon, use_running_average=not trains, rngs=rngs)
        self.hold = hold

    def __call__(self, x: jax.Array) -> jax.Array:
        return self.norm(x @ self.hold(self.first.kernel[...]) + self.first.bias[...])


def carried(model: Any, **options: Any) -> Port:
    port = Port(**options)
    honest = Port()
    jaxport.carry_weights(model, honest)
    nnx.update(port, nnx.state(honest))
    return port


def arrays_of(module: nnx.Module) -> dict[str, bytes]:
    return {str(path): np.asarray(leaf).tobytes() for path, leaf in jax.tree.leaves_with_path(nnx.state(module))}


def arrays_in(model: Any) -> list[bytes]:
    return [variable.numpy().tobytes() for variable in model.variables]


def test_weights_that_are_equal_are_variables_that_gradients_are_judged_of() -> None:
    model = original()
    report = jaxport.check(model, carried(model), INPUTS)
    assert report.passed and report.weights == jaxport.WeightPairs(WEIGHTS)
    record: Any = report.record
    (part,) = record["workloads"].values()
    leaves = {comparison["leaf"] for comparison in part["parity"]["gates"]["gradients"]["comparisons"]}
    assert leaves == {"x", "first/kernel", "first/bias", "norm/gamma", "norm/beta"}  # a moving mean has no gradient
    assert report.gates["gradients"].message == "" and "weights:" not in str(report)


def test_a_gradient_that_does_not_reach_a_weight_fails_at_that_weight_alone() -> None:
    model = original()
    report = jaxport.check(model, carried(model, hold=jax.lax.stop_gradient), INPUTS)
    assert [name for name, gate in report.gates.items() if gate.verdict == "fail"] == ["gradients"]
    assert {failure.place.partition("[")[0] for failure in report.failures} == {"gradients first/kernel"}


def test_weights_that_differ_fail_by_name_and_neither_object_is_changed() -> None:
    model, port = original(), Port()
    before = arrays_in(model), arrays_of(port)
    report = jaxport.check(model, port, INPUTS)
    assert not report.passed and report.weights is not None
    assert {different.weight for different in report.weights.different} == {
        "first/kernel", "norm/moving_mean", "norm/moving_variance",
    }  # fmt: skip
    first = report.failures[0]
    assert (first.gate, first.place.partition("[")[0]) == ("semantics", "weights first/kernel")
    assert "first.kernel[" in first.message and "carry the weights with jaxport.carry_weights" in first.message
    assert (arrays_in(model), arrays_of(port)) == before


def test_a_weight_that_differs_fails_though_no_output_shows_it() -> None:
    layer = keras.layers.Dense(3, activation="softmax")
    layer.build((None, 5))

    class Softmax(nnx.Module):
        def __init__(self) -> None:
            self.inner = nnx.Linear(5, 3, rngs=nnx.Rngs(0))

        def __call__(self, x: jax.Array) -> jax.Array:
            return jax.nn.softmax(self.inner(x))

    port, names = Softmax(), {"": "inner"}
    jaxport.carry_weights(layer, port, map=names)
    assert jaxport.check(layer, port, INPUTS, map=names).passed
    port.inner.bias[...] = port.inner.bias[...] + 1.0
    report = jaxport.check(layer, port, INPUTS, map=names)
    assert report.verdict == "fail"
    assert [failure.place for failure in report.failures if failure.gate == "semantics"] == ["weights bias[0]"]


def test_what_is_no_number_on_both_sides_is_equal_and_on_one_side_differs() -> None:
    model = original()
    port = carried(model)
    port.norm.scale[...] = port.norm.scale[...].at[2].set(jnp.nan)
    report = jaxport.check(model, port, INPUTS)
    assert not report.passed and report.weights is not None
    assert [(found.variable, found.index) for found in report.weights.different] == [("norm.scale", (2,))]
    model.get_layer("norm").gamma.assign([1.0, 1.0, np.nan, 1.0])
    weights = jaxport.check(model, port, INPUTS).weights
    assert weights is not None and weights.different == ()


class Renamed(nnx.Module):
    """Its linear module has another name, and it has a variable more."""

    def __init__(self, port: Port) -> None:
        self.linear, self.norm = port.first, port.norm
        self.shift = nnx.Param(jnp.zeros(4))

    def __call__(self, x: jax.Array) -> jax.Array:
        return self.norm(self.linear(x)) + self.shift[...]


def test_what_is_not_paired_is_named_in_one_sentence_and_judged_as_it_stands() -> None:
    model = original()
    port = Renamed(carried(model))
    report = jaxport.check(model, port, INPUTS)
    assert report.passed and report.weights is not None
    unpaired = report.weights.unpaired
    assert unpaired.startswith("weights first/kernel, first/bias and variables linear.bias, linear.kernel, shift are")
    assert "no layer was matched with linear (nnx.Linear)" in unpaired and "--" not in unpaired
    assert unpaired in str(report) and "linear.kernel, shift are not paired" in report._repr_html_()
    assert "inputs and equal weights were judged" in report.gates["gradients"].message
    port.linear.kernel[...] = port.linear.kernel[...] * 1.5
    assert not jaxport.check(model, port, INPUTS).passed


def test_a_map_pairs_what_names_do_not() -> None:
    model = original()
    report = jaxport.check(model, Renamed(carried(model)), INPUTS, map={"first": "linear"})
    assert report.passed and report.weights is not None
    assert report.weights.equal["first/kernel"] == ("linear.kernel",)
    assert report.weights.unpaired.startswith("variables shift are not paired")


def test_another_epsilon_is_named_beside_the_numbers_that_differ() -> None:
    model = original()
    report = jaxport.check(model, carried(model, epsilon=1e-5), INPUTS)
    assert not report.passed and report.weights is not None
    assert "expected epsilon=0.001, found epsilon=1e-05" in report.weights.attributes[0]
    assert report.weights.attributes[0] in str(report)


def test_a_kernel_that_lies_otherwise_is_not_paired_and_judged_all_the_same() -> None:
    layer: Any = keras.layers.Dense(3)
    layer.build((None, 5))

    class Transposed(nnx.Module):
        def __init__(self) -> None:
            self.kernel = nnx.Param(layer.kernel.numpy().T)
            self.bias = nnx.Param(jnp.zeros(3))

        def __call__(self, x: jax.Array) -> jax.Array:
            return x @ self.kernel[...].T + self.bias[...]

    report = jaxport.check(layer, Transposed(), INPUTS)
    assert report.passed and report.weights is not None and "kernel" in report.weights.unpaired
    assert "with respect to inputs alone" in report.gates["gradients"].message


def test_a_model_that_was_never_called_has_no_weights_to_pair() -> None:
    report = jaxport.check(keras.layers.Dense(3), nnx.Linear(5, 3, rngs=nnx.Rngs(0)), INPUTS)
    assert not report.passed and report.weights is not None and "was never called" in report.weights.unpaired


@pytest.mark.parametrize("error", [TypeError, KeyboardInterrupt])
def test_both_objects_are_as_before_however_a_check_ends(error: type[BaseException]) -> None:
    model = original()

    def hold(kernel: jax.Array) -> jax.Array:
        raise error("not today")

    port = carried(model, hold=hold)
    before = arrays_in(model), arrays_of(port)
    expected = KeyboardInterrupt if error is KeyboardInterrupt else jaxport.RequestError
    with pytest.raises(expected):
        jaxport.check(model, port, INPUTS)
    assert (arrays_in(model), arrays_of(port)) == before


def test_a_module_that_stands_in_training_is_judged_so_and_keeps_its_statistics() -> None:
    model = original()
    port = carried(model, trains=True)
    before = arrays_of(port)
    assert not jaxport.check(model, port, INPUTS).passed
    assert jaxport.check(lambda x: model(x, training=False), port, INPUTS).verdict == "fail"
    assert arrays_of(port) == before


def test_weights_that_lie_the_other_way_round_fail_though_the_function_is_the_same() -> None:
    layers = [keras.layers.Dense(4, use_bias=False, name=name) for name in ("a", "b")]
    model = keras.Sequential([keras.Input((4,)), *layers])

    class Swapped(nnx.Module):
        def __init__(self) -> None:
            self.a, self.b = (nnx.Linear(4, 4, use_bias=False, rngs=nnx.Rngs(seed)) for seed in (0, 1))

        def __call__(self, x: jax.Array) -> jax.Array:
            return self.a(self.b(x))

    port, names = Swapped(), {"a": "b", "b": "a"}
    jaxport.carry_weights(model, port, map=names)
    report = jaxport.check(model, port, {"x": "f32[2,4]"})
    assert report.verdict == "fail" and {failure.gate for failure in report.failures} == {"semantics"}
    assert report.weights is not None and report.weights.equal == {}
    assert jaxport.check(model, port, {"x": "f32[2,4]"}, map=names).passed


def test_a_count_that_a_call_changes_is_no_result_and_is_afterwards_as_before() -> None:
    class Counting(keras.layers.Layer):
        def build(self, shape: Any) -> None:
            self.scale = self.add_weight(shape=(5,), name="scale", initializer="ones")
            self.calls = self.add_weight(shape=(), name="calls", initializer="zeros", trainable=False)

        def call(self, x: tf.Tensor) -> tf.Tensor:
            self.calls.assign_add(1.0)
            return x * self.scale

    class Port(nnx.Module):
        def __init__(self) -> None:
            self.scale, self.calls = nnx.Param(jnp.ones(5)), nnx.Variable(jnp.zeros(()))

        def __call__(self, x: jax.Array) -> jax.Array:
            self.calls[...] = self.calls[...] + 1
            return x * self.scale[...]

    layer, port = Counting(), Port()
    layer.build((None, 5))
    report = jaxport.check(layer, port, INPUTS)
    assert report.passed and report.weights is not None and set(report.weights.equal) == {"scale", "calls"}
    assert float(layer.calls.numpy()) == float(port.calls[...]) == 0.0


def test_a_function_is_judged_against_a_module() -> None:
    linear = nnx.Linear(5, 3, rngs=nnx.Rngs(0))
    kernel = np.asarray(linear.kernel[...])
    assert jaxport.check(lambda x: x @ kernel, linear, INPUTS).passed
    assert jaxport.check(lambda x: x @ (kernel * 1.5), linear, INPUTS).verdict == "fail"


def test_a_pair_is_judged_at_other_sizes() -> None:
    model = original()
    report = jaxport.check(model, carried(model), {"x": "f32[B,5]"}, dimensions={"B": "2..3"})
    assert report.passed and "one size only" not in str(report)


def test_weights_are_carried_in_place_and_told() -> None:
    model, port = original(), Port()
    report = jaxport.carry_weights(model, port)
    assert report.carried == WEIGHTS and report.left == report.tied == report.allowed == {}
    assert "6 weights of 2 layers became 6 variables" in str(report)
    assert np.array_equal(port.norm.mean[...], [np.float32(value) for value in (0.1, 0.2, 0.3, 0.4)])
    assert np.array_equal(port.first.kernel[...], model.get_layer("first").kernel.numpy())


def test_a_variable_that_is_allowed_keeps_what_it_has() -> None:
    model = original()
    port = Renamed(Port())
    port.shift[...] = jnp.ones(4)
    report = jaxport.carry_weights(model, port, map={"first": "linear"}, allow={"shift": "new in the port"})
    assert report.allowed == {"shift": "new in the port"} and np.array_equal(port.shift[...], np.ones(4))


def narrower() -> Port:
    port = Port()
    port.first = nnx.Linear(6, 4, rngs=nnx.Rngs(0))
    return port


@pytest.mark.parametrize(
    ("port", "options", "message"),
    [
        (narrower(), {}, r"expected float32\[6,4\] for first.kernel, found float32\[5,4\]"),
        (Port(epsilon=1e-5), {}, "expected epsilon=0.001, found epsilon=1e-05"),
        (Renamed(Port()), {}, "name pairs with map"),
        (Renamed(Port()), {"map": {"first": "linear"}}, "shift .*expected a leaf of the source, found none"),
        (Renamed(Port()), {"map": {"frist": "linear"}}, "expected a layer of the model in the map, found 'frist'"),
        (Port(), {"allow": {"shift": "new"}}, "expected a variable of the target in allow, found 'shift'"),
        (jnp.tanh, {}, "expected an nnx module, found"),
    ],
)
def test_weights_that_do_not_fit_are_refused_and_nothing_is_set(port: Any, options: Any, message: str) -> None:
    before = arrays_of(port) if isinstance(port, nnx.Module) else {}
    with pytest.raises(jaxport.RequestError, match=message) as refused:
        jaxport.carry_weights(original(), port, **options)
    assert "\n" not in str(refused.value)
    assert not before or arrays_of(port) == before


def test_weights_are_carried_out_of_a_model_alone() -> None:
    with pytest.raises(jaxport.RequestError, match="expected a Keras model, found function"):
        jaxport.carry_weights(lambda x: x, Port())


def test_what_cannot_be_paired_is_refused_in_one_sentence() -> None:
    layer = keras.layers.Dense(3)
    layer.build((None, 5))
    linear = nnx.Linear(5, 3, rngs=nnx.Rngs(0))
    jaxport.carry_weights(layer, linear)
    with pytest.raises(jaxport.RequestError, match="expected an input of another name than a weight, found 'kernel'"):
        jaxport.check(layer, linear, {"kernel": "f32[4,5]"})
    with pytest.raises(jaxport.RequestError, match="expected a Keras model and an nnx module with map"):
        jaxport.check(tf.tanh, jnp.tanh, INPUTS, map={"a": "b"})
