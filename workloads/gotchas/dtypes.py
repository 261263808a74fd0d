"""Types: casts that do not fit, division and rounding of integers, what promotes to what."""

from workloads.core.spec import ArraySpec
from workloads.gotchas._gotcha import Gotcha

X = {"x": ArraySpec((4, 8))}
HALF = {"x": ArraySpec((4, 8), "bfloat16")}
WHOLE = {"x": ArraySpec((4, 8), "int32", low=-20, high=20)}
BYTES = {"x": ArraySpec((4, 8), "uint8", low=0, high=256)}
DIVISION = {**WHOLE, "y": ArraySpec((4, 8), "int32", low=-5, high=0)}

GOTCHAS = (
    Gotcha(
        "truncatediv",
        "tf.truncatediv rounds to zero, // down: use jax.lax.div.",
        ("tf.truncatediv", "jax.lax.div", "jax.numpy.floor_divide"), DIVISION, "structure",
        tf="tf.truncatediv(x, y)", jax="jax.lax.div(x, y)", naive="x // y",
    ),
    Gotcha(
        "truncatemod",
        "The remainder of tf.truncatemod has the sign of the dividend, that of % of the divisor: use jax.lax.rem.",
        ("tf.truncatemod", "jax.lax.rem", "jax.numpy.mod"), DIVISION, "structure",
        tf="tf.truncatemod(x, y)", jax="jax.lax.rem(x, y)", naive="x % y",
    ),
    Gotcha(
        "floormod_sign",
        "The remainder of tf.math.floormod and % has the sign of the divisor, that of jax.lax.rem of the dividend.",
        ("tf.math.floormod", "jax.lax.rem", "jax.numpy.mod"), DIVISION, "structure",
        tf="tf.math.floormod(x, y)", jax="jnp.mod(x, y)", naive="jax.lax.rem(x, y)",
    ),
    Gotcha(
        "floormod_by_zero",
        "Compiled by XLA, TensorFlow's remainder by 0 is the dividend (on CPU without XLA it raises), that of jnp.mod "
        "is 0.",
        ("tf.math.floormod", "jax.numpy.mod"),
        {**WHOLE, "y": ArraySpec((4, 8), "int32", low=0, high=3)}, "structure",
        jax="jnp.where(y == 0, x, jnp.mod(x, jnp.where(y == 0, 1, y)))", naive="jnp.mod(x, y)",
    ),
    Gotcha(
        "integer_mean",
        "tf.reduce_mean of integers is an integer, rounded to zero; jnp.mean is a float: use jaxport.dtypes.mean.",
        ("tf.reduce_mean", "jax.numpy.mean"), WHOLE, "structure",
        tf="tf.reduce_mean(x, axis=-1)", jax="dtypes.mean(x, axis=-1)", naive="jnp.mean(x, axis=-1)",
    ),
    Gotcha(
        "byte_sum",
        "tf.reduce_sum of bytes is a byte and wraps, jnp.sum is uint32: pass dtype.",
        ("tf.reduce_sum", "jax.numpy.sum"), BYTES, "structure",
        tf="tf.reduce_sum(x, axis=-1)", jax="jnp.sum(x, axis=-1, dtype=x.dtype)", naive="jnp.sum(x, axis=-1)",
    ),
    Gotcha(
        "byte_mean",
        "tf.reduce_mean of bytes adds them up as wider integers, though tf.reduce_sum wraps: use jaxport.dtypes.mean.",
        ("tf.reduce_mean", "jax.numpy.mean"), BYTES, "structure",
        tf="tf.reduce_mean(x, axis=-1)",
        jax="dtypes.mean(x, axis=-1)",
        naive="jnp.sum(x, axis=-1, dtype=x.dtype) // x.shape[-1]",
    ),
    Gotcha(
        "byte_product",
        "tf.reduce_prod of bytes is a byte and wraps, jnp.prod is uint32: pass dtype.",
        ("tf.reduce_prod", "jax.numpy.prod"), BYTES, "structure",
        tf="tf.reduce_prod(x, axis=-1)", jax="jnp.prod(x, axis=-1, dtype=x.dtype)", naive="jnp.prod(x, axis=-1)",
    ),
    Gotcha(
        "round_half_up",
        "Both round halves to the even number; floor(x + 1/2) rounds them up.",
        ("tf.round", "jax.numpy.round"), {"x": ArraySpec((4, 8), "int32", low=-20, high=20)}, "semantics",
        tf="tf.round(tf.cast(x, tf.float32) / 2)", jax="jnp.round(x / 2)", naive="jnp.floor(x / 2 + 0.5)",
    ),
    Gotcha(
        "cast_to_byte",
        "Of a float beyond the range TensorFlow on CPU takes the rest modulo 256; compiled by XLA, as JAX, the nearest "
        "byte.",
        ("tf.cast", "jax.numpy.astype"), {"x": ArraySpec((4, 8), low=-600.0, high=600.0)}, "structure",
        jax="x.astype(jnp.uint8)", naive="x.astype(jnp.int32).astype(jnp.uint8)",
    ),
    Gotcha(
        "cast_nan",
        "Cast to an integer, NaN is the lowest one in TensorFlow on CPU; compiled by XLA, as in JAX, it is 0.",
        ("tf.cast", "jax.numpy.astype"), X, "structure",
    ),
    Gotcha(
        "saturate_cast",
        "tf.saturate_cast takes the nearest number of the type, a cast of integers wraps: use "
        "jaxport.dtypes.saturate_cast.",
        ("tf.saturate_cast", "jax.numpy.astype"),
        {"x": ArraySpec((4, 8), "int32", low=-600, high=600)}, "structure",
        tf="tf.saturate_cast(x, tf.uint8)", jax="dtypes.saturate_cast(x, jnp.uint8)", naive="x.astype(jnp.uint8)",
    ),
    Gotcha(
        "right_shift",
        "tf.bitwise.right_shift keeps the sign of a signed integer: use >>, not jax.lax.shift_right_logical.",
        ("tf.bitwise.right_shift", "jax.lax.shift_right_logical", "jax.numpy.right_shift"), WHOLE, "structure",
        tf="tf.bitwise.right_shift(x, 1)", jax="x >> 1", naive="jax.lax.shift_right_logical(x, 1)",
    ),
    Gotcha(
        "population_count",
        "TensorFlow's count of bits is a byte, JAX's has the type of its argument.",
        ("tf.raw_ops.PopulationCount", "jax.lax.population_count"), WHOLE, "structure",
        tf="tf.raw_ops.PopulationCount(x=x)",
        jax="jax.lax.population_count(x).astype(jnp.uint8)",
        naive="jax.lax.population_count(x)",
    ),
    Gotcha(
        "bfloat16_by_numpy_scalar",
        "TensorFlow gives a NumPy scalar the type of the tensor, JAX promotes bfloat16 to float32 by it: use Python "
        "numbers.",
        ("tf.math.divide", "jax.numpy.divide", "numpy.sqrt"), HALF, "structure",
        tf="x / np.sqrt(64)", jax="x / 8.0", naive="x / np.sqrt(64)",
    ),
    Gotcha(
        "bfloat16_mask_fill",
        "jnp.finfo(jnp.float32).min is a NumPy scalar, and promotes bfloat16 to float32: take that of x.dtype.",
        ("tf.where", "jax.numpy.where", "jax.numpy.finfo"), {**HALF, "mask": ArraySpec((4, 8), "bool")}, "structure",
        tf="tf.where(mask, x, x.dtype.min)",
        jax="jnp.where(mask, x, jnp.finfo(x.dtype).min)",
        naive="jnp.where(mask, x, jnp.finfo(jnp.float32).min)",
    ),
    Gotcha(
        "bfloat16_matmul",
        "TensorFlow's product of bfloat16 is bfloat16; preferred_element_type=jnp.float32 makes it float32.",
        ("tf.matmul", "jax.numpy.matmul"), {**HALF, "y": ArraySpec((8, 4), "bfloat16")}, "structure",
        tf="tf.matmul(x, y)", jax="x @ y", naive="jnp.matmul(x, y, preferred_element_type=jnp.float32)",
    ),
    Gotcha(
        "mixed_bfloat16",
        "Keras's policy mixed_bfloat16 computes in bfloat16 with weights of float32: that is dtype of a Flax layer; "
        "param_dtype=jnp.bfloat16 is neither.",
        ("keras.dtype_policies.DTypePolicy", "keras.layers.Dense", "flax.nnx.Linear"),
        {**X, "kernel": ArraySpec((8, 4))}, "structure",
    ),
    Gotcha("floordiv", "Both round down.", ("tf.math.floordiv", "jax.numpy.floor_divide"), DIVISION,
           tf="x // y", jax="x // y"),
    Gotcha("cast_to_integer", "Both cut the fraction off.", ("tf.cast", "jax.numpy.astype"),
           {"x": ArraySpec((4, 8), scale=10.0)},
           tf="tf.cast(x, tf.int32)", jax="x.astype(jnp.int32)"),
    Gotcha("integer_overflow", "Both wrap.", ("tf.multiply", "jax.numpy.multiply"),
           {"x": ArraySpec((4, 8), "int32", low=-2_000_000_000, high=2_000_000_000)},
           tf="x * 3", jax="x * 3"),
    Gotcha("byte_square", "Both keep the type and wrap.", ("tf.square", "jax.numpy.square"), BYTES,
           tf="tf.square(x)", jax="jnp.square(x)"),
    Gotcha("byte_times_float", "keras.layers.Rescaling casts to float32 before it scales.",
           ("keras.layers.Rescaling",), BYTES,
           tf="keras.layers.Rescaling(1 / 255)(x)", jax="x.astype(jnp.float32) * (1 / 255)"),
    Gotcha("bfloat16_by_python_scalar", "Python numbers take the type of the array in both.",
           ("tf.multiply", "jax.numpy.multiply"), HALF,
           tf="x * 0.125", jax="x * 0.125"),
)  # fmt: skip
