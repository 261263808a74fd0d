"""Gradients where a function has none: ties, ends of ranges, zeros."""

from workloads._spec import ArraySpec
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
    ),
    Gotcha(
        "minimum_tie",
        "Where both arguments are equal TensorFlow gives the first all of the gradient, JAX half to each: use "
        "jaxport.elementwise.minimum.",
        ("tf.minimum", "jax.numpy.minimum"), PAIR, "gradients",
    ),
    Gotcha(
        "clip_ends",
        "At the ends of the range tf.clip_by_value passes the whole gradient on, jnp.clip half of it: use "
        "jaxport.elementwise.clip_by_value.",
        ("tf.clip_by_value", "jax.numpy.clip"), X, "gradients",
    ),
    Gotcha(
        "abs_at_zero",
        "The gradient of the absolute value at zero is 0 in TensorFlow and 1 in JAX: use "
        "jaxport.elementwise.absolute.",
        ("tf.abs", "jax.numpy.abs"), X, "gradients",
    ),
    Gotcha(
        "l1_loss_at_fit",
        "A mean absolute error whose prediction is exact has gradient 0 in TensorFlow; with jnp.abs it has not.",
        ("keras.losses.MeanAbsoluteError",), PAIR, "gradients",
    ),
    Gotcha(
        "xlogy_at_zero",
        "At x = y = 0 TensorFlow's gradients are 0, JAX's -inf and nan: use jaxport.elementwise.xlogy.",
        ("tf.math.xlogy", "jax.scipy.special.xlogy"),
        {"x": ArraySpec((4, 8), low=0.0, high=1.0), "y": ArraySpec((4, 8), low=0.0, high=1.0)}, "structure",
    ),
    Gotcha(
        "divide_no_nan",
        "tf.math.divide_no_nan is 0 where the divisor is 0, with gradient 0; jnp.where(y != 0, x / y, 0) is nan in "
        "its gradient there: use jaxport.elementwise.divide_no_nan.",
        ("tf.math.divide_no_nan",), PAIR, "structure",
    ),
    Gotcha(
        "xlog1py_at_zero",
        "At x = 0 TensorFlow's gradients are 0 whatever y is, JAX's by x is log(1 + y), minus infinity at y = -1: use "
        "jaxport.elementwise.xlog1py.",
        ("tf.math.xlog1py", "jax.scipy.special.xlog1py"), FROM_MINUS_ONE, "structure",
    ),
    Gotcha(
        "multiply_no_nan",
        "tf.math.multiply_no_nan is 0 where y is 0, but y's gradient there is x; that of jnp.where(y == 0, 0, x * y) "
        "is 0: use jaxport.elementwise.multiply_no_nan.",
        ("tf.math.multiply_no_nan",), PAIR, "gradients",
    ),
    Gotcha(
        "power_of_negative",
        "The gradient by the exponent is 0 in tf.pow where the base is not positive, nan in jnp.power where it is "
        "negative: use jaxport.elementwise.power.",
        ("tf.pow", "jax.numpy.power"), {**X, "y": ArraySpec((4, 8), low=1.0, high=3.0)}, "structure",
    ),
    Gotcha(
        "cumprod_at_zero",
        "TensorFlow's gradient of a factor 0 is 0: it divides by the factor what it multiplied by it. JAX's is the "
        "derivative: use jaxport.elementwise.cumprod to reproduce the former.",
        ("tf.math.cumprod", "jax.numpy.cumprod"), X, "gradients",
    ),
    Gotcha(
        "clip_by_norm_at_zero",
        "tf.clip_by_norm takes care of the norm's gradient at zero; min(1, c / norm(x)) * x is nan there, forward and "
        "backward: use jaxport.elementwise.clip_by_norm.",
        ("tf.clip_by_norm",), X, "structure",
    ),
    Gotcha(
        "l1_norm_at_zero",
        "tf.norm of order 1 has gradient 0 at zero, jnp.linalg.norm gradient 1: sum jaxport.elementwise.absolute.",
        ("tf.norm", "jax.numpy.linalg.norm"), X, "gradients",
    ),
    Gotcha(
        "maximum_norm_at_zero",
        "tf.norm of infinite order has gradient 0 at zero, jnp.linalg.norm that of its ties: take the largest "
        "jaxport.elementwise.absolute.",
        ("tf.norm", "jax.numpy.linalg.norm"), X, "gradients",
    ),
    Gotcha(
        "hinge_at_margin",
        "keras.losses.hinge writes tf.maximum(1 - y p, 0), whose tie passes the whole gradient on; that of "
        "optax.losses.hinge_loss is half.",
        ("keras.losses.Hinge", "optax.losses.hinge_loss"),
        {**X, "sign": ArraySpec((4, 8), low=1.0, high=2.0)}, "gradients",
    ),
    Gotcha(
        "zero_first_in_maximum",
        "In tf.maximum(0., x) the tie at zero gives the constant all of the gradient and x none: that is jax.nn.relu, "
        "not jnp.maximum.",
        ("tf.maximum", "jax.numpy.maximum", "jax.nn.relu"), X, "gradients",
    ),
    Gotcha(
        "keras_logaddexp_tie",
        "keras.ops.logaddexp is made of a maximum, whose tie gives the first argument all of the gradient; JAX's "
        "gives half to each.",
        ("keras.ops.logaddexp", "jax.numpy.logaddexp"), PAIR, "gradients",
    ),
    Gotcha(
        "keras_hypot_at_zero",
        "keras.ops.hypot factors the larger argument out and has gradient 0 at zero; jnp.hypot's is nan or 1 there.",
        ("keras.ops.hypot", "jax.numpy.hypot"), PAIR, "gradients",
    ),
    Gotcha("reduce_max_tie", "Both share the gradient equally among equal maxima.", ("tf.reduce_max", "jax.numpy.max"),
           X),
    Gotcha("sign", "Its gradient is 0 everywhere.", ("tf.sign", "jax.numpy.sign"), X),
    Gotcha("floor", "Its gradient is 0 everywhere.", ("tf.floor", "jax.numpy.floor"), X),
    Gotcha("sort", "The gradient goes where the values came from.", ("tf.sort", "jax.numpy.sort"), X),
    Gotcha("reduce_min_tie", "Both share the gradient equally among equal minima.", ("tf.reduce_min", "jax.numpy.min"),
           X),
    Gotcha("norm_at_zero", "The gradient of the Euclidean norm at zero is nan in both.",
           ("tf.norm", "jax.numpy.linalg.norm"), X),
    Gotcha("sqrt_at_zero", "The gradient at zero is infinite in both.", ("tf.sqrt", "jax.numpy.sqrt"),
           {"x": ArraySpec((4, 8), low=0.0, high=1.0)}),
    Gotcha(
        "where_without_inner_where",
        "A selection does not keep the gradient of what it leaves out from being nan, in neither: guard its argument "
        "too.",
        ("tf.where", "jax.numpy.where"), X,
    ),
    Gotcha("atan2_at_zero", "The gradients at x = y = 0 are nan in both.", ("tf.atan2", "jax.numpy.arctan2"), PAIR),
    Gotcha("reduce_prod_at_zero", "Both multiply the other factors instead of dividing by the one.",
           ("tf.reduce_prod", "jax.numpy.prod"), X),
    Gotcha("round_half_gradient", "Both round halves to even, with gradient 0.", ("tf.round", "jax.numpy.round"), X),
    Gotcha("deviation_of_equals", "The gradient of a standard deviation of equal values is nan in both.",
           ("tf.math.reduce_std", "jax.numpy.std"), X),
    Gotcha("floormod_gradient", "At multiples too both are 0 with the same gradient: that of x - floor(x / y) y.",
           ("tf.math.floormod", "jax.numpy.mod"), {**X, "y": ArraySpec((4, 8), low=0.5, high=2.0)}),
)  # fmt: skip
