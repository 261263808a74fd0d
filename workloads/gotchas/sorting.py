"""Sorting, ranking and counting: ties, order, default axes, what lies beyond the bins."""

from workloads.core.spec import ArraySpec
from workloads.gotchas._gotcha import Gotcha

X = {"x": ArraySpec((4, 8))}
DIGITS = {"x": ArraySpec((16,), "int32", low=0, high=6)}

GOTCHAS = (
    Gotcha(
        "argsort_descending",
        "Of equal values tf.argsort has the earlier one first in both directions; a reversed jnp.argsort has it last: "
        "pass descending=True.",
        ("tf.argsort", "jax.numpy.argsort"), {"x": ArraySpec((4, 8), "int32", low=0, high=4)}, "structure",
        tf="tf.argsort(x, direction='DESCENDING')",
        jax="jnp.argsort(x, descending=True)",
        naive="jnp.argsort(x)[..., ::-1]",
    ),
    Gotcha(
        "argsort_descending_unsigned",
        "Negated, an unsigned 0 stays the smallest number: pass descending=True.",
        ("tf.argsort", "jax.numpy.argsort"), {"x": ArraySpec((16,), "uint8", low=0, high=6)}, "structure",
        tf="tf.argsort(x, direction='DESCENDING')", jax="jnp.argsort(x, descending=True)", naive="jnp.argsort(-x)",
    ),
    Gotcha(
        "argmax_default_axis",
        "tf.argmax's default axis is 0; jnp.argmax without one flattens the array.",
        ("tf.argmax", "jax.numpy.argmax"), X, "structure",
        tf="tf.argmax(x, output_type=tf.int32)", jax="jnp.argmax(x, axis=0)", naive="jnp.argmax(x)",
    ),
    Gotcha(
        "unique_order",
        "tf.unique numbers values by where they occur first, jnp.unique by size: use "
        "jaxport.indexing.first_occurrences.",
        ("tf.unique", "jax.numpy.unique"), DIGITS, "structure",
        tf="tf.unique(x).idx",
        jax="indexing.first_occurrences(x)",
        naive="jnp.unique(x, return_inverse=True, size=x.size)[1]",
    ),
    Gotcha(
        "top_k_order",
        "tf.math.top_k has the largest first; the end of a sorted array has it last: use jax.lax.top_k.",
        ("tf.math.top_k", "jax.lax.top_k", "jax.numpy.sort"), X, "semantics",
        tf="tf.math.top_k(x, 3).values", jax="jax.lax.top_k(x, 3)[0]", naive="jnp.sort(x)[:, -3:]",
    ),
    Gotcha(
        "in_top_k_tie",
        "A target that ties with the last of the best counts as one of them in tf.math.in_top_k; jax.lax.top_k leaves "
        "it out where its index is higher: use jaxport.metrics.in_top_k.",
        ("tf.math.in_top_k", "keras.metrics.SparseTopKCategoricalAccuracy", "jax.lax.top_k"),
        {"targets": ArraySpec((4,), "int32", low=0, high=8), "x": ArraySpec((4, 8))}, "structure",
        tf="tf.math.in_top_k(targets, x, 3)",
        jax="metrics.in_top_k(targets, x, 3)",
        naive="jnp.any(jax.lax.top_k(x, 3)[1] == targets[:, None], axis=1)",
    ),
    Gotcha(
        "discretization_edges",
        "A value on a boundary belongs to the bin above in Keras; jnp.searchsorted puts it below: pass side='right'.",
        ("keras.layers.Discretization", "jax.numpy.searchsorted", "jax.numpy.digitize"), X, "structure",
        tf="DISCRETIZATION(x)",
        jax="jnp.searchsorted(jnp.array([-1.0, 0.0, 1.0]), x, side='right')",
        naive="jnp.searchsorted(jnp.array([-1.0, 0.0, 1.0]), x)",
    ),
    Gotcha(
        "histogram_bins_beyond",
        "What lies beyond the range counts in the first or the last bin: clip the numbers of the bins.",
        ("tf.histogram_fixed_width_bins", "tf.histogram_fixed_width", "jax.numpy.digitize"),
        {"x": ArraySpec((16,), scale=2.0)}, "structure",
        tf="tf.histogram_fixed_width_bins(x, [-1.0, 1.0], 4)",
        jax="jnp.clip(jnp.digitize(x, jnp.linspace(-1.0, 1.0, 5)) - 1, 0, 3)",
        naive="jnp.digitize(x, jnp.linspace(-1.0, 1.0, 5)) - 1",
    ),
    Gotcha(
        "bincount_negative",
        "Compiled by XLA, tf.math.bincount leaves negative numbers out (on CPU without XLA it raises); jnp.bincount "
        "counts them as 0.",
        ("tf.math.bincount", "jax.numpy.bincount"), {"x": ArraySpec((16,), "int32", low=-4, high=6)}, "structure",
        jax="jnp.bincount(jnp.where(x < 0, 6, x), length=6)", naive="jnp.bincount(x, length=6)",
    ),
    Gotcha(
        "searchsorted_nan",
        "NaN stands before all values in tf.searchsorted, and after all of them in jnp.searchsorted: write 0 there.",
        ("tf.searchsorted", "jax.numpy.searchsorted"), {"x": ArraySpec((16,))}, "structure",
        tf="tf.searchsorted(tf.constant([0.25, 0.75, 1.25], x.dtype), tf.sqrt(x))",
    ),
    Gotcha(
        "sort_descending_tie",
        "tf.sort gives the gradients of equal values in their order, jnp.sort with descending=True in the reverse of "
        "it: take along jnp.argsort.",
        ("tf.sort", "jax.numpy.sort", "jax.numpy.argsort"), X, "gradients",
        tf="tf.sort(x, direction='DESCENDING')",
        jax="jnp.take_along_axis(x, jnp.argsort(x, descending=True), axis=-1)",
        naive="jnp.sort(x, descending=True)",
    ),
    Gotcha("argsort", "Of equal values the earlier one is first in both.", ("tf.argsort", "jax.numpy.argsort"),
           {"x": ArraySpec((4, 8), "int32", low=0, high=4)},
           tf="tf.argsort(x)", jax="jnp.argsort(x)"),
    Gotcha("argmax_tie", "The first of equal values is taken in both.", ("tf.argmax", "jax.numpy.argmax"), X,
           tf="tf.argmax(x, axis=-1, output_type=tf.int32)", jax="jnp.argmax(x, axis=-1)"),
    Gotcha("top_k", "Of equal values the earlier one is first in both.", ("tf.math.top_k", "jax.lax.top_k"),
           {"x": ArraySpec((4, 8), "int32", low=0, high=4)}),
    Gotcha("searchsorted", "The default side is 'left' in both; NaN they place differently.",
           ("tf.searchsorted", "jax.numpy.searchsorted"),
           {"x": ArraySpec((8,), low=-2.0, high=2.0), "values": ArraySpec((5,), low=-2.0, high=2.0)},
           tf="tf.searchsorted(tf.sort(x), values)", jax="jnp.searchsorted(jnp.sort(x), values)"),
    Gotcha("searchsorted_rows", "tf.searchsorted searches row by row; jnp.searchsorted takes one row: map it.",
           ("tf.searchsorted", "jax.numpy.searchsorted", "jax.vmap"),
           {"x": ArraySpec((4, 8), low=-2.0, high=2.0), "values": ArraySpec((4, 3), low=-2.0, high=2.0)},
           tf="tf.searchsorted(tf.sort(x), values)", jax="jax.vmap(jnp.searchsorted)(jnp.sort(x), values)"),
    Gotcha("bincount_beyond", "Both leave out what is beyond the length.", ("tf.math.bincount", "jax.numpy.bincount"),
           {"x": ArraySpec((16,), "int32", low=0, high=9)},
           tf="tf.math.bincount(x, minlength=6, maxlength=6)", jax="jnp.bincount(x, length=6)"),
    Gotcha("invert_permutation", "jnp.argsort.", ("tf.math.invert_permutation", "jax.numpy.argsort"),
           {"x": ArraySpec((8,))},
           tf="tf.math.invert_permutation(tf.argsort(x))", jax="jnp.argsort(jnp.argsort(x))"),
)  # fmt: skip
