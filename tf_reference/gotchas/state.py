"""State in TensorFlow and Keras: every function sets it first, so that a call does not depend on the one before."""

from typing import Any

import keras
import tensorflow as tf

VARIABLE, STEP = tf.Variable(tf.zeros(4)), tf.Variable(0)
AVERAGE = tf.train.ExponentialMovingAverage(0.875)
AVERAGE_BY_STEP = tf.train.ExponentialMovingAverage(0.875, num_updates=STEP)
WEIGHTS = keras.Variable(tf.zeros(4))


def _build(layer: Any, *shape: int) -> Any:
    layer.build(shape)
    return layer


BATCH_NORM = _build(keras.layers.BatchNormalization(scale=False, center=False), 4, 8)
SPECTRAL = _build(keras.layers.SpectralNormalization(keras.layers.Dense(4, use_bias=False)), 4, 8)
RNN = _build(keras.layers.SimpleRNN(4, stateful=True, return_sequences=True, unroll=True), 2, 3, 3)
DROPOUT = keras.layers.Dropout(0.5)
DENSE = _build(keras.layers.Dense(6, use_bias=False), 4, 6)
FROZEN = _build(keras.layers.Dense(4, use_bias=False, trainable=False), 4, 6)
MEAN = keras.metrics.Mean()
SGD = keras.optimizers.SGD(0.1)
ADAMW = keras.optimizers.AdamW(0.1)
for optimizer in (SGD, ADAMW):
    optimizer.build([WEIGHTS])
for average in (AVERAGE, AVERAGE_BY_STEP):
    average.apply([VARIABLE])


def variable_alias(x: tf.Tensor) -> tf.Tensor:
    VARIABLE.assign(x)
    before = VARIABLE
    VARIABLE.assign_add(2 * x)
    return tf.stop_gradient(tf.convert_to_tensor(before))


def variable_in_function(x: tf.Tensor) -> tf.Tensor:
    @tf.function
    def double() -> tf.Tensor:
        return 2 * VARIABLE

    VARIABLE.assign(x)
    first = double()
    VARIABLE.assign_add(x)
    return tf.stop_gradient(first + double())


def python_counter(x: tf.Tensor) -> tf.Tensor:
    calls = []

    @tf.function
    def scale(x: tf.Tensor) -> tf.Tensor:
        calls.append(1)
        return len(calls) * x

    return scale(x) + scale(x) + scale(x)


def assign_cuts_gradient(x: tf.Tensor) -> tf.Tensor:
    VARIABLE.assign(tf.tanh(x))
    return VARIABLE * x


def batch_norm_moves_at_once(x: tf.Tensor, y: tf.Tensor, mean: tf.Tensor, variance: tf.Tensor) -> Any:
    _set(BATCH_NORM, mean, variance)
    BATCH_NORM(x, training=True)
    return 1 + BATCH_NORM(y, training=False)


def batch_norm_called_twice(x: tf.Tensor, y: tf.Tensor, mean: tf.Tensor, variance: tf.Tensor) -> Any:
    _set(BATCH_NORM, mean, variance)
    BATCH_NORM(x, training=True)
    BATCH_NORM(y, training=True)
    return {"mean": BATCH_NORM.moving_mean.value, "variance": BATCH_NORM.moving_variance.value}


def _set(layer: Any, *values: tf.Tensor) -> None:
    for variable, value in zip(layer.variables, values, strict=False):
        variable.assign(value)


def stateful_rnn_carries(x: tf.Tensor, kernel: tf.Tensor, recurrent: tf.Tensor, bias: tf.Tensor) -> Any:
    _set(RNN, kernel, recurrent, bias)
    RNN.reset_state()
    RNN(x[:, :3])
    return tf.stop_gradient(RNN(x[:, 3:]))


def stateful_rnn_cuts_gradient(x: tf.Tensor, kernel: tf.Tensor, recurrent: tf.Tensor, bias: tf.Tensor) -> Any:
    _set(RNN, kernel, recurrent, bias)
    RNN.reset_state()
    RNN(x[:, :3])
    return RNN(x[:, 3:])


def _averages(average: Any, weights: tf.Tensor, gradients: tf.Tensor) -> tf.Tensor:
    """The average after every step of descent."""
    shadow: Any = average.average(VARIABLE)
    averages = []
    VARIABLE.assign(weights)
    shadow.assign(weights)
    STEP.assign(0)
    for gradient in tf.unstack(gradients):
        VARIABLE.assign_sub(0.5 * gradient)
        STEP.assign_add(1)
        average.apply([VARIABLE])
        averages.append(shadow.read_value())
    return tf.stop_gradient(tf.stack(averages))


def learning_rate_assigned(weights: tf.Tensor, gradients: tf.Tensor) -> tf.Tensor:
    WEIGHTS.assign(weights)
    rate: Any = SGD.learning_rate
    rate.assign(0.1)
    SGD.apply([gradients[0]], [WEIGHTS])
    rate.assign(0.01)
    SGD.apply([gradients[1]], [WEIGHTS])
    return tf.convert_to_tensor(WEIGHTS.value)


def shared_layer_step(x: tf.Tensor, kernel: tf.Tensor) -> tf.Tensor:
    with tf.GradientTape() as tape:
        tape.watch(kernel)
        loss = tf.reduce_mean(tf.square(shared_layer(x, kernel)))
    return kernel - 0.1 * tape.gradient(loss, kernel)


def frozen_layer_gradient(x: tf.Tensor, first: tf.Tensor, frozen: tf.Tensor) -> Any:
    with tf.GradientTape() as tape:
        tape.watch(first)
        output, _ = FROZEN.stateless_call([], [frozen], tf.tanh(x @ first))
        loss = tf.reduce_mean(tf.square(output))
    return tape.gradient(loss, first)


def frozen_layer_decay(weights: tf.Tensor, gradients: tf.Tensor, frozen: tf.Tensor) -> dict[str, Any]:
    WEIGHTS.assign(weights)
    for variable in ADAMW.variables:
        if "learning_rate" not in variable.path:
            variable.assign(tf.zeros_like(variable.value))
    ADAMW.apply([gradients[0]], [WEIGHTS])
    return {"trained": tf.convert_to_tensor(WEIGHTS.value), "frozen": tf.stop_gradient(frozen)}


def variable_read_before(x: tf.Tensor) -> tf.Tensor:
    VARIABLE.assign(x)
    before = 3 * VARIABLE
    VARIABLE.assign_add(2 * x)
    return tf.stop_gradient(before - VARIABLE * VARIABLE)


def assign_in_cond(x: tf.Tensor) -> tf.Tensor:
    VARIABLE.assign(x)
    tf.cond(tf.reduce_sum(x) > 0, lambda: VARIABLE.assign_add(x), lambda: VARIABLE.assign(tf.zeros(4)))
    return tf.stop_gradient(tf.convert_to_tensor(VARIABLE))


def metric_reset(x: tf.Tensor, y: tf.Tensor) -> Any:
    for batch in (x, y):
        MEAN.reset_state()
        MEAN.update_state(batch[:1])
        MEAN.update_state(batch[1:])
    return tf.stop_gradient(MEAN.result())


def shared_layer(x: tf.Tensor, kernel: tf.Tensor) -> Any:
    hidden, _ = DENSE.stateless_call([kernel], [], x)
    return DENSE.stateless_call([kernel], [], tf.tanh(hidden))[0]
