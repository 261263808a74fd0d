"""XLA's results for arguments that TensorFlow's kernels refuse: out of range, divided by zero, not a number."""

from workloads.core.spec import ArraySpec
from workloads.gotchas._gotcha import Gotcha

X = {"x": ArraySpec((4, 8))}
TABLE = {"x": ArraySpec((4, 6))}
WHOLE = {"x": ArraySpec((4, 8), "int32", low=-20, high=20)}
SHIFTS = {**WHOLE, "shifts": ArraySpec((4, 8), "int32", low=-8, high=40)}
CLASSES = ArraySpec((8,), "int32", low=-2, high=6)
AROUND = ArraySpec((8,), "int32", low=-3, high=8)

GOTCHAS = (
    Gotcha(
        "sparse_label_beyond",
        "Compiled by XLA, the loss of a label that is no class is nan (on CPU without XLA it raises); JAX takes a "
        "negative one from the end, and trains on it: write nan, or mask such labels.",
        ("tf.nn.sparse_softmax_cross_entropy_with_logits", "keras.losses.SparseCategoricalCrossentropy",
         "optax.losses.softmax_cross_entropy_with_integer_labels"),
        {"labels": CLASSES, "logits": ArraySpec((8, 4))}, "structure",
    ),
    Gotcha(
        "in_top_k_beyond",
        "Compiled by XLA, tf.math.in_top_k gives a target that is no class, such as a label of padding, a score of 0; "
        "without XLA, and by the indices of jax.lax.top_k, it is never in: leave it out by a weight of 0.",
        ("tf.math.in_top_k", "keras.metrics.SparseTopKCategoricalAccuracy", "jax.lax.top_k"),
        {"targets": CLASSES, "predictions": ArraySpec((8, 4))}, "structure",
    ),
    Gotcha(
        "confusion_matrix_beyond",
        "Compiled by XLA, tf.math.confusion_matrix leaves out labels that are no class (without XLA it raises); .at[] "
        "counts a negative one as the last class: pass mode='drop' and wrap_negative_indices=False.",
        ("tf.math.confusion_matrix", "keras.metrics.MeanIoU", "jax.numpy.ndarray.at"),
        {"labels": CLASSES, "predictions": ArraySpec((8,), "int32", low=0, high=4)}, "structure",
    ),
    Gotcha(
        "multi_hot_beyond",
        "Compiled by XLA, keras.layers.CategoryEncoding leaves out what is no token (without XLA it raises); .at[] "
        "takes -1 for the last token: use the largest of jax.nn.one_hot's rows.",
        ("keras.layers.CategoryEncoding", "jax.nn.one_hot", "jax.numpy.ndarray.at"),
        {"ids": ArraySpec((4, 3), "int32", low=-2, high=8)}, "structure",
        jax="jnp.max(jax.nn.one_hot(ids, 6, dtype=jnp.int32), axis=1)",
        naive="jnp.zeros((4, 6), jnp.int32).at[jnp.arange(4)[:, None], ids].set(1)",
    ),
    Gotcha(
        "gather_nd_beyond",
        "Compiled by XLA, tf.gather_nd takes the nearest place along each axis (on CPU without XLA it raises); JAX "
        "counts negative indices from the end: use jaxport.indexing.gather_nd.",
        ("tf.gather_nd",), {**TABLE, "indices": ArraySpec((8, 2), "int32", low=-3, high=8)}, "semantics",
        jax="indexing.gather_nd(jax.lax.stop_gradient(x), indices)",
        naive="jax.lax.stop_gradient(x)[indices[:, 0], indices[:, 1]]",
    ),
    Gotcha(
        "gather_rows_beyond",
        "Compiled by XLA, tf.gather with batch_dims takes the nearest place (on CPU without XLA it raises); "
        "jnp.take_along_axis has NaN beyond, and counts from the end: map jnp.take with mode='clip'.",
        ("tf.gather", "jax.numpy.take_along_axis", "jax.numpy.take"),
        {**TABLE, "indices": ArraySpec((4, 3), "int32", low=-3, high=9)}, "structure",
        jax="jax.vmap(lambda row, places: jnp.take(row, places, mode='clip'))(jax.lax.stop_gradient(x), indices)",
        naive="jnp.take_along_axis(jax.lax.stop_gradient(x), indices, axis=1)",
    ),
    Gotcha(
        "tensor_array_write_beyond",
        "Compiled by XLA, a write to a tf.TensorArray beyond its ends goes to the nearest element (without XLA it "
        "raises); .at[].set() drops it, and counts a negative index from the end: clip indices.",
        ("tf.TensorArray", "jax.numpy.ndarray.at"),
        {**TABLE, "value": ArraySpec((6,)), "index": ArraySpec((), "int32", low=-4, high=8)}, "semantics",
    ),
    Gotcha(
        "reverse_sequence_beyond",
        "Compiled by XLA, tf.reverse_sequence of a length beyond the array repeats its last step (without XLA it "
        "raises); cutting the length to the array repeats nothing: clip the index of each step instead.",
        ("tf.reverse_sequence", "jax.numpy.flip"),
        {"x": ArraySpec((4, 6)), "lengths": ArraySpec((4,), "int32", low=1, high=10)}, "semantics",
    ),
    Gotcha(
        "segment_sum_beyond",
        "Both leave a segment beyond the last out of the sum (on CPU without XLA it raises). Compiled by XLA, "
        "TensorFlow's gradient of such a value is that of the last segment all the same, JAX's is 0, as it should be.",
        ("tf.math.unsorted_segment_sum", "jax.ops.segment_sum"), {"x": ArraySpec((8, 4)), "segments": AROUND},
        "gradients",
    ),
    Gotcha(
        "floordiv_by_zero",
        "Compiled by XLA, TensorFlow's integer quotient by 0 is -1, or -2 of a negative number (on CPU without XLA it "
        "raises); that of jnp.floor_divide is -2 of a positive one too: make the divisor harmless first.",
        ("tf.math.floordiv", "jax.numpy.floor_divide", "jax.lax.div"),
        {**WHOLE, "y": ArraySpec((4, 8), "int32", low=-1, high=3)}, "structure",
    ),
    Gotcha(
        "integer_mean_overflow",
        "Compiled by XLA, the sum in tf.reduce_mean of integers wraps, which it does not without; jnp.mean adds up "
        "floats: jaxport.dtypes.mean is the compiled one.",
        ("tf.reduce_mean", "jax.numpy.mean"),
        {"x": ArraySpec((4, 8), "int32", low=2**29, high=2**31 - 1)}, "structure",
        jax="dtypes.mean(x, axis=-1)", naive="jnp.mean(x, axis=-1).astype(x.dtype)",
    ),
    Gotcha(
        "float16_mean",
        "TensorFlow's mean of float16 is infinite on CPU where the sum is; compiled by XLA, as jnp.mean, it adds up in "
        "float32 and rounds once, which a sum over a count does not.",
        ("tf.reduce_mean", "jax.numpy.mean", "jax.numpy.sum"),
        {"x": ArraySpec((4, 128), "float16", low=900.0, high=1000.0)}, "structure",
        jax="jnp.mean(x, axis=-1)", naive="jnp.sum(x, axis=-1) / x.shape[-1]",
    ),
    Gotcha(
        "integer_power_negative",
        "Compiled by XLA, a negative power of an integer is 0 but for 1 and -1 (on CPU without XLA it raises); "
        "jnp.power makes other numbers of it: take the power of integers that are not negative only.",
        ("tf.pow", "jax.numpy.power"),
        {"x": ArraySpec((4, 8), "int32", low=-3, high=4), "y": ArraySpec((4, 8), "int32", low=-3, high=4)}, "structure",
    ),
    Gotcha("check_numerics_vanishes", "Compiled by XLA, tf.debugging.check_numerics checks nothing, and NaN goes on as "
           "in JAX: use jax.experimental.checkify where it shall stop.",
           ("tf.debugging.check_numerics", "jax.experimental.checkify"), X,
           jax="jnp.sqrt(jax.lax.stop_gradient(x))"),
    Gotcha("assert_vanishes", "Compiled by XLA, assertions are left out: nothing is to be ported.",
           ("tf.debugging.assert_positive", "tf.debugging.Assert"), X,
           jax="2 * x"),
    Gotcha("left_shift_beyond", "A shift by the width and beyond, or a negative one, is 0 in XLA; TensorFlow's kernels "
           "take the nearest shift from 0 to 31.", ("tf.bitwise.left_shift", "jax.numpy.left_shift"), SHIFTS,
           jax="x << shifts"),
    Gotcha("right_shift_beyond", "A shift by the width and beyond, or a negative one, leaves the sign in XLA; "
           "TensorFlow's kernels take the nearest shift from 0 to 31.",
           ("tf.bitwise.right_shift", "jax.numpy.right_shift"), SHIFTS,
           jax="x >> shifts"),
    Gotcha("truncatediv_by_zero", "-1 in XLA; on CPU TensorFlow raises without it.",
           ("tf.truncatediv", "jax.lax.div"), {**WHOLE, "y": ArraySpec((4, 8), "int32", low=-1, high=3)},
           jax="jax.lax.div(x, y)"),
    Gotcha("sort_nan", "XLA sorts NaN to the end, as JAX does; TensorFlow's kernel leaves it where it was.",
           ("tf.sort", "jax.numpy.sort"), X,
           jax="jnp.sort(jnp.where(x > 0, jax.lax.stop_gradient(x), jnp.nan))"),
    Gotcha("cast_to_unsigned", "XLA drops the fraction and makes negative numbers 0; TensorFlow's kernel wraps.",
           ("tf.cast", "jax.numpy.astype"), {"x": ArraySpec((4, 8), scale=10.0)},
           jax="x.astype(jnp.uint32)"),
)  # fmt: skip
