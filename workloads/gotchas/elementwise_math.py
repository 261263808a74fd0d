"""Sums, norms and special functions: default axes, formulas that overflow or cancel, gradients at zeros."""

from workloads._spec import ArraySpec
from workloads.gotchas._gotcha import Gotcha

X = {"x": ArraySpec((4, 8))}
WIDE = {"x": ArraySpec((4, 8), scale=4.0)}
PAIR = {"x": ArraySpec((4, 8)), "y": ArraySpec((4, 8))}
POSITIVE = {"x": ArraySpec((4, 8), low=0.5, high=5.0)}

GOTCHAS = (
    Gotcha(
        "cumsum_default_axis",
        "tf.cumsum's default axis is 0; jnp.cumsum without one flattens the array.",
        ("tf.cumsum", "jax.numpy.cumsum"), X, "structure",
    ),
    Gotcha(
        "cumsum_exclusive",
        "With exclusive=True an element is not in its own sum: subtract it, or shift.",
        ("tf.cumsum", "jax.numpy.cumsum"), X, "semantics",
    ),
    Gotcha(
        "cumsum_reverse",
        "With reverse=True the sums stand where they began: turn the array back, or use jax.lax.cumsum with "
        "reverse=True.",
        ("tf.cumsum", "jax.lax.cumsum"), X, "semantics",
    ),
    Gotcha(
        "cumulative_logsumexp",
        "The logarithm of a cumulative sum of exponentials overflows: use jax.lax.cumlogsumexp.",
        ("tf.math.cumulative_logsumexp", "jax.lax.cumlogsumexp"), X, "stability",
    ),
    Gotcha(
        "reduce_logsumexp",
        "The logarithm of a sum of exponentials overflows: use jax.nn.logsumexp.",
        ("tf.reduce_logsumexp", "jax.nn.logsumexp"), X, "stability",
    ),
    Gotcha(
        "variance_one_pass",
        "The mean of squares less the square of the mean cancels: use jnp.var.",
        ("tf.nn.moments", "tf.math.reduce_variance", "jax.numpy.var"), X, "stability",
    ),
    Gotcha(
        "log1p",
        "log(1 + x) loses a small x: use jnp.log1p.",
        ("tf.math.log1p", "jax.numpy.log1p"), {"x": ArraySpec((4, 8), low=0.0, high=4.0)}, "stability",
    ),
    Gotcha(
        "expm1",
        "exp(x) - 1 loses a small x: use jnp.expm1.",
        ("tf.math.expm1", "jax.numpy.expm1"), X, "stability",
    ),
    Gotcha(
        "reduce_std_ddof",
        "tf.math.reduce_std divides by the size of the sample, as jnp.std does; ddof=1 is another habit.",
        ("tf.math.reduce_std", "jax.numpy.std"), X, "semantics",
    ),
    Gotcha(
        "clip_by_norm",
        "tf.clip_by_norm divides by the norm where it is larger only; the gradient of c / norm is nan where all is 0.",
        ("tf.clip_by_norm", "jax.numpy.linalg.norm"), X, "structure",
    ),
    Gotcha(
        "clip_crossed_bounds",
        "Where the lower bound lies above the upper one, tf.clip_by_value gives the lower, jnp.clip the upper: use "
        "jaxport.elementwise.clip_by_value.",
        ("tf.clip_by_value", "jax.numpy.clip", "jax.lax.clamp"),
        {"x": ArraySpec((4, 8)), "low": ArraySpec((4, 8)), "high": ArraySpec((4, 8))}, "semantics",
    ),
    Gotcha(
        "reciprocal_no_nan",
        "The gradient of jnp.where(x != 0, 1 / x, 0) is nan where x is 0, TensorFlow's is 0: divide by 1 there.",
        ("tf.math.reciprocal_no_nan", "jax.numpy.where"), X, "structure",
    ),
    Gotcha(
        "xdivy",
        "tf.math.xdivy is 0 where x is 0, its gradient too; that of jnp.where(x == 0, 0, x / y) is nan at 0 / 0.",
        ("tf.math.xdivy", "jax.numpy.where"), PAIR, "structure",
    ),
    Gotcha("cumsum", "Both include the element itself.", ("tf.cumsum", "jax.numpy.cumsum"), X),
    Gotcha("squared_difference", "The square of the difference.", ("tf.math.squared_difference",), PAIR),
    Gotcha("lgamma", "The same function.", ("tf.math.lgamma", "jax.scipy.special.gammaln"), POSITIVE),
    Gotcha("digamma", "The same function.", ("tf.math.digamma", "jax.scipy.special.digamma"), POSITIVE),
    Gotcha("erfinv", "The same function.", ("tf.math.erfinv", "jax.scipy.special.erfinv"),
           {"x": ArraySpec((4, 8), low=-0.9, high=0.9)}),
    Gotcha("betainc", "The same function.", ("tf.math.betainc", "jax.scipy.special.betainc"),
           {"a": ArraySpec((4, 8), low=0.5, high=3.0), "b": ArraySpec((4, 8), low=0.5, high=3.0),
            "x": ArraySpec((4, 8), low=0.1, high=0.9)}),
    Gotcha("zeta", "The same function.", ("tf.math.zeta", "jax.scipy.special.zeta"),
           {"x": ArraySpec((4, 8), low=1.5, high=4.0), "q": ArraySpec((4, 8), low=0.5, high=3.0)}),
    Gotcha("bessel_i0e", "The same function.", ("tf.math.bessel_i0e", "jax.scipy.special.i0e"), WIDE),
    Gotcha("complex_product", "Gradients with respect to complex numbers are TensorFlow's conjugated in JAX: conjugate "
           "them before a step.", ("tf.math.real", "jax.numpy.real", "jax.grad"),
           {"x": ArraySpec((4, 8), "complex64"), "y": ArraySpec((4, 8), "complex64")}),
    Gotcha("atan2", "The order of arguments is the same.", ("tf.math.atan2", "jax.numpy.arctan2"),
           {"y": ArraySpec((4, 8), low=0.5, high=3.0), "x": ArraySpec((4, 8), low=0.5, high=3.0)}),
)  # fmt: skip
