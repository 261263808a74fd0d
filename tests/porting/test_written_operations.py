"""Operations of keras.ops between layers, each written and run: values and gradients are those of Keras."""

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
from compare.porting.model_source import model_source
from compare.porting.templates_of_operations import TEMPLATES
from compare.porting.written_classes import Written
from tf_reference import _keras_compiled

# Keras's own, where it tells the shape of a tensordot.
pytestmark = pytest.mark.filterwarnings("ignore:NotImplemented should not be used:DeprecationWarning")

ops: Any = keras.ops

X = np.random.default_rng(3).normal(size=(2, 4, 6)).astype("float32")
BOUND = 2e-6
"""Of the normwise difference in float32: a sum of some ten terms, or a function of few roundings."""

SMOOTH: dict[str, Callable[[Any], Any]] = {
    "Var": lambda x: ops.var(x, axis=(1, 2)),
    "Std": lambda x: ops.std(x, axis=1, keepdims=True),
    "Mean": lambda x: ops.mean(x, axis=-1),
    "Sum": lambda x: ops.sum(x, axis=(1,), keepdims=True),
    "Max": lambda x: ops.max(x, axis=2),
    "Min": lambda x: ops.min(x, axis=1),
    "Prod": lambda x: ops.prod(x, axis=1),
    "Concatenate": lambda x: ops.concatenate([x, 2.0 * x], axis=1),
    "ExpandDims": lambda x: ops.expand_dims(x, 1) * x,
    "Gelu": lambda x: ops.gelu(x, approximate=False),
    "Slice": lambda x: ops.slice(x, (0, 1, 2), (2, 3, 2)) * 2.0,
    "Softmax": lambda x: ops.softmax(x, axis=1),
    "Squeeze": lambda x: ops.squeeze(ops.expand_dims(x, 2), 2) * x,
    "Stack": lambda x: ops.stack([x, ops.square(x)], axis=2),
    "Transpose": lambda x: ops.transpose(x, (0, 2, 1)),
    "Cumsum": lambda x: ops.cumsum(x, axis=1),
    "Cumprod": lambda x: ops.cumprod(x, axis=2),
    "DivideNoNan": lambda x: ops.divide_no_nan(ops.square(x), ops.relu(x)),
    "Elu": lambda x: ops.elu(x, alpha=0.7),
    "Flip": lambda x: ops.flip(x, axis=1) * x,
    "LeakyRelu": lambda x: ops.leaky_relu(x, negative_slope=0.3),
    "LogSoftmax": lambda x: ops.log_softmax(x, axis=1),
    "Logsumexp": lambda x: ops.logsumexp(x, axis=2, keepdims=True),
    "Moveaxis": lambda x: ops.moveaxis(x, 1, -1),
    "OnesLike": lambda x: ops.ones_like(x) * x,
    "ZerosLike": lambda x: ops.zeros_like(x) + x,
    "Ravel": lambda x: ops.ravel(x),
    "Roll": lambda x: ops.roll(x, 2, axis=1) * x,
    "Split": lambda x: ops.split(x, 3, axis=2)[1],
    "Unstack": lambda x: ops.unstack(x, axis=1)[2],
    "Swapaxes": lambda x: ops.swapaxes(x, 1, 2),
    "TakeAlongAxis": lambda x: ops.take_along_axis(x, ops.argmax(x, axis=2, keepdims=True), axis=2),
    "Tensordot": lambda x: ops.tensordot(x, x, [[1, 2], [1, 2]]),
    "Tile": lambda x: ops.tile(x, (1, 2, 1)),
    "Tril": lambda x: ops.tril(x, k=1),
    "Triu": lambda x: ops.triu(x, k=-1),
    "Einsum": lambda x: ops.einsum("bij,bkj->bik", x, x),
    "Repeat": lambda x: ops.repeat(x, 3, axis=1),
    "Pad": lambda x: ops.pad(x, ((0, 0), (1, 0), (0, 2))),
    "Pad by reflection": lambda x: ops.pad(x, ((0, 0), (1, 2), (0, 0)), mode="reflect"),
    "Cast": lambda x: ops.cast(ops.cast(x > 0, "float32"), "float32") * x,
    "Arctan2": lambda x: ops.arctan2(x, ops.exp(x)),
    "Logaddexp": lambda x: ops.logaddexp(x, -x),
    "Mod": lambda x: ops.mod(x, 0.7),
    **{
        name: lambda x, name=name: getattr(ops, name)(x)
        for name in ("log_sigmoid", "softsign", "expm1", "tan", "arctan", "sinh", "cosh", "erf", "reciprocal")
    },
    "log1p": lambda x: ops.log1p(ops.square(x)),
    "arcsin": lambda x: ops.arcsin(ops.tanh(x)),
    "arccos": lambda x: ops.arccos(ops.tanh(x)),
    "Celu": lambda x: ops.celu(x, alpha=0.8),
    "Cross": lambda x: ops.cross(x[:, :, :3], x[:, :, 3:]),
    "Diagonal": lambda x: ops.diagonal(x, offset=1, axis1=1, axis2=2),
    "Diff": lambda x: ops.diff(x, n=2, axis=1),
    "FFT": lambda x: ops.fft((x, 2.0 * x))[1],
    "FFT2": lambda x: ops.fft2((x, ops.zeros_like(x)))[0],
    "RFFT": lambda x: ops.rfft(x, fft_length=8)[0],
    "Glu": lambda x: ops.glu(x, axis=1),
    "Hstack": lambda x: ops.hstack([x, ops.square(x)]),
    "Vstack": lambda x: ops.vstack([x, ops.square(x)]),
    "Median": lambda x: ops.median(x, axis=1),
    "Median of two axes": lambda x: ops.median(x, axis=(1, 2), keepdims=True),
    "Norm": lambda x: ops.norm(x, axis=2, keepdims=True),
    "Quantile": lambda x: ops.quantile(x, 0.3, axis=1),
    "SegmentSum": lambda x: ops.segment_sum(x[0], ops.convert_to_tensor([0, 2, 1, 2]), 4),
    "Sort": lambda x: ops.sort(x, axis=1),
    "Sort with ties": lambda x: ops.sort(ops.relu(x), axis=2) * x,
    "TopK": lambda x: ops.top_k(x, 3)[0],
    "Trace": lambda x: ops.trace(x, offset=-1, axis1=1, axis2=2),
    "OnesLike of truth values": lambda x: ops.where(ops.ones_like(x, dtype="bool"), x, 0.0),
    "Resize": lambda x: ops.image.resize(ops.stack([x, x], -1), (7, 9)),
    "Resize to the nearest": lambda x: ops.image.resize(ops.stack([x, x], -1), (2, 3), interpolation="nearest"),
    "erfinv": lambda x: ops.erfinv(ops.tanh(x)),
    "Dot": lambda x: ops.dot(x, ops.transpose(x[0])),
    "Inner": lambda x: ops.inner(x, x[0]),
    **{name: lambda x, name=name: getattr(ops, name)(ops.exp(x)) for name in ("log2", "log10")},
    **{name: lambda x, name=name: getattr(ops, name)(x) for name in ("exp2", "arcsinh")},
    "arctanh": lambda x: ops.arctanh(0.9 * ops.tanh(x)),
}
STEPS: dict[str, Callable[[Any], Any]] = {
    "SliceUpdate": lambda x: ops.slice_update(x, (0, 1, 0), ops.square(x[:, :2, :3])),
    "Argmax": lambda x: ops.argmax(x, axis=1),
    "Argmin": lambda x: ops.argmin(x, axis=2, keepdims=True),
    "Any": lambda x: ops.any(x > 1.0, axis=1),
    "All": lambda x: ops.all(x > -1.0, axis=(1, 2)),
    "OneHot": lambda x: ops.one_hot(ops.argmax(x, axis=2), 6),
    "Round": lambda x: ops.round(x),
    "Take": lambda x: ops.take(ops.round(x), ops.argmax(x, axis=1), axis=2),
    "Argsort": lambda x: ops.argsort(x, axis=1),
    "Argsort with ties": lambda x: ops.argsort(ops.relu(x), axis=2),
    "CountNonzero": lambda x: ops.count_nonzero(ops.relu(x), axis=1),
    "SearchSorted": lambda x: ops.searchsorted(
        ops.convert_to_tensor([-1.0, 0.0, 0.5, 2.0]), ops.reshape(x, (-1,)), side="right"
    ),
    "TopK, where they stand": lambda x: ops.top_k(ops.relu(x), 5)[1],
    "NanToNum": lambda x: ops.nan_to_num(ops.log(ops.round(x)), nan=2.0, neginf=-3.0),
    "Isnan": lambda x: ops.isnan(ops.log(x)),
    "Isinf": lambda x: ops.isinf(ops.log(ops.relu(x))),
    "Isfinite": lambda x: ops.isfinite(ops.log(x)),
    "trunc": lambda x: ops.trunc(3.0 * x),
    "LogicalXor": lambda x: ops.logical_xor(x > 0, x > 0.5),
    **{name: lambda x, name=name: getattr(ops, name)(x) for name in ("sign", "floor", "ceil")},
}
"""Without a gradient that says anything."""


def written(function: Callable[[Any], Any]) -> tuple[Any, Written]:
    x = keras.Input((4, 6))
    model = keras.Model(x, function(x))
    return model, model_source(_keras_compiled.of_model(model))


def module_of(text: Written) -> Any:
    scope: dict[str, Any] = {"jax": jax, "jnp": jnp, "nnx": nnx, "jaxport": jaxport, "Any": Any}
    exec(f"from __future__ import annotations\n{text.text}", scope)
    return scope[text.class_name](rngs=nnx.Rngs(0))


def test_every_template_is_proved() -> None:
    assert TEMPLATES.keys() <= SMOOTH.keys() | STEPS.keys()


@pytest.mark.parametrize("name", SMOOTH | STEPS)
def test_an_operation_gives_what_keras_gives(name: str) -> None:
    model, text = written((SMOOTH | STEPS)[name])
    assert text.places == ()
    module = module_of(text)
    wanted, found = np.asarray(model(X)), np.asarray(module(jnp.asarray(X)))
    assert wanted.shape == found.shape and wanted.dtype.kind == found.dtype.kind
    assert np.linalg.norm(found.astype(float) - wanted) <= BOUND * np.linalg.norm(wanted.astype(float))
    if name not in SMOOTH:
        return
    factor = np.random.default_rng(5).normal(size=wanted.shape).astype("float32")
    with tf.GradientTape() as tape:
        x = tf.constant(X)
        tape.watch(x)
        summed = tf.reduce_sum(model(x) * factor)
    expected = np.asarray(tape.gradient(summed, x))
    gradient = np.asarray(jax.grad(lambda x: jnp.sum(module(x) * factor))(jnp.asarray(X)))
    assert np.linalg.norm(gradient - expected) <= 10 * BOUND * np.linalg.norm(expected)


@pytest.mark.parametrize(
    ("function", "reason"),
    [
        (lambda x: ops.max(x, axis=1, initial=0.5), "it has initial=0.5"),
        (lambda x: ops.round(x, 1), "it has decimals=1"),
        (lambda x: ops.cumsum(x, axis=1, dtype="float64"), "it has dtype=float64"),
        (lambda x: ops.cast(x, "float16"), "it makes float16"),
        (lambda x: ops.pad(x, ((0, 0), (1, 0), (0, 2)), constant_values=2.0), "its call has constant_values="),
        (lambda x: ops.repeat(x, [1, 2, 1, 1], axis=1), "it repeats each a number of times of its own"),
        (lambda x: ops.norm(x, ord=1, axis=1), "it has ord=1"),
        (lambda x: ops.top_k(x, 2, sorted=False)[0], "it has sorted=False"),
        (lambda x: ops.image.resize(ops.stack([x, x], -1), (7, 9), antialias=True), "it has antialias=True"),
        (
            lambda x: ops.bincount(ops.cast(ops.abs(x[0, 0]), "int32"), minlength=9),
            "keras.ops has Bincount, which is not known here",
        ),
    ],
)
def test_what_an_expression_is_not_right_for_is_a_place(function: Callable[[Any], Any], reason: str) -> None:
    _, text = written(function)
    assert [each.reason for each in text.places] == [reason]
