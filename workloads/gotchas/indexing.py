"""Gathers, scatters and slices: what is out of bounds, what occurs twice, which axis is meant."""

from workloads._spec import ArraySpec
from workloads.gotchas._gotcha import Gotcha

TABLE = ArraySpec((6, 4))
X = ArraySpec((4, 8))
INSIDE = ArraySpec((8,), "int32", low=0, high=6)
BEYOND = ArraySpec((8,), "int32", low=0, high=9)
AROUND = ArraySpec((8,), "int32", low=-6, high=6)
PLACES = ArraySpec((5, 2), "int32", low=0, high=4)

GOTCHAS = (
    Gotcha(
        "gather_beyond",
        "Compiled by XLA, TensorFlow's gather beyond the table has the last row (on CPU without XLA it raises); "
        "jnp.take has NaN: pass mode='clip'.",
        ("tf.gather", "jax.numpy.take"), {"table": TABLE, "indices": BEYOND}, "structure",
    ),
    Gotcha(
        "gather_negative",
        "A negative index counts from the end in JAX; compiled by XLA, TensorFlow's gather has the first row for it: "
        "pass mode='clip' to jnp.take.",
        ("tf.gather", "jax.numpy.take"), {"table": TABLE, "indices": AROUND}, "semantics",
    ),
    Gotcha(
        "gather_default_axis",
        "tf.gather's default axis is 0; jnp.take without one flattens the table.",
        ("tf.gather", "jax.numpy.take"), {"table": TABLE, "indices": INSIDE}, "structure",
    ),
    Gotcha(
        "gather_batch_dims",
        "With batch_dims=1 each row has indices of its own: jnp.take along axis 1 gives all of them to every row; use "
        "jnp.take_along_axis or jax.vmap.",
        ("tf.gather", "jax.numpy.take", "jax.numpy.take_along_axis"),
        {"x": ArraySpec((3, 6, 2)), "indices": ArraySpec((3, 4), "int32", low=0, high=6)}, "structure",
    ),
    Gotcha(
        "gather_nd",
        "The last axis of the indices is one place in tf.gather_nd; x[indices] gathers a row for every number: use "
        "jaxport.indexing.gather_nd, or a tuple of columns.",
        ("tf.gather_nd",), {"x": X, "indices": PLACES}, "structure",
    ),
    Gotcha(
        "scatter_twice",
        "tf.scatter_nd adds values that share a place; .at[].set() keeps one of them: use .at[].add().",
        ("tf.scatter_nd", "jax.numpy.ndarray.at"),
        {"indices": ArraySpec((8,), "int32", low=0, high=3), "updates": ArraySpec((8, 4))}, "semantics",
    ),
    Gotcha(
        "scatter_negative",
        "Compiled by XLA, tf.scatter_nd drops negative indices; .at[] counts them from the end, with mode='drop' too: "
        "use jaxport.indexing.scatter_nd, or wrap_negative_indices=False.",
        ("tf.scatter_nd", "jax.numpy.ndarray.at"), {"indices": AROUND, "updates": ArraySpec((8, 4))}, "semantics",
    ),
    Gotcha(
        "tensor_scatter_update_negative",
        "Compiled by XLA, tf.tensor_scatter_nd_update drops negative indices; .at[] counts them from the end: use "
        "jaxport.indexing.tensor_scatter_nd_update.",
        ("tf.tensor_scatter_nd_update", "jax.numpy.ndarray.at"),
        {"x": TABLE, "index": ArraySpec((1,), "int32", low=-6, high=0), "updates": ArraySpec((1, 4))}, "semantics",
    ),
    Gotcha(
        "reverse_sequence",
        "tf.reverse_sequence turns the steps of each sequence and leaves its padding; jnp.flip turns both: use "
        "jaxport.indexing.reverse_sequence.",
        ("tf.reverse_sequence", "jax.numpy.flip"),
        {"x": ArraySpec((4, 6, 2)), "lengths": ArraySpec((4,), "int32", low=1, high=7)}, "semantics",
    ),
    Gotcha(
        "one_hot_off_value",
        "tf.one_hot takes a value for all other places too: scale jax.nn.one_hot by the difference and add it.",
        ("tf.one_hot", "jax.nn.one_hot"), {"indices": INSIDE}, "semantics",
    ),
    Gotcha(
        "split_sizes",
        "A list given to tf.split is of sizes, one given to jnp.split is of the places between.",
        ("tf.split", "jax.numpy.split"), {"x": X}, "structure",
    ),
    Gotcha(
        "where_v1_rows",
        "A condition of rank 1 chooses rows in tf.compat.v1.where; jnp.where broadcasts it over the last axis.",
        ("tf.compat.v1.where", "jax.numpy.where"),
        {"condition": ArraySpec((6,), "bool"), "x": ArraySpec((6, 6)), "y": ArraySpec((6, 6))}, "semantics",
    ),
    Gotcha(
        "boolean_mask_mean",
        "What tf.boolean_mask leaves has a size that jit cannot know; zeros in place of the rest count in a mean: pass "
        "where.",
        ("tf.boolean_mask", "jax.numpy.where", "jax.numpy.mean"),
        {"x": ArraySpec((8,)), "lengths": ArraySpec((1,), "int32", low=1, high=9)}, "semantics",
    ),
    Gotcha(
        "roll",
        "tf.roll wants an axis; jnp.roll without one rolls the flattened array.",
        ("tf.roll", "jax.numpy.roll"), {"x": X}, "semantics",
    ),
    Gotcha(
        "tile",
        "tf.tile repeats the whole array, jnp.repeat each row: use jnp.tile.",
        ("tf.tile", "keras.layers.RepeatVector", "jax.numpy.tile", "jax.numpy.repeat"), {"x": X}, "semantics",
    ),
    Gotcha("gather", "Inside of the table both agree.", ("tf.gather", "jax.numpy.take"),
           {"table": TABLE, "indices": INSIDE}),
    Gotcha("one_hot_beyond", "An index beyond the depth is a row of zeros in both.", ("tf.one_hot", "jax.nn.one_hot"),
           {"indices": BEYOND}),
    Gotcha("one_hot_axis", "The axis of the depth means the same.", ("tf.one_hot", "jax.nn.one_hot"),
           {"indices": ArraySpec((4, 3), "int32", low=0, high=6)}),
    Gotcha("sequence_mask", "A comparison with jnp.arange.", ("tf.sequence_mask", "jax.numpy.arange"),
           {"lengths": ArraySpec((8,), "int32", low=0, high=7)}),
    Gotcha("slice_beyond", "A slice ends where the array does, in both.", ("tf.strided_slice",), {"x": X}),
    Gotcha("slice_backwards", "Negative steps mean the same.", ("tf.strided_slice", "tf.reverse"), {"x": X}),
    Gotcha("tensor_scatter_add", "Values that share a place add up in both.",
           ("tf.tensor_scatter_nd_add", "jax.numpy.ndarray.at"),
           {"x": TABLE, "indices": INSIDE, "updates": ArraySpec((8, 4))}),
    Gotcha("meshgrid", "The default indexing is 'xy' in both.", ("tf.meshgrid", "jax.numpy.meshgrid"),
           {"x": ArraySpec((3,)), "y": ArraySpec((5,))}),
)  # fmt: skip
