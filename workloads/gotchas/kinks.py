"""Gradients where a function has none: ties, ends of ranges, zeros."""

from workloads.core.spec import ArraySpec
from workloads.gotchas._gotcha import Gotcha

X = {"x": ArraySpec((4, 8))}
PAIR = {"x": ArraySpec((4, 8)), "y": ArraySpec((4, 8))}
FROM_MINUS_ONE = {**X, "y": ArraySpec((4, 8), low=-1.0, high=1.0)}

GOTCHAS = (
    Gotcha(
        "maximum_tie",
        "Where both arguments are equal TensorFlow gives the first all of the gradient, JAX half to each: use "
        "jaxport.elementwise.maximum.",
        ("tf.maximum", "jax.numpy.maximum"), PAIR, "gradients",
        tf="tf.maximum(x, y)", jax="elementwise.maximum(x, y)", naive="jnp.maximum(x, y)",
    ),
    Gotcha(
        "minimum_tie",
        "Where both arguments are equal TensorFlow gives the first all of the gradient, JAX half to each: use "
        "jaxport.elementwise.minimum.",
        ("tf.minimum", "jax.numpy.minimum"), PAIR, "gradients",
        tf="tf.minimum(x, y)", jax="elementwise.minimum(x, y)", naive="jnp.minimum(x, y)",
    ),
    Gotcha(
        "clip_ends",
        "At the ends of the range tf.clip_by_value passes the whole gradient on, jnp.clip half of it: use "
        "jaxport.elementwise.clip_by_value.",
        ("tf.clip_by_value", "jax.numpy.clip"), X, "gradients",
        tf="tf.clip_by_value(x, -1.0, 1.0)", jax="elementwise.clip_by_value(x, -1, 1)", naive="jnp.clip(x, -1, 1)",
    ),
    Gotcha(
        "abs_at_zero",
        "The gradient of the absolute value at zero is 0 in TensorFlow and 1 in JAX: use "
        "jaxport.elementwise.absolute.",
        ("tf.abs", "jax.numpy.abs"), X, "gradients",
        tf="tf.abs(x)", jax="elementwise.absolute(x)", naive="jnp.abs(x)",
    ),
    Gotcha(
        "l1_loss_at_fit",
        "A mean absolute error whose prediction is exact has gradient 0 in TensorFlow; with jnp.abs it has not.",
        ("keras.losses.MeanAbsoluteError",), PAIR, "gradients",
        tf="keras.losses.mean_absolute_error(x, y)",
        jax="jnp.mean(elementwise.absolute(x - y), axis=-1)",
        naive="jnp.mean(jnp.abs(x - y), axis=-1)",
    ),
    Gotcha(
        "xlogy_at_zero",
        "At x = y = 0 TensorFlow's gradients are 0, JAX's -inf and nan: use jaxport.elementwise.xlogy.",
        ("tf.math.xlogy", "jax.scipy.special.xlogy"),
        {"x": ArraySpec((4, 8), low=0.0, high=1.0), "y": ArraySpec((4, 8), low=0.0, high=1.0)}, "structure",
        tf="tf.math.xlogy(x, y)", jax="elementwise.xlogy(x, y)", naive="jax.scipy.special.xlogy(x, y)",
    ),
    Gotcha(
        "divide_no_nan",
        "tf.math.divide_no_nan is 0 where the divisor is 0, with gradient 0; jnp.where(y != 0, x / y, 0) is nan in "
        "its gradient there: use jaxport.elementwise.divide_no_nan.",
        ("tf.math.divide_no_nan",), PAIR, "structure",
        tf="tf.math.divide_no_nan(x, y)", jax="elementwise.divide_no_nan(x, y)", naive="jnp.where(y != 0, x / y, 0)",
    ),
    Gotcha(
        "xlog1py_at_zero",
        "At x = 0 TensorFlow's gradients are 0 whatever y is, JAX's by x is log(1 + y), minus infinity at y = -1: use "
        "jaxport.elementwise.xlog1py.",
        ("tf.math.xlog1py", "jax.scipy.special.xlog1py"), FROM_MINUS_ONE, "structure",
        tf="tf.math.xlog1py(x, y)", jax="elementwise.xlog1py(x, y)", naive="jax.scipy.special.xlog1py(x, y)",
    ),
    Gotcha(
        "multiply_no_nan",
        "tf.math.multiply_no_nan is 0 where y is 0, but y's gradient there is x; that of jnp.where(y == 0, 0, x * y) "
        "is 0: use jaxport.elementwise.multiply_no_nan.",
        ("tf.math.multiply_no_nan",), PAIR, "gradients",
        tf="tf.math.multiply_no_nan(x, y)",
        jax="elementwise.multiply_no_nan(x, y)",
        naive="jnp.where(y == 0, 0, x * y)",
    ),
    Gotcha(
        "power_of_negative",
        "The gradient by the exponent is 0 in tf.pow where the base is not positive, nan in jnp.power where it is "
        "negative: use jaxport.elementwise.power.",
        ("tf.pow", "jax.numpy.power"), {**X, "y": ArraySpec((4, 8), low=1.0, high=3.0)}, "structure",
        tf="tf.pow(x, y)", jax="elementwise.power(x, y)", naive="jnp.power(x, y)",
    ),
    Gotcha(
        "cumprod_at_zero",
        "TensorFlow's gradient of a factor 0 is 0: it divides by the factor what it multiplied by it. JAX's is the "
        "derivative: use jaxport.elementwise.cumprod to reproduce the former.",
        ("tf.math.cumprod", "jax.numpy.cumprod"), X, "gradients",
        tf="tf.math.cumprod(x, axis=1)", jax="elementwise.cumprod(x, 1)", naive="jnp.cumprod(x, axis=1)",
    ),
    Gotcha(
        "clip_by_norm_at_zero",
        "tf.clip_by_norm takes care of the norm's gradient at zero; min(1, c / norm(x)) * x is nan there, forward and "
        "backward: use jaxport.elementwise.clip_by_norm.",
        ("tf.clip_by_norm",), X, "structure",
        tf="tf.clip_by_norm(x, 2.0)",
        jax="elementwise.clip_by_norm(x, 2.0)",
        naive="x * jnp.minimum(1, 2 / jnp.linalg.norm(x))",
    ),
    Gotcha(
        "l1_norm_at_zero",
        "tf.norm of order 1 has gradient 0 at zero, jnp.linalg.norm gradient 1: sum jaxport.elementwise.absolute.",
        ("tf.norm", "jax.numpy.linalg.norm"), X, "gradients",
        tf="tf.norm(x, ord=1, axis=-1)",
        jax="jnp.sum(elementwise.absolute(x), axis=-1)",
        naive="jnp.linalg.norm(x, ord=1, axis=-1)",
    ),
    Gotcha(
        "maximum_norm_at_zero",
        "tf.norm of infinite order has gradient 0 at zero, jnp.linalg.norm that of its ties: take the largest "
        "jaxport.elementwise.absolute.",
        ("tf.norm", "jax.numpy.linalg.norm"), X, "gradients",
        tf="tf.norm(x, ord=np.inf, axis=-1)",
        jax="jnp.max(elementwise.absolute(x), axis=-1)",
        naive="jnp.linalg.norm(x, ord=jnp.inf, axis=-1)",
    ),
    Gotcha(
        "hinge_at_margin",
        "keras.losses.hinge writes tf.maximum(1 - y p, 0), whose tie passes the whole gradient on; that of "
        "optax.losses.hinge_loss is half.",
        ("keras.losses.Hinge", "optax.losses.hinge_loss"),
        {**X, "sign": ArraySpec((4, 8), low=1.0, high=2.0)}, "gradients",
        tf="keras.losses.hinge(tf.stop_gradient(sign), x)",
        jax="jnp.mean(elementwise.maximum(1 - jax.lax.stop_gradient(sign) * x, 0), axis=-1)",
        naive="jnp.mean(optax.losses.hinge_loss(x, jax.lax.stop_gradient(sign)), axis=-1)",
    ),
    Gotcha(
        "zero_first_in_maximum",
        "In tf.maximum(0., x) the tie at zero gives the constant all of the gradient and x none: that is jax.nn.relu, "
        "not jnp.maximum.",
        ("tf.maximum", "jax.numpy.maximum", "jax.nn.relu"), X, "gradients",
        tf="tf.maximum(0.0, x)", jax="jax.nn.relu(x)", naive="jnp.maximum(0, x)",
    ),
    Gotcha(
        "keras_logaddexp_tie",
        "keras.ops.logaddexp is made of a maximum, whose tie gives the first argument all of the gradient; JAX's "
        "gives half to each.",
        ("keras.ops.logaddexp", "jax.numpy.logaddexp"), PAIR, "gradients",
        tf="keras.ops.logaddexp(x, y)",
        jax="elementwise.maximum(x, y) + jnp.log1p(jnp.exp(-elementwise.absolute(x - y)))",
        naive="jnp.logaddexp(x, y)",
    ),
    Gotcha(
        "keras_hypot_at_zero",
        "keras.ops.hypot factors the larger argument out and has gradient 0 at zero; jnp.hypot's is nan or 1 there.",
        ("keras.ops.hypot", "jax.numpy.hypot"), PAIR, "gradients",
        tf="keras.ops.hypot(x, y)",
    ),
    Gotcha("reduce_max_tie", "Both share the gradient equally among equal maxima.", ("tf.reduce_max", "jax.numpy.max"),
           X,
           tf="tf.reduce_max(x, axis=-1)", jax="jnp.max(x, axis=-1)"),
    Gotcha("sign", "Its gradient is 0 everywhere.", ("tf.sign", "jax.numpy.sign"), X,
           tf="tf.sign(x)", jax="jnp.sign(x)"),
    Gotcha("floor", "Its gradient is 0 everywhere.", ("tf.floor", "jax.numpy.floor"), X,
           tf="tf.floor(x)", jax="jnp.floor(x)"),
    Gotcha("sort", "The gradient goes where the values came from.", ("tf.sort", "jax.numpy.sort"), X,
           tf="tf.sort(x)", jax="jnp.sort(x)"),
    Gotcha("reduce_min_tie", "Both share the gradient equally among equal minima.", ("tf.reduce_min", "jax.numpy.min"),
           X,
           tf="tf.reduce_min(x, axis=-1)", jax="jnp.min(x, axis=-1)"),
    Gotcha("norm_at_zero", "The gradient of the Euclidean norm at zero is nan in both.",
           ("tf.norm", "jax.numpy.linalg.norm"), X,
           tf="tf.norm(x, axis=-1)", jax="jnp.linalg.norm(x, axis=-1)"),
    Gotcha("sqrt_at_zero", "The gradient at zero is infinite in both.", ("tf.sqrt", "jax.numpy.sqrt"),
           {"x": ArraySpec((4, 8), low=0.0, high=1.0)},
           tf="tf.sqrt(x)", jax="jnp.sqrt(x)"),
    Gotcha(
        "where_without_inner_where",
        "A selection does not keep the gradient of what it leaves out from being nan, in neither: guard its argument "
        "too.",
        ("tf.where", "jax.numpy.where"), X,
        tf="tf.where(x > 0, tf.math.log(x), 0.0)", jax="jnp.where(x > 0, jnp.log(x), 0)",
    ),
    Gotcha("atan2_at_zero", "The gradients at x = y = 0 are nan in both.", ("tf.atan2", "jax.numpy.arctan2"), PAIR,
           tf="tf.atan2(x, y)", jax="jnp.arctan2(x, y)"),
    Gotcha("reduce_prod_at_zero", "Both multiply the other factors instead of dividing by the one.",
           ("tf.reduce_prod", "jax.numpy.prod"), X,
           tf="tf.reduce_prod(x, axis=-1)", jax="jnp.prod(x, axis=-1)"),
    Gotcha("round_half_gradient", "Both round halves to even, with gradient 0.", ("tf.round", "jax.numpy.round"), X,
           tf="tf.round(x)", jax="jnp.round(x)"),
    Gotcha("deviation_of_equals", "The gradient of a standard deviation of equal values is nan in both.",
           ("tf.math.reduce_std", "jax.numpy.std"), X,
           tf="tf.math.reduce_std(x, axis=-1)", jax="jnp.std(x, axis=-1)"),
    Gotcha("floormod_gradient", "At multiples too both are 0 with the same gradient: that of x - floor(x / y) y.",
           ("tf.math.floormod", "jax.numpy.mod"), {**X, "y": ArraySpec((4, 8), low=0.5, high=2.0)},
           tf="tf.math.floormod(x, y)", jax="jnp.mod(x, y)"),
)  # fmt: skip
