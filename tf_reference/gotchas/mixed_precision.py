"""Mixed precision in Keras."""

from typing import Any

import keras
import tensorflow as tf

DENSE = keras.layers.Dense(4, dtype="mixed_bfloat16")
DENSE.build((None, 8))
DENSE_IN_HALF = keras.layers.Dense(4, dtype="mixed_float16")
DENSE_IN_HALF.build((None, 8))
EMBEDDING = keras.layers.Embedding(6, 4, dtype="mixed_bfloat16")
EMBEDDING.build((None,))
LAYER_NORM = keras.layers.LayerNormalization(dtype="mixed_bfloat16")
LAYER_NORM.build((None, 8))
BATCH_NORM = keras.layers.BatchNormalization(dtype="mixed_bfloat16")
BATCH_NORM.build((None, 8))
WEIGHT = keras.Variable([0.0] * 8)
OPTIMIZER = keras.optimizers.LossScaleOptimizer(keras.optimizers.SGD(0.125), initial_scale=16.0)
OPTIMIZER.build([WEIGHT])
BEFORE = [(variable, variable.numpy()) for variable in OPTIMIZER.variables if "learning_rate" not in variable.path]


def _call_layer(layer: Any, x: tf.Tensor, kernel: tf.Tensor, bias: tf.Tensor) -> Any:
    """Call the layer with these weights, without gradients to them: a stateless call does not convert them."""
    layer.kernel.assign(kernel)
    layer.bias.assign(bias)
    return layer(x)


def loss_scale_overflow(gradients: tf.Tensor, start: tf.Tensor) -> Any:
    WEIGHT.assign(start)
    for variable, value in BEFORE:
        variable.assign(value)
    for step in range(4):
        # The scaled gradients of the second step overflow.
        gradient = gradients[step] * (float("inf") if step == 1 else OPTIMIZER.dynamic_scale)
        OPTIMIZER.apply([gradient], [WEIGHT])
    return tf.convert_to_tensor(WEIGHT.value)
