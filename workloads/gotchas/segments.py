"""Segments: what is empty, what is negative, what counts once."""

from workloads.core.spec import ArraySpec
from workloads.gotchas._gotcha import Gotcha

X = ArraySpec((8, 4))
SEGMENTS = ArraySpec((8,), "int32", low=0, high=3)
SOME = {"x": X, "segments": SEGMENTS}

GOTCHAS = (
    Gotcha(
        "segment_max_empty",
        "An empty segment is the lowest float in tf.math.unsorted_segment_max, minus infinity in jax.ops.segment_max: "
        "use jaxport.segments.segment_max.",
        ("tf.math.unsorted_segment_max", "jax.ops.segment_max"), SOME, "structure",
        tf="tf.math.unsorted_segment_max(x, segments, COUNT)",
    ),
    Gotcha(
        "segment_min_empty",
        "An empty segment is the largest float in tf.math.unsorted_segment_min, infinity in jax.ops.segment_min: use "
        "jaxport.segments.segment_min.",
        ("tf.math.unsorted_segment_min", "jax.ops.segment_min"), SOME, "structure",
        tf="tf.math.unsorted_segment_min(x, segments, COUNT)",
    ),
    Gotcha(
        "segment_mean_empty",
        "An empty segment is 0 in tf.math.unsorted_segment_mean; a sum over a count is nan there: use "
        "jaxport.segments.segment_mean.",
        ("tf.math.unsorted_segment_mean", "jax.ops.segment_sum"), SOME, "structure",
        tf="tf.math.unsorted_segment_mean(x, segments, COUNT)",
    ),
    Gotcha(
        "segment_sqrt_n_empty",
        "An empty segment is 0 in tf.math.unsorted_segment_sqrt_n: use jaxport.segments.segment_sqrt_n.",
        ("tf.math.unsorted_segment_sqrt_n", "jax.ops.segment_sum"), SOME, "structure",
        tf="tf.math.unsorted_segment_sqrt_n(x, segments, COUNT)",
    ),
    Gotcha(
        "segment_max_unfilled",
        "A zero scattered into by .at[].max() stays where all values of a segment are negative: start from the lowest.",
        ("tf.math.unsorted_segment_max", "jax.numpy.ndarray.at"), SOME, "semantics",
        tf="tf.math.unsorted_segment_max(x, segments, COUNT)",
    ),
    Gotcha(
        "confusion_matrix",
        "Rows are labels, columns predictions.",
        ("tf.math.confusion_matrix",),
        {"labels": ArraySpec((8,), "int32", low=0, high=4), "predictions": ArraySpec((8,), "int32", low=0, high=4)},
        "structure",
        tf="tf.math.confusion_matrix(labels, predictions, 4)",
        jax="jnp.zeros((4, 4), jnp.int32).at[labels, predictions].add(1)",
        naive="jnp.zeros((4, 4), jnp.int32).at[predictions, labels].add(1)",
    ),
    Gotcha("segment_sum_of_matrix", "jax.ops.segment_sum wants a vector of segments: flatten both, as "
           "jaxport.segments.segment_sum does.", ("tf.math.unsorted_segment_sum", "jax.ops.segment_sum"),
           {"x": X, "segments": ArraySpec((8, 4), "int32", low=0, high=5)},
           tf="tf.math.unsorted_segment_sum(x, segments, COUNT)"),
    Gotcha("segment_sum", "An empty segment is 0 in both.", ("tf.math.unsorted_segment_sum", "jax.ops.segment_sum"),
           SOME,
           tf="tf.math.unsorted_segment_sum(x, segments, COUNT)", jax="jax.ops.segment_sum(x, segments, COUNT)"),
    Gotcha("segment_prod", "An empty segment is 1 in both.",
           ("tf.math.unsorted_segment_prod", "jax.ops.segment_prod"),
           {"x": ArraySpec((8, 4), "int32", low=-3, high=4), "segments": SEGMENTS},
           tf="tf.math.unsorted_segment_prod(x, segments, COUNT)", jax="jax.ops.segment_prod(x, segments, COUNT)"),
    Gotcha("segment_max_of_integers", "An empty segment is the lowest integer in both.",
           ("tf.math.unsorted_segment_max", "jax.ops.segment_max"),
           {"x": ArraySpec((8, 4), "int32", low=-9, high=9), "segments": SEGMENTS},
           tf="tf.math.unsorted_segment_max(x, segments, COUNT)", jax="jax.ops.segment_max(x, segments, COUNT)"),
)  # fmt: skip
