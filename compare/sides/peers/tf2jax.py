"""tf2jax: the TensorFlow graph of a twin converted to JAX, operation by operation."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import jax

from compare.sides.peers._peer import NotInstalled, Staged, on_device
from workloads.protocol.framework import FORWARD, Unsupported

try:
    import tf2jax
except ModuleNotFoundError as error:
    raise NotInstalled(f"expected tf2jax, found {error}: run `pip install 'jaxport[peers]'`") from error

import tensorflow as tf

from compare.sides.peers._tf_peer import TfPeer


class Tf2Jax(TfPeer):
    """Automatic conversion; TensorFlow takes no part once a pass is converted."""

    side = "tf2jax"

    def version(self) -> str:
        """The version of tf2jax."""
        return f"tf2jax {tf2jax.__version__}"

    def stage(self, pass_: str, case: str) -> Staged:
        """The pass converted, its variables as parameters."""
        session = self._session
        traced = tf.function(session.pass_function(pass_))
        session.reset(case)
        specifications = [tf.TensorSpec(tensor.shape, tensor.dtype) for tensor in self._tensors(case)]
        try:
            function, parameters = tf2jax.convert(traced, *specifications)  # pyright: ignore[reportPrivateImportUsage]
        except (ValueError, NotImplementedError) as error:
            raise Unsupported(f"tf2jax cannot convert the {pass_} pass: {str(error).splitlines()[0]}") from error
        variables = on_device(parameters)
        if pass_ == FORWARD:
            return Staged(jax.jit(lambda values, *inputs: function(values, *inputs)[0]), variables)
        names = self._names(traced.get_concrete_function(*specifications), parameters)

        def step(values: Any, *inputs: Any) -> tuple[Any, Any]:
            results, values = function(values, *inputs)
            return values, results["loss"]

        return Staged(jax.jit(step), variables, lambda values: {path: values[name] for path, name in names.items()})

    def _tensors(self, case: str) -> list[tf.Tensor]:
        return self._session.tensors(self._session.twin.cases[case])

    def _names(self, concrete: Any, parameters: Mapping[str, Any]) -> dict[str, str]:
        # tf2jax's names are not unique in the graph; its parameters come in the order in which variables were captured.
        resources = [tensor for tensor in concrete.captured_inputs if tensor.dtype == tf.resource]
        by_handle = {id(handle): name for handle, name in zip(resources, parameters, strict=True)}
        return {path: by_handle[id(variable.handle)] for path, variable in self._session.weights.items()}


def create() -> Tf2Jax:
    """This peer's Framework."""
    return Tf2Jax()
