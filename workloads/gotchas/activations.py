"""Activations: defaults of slopes and approximations, and gradients at kinks."""

from workloads._spec import ArraySpec
from workloads.gotchas._gotcha import Gotcha

X = {"x": ArraySpec((4, 8))}
WIDE = {"x": ArraySpec((4, 8), scale=4.0)}

GOTCHAS = (
    Gotcha(
        "gelu",
        "TensorFlow's is exact, JAX's approximates by tanh unless told otherwise: pass approximate=False.",
        ("tf.nn.gelu", "keras.activations.gelu", "jax.nn.gelu"), X, "semantics",
    ),
    Gotcha(
        "leaky_relu",
        "tf.nn.leaky_relu has slope 0.2 below zero, jax.nn.leaky_relu 0.01: pass negative_slope. At zero TensorFlow's "
        "gradient is the slope, JAX's is 1.",
        ("tf.nn.leaky_relu", "jax.nn.leaky_relu"), X, "semantics",
    ),
    Gotcha(
        "keras_leaky_relu",
        "keras.layers.LeakyReLU has slope 0.3, keras.activations.leaky_relu 0.2, jax.nn.leaky_relu 0.01.",
        ("keras.layers.LeakyReLU", "jax.nn.leaky_relu"), X, "semantics",
    ),
    Gotcha(
        "relu_as_maximum",
        "jnp.maximum(x, 0) gives both arguments half of the gradient where they are equal; tf.nn.relu and jax.nn.relu "
        "have gradient 0 at zero.",
        ("tf.nn.relu", "jax.nn.relu", "jax.numpy.maximum"), X, "gradients",
    ),
    Gotcha(
        "relu6",
        "jax.nn.relu6 is made of maximum and minimum, each of which halves the gradient at its tie; TensorFlow's is 0 "
        "at zero and at six.",
        ("tf.nn.relu6", "keras.layers.ReLU", "jax.nn.relu6"), WIDE, "gradients",
    ),
    Gotcha(
        "selu_at_zero",
        "At zero TensorFlow's gradient is the scale, 1.0507; JAX's is scale times alpha, 1.7581.",
        ("tf.nn.selu", "keras.activations.selu", "jax.nn.selu"), X, "gradients",
    ),
    Gotcha(
        "prelu_at_zero",
        "Keras computes relu(x) - alpha * relu(-x), whose gradient at zero is 0; that of jnp.where(x >= 0, x, alpha * x) "
        "is 1.",
        ("keras.layers.PReLU",), {**X, "alpha": ArraySpec((8,))}, "gradients",
    ),
    Gotcha("gelu_by_tanh", "With approximate=True in TensorFlow, JAX's default is right.",
           ("tf.nn.gelu", "jax.nn.gelu"), X),
    Gotcha("relu", "jax.nn.relu has gradient 0 at zero, as tf.nn.relu.", ("tf.nn.relu", "jax.nn.relu"), X),
    Gotcha("elu", "The same formula and, at zero, the same gradient.", ("tf.nn.elu", "jax.nn.elu"), X),
    Gotcha("softplus", "The same formula.", ("tf.nn.softplus", "jax.nn.softplus"), WIDE),
    Gotcha("softsign", "The same formula.", ("tf.nn.softsign", "jax.nn.soft_sign"), X),
    Gotcha("silu", "The same formula; tf.nn.silu takes a beta more.", ("tf.nn.silu", "tf.nn.swish", "jax.nn.silu"), X),
    Gotcha("mish", "The same formula.", ("keras.activations.mish", "jax.nn.mish"), X),
    Gotcha("celu", "The same formula.", ("keras.activations.celu", "jax.nn.celu"), X),
    Gotcha("glu", "Both halve the last axis.", ("keras.activations.glu", "jax.nn.glu"), X),
    Gotcha("log_sigmoid", "The same formula.", ("tf.math.log_sigmoid", "jax.nn.log_sigmoid"), WIDE),
    Gotcha("softmax", "Both over the last axis.", ("tf.nn.softmax", "jax.nn.softmax"), WIDE),
    Gotcha("log_softmax", "Both over the last axis.", ("tf.nn.log_softmax", "jax.nn.log_softmax"), WIDE),
    Gotcha("squareplus", "Both have b = 4.", ("keras.activations.squareplus", "jax.nn.squareplus"), X),
)  # fmt: skip
