"""The model of a TensorFlow twin: its functions, and its variables under canonical names."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Model:
    """A model the way TensorFlow users write one: functions that read and update variables.

    Every function takes the workload's inputs, positionally and in order.

    Attributes:
      forward: inputs -> any nest of tensors.
      weights: canonical path -> tf.Variable or Keras variable: the weight map. Arrays keep the
        variable's own layout.
      loss: inputs -> scalar; its gradients are compared. Without one, every floating-point output
        takes part through a fixed cotangent.
      step: inputs -> scalar loss, updating the variables.
      state: further variables that a step reads or updates (optimizer slots), by name. A run starts
        from the values that they have when the model is handed over.
      optimizer: the Keras optimizer behind step, built, where there is one: with it the same step
        can be taken on another backend of Keras.
      keras: a keras.Model of the same variables, after `compile(optimizer=..., loss=...,
        jit_compile=True)` with that optimizer: the step is then also taken by its `train_on_batch`, in
        one mode more, "keras". The last input is what is to be predicted.
      handwritten: step once more, or forward where there is no step, by operations whose kernels were
        written by hand: run as a graph, in one mode more, "handwritten". XLA need not be able to
        compile them, and they need not exist in float64.
      apart: step once more, or forward where there is no step, of parts that are compiled each on its own,
        `tf.function(jit_compile=True)`: run as a graph, in one mode more, "apart".
      replica_loss: inputs of one replica -> its share of the loss, which is the sum over replicas. By default `loss`:
        a share if a loss of Keras makes it, and none if tf.reduce_mean does, for Keras alone divides by the number of
        replicas.
      replicated: a distributed step of your own, as each replica runs it in `strategy.run`: inputs of a replica ->
        its share of the loss, updating the variables.
    """

    forward: Callable[..., Any]
    weights: Mapping[str, Any] = field(default_factory=dict)
    loss: Callable[..., Any] | None = None
    step: Callable[..., Any] | None = None
    state: Mapping[str, Any] = field(default_factory=dict)
    optimizer: Any = None
    keras: Any = None
    handwritten: Callable[..., Any] | None = None
    apart: Callable[..., Any] | None = None
    replica_loss: Callable[..., Any] | None = None
    replicated: Callable[..., Any] | None = None


def keras_train_step(model: Any) -> Callable[..., Any]:
    """(*inputs, targets) -> loss, updating the variables: Keras' own `train_step`, as a step that can be traced.

    What it reads and updates beside weights and the optimizer's state are `model.metrics_variables`.
    """

    def step(*inputs: Any) -> Any:
        *features, targets = inputs
        # The metric is a mean over the batches since this.
        model.reset_metrics()
        return model.train_step((features[0] if len(features) == 1 else features, targets))["loss"]

    return step
