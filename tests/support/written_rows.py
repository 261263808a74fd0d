"""Functions that are written, run, and held against TensorFlow, with their gradients."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import tensorflow as tf

from compare.inputs.functions import model_inputs, parse_input
from compare.porting.functions.function_source import WrittenFunction, function_source
from tf_reference import _function_graph

_LOADED = 'CONSTANTS = load_file(Path(__file__).parent / "constants.safetensors")'


def written(function: Callable[..., Any], inputs: Sequence[str]) -> WrittenFunction:
    """A function of TensorFlow, written."""
    return function_source(*_function_graph.of_function(function, model_inputs(inputs), "f"))


def run(made: WrittenFunction, text: str | None = None) -> Callable[..., Any]:
    """The written function."""
    names: dict[str, Any] = {"__file__": "f.py", "_CONSTANTS": made.constants}
    exec((text or made.text).replace(_LOADED, "CONSTANTS = _CONSTANTS"), names)  # its text is what is tested
    return names["f"]


def drawn(inputs: Sequence[str], seed: int = 0, size: int = 3) -> list[np.ndarray]:
    """Arrays for inputs; a size that is a name is `size`."""
    rng, found = np.random.default_rng(seed), []
    for _, spec in map(parse_input, inputs):
        shape = [each if isinstance(each, int) else size for each in spec.shape]
        dtype = np.dtype(spec.dtype)
        low, high = (spec.low, spec.high) if spec.low is not None and spec.high is not None else (0, 10)
        if dtype.kind == "b":
            found.append(rng.integers(0, 2, shape).astype(bool))
        elif dtype.kind in "iu":
            found.append(rng.integers(int(low), int(high), shape).astype(dtype))
        elif spec.low is not None:
            found.append(rng.uniform(low, high, shape).astype(dtype))
        else:
            array = rng.standard_normal(shape)
            found.append((array + 1j * rng.standard_normal(shape) if dtype.kind == "c" else array).astype(dtype))
    return found


def errors(function: Callable[..., Any], port: Callable[..., Any], arrays: Sequence[np.ndarray]) -> Mapping[str, float]:
    """The largest difference of results and of gradients, over the largest value.

    Raises:
      AssertionError: shapes differ, or dtypes but for their width.
    """
    tensors = [tf.constant(each) for each in arrays]
    floats = [at for at, each in enumerate(arrays) if each.dtype.kind == "f"]
    with tf.GradientTape() as tape:
        for each in tensors:
            tape.watch(each)
        ours = tf.nest.flatten(tf.function(function)(*tensors))
        rng = np.random.default_rng(1)
        weights = [rng.standard_normal(each.shape) if each.dtype.is_floating else None for each in ours]
        loss = sum(
            (
                tf.reduce_sum(each * tf.cast(w, each.dtype))
                for each, w in zip(ours, weights, strict=True)
                if w is not None
            ),
            tf.constant(0.0),
        )
    theirs = jax.tree.leaves(jax.jit(port)(*arrays))
    assert len(ours) == len(theirs)
    found = {"results": max((_error(a.numpy(), np.asarray(b)) for a, b in zip(ours, theirs, strict=True)), default=0.0)}
    if floats and any(each is not None for each in weights):
        gradients = tape.gradient(loss, [tensors[at] for at in floats], unconnected_gradients="zero")

        def of(*given: Any) -> Any:
            every = [given[floats.index(at)] if at in floats else each for at, each in enumerate(arrays)]
            pairs = zip(jax.tree.leaves(port(*every)), weights, strict=True)
            return sum(jnp.sum(each * w.astype(each.dtype)) for each, w in pairs if w is not None)

        other = jax.grad(of, tuple(range(len(floats))))(*[jnp.asarray(arrays[at]) for at in floats])
        pairs = zip(gradients, other, strict=True)
        found["gradients"] = max(_error(tf.convert_to_tensor(a).numpy(), np.asarray(b)) for a, b in pairs)
    return found


def _error(a: np.ndarray, b: np.ndarray) -> float:
    assert a.shape == b.shape, (a.shape, b.shape)
    assert a.dtype.kind == b.dtype.kind, (a.dtype, b.dtype)
    if a.dtype.kind not in "fc":
        return 0.0 if (a == b).all() else 1.0
    assert (np.isfinite(a) == np.isfinite(b)).all(), "finite in other places"
    finite = np.isfinite(a)
    scale = max(float(np.abs(a[finite]).max(initial=0.0)), 1e-3)
    return float(np.abs(a[finite].astype(complex) - b[finite]).max(initial=0.0)) / scale
