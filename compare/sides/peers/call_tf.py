"""jax2tf.call_tf: TensorFlow's own program of a twin, called inside JAX's."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import tensorflow as tf
from jax.experimental import jax2tf

from compare.sides.peers._peer import Staged, on_device
from compare.sides.peers._tf_peer import TfPeer
from workloads.core.target import resolve
from workloads.core.tree import leaves
from workloads.protocol.framework import FORWARD, Unsupported


class CallTf(TfPeer):
    """TensorFlow compiles the pass to HLO, and JAX compiles that into its own program.

    Variables that a twin holds itself become constants of that program, with the values that they have then.
    """

    side = "call_tf"

    def version(self) -> str:
        """The version of JAX, which contains it."""
        return f"jax {jax.__version__}"

    def stage(self, pass_: str, case: str) -> Staged:
        """The forward pass; weights that are arguments of the twin are arguments of the call too."""
        function = self._session.pass_function(pass_)
        if pass_ != FORWARD:
            raise Unsupported(
                "call_tf under jax.jit cannot update TensorFlow's variables, which the training step does"
            )
        twin = self._session.twin
        if twin.weights and not twin.builds:
            target = resolve(twin.target)
            call = _call_through_tf(lambda weights, *inputs: leaves(target(weights, *inputs)))
            return Staged(jax.jit(call), on_device(twin.weights_of(case)))
        self._session.reset(case)
        call = _call_through_tf(function)
        return Staged(jax.jit(lambda variables, *inputs: call(*inputs)), {})


def _call_through_tf(function: Callable[..., Any]) -> Callable[..., Any]:
    # A forward pass changes nothing. By default JAX must assume that it may, and dispatches it the slow way.
    return jax2tf.call_tf(tf.function(function), has_side_effects=False)


def create() -> CallTf:
    """This peer's Framework."""
    return CallTf()
