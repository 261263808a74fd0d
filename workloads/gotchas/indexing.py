"""Gather, scatter, segments and slices: what is out of bounds, what occurs twice, what is empty."""

from workloads._spec import ArraySpec
from workloads.gotchas._gotcha import Gotcha

TABLE = ArraySpec((6, 4))

GOTCHAS = (
    Gotcha(
        "gather_beyond",
        "Beyond the table XLA clamps TensorFlow's gather to the last row; jnp.take fills with NaN: pass mode='clip'.",
        ("tf.gather", "jax.numpy.take"),
        {"table": TABLE, "indices": ArraySpec((8,), "int32", low=0, high=9)}, "semantics",
    ),
    Gotcha(
        "scatter_twice",
        "tf.scatter_nd adds values that share a place; .at[].set() keeps one of them: use .at[].add().",
        ("tf.scatter_nd",),
        {"indices": ArraySpec((8,), "int32", low=0, high=3), "updates": ArraySpec((8, 4))}, "semantics",
    ),
    Gotcha(
        "segment_max_empty",
        "An empty segment is the lowest float in tf.math.unsorted_segment_max, minus infinity in jax.ops.segment_max.",
        ("tf.math.unsorted_segment_max", "jax.ops.segment_max"),
        {"x": ArraySpec((8, 4)), "segments": ArraySpec((8,), "int32", low=0, high=3)}, "semantics",
    ),
    Gotcha(
        "segment_mean_empty",
        "An empty segment is 0 in tf.math.unsorted_segment_mean; a sum over a count is nan there.",
        ("tf.math.unsorted_segment_mean", "jax.ops.segment_sum"),
        {"x": ArraySpec((8, 4)), "segments": ArraySpec((8,), "int32", low=0, high=3)}, "semantics",
    ),
    Gotcha("gather", "Inside of the table both agree.", ("tf.gather", "jax.numpy.take"),
           {"table": TABLE, "indices": ArraySpec((8,), "int32", low=0, high=6)}),
    Gotcha("one_hot_beyond", "An index beyond the depth is a row of zeros in both.", ("tf.one_hot", "jax.nn.one_hot"),
           {"indices": ArraySpec((8,), "int32", low=0, high=9)}),
    Gotcha("segment_sum", "An empty segment is 0 in both.", ("tf.math.unsorted_segment_sum", "jax.ops.segment_sum"),
           {"x": ArraySpec((8, 4)), "segments": ArraySpec((8,), "int32", low=0, high=3)}),
    Gotcha("cumsum", "Both include the element itself.", ("tf.cumsum", "jax.numpy.cumsum"), {"x": ArraySpec((8, 4))}),
)  # fmt: skip
