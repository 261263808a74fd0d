"""Gradients where a function has none: ties, ends of ranges, zeros."""

from workloads._spec import ArraySpec
from workloads.gotchas._gotcha import Gotcha

X = {"x": ArraySpec((4, 8))}
PAIR = {"x": ArraySpec((4, 8)), "y": ArraySpec((4, 8))}

GOTCHAS = (
    Gotcha(
        "maximum_tie",
        "Where both arguments are equal TensorFlow gives the first all of the gradient, JAX half to each.",
        ("tf.maximum", "jax.numpy.maximum"), PAIR, "gradients",
    ),
    Gotcha(
        "minimum_tie",
        "Where both arguments are equal TensorFlow gives the first all of the gradient, JAX half to each.",
        ("tf.minimum", "jax.numpy.minimum"), PAIR, "gradients",
    ),
    Gotcha(
        "clip_ends",
        "At the ends of the range tf.clip_by_value passes the whole gradient on, jnp.clip half of it.",
        ("tf.clip_by_value", "jax.numpy.clip"), X, "gradients",
    ),
    Gotcha(
        "abs_at_zero",
        "The gradient of the absolute value at zero is 0 in TensorFlow and 1 in JAX.",
        ("tf.abs", "jax.numpy.abs"), X, "gradients",
    ),
    Gotcha(
        "l1_loss_at_fit",
        "A mean absolute error whose prediction is exact has gradient 0 in TensorFlow; with jnp.abs it has not.",
        ("keras.losses.MeanAbsoluteError",), PAIR, "gradients",
    ),
    Gotcha(
        "xlogy_at_zero",
        "At x = y = 0 TensorFlow's gradients are 0, JAX's -inf and nan: take the logarithm of 1 there.",
        ("tf.math.xlogy", "jax.scipy.special.xlogy"),
        {"x": ArraySpec((4, 8), low=0.0, high=1.0), "y": ArraySpec((4, 8), low=0.0, high=1.0)}, "gradients",
    ),
    Gotcha(
        "divide_no_nan",
        "tf.math.divide_no_nan is 0 where the divisor is 0, with gradient 0; jnp.where(y != 0, x / y, 0) is nan in "
        "its gradient there: divide by 1 instead.",
        ("tf.math.divide_no_nan",), PAIR, "gradients",
    ),
    Gotcha("reduce_max_tie", "Both share the gradient equally among equal maxima.",
           ("tf.reduce_max", "jax.numpy.max"), X),
    Gotcha("sign", "Its gradient is 0 everywhere.", ("tf.sign", "jax.numpy.sign"), X),
    Gotcha("floor", "Its gradient is 0 everywhere.", ("tf.floor", "jax.numpy.floor"), X),
    Gotcha("sort", "The gradient goes where the values came from.", ("tf.sort", "jax.numpy.sort"), X),
)  # fmt: skip
