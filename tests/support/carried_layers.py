"""A Keras layer with random weights and the module that they are carried into, and how far apart what they give is."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import layers_to_carry
import modules_to_carry
import numpy as np

from compare.weights.planning import Plan, plan
from jaxport import _module_reading
from jaxport.weights import variables_of
from tf_reference import _keras_weights


def inputs_of(model: Any) -> list[np.ndarray]:
    numbers = np.random.default_rng(3)
    return [
        numbers.integers(0, 10, (2, *each.shape[1:])).astype("int32")
        if "int" in str(each.dtype)
        else numbers.normal(size=(2, *each.shape[1:])).astype("float32")
        for each in model.inputs
    ]


class Pair:
    """A model with what it gives, and the module."""

    def __init__(self, name: str) -> None:
        model = layers_to_carry.model(name)
        self.source, self.arrays = _keras_weights.of_model(model)
        self.x = inputs_of(model)
        given = model(self.x, training=False)
        self.wanted = [np.asarray(each) for each in jax.tree.leaves(given)]
        self.module = modules_to_carry.module(name)
        self.target = _module_reading.of_module(self.module)

    def planned(self, **arrays: np.ndarray) -> Plan:
        return plan(self.source, {**self.arrays, **arrays}, self.target, {}, {})

    def difference(self, plan: Plan) -> float:
        """The largest normwise difference of an output, once the weights are in the module."""
        variables = variables_of(self.module)
        assert variables.keys() == plan.arrays.keys()
        for path, array in plan.arrays.items():
            variables[path].set_value(jnp.asarray(array))
        found = [np.asarray(each) for each in jax.tree.leaves(self.module(*self.x))]
        assert [each.shape for each in found] == [each.shape for each in self.wanted]
        return max(float(np.linalg.norm(a - b) / np.linalg.norm(b)) for a, b in zip(found, self.wanted, strict=True))
