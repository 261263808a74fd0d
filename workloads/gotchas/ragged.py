"""Rows of unlike length, and strings: what padding counts for, what a row without values is, which number a word has.

XLA compiles no strings. Of ragged tensors it does not compile to_tensor, softmax, slices of rows, or arithmetic
between two.
"""

from workloads.core.spec import ArraySpec
from workloads.gotchas._gotcha import Gotcha

X = {"x": ArraySpec((10, 4))}
BAG = {"table": ArraySpec((6, 4)), "ids": ArraySpec((10,), "int32", low=0, high=6)}
RAGGED = "tf.RaggedTensor"
LOOKUPS = ("tf.nn.embedding_lookup_sparse", "tf.nn.safe_embedding_lookup_sparse", RAGGED)

GOTCHAS = (
    Gotcha(
        "ragged_mean",
        "The mean of a ragged row divides by its length; that of a padded row counts the padding: add up segments and "
        "divide by lengths.",
        (RAGGED, "tf.reduce_mean", "jax.ops.segment_sum"), X, "semantics",
        tf="tf.reduce_mean(_to_ragged(x), axis=1)",
    ),
    Gotcha(
        "ragged_mean_empty",
        "The mean of a row without values is nan in tf.reduce_mean, unlike tf.math.unsorted_segment_mean; a count of "
        "at least 1 makes it 0.",
        (RAGGED, "tf.reduce_mean", "jax.ops.segment_sum"), X, "structure",
        tf="tf.reduce_mean(_to_ragged(x, WITH_EMPTY), axis=1)",
        jax="_sum(x, LENGTHS_WITH_EMPTY) / LENGTHS_WITH_EMPTY[:, None].astype(x.dtype)",
        naive="_sum(x, LENGTHS_WITH_EMPTY) / np.maximum(LENGTHS_WITH_EMPTY, 1)[:, None].astype(x.dtype)",
    ),
    Gotcha(
        "ragged_mean_of_all",
        "Without an axis every value counts alike; a mean of the rows' means weighs those of short rows more.",
        (RAGGED, "tf.reduce_mean", "jax.numpy.mean"), X, "semantics",
        tf="tf.reduce_mean(_to_ragged(x))",
    ),
    Gotcha(
        "ragged_max",
        "The zeros of padding are the largest where a row's values are negative: use jaxport.segments.segment_max.",
        (RAGGED, "tf.reduce_max", "jax.ops.segment_max"), X, "semantics",
        tf="tf.reduce_max(_to_ragged(x), axis=1)",
        jax="segments.segment_max(x, _rows(), len(LENGTHS))",
        naive="jnp.max(_pad(x), axis=1)",
    ),
    Gotcha(
        "ragged_variance",
        "The variance of a ragged row is that of its own values: padding moves the mean, and counts.",
        (RAGGED, "tf.math.reduce_variance", "jax.numpy.var"), X, "semantics",
        tf="tf.math.reduce_variance(_to_ragged(x), axis=1)",
    ),
    Gotcha(
        "ragged_bag",
        "The combiner 'mean' divides by the number of ids in a bag; ids padded with 0 are those of the first row of "
        "the table.",
        (*LOOKUPS, "jax.ops.segment_sum"), BAG, "semantics",
        tf="tf.reduce_mean(_to_ragged(tf.gather(table, ids)), axis=1)",
    ),
    Gotcha(
        "ragged_bag_sqrtn",
        "The combiner 'sqrtn' divides by the root of the number of ids, not by the number: use "
        "jaxport.segments.segment_sqrt_n.",
        (*LOOKUPS, "tf.math.unsorted_segment_sqrt_n"), BAG, "semantics",
    ),
    Gotcha(
        "ragged_last",
        "The last value of a ragged row stands before its split; the last of a padded row is padding.",
        (RAGGED, "tf.gather"), X, "semantics",
        tf="tf.gather(x, tf.constant(SPLITS[1:]) - 1)", jax="x[np.cumsum(LENGTHS) - 1]", naive="_pad(x)[:, -1]",
    ),
    Gotcha(
        "padded_softmax",
        "A softmax over a ragged row, or with Keras's mask, has no padding in it; the exponential of a zero in its "
        "place is 1: use jaxport.activations.masked_softmax.",
        (RAGGED, "keras.layers.Softmax", "tf.sequence_mask", "jax.nn.softmax"),
        {"x": ArraySpec((4, 6)), "lengths": ArraySpec((4,), "int32", low=1, high=6)}, "semantics",
        tf="keras.layers.Softmax()(x, mask=tf.sequence_mask(lengths, 6))",
        jax="activations.masked_softmax(x, jnp.arange(6) < lengths[:, None])",
        naive="jax.nn.softmax(jnp.where(jnp.arange(6) < lengths[:, None], x, 0))",
    ),
    Gotcha(
        "string_lookup",
        "keras.layers.StringLookup keeps 0 for words that it does not know, and numbers its vocabulary from 1: look "
        "words up before the program, which takes numbers.",
        ("keras.layers.StringLookup", "tf.strings"), {"table": ArraySpec((4, 6))}, "semantics",
        tf="tf.gather(table, IDS)",
    ),
    Gotcha("ragged_sum", "A row without values adds up to 0, and padding adds nothing.",
           (RAGGED, "tf.reduce_sum", "jax.ops.segment_sum"), X,
           tf="tf.reduce_sum(_to_ragged(x, WITH_EMPTY), axis=1)", jax="_sum(x, LENGTHS_WITH_EMPTY)"),
    Gotcha("ragged_product", "The product of a row without values is 1 in both.",
           (RAGGED, "tf.reduce_prod", "jax.ops.segment_prod"), {"x": ArraySpec((10, 4), "int32", low=-3, high=4)},
           tf="tf.reduce_prod(_to_ragged(x, WITH_EMPTY), axis=1)",
           jax="jax.ops.segment_prod(x, _rows(LENGTHS_WITH_EMPTY), len(LENGTHS_WITH_EMPTY))"),
    Gotcha("map_flat_values", "What is done value by value needs no rows.", ("tf.ragged.map_flat_values",), X,
           tf="tf.ragged.map_flat_values(tf.tanh, _to_ragged(x)).flat_values", jax="jnp.tanh(x)"),
    Gotcha("ragged_row", "A row is a slice of the values from split to split.", (RAGGED, "jax.lax.slice"), X,
           tf="_to_ragged(x)[1]", jax="x[3:9]"),
)  # fmt: skip
