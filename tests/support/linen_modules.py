"""Written modules of Linen with the weights of the models that they were written of."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import msgspec
import optax
from flax import linen as nn
from flax import traverse_util
from flax.training import train_state

import jaxport
from compare.porting.model_source import model_source
from compare.porting.styles import LINEN
from compare.porting.training_source import training_source
from compare.porting.written_classes import Written
from compare.weights.planning import plan
from jaxport import weights
from jaxport._linen_reading import of_linen
from tf_reference import _keras_compiled, _keras_weights
from workloads.protocol.architecture import Architecture


def written_of(model: Any) -> tuple[Written, str]:
    """What is written of a model that went the way that requests between processes go, and its training."""
    sent = msgspec.json.encode(msgspec.to_builtins(_keras_compiled.of_model(model)))
    architecture = msgspec.convert(msgspec.json.decode(sent), Architecture)
    written = model_source(architecture, LINEN)
    return written, training_source(architecture, written).text


def scope_of(written: Written, text: str) -> dict[str, Any]:
    """What the text of a port defines."""
    scope: dict[str, Any] = {"jax": jax, "jnp": jnp, "nn": nn, "optax": optax, "jaxport": jaxport, "Any": Any}
    scope |= {"train_state": train_state, "traverse_util": traverse_util, "CONSTANTS": written.constants}
    # The fields of a Linen module are types, and not the texts of such.
    exec(f"from __future__ import annotations\n{text}", scope)
    return scope


def variables_of(written: Written, module: Any, model: Any) -> Any:
    """The variables of a module, with the weights of the model."""
    source, arrays = _keras_weights.of_model(model)
    found = plan(source, arrays, of_linen(module, source.inputs), written.names, {})
    assert [each.line for each in found.findings] == []
    inputs = [jnp.zeros((1, *each.shape[1:]), each.dtype) for each in model.inputs]
    shapes = jax.eval_shape(module.init, {"params": jax.random.key(0), "dropout": jax.random.key(1)}, *inputs)
    filled = weights.replace_values(shapes, {path: jnp.asarray(array) for path, array in found.arrays.items()})
    assert not any(isinstance(leaf, jax.ShapeDtypeStruct) for leaf in jax.tree.leaves(filled))
    return filled


def module_of(model: Any) -> tuple[Written, Any, Any]:
    """What is written of a model, its module, and the variables of it."""
    written, _ = written_of(model)
    module = scope_of(written, written.text)[written.class_name]()
    return written, module, variables_of(written, module, model)
