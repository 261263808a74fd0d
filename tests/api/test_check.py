"""`jaxport.check`: honest ports pass, planted errors fail where they are, and what cannot be judged is refused."""

from __future__ import annotations

import threading
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
from compare.sides.object_side import ObjectPool
from jaxport.testing import assert_ports_match

pytestmark = pytest.mark.usefixtures("programs_here")

EPSILON = 1e-3


def normalized(x: tf.Tensor, scale: tf.Tensor) -> tf.Tensor:
    mean, variance = tf.nn.moments(x, -1, keepdims=True)
    return (x - mean) * tf.math.rsqrt(variance + EPSILON) * scale


def normalized_with(epsilon: float, hold: Callable[[jax.Array], jax.Array] = jnp.asarray) -> Callable[..., jax.Array]:
    def port(x: jax.Array, scale: jax.Array) -> jax.Array:
        centred = x - x.mean(-1, keepdims=True)
        return centred * jax.lax.rsqrt(jnp.square(centred).mean(-1, keepdims=True) + epsilon) * hold(scale)

    return port


NORMALIZED = {"x": "f32[4,8]", "scale": "f32[8]"}


@pytest.fixture(scope="module")
def honest() -> jaxport.CheckReport:
    return jaxport.check(normalized, normalized_with(EPSILON), NORMALIZED)


@pytest.fixture(scope="module")
def wrong() -> jaxport.CheckReport:
    return jaxport.check(normalized, normalized_with(1e-5), NORMALIZED)


def test_an_honest_port_passes_every_gate(honest: jaxport.CheckReport) -> None:
    assert honest.passed and honest.verdict == "pass" and honest.failures == ()
    assert {name: gate.verdict for name, gate in honest.gates.items()} == {
        **dict.fromkeys(("structure", "semantics", "rounding", "gradients", "stability"), "pass"),
        "training": "not_applicable",
    }
    honest.assert_passed()


def test_a_wrong_epsilon_fails_with_the_element_and_both_values(wrong: jaxport.CheckReport) -> None:
    assert not wrong.passed and wrong.gates["semantics"].verdict == "fail"
    first = wrong.failures[0]
    assert first.gate == "semantics" and first.place.startswith("forward output[")
    assert "jax" in first.message and "tf" in first.message


def test_an_assertion_says_what_the_command_line_prints(wrong: jaxport.CheckReport) -> None:
    with pytest.raises(AssertionError, match=r"^port: semantics gate, forward pass") as raised:
        wrong.assert_passed()
    assert all(f"fail {line}" in str(wrong) for line in str(raised.value).splitlines())


def test_the_text_ends_with_the_last_line_of_the_command(
    honest: jaxport.CheckReport, wrong: jaxport.CheckReport
) -> None:
    assert str(honest).splitlines()[-1] == "pass Parity holds in 1 of 1 workload"
    assert str(wrong).splitlines()[-1] == "fail Parity fails in 1 of 1 workload"
    assert repr(honest) == str(honest)


def test_a_notebook_shows_the_verdict_the_gates_and_the_first_place(wrong: jaxport.CheckReport) -> None:
    page = wrong._repr_html_()
    assert "kernels" not in str(wrong) and "not timed" not in str(wrong)
    assert all(gate in page for gate in wrong.gates)
    assert "First place that fails" in page and wrong.failures[0].place in page
    assert "<script" not in page


def test_what_a_notebook_shows_is_escaped() -> None:
    report = jaxport.check(tf.identity, lambda x: {"<b>": x}["<b>"] + 1, {"x": "f32[2]"}, name="port")
    nested = jaxport.check(lambda x: {"<b>": x}, lambda x: {"<b>": x + 1}, {"x": "f32[2]"})
    assert not report.passed and "<b>" not in nested._repr_html_() and "&lt;b&gt;" in nested._repr_html_()


def test_a_gradient_that_is_stopped_fails_the_gradients_alone() -> None:
    report = jaxport.check(normalized, normalized_with(EPSILON, jax.lax.stop_gradient), NORMALIZED)
    assert [name for name, gate in report.gates.items() if gate.verdict == "fail"] == ["gradients"]
    assert report.failures[0].place.startswith("gradients scale[")


def test_an_input_that_the_port_ignores_is_found_where_it_matters_beyond_a_threshold() -> None:
    report = jaxport.check(
        lambda x, y: x + tf.where(y > 30, y, 0.0), lambda x, y: x, {"x": "f32[2,3]", "y": "f32[2,3]"}
    )
    assert not report.passed and report.gates["semantics"].verdict == "fail"


def test_an_index_that_is_off_by_one_fails_for_integers() -> None:
    table = np.arange(12, dtype=np.float32).reshape(6, 2)
    rows = {"row": "i32[5]:0..6"}
    assert jaxport.check(lambda row: tf.gather(table, row), lambda row: jnp.asarray(table)[row], rows).passed
    assert not jaxport.check(lambda row: tf.gather(table, row), lambda row: jnp.asarray(table)[row - 1], rows).passed


def test_a_port_that_is_right_for_one_batch_alone_fails_at_other_sizes() -> None:
    report = jaxport.check(
        lambda x: tf.reduce_mean(x, 0), lambda x: jnp.sum(x, 0) / 8, {"x": "f32[B,3]"}, dimensions={"B": "8"}
    )
    assert not report.passed and "at B=" in report.failures[0].message


def test_a_port_that_fails_at_another_size_is_a_failure_with_a_message() -> None:
    report = jaxport.check(
        lambda x: tf.reduce_sum(x, 0), lambda x: x.reshape(8, 3).sum(0), {"x": "f32[B,3]"}, dimensions={"B": "8"}
    )
    assert not report.passed and report.failures and "reshape" in report.failures[0].message


def test_a_keras_layer_is_judged_with_its_weights_against_a_module() -> None:
    layer: Any = keras.layers.BatchNormalization(epsilon=EPSILON)
    layer.build((None, 3))
    layer.moving_mean.assign([0.5, -1.0, 2.0])
    layer.moving_variance.assign([0.5, 1.0, 2.0])

    def module(epsilon: float) -> nnx.Module:
        norm = nnx.BatchNorm(3, use_running_average=True, epsilon=epsilon, rngs=nnx.Rngs(0))
        norm.mean[...], norm.var[...] = layer.moving_mean.numpy(), layer.moving_variance.numpy()
        return norm

    report = jaxport.check(layer, module(EPSILON), {"x": "f32[4,3]"})
    assert report.passed and report.gates["gradients"].message == ""
    assert not jaxport.check(layer, module(1e-5), {"x": "f32[4,3]"}).passed


def test_gradients_of_a_function_that_reads_a_variable_are_those_of_its_inputs() -> None:
    scale = tf.Variable(2.0)
    report = jaxport.check(lambda x: x * scale, lambda x: x * 2.0, {"x": "f32[2,3]"})
    assert report.passed and "with respect to inputs alone" in report.gates["gradients"].message
    assert scale.numpy() == 2.0


def test_a_process_that_computes_on_a_gpu_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    devices = {"tf": {"device": "cpu"}, "jax": {"device": "gpu nvidia h100"}}
    monkeypatch.setattr(ObjectPool, "environments", lambda _: devices)
    with pytest.raises(jaxport.RequestError, match="expected JAX on the CPU, found gpu nvidia h100"):
        jaxport.check(tf.sin, jnp.sin, {"x": "f32[2]"})


def test_a_keras_model_of_several_inputs_takes_them_in_order() -> None:
    inputs: list[Any] = [keras.Input((3,)), keras.Input((3,))]
    model = keras.Model(inputs, keras.layers.Dropout(0.5)(inputs[0] - inputs[1]))
    specs = {"a": "f32[2,3]", "b": "f32[2,3]"}
    assert jaxport.check(model, lambda a, b: a - b, specs).passed
    assert not jaxport.check(model, lambda a, b: b - a, specs).passed


def test_an_example_is_a_case_of_its_own_and_tells_shape_dtype_and_range() -> None:
    example = np.full((2, 3), 12345.0, np.float32)

    def port(x: jax.Array) -> jax.Array:
        return jnp.where(x == 12345.0, 0.0, x)

    report = jaxport.check(tf.identity, port, {"x": example})
    assert not report.passed and "case example" in report.failures[0].message
    rows = jaxport.check(
        lambda row: tf.gather([1.0, 2.0, 3.0], row), lambda row: jnp.array([1.0, 2.0, 3.0])[row],
        {"row": np.array([2, 0], np.int32)},
    )  # fmt: skip
    assert rows.passed and "drawn within" not in str(rows)


def test_code_runs_in_the_callers_thread_and_memory_where_a_breakpoint_stops(monkeypatch: pytest.MonkeyPatch) -> None:
    stops: list[threading.Thread] = []
    monkeypatch.setattr("sys.breakpointhook", lambda *_, **__: stops.append(threading.current_thread()))
    seen: list[tuple[int, ...]] = []

    def original(x: tf.Tensor) -> tf.Tensor:
        breakpoint()
        return x * 2

    report = jaxport.check(original, lambda x: seen.append(x.shape) or (breakpoint(), x * 2)[1], {"x": "f32[2,3]"})
    assert report.passed
    assert set(stops) == {threading.current_thread()} and set(seen) == {(2, 3)}


def test_what_is_not_judged_has_neither_passed_nor_failed(monkeypatch: pytest.MonkeyPatch) -> None:
    @tf.custom_gradient
    def doubled(x: tf.Tensor) -> tuple[tf.Tensor, Callable[[tf.Tensor], tf.Tensor]]:
        def gradient(upstream: tf.Tensor) -> tf.Tensor:
            raise TypeError("no gradient today")

        return x * 2, gradient

    report = jaxport.check(doubled, lambda x: x * 2, {"x": "f32[2,3]"})
    assert report.verdict == "not_judged" and not report.passed and report.failures == ()
    assert "not judged" in str(report).splitlines()[-1]
    with pytest.raises(AssertionError, match=r"not judged: .*no gradient today"):
        report.assert_passed()


def test_a_declared_deviation_widens_its_gate() -> None:
    known = jaxport.Deviation("rounding", 1e-3, "the port adds a millionth")
    also = jaxport.Deviation("semantics", 1e-3, "the port adds a millionth")
    functions = (tf.identity, lambda x: x * (1 + 1e-5))
    assert not jaxport.check(*functions, {"x": "f32[4]"}).passed
    report = jaxport.check(*functions, {"x": "f32[4]"}, deviations=[known, also])
    assert report.gates["semantics"].verdict == "pass"


@pytest.mark.parametrize(
    ("functions", "inputs", "message"),
    [
        ((3, jnp.sin), {"x": "f32[2]"}, "expected a function, Keras model or nnx module as tf_fn, found int"),
        ((tf.sin, jnp.sin), {}, "expected inputs by name"),
        ((tf.sin, jnp.sin), {"x": 3}, "expected a spec such as .* as input 'x', found int"),
        ((tf.sin, jnp.sin), {"x": "f3[2]"}, "expected a dtype of"),
        ((tf.sin, jnp.sin), {"x": np.array(["a"])}, "expected numbers in input 'x'"),
        ((normalized, normalized_with(1.0)), {"x": "f32[2]"}, r"each argument of tf_fn \(x, scale\), found x"),
        ((normalized, normalized_with(1.0)), {"scale": "f32[2]", "x": "f32[2]"}, "reorder them"),
        ((normalized, lambda x: x), NORMALIZED, r"each argument of jax_fn \(x\), found x, scale"),
        ((tf.linalg.matmul, jnp.matmul), {"a": "f32[2,3]", "b": "f32[2,3]"}, "TensorFlow can run with these inputs"),
        ((tf.sin, lambda x: x if x[0] > 0 else -x), {"x": "f32[2]"}, "JAX can trace with these inputs, found Tracer"),
        ((lambda x: tf.constant(x.numpy()), jnp.abs), {"x": "f32[2]"}, "TensorFlow can trace with these inputs"),
        ((lambda x: (x, x), lambda x: {"a": x}), {"x": "f32[2]"}, "to return the same structure"),
    ],
)  # fmt: skip
def test_what_cannot_be_judged_is_refused_in_one_sentence(
    functions: tuple[Any, Any], inputs: Any, message: str
) -> None:
    with pytest.raises(jaxport.RequestError, match=message) as refused:
        jaxport.check(*functions, inputs)
    assert isinstance(refused.value, ValueError) and "\n" not in str(refused.value)


def test_a_dimension_that_no_input_names_is_refused() -> None:
    with pytest.raises(jaxport.RequestError, match="expected a dimension that an input names"):
        jaxport.check(tf.sin, jnp.sin, {"x": "f32[B]"}, dimensions={"C": "1..4"})


def test_a_deviation_that_is_none_is_refused() -> None:
    deviations: list[Any] = ["rounding"]
    with pytest.raises(jaxport.RequestError, match=r"expected deviations as jaxport\.Deviation, found 'rounding'"):
        jaxport.check(tf.sin, jnp.sin, {"x": "f32[2]"}, deviations=deviations)


def test_a_refusal_names_the_error_of_the_users_code_as_its_cause() -> None:
    def port(x: jax.Array) -> jax.Array:
        raise KeyError("kernel")

    with pytest.raises(jaxport.RequestError) as refused:
        jaxport.check(tf.sin, port, {"x": "f32[2]"})
    assert isinstance(refused.value.__cause__, KeyError)


def test_a_test_of_the_users_asserts_in_one_call() -> None:
    assert_ports_match(tf.nn.relu, jax.nn.relu, {"x": "f32[2,3]"})
    with pytest.raises(AssertionError, match="gradients gate"):
        assert_ports_match(tf.nn.relu, lambda x: jnp.maximum(x, 0), {"x": "f32[2,3]"})
