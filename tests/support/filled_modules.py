"""Written modules with the weights of the models that they were written of, and random arrays for both."""

from typing import Any

import jax
import jax.numpy as jnp
import msgspec
import numpy as np
import optax
from flax import nnx

import jaxport
from compare.porting.model_source import model_source
from compare.porting.written_classes import Written
from compare.weights.planning import plan
from jaxport import _module_reading
from jaxport.weights import variables_of
from tf_reference import _keras_compiled, _keras_weights
from workloads.protocol.architecture import Architecture


def drawn(shape: tuple[int, ...], dtype: str = "float32") -> Any:
    numbers = np.random.default_rng(7)
    return numbers.integers(0, 9, shape).astype(dtype) if "int" in dtype else numbers.normal(size=shape).astype(dtype)


def called(model: Any, given: Any) -> Any:
    model(given)
    for number, each in enumerate(model.weights):
        each.assign(np.random.default_rng(number).uniform(0.1, 0.6, each.shape))
    return model


def written_of(model: Any) -> Written:
    """What is written of a model that went the way that requests between processes go."""
    sent = msgspec.json.encode(msgspec.to_builtins(_keras_compiled.of_model(model)))
    return model_source(msgspec.convert(msgspec.json.decode(sent), Architecture))


def module_of(model: Any) -> tuple[Written, Any]:
    written = written_of(model)
    assert [each.description for each in written.places] == []
    return written, filled(written, written.text, model)


def filled(written: Written, text: str, model: Any) -> Any:
    module = scope_of(written, text)[written.class_name](rngs=nnx.Rngs(0))
    source, arrays = _keras_weights.of_model(model)
    found = plan(source, arrays, _module_reading.of_module(module), written.names, {})
    assert [each.line for each in found.findings] == []
    for path, array in found.arrays.items():
        variables_of(module)[path].set_value(jnp.asarray(array))
    module.eval()
    return module


def scope_of(written: Written, text: str) -> dict[str, Any]:
    """What the text of a port defines."""
    scope: dict[str, Any] = {"jax": jax, "jnp": jnp, "nnx": nnx, "optax": optax, "jaxport": jaxport, "Any": Any}
    scope["CONSTANTS"] = written.constants
    exec(f"from __future__ import annotations\n{text}", scope)
    return scope


def distance(found: Any, wanted: Any) -> float:
    return float(np.linalg.norm(np.asarray(found) - np.asarray(wanted)) / np.linalg.norm(wanted))
