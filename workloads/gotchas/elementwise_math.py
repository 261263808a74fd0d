"""Sums, norms and special functions: default axes, formulas that overflow or cancel, gradients at zeros."""

from workloads.core.spec import ArraySpec
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
        tf="tf.cumsum(x)", jax="jnp.cumsum(x, axis=0)", naive="jnp.cumsum(x)",
    ),
    Gotcha(
        "cumsum_exclusive",
        "With exclusive=True an element is not in its own sum: subtract it, or shift.",
        ("tf.cumsum", "jax.numpy.cumsum"), X, "semantics",
        tf="tf.cumsum(x, axis=1, exclusive=True)",
        jax="jnp.cumsum(jnp.pad(x, ((0, 0), (1, 0)))[:, :-1], axis=1)",
        naive="jnp.cumsum(x, axis=1)",
    ),
    Gotcha(
        "cumsum_reverse",
        "With reverse=True the sums stand where they began: turn the array back, or use jax.lax.cumsum with "
        "reverse=True.",
        ("tf.cumsum", "jax.lax.cumsum"), X, "semantics",
        tf="tf.cumsum(x, axis=1, reverse=True)",
        jax="jax.lax.cumsum(x, axis=1, reverse=True)",
        naive="jnp.cumsum(x[:, ::-1], axis=1)",
    ),
    Gotcha(
        "cumulative_logsumexp",
        "The logarithm of a cumulative sum of exponentials overflows: use jax.lax.cumlogsumexp.",
        ("tf.math.cumulative_logsumexp", "jax.lax.cumlogsumexp"), X, "stability",
        tf="tf.math.cumulative_logsumexp(x, axis=1)",
        jax="jax.lax.cumlogsumexp(x, axis=1)",
        naive="jnp.log(jnp.cumsum(jnp.exp(x), axis=1))",
    ),
    Gotcha(
        "reduce_logsumexp",
        "The logarithm of a sum of exponentials overflows: use jax.nn.logsumexp.",
        ("tf.reduce_logsumexp", "jax.nn.logsumexp"), X, "stability",
        tf="tf.reduce_logsumexp(x, axis=1)",
        jax="jax.nn.logsumexp(x, axis=1)",
        naive="jnp.log(jnp.sum(jnp.exp(x), axis=1))",
    ),
    Gotcha(
        "variance_one_pass",
        "The mean of squares less the square of the mean cancels: use jnp.var.",
        ("tf.nn.moments", "tf.math.reduce_variance", "jax.numpy.var"), X, "stability",
        tf="tf.nn.moments(x, axes=[1])",
    ),
    Gotcha(
        "log1p",
        "log(1 + x) loses a small x: use jnp.log1p.",
        ("tf.math.log1p", "jax.numpy.log1p"), {"x": ArraySpec((4, 8), low=0.0, high=4.0)}, "stability",
        tf="tf.math.log1p(x)", jax="jnp.log1p(x)", naive="jnp.log(1 + x)",
    ),
    Gotcha(
        "expm1",
        "exp(x) - 1 loses a small x: use jnp.expm1.",
        ("tf.math.expm1", "jax.numpy.expm1"), X, "stability",
        tf="tf.math.expm1(x)", jax="jnp.expm1(x)", naive="jnp.exp(x) - 1",
    ),
    Gotcha(
        "reduce_std_ddof",
        "tf.math.reduce_std divides by the size of the sample, as jnp.std does; ddof=1 is another habit.",
        ("tf.math.reduce_std", "jax.numpy.std"), X, "semantics",
        tf="tf.math.reduce_std(x, axis=1)", jax="jnp.std(x, axis=1)", naive="jnp.std(x, axis=1, ddof=1)",
    ),
    Gotcha(
        "clip_by_norm",
        "tf.clip_by_norm divides by the norm where it is larger only; the gradient of c / norm is nan where all is 0.",
        ("tf.clip_by_norm", "jax.numpy.linalg.norm"), X, "structure",
        tf="tf.clip_by_norm(x, 2.0)",
    ),
    Gotcha(
        "clip_crossed_bounds",
        "Where the lower bound lies above the upper one, tf.clip_by_value gives the lower, jnp.clip the upper: use "
        "jaxport.elementwise.clip_by_value.",
        ("tf.clip_by_value", "jax.numpy.clip", "jax.lax.clamp"),
        {"x": ArraySpec((4, 8)), "low": ArraySpec((4, 8)), "high": ArraySpec((4, 8))}, "semantics",
        tf="tf.clip_by_value(x, low, high)",
        jax="elementwise.clip_by_value(x, low, high)",
        naive="jnp.clip(x, low, high)",
    ),
    Gotcha(
        "reciprocal_no_nan",
        "The gradient of jnp.where(x != 0, 1 / x, 0) is nan where x is 0, TensorFlow's is 0: divide by 1 there.",
        ("tf.math.reciprocal_no_nan", "jax.numpy.where"), X, "structure",
        tf="tf.math.reciprocal_no_nan(x)",
        jax="jnp.where(x == 0, 0, 1 / jnp.where(x == 0, 1, x))",
        naive="jnp.where(x != 0, 1 / x, 0)",
    ),
    Gotcha(
        "xdivy",
        "tf.math.xdivy is 0 where x is 0, its gradient too; that of jnp.where(x == 0, 0, x / y) is nan at 0 / 0.",
        ("tf.math.xdivy", "jax.numpy.where"), PAIR, "structure",
        tf="tf.math.xdivy(x, y)",
        jax="jnp.where(x == 0, 0, x / jnp.where(x == 0, 1, y))",
        naive="jnp.where(x == 0, 0, x / y)",
    ),
    Gotcha("cumsum", "Both include the element itself.", ("tf.cumsum", "jax.numpy.cumsum"), X,
           tf="tf.cumsum(x, axis=1)", jax="jnp.cumsum(x, axis=1)"),
    Gotcha("squared_difference", "The square of the difference.", ("tf.math.squared_difference",), PAIR,
           tf="tf.math.squared_difference(x, y)", jax="(x - y) ** 2"),
    Gotcha("lgamma", "The same function.", ("tf.math.lgamma", "jax.scipy.special.gammaln"), POSITIVE,
           tf="tf.math.lgamma(x)", jax="jax.scipy.special.gammaln(x)"),
    Gotcha("digamma", "The same function.", ("tf.math.digamma", "jax.scipy.special.digamma"), POSITIVE,
           tf="tf.math.digamma(x)", jax="jax.scipy.special.digamma(x)"),
    Gotcha("erfinv", "The same function.", ("tf.math.erfinv", "jax.scipy.special.erfinv"),
           {"x": ArraySpec((4, 8), low=-0.9, high=0.9)},
           tf="tf.math.erfinv(x)", jax="jax.scipy.special.erfinv(x)"),
    Gotcha("betainc", "The same function.", ("tf.math.betainc", "jax.scipy.special.betainc"),
           {"a": ArraySpec((4, 8), low=0.5, high=3.0), "b": ArraySpec((4, 8), low=0.5, high=3.0),
            "x": ArraySpec((4, 8), low=0.1, high=0.9)},
           tf="tf.math.betainc(tf.stop_gradient(a), tf.stop_gradient(b), x)",
           jax="jax.scipy.special.betainc(jax.lax.stop_gradient(a), jax.lax.stop_gradient(b), x)"),
    Gotcha("zeta", "The same function.", ("tf.math.zeta", "jax.scipy.special.zeta"),
           {"x": ArraySpec((4, 8), low=1.5, high=4.0), "q": ArraySpec((4, 8), low=0.5, high=3.0)},
           tf="tf.math.zeta(tf.stop_gradient(x), q)", jax="jax.scipy.special.zeta(jax.lax.stop_gradient(x), q)"),
    Gotcha("bessel_i0e", "The same function.", ("tf.math.bessel_i0e", "jax.scipy.special.i0e"), WIDE,
           tf="tf.math.bessel_i0e(x)", jax="jax.scipy.special.i0e(x)"),
    Gotcha("complex_product", "Gradients with respect to complex numbers are TensorFlow's conjugated in JAX: conjugate "
           "them before a step.", ("tf.math.real", "jax.numpy.real", "jax.grad"),
           {"x": ArraySpec((4, 8), "complex64"), "y": ArraySpec((4, 8), "complex64")},
           tf="tf.math.real(x * y)", jax="(x * y).real"),
    Gotcha("atan2", "The order of arguments is the same.", ("tf.math.atan2", "jax.numpy.arctan2"),
           {"y": ArraySpec((4, 8), low=0.5, high=3.0), "x": ArraySpec((4, 8), low=0.5, high=3.0)},
           tf="tf.math.atan2(y, x)", jax="jnp.arctan2(y, x)"),
)  # fmt: skip
