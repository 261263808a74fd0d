"""Classification of sequences of different lengths by an LSTM and a softmax, one training step compiled whole."""

import numpy as np

from workloads import _lstm
from workloads.core.spec import Arrays, ArraySpec, Cost, Dimensions, Training, Workload

LEARNING_RATE = 1e-2

_EXAMPLES = 1024


def inputs(dimensions: Dimensions) -> dict[str, ArraySpec]:
    """Inputs of one step.

    sequences: f32[batch, time, features], standard normal; lengths: i32[batch] in [1, time]; labels: i32[batch] in
    [0, classes).
    """
    batch, time = dimensions["batch"], dimensions["time"]
    return {
        "sequences": ArraySpec((batch, time, dimensions["features"])),
        "lengths": ArraySpec((batch,), "int32", low=1, high=time + 1),
        "labels": ArraySpec((batch,), "int32", low=0, high=dimensions["classes"]),
    }


def weights(dimensions: Dimensions) -> dict[str, ArraySpec]:
    """The weights of the LSTM and of a dense layer [units, classes] of variance 1 / units with small random biases."""
    units, classes = dimensions["units"], dimensions["classes"]
    return {
        **_lstm.weights(dimensions["features"], units),
        "logits/kernel": ArraySpec((units, classes), scale=units**-0.5),
        "logits/bias": ArraySpec((classes,), scale=0.1),
    }


def examples(dimensions: Dimensions) -> Arrays:
    """Noisy paths through the features, one path a class, cut at random lengths and padded with zeros.

    sequences: f32[1024, time, features]; lengths: i32[1024]; labels: i32[1024].
    """
    time, classes = dimensions["time"], dimensions["classes"]
    generator = np.random.default_rng(8)
    paths = generator.standard_normal((classes, time, dimensions["features"]))
    labels = generator.integers(0, classes, _EXAMPLES).astype(np.int32)
    lengths = generator.integers(time // 2 + 1, time + 1, _EXAMPLES).astype(np.int32)
    noise = generator.standard_normal((_EXAMPLES, *paths.shape[1:])) / 2
    present = np.arange(time) < lengths[:, None]
    sequences = np.where(present[:, :, None], paths[labels] + noise, 0).astype(np.float32)
    return {"sequences": sequences, "lengths": lengths, "labels": labels}


def cost(dimensions: Dimensions) -> Cost:
    """The recurrence over every step, padding included; both gradients of each product take as much again.

    The gradient with respect to the sequences is not needed. Adam takes ten operations per weight
    (Kingma and Ba 2015, algorithm 1, in the efficient order of section 2).
    """
    batch, time, features = dimensions["batch"], dimensions["time"], dimensions["features"]
    units, classes = dimensions["units"], dimensions["classes"]
    needless = 2 * _lstm.GATES * units * features
    recurrence = batch * time * (3 * _lstm.flops(features, units) - needless)
    parameters = _lstm.parameters(features, units) + (units + 1) * classes
    traffic = 4 * (batch * time * features + 2 * batch + 6 * parameters)
    return Cost(
        recurrence + 6 * batch * units * classes + 10 * parameters,
        traffic,
        "matrix products 2mnk each; sequences read, weights and both moments read and written",
    )


WORKLOAD = Workload(
    name="lstm",
    summary="LSTM and softmax over sequences of different lengths: forward, loss, gradients and Adam update",
    source="S8: layers of 100 and of 200 units; LSTM and softmax composed of primitives, without a kernel of their own",
    tf="tf_reference.lstm:build",
    jax="jaxport.lstm:build",
    inputs=inputs,
    weights=weights,
    cost=cost,
    sizes={
        "smoke": {"batch": 8, "time": 5, "features": 4, "units": 8, "classes": 4},
        "default": {"batch": 64, "time": 50, "features": 32, "units": 100, "classes": 10},
        "paper": {"batch": 64, "time": 50, "features": 32, "units": 200, "classes": 10},
    },
    training=Training(synthetic=examples),
)
