"""Gathers, scatters and slices: what is out of bounds, what occurs twice, which axis is meant."""

from workloads.core.spec import ArraySpec
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
        jax="jnp.take(jax.lax.stop_gradient(table), indices, axis=0, mode='clip')",
        naive="jnp.take(jax.lax.stop_gradient(table), indices, axis=0)",
    ),
    Gotcha(
        "gather_negative",
        "A negative index counts from the end in JAX; compiled by XLA, TensorFlow's gather has the first row for it: "
        "pass mode='clip' to jnp.take.",
        ("tf.gather", "jax.numpy.take"), {"table": TABLE, "indices": AROUND}, "semantics",
        jax="jnp.take(jax.lax.stop_gradient(table), indices, axis=0, mode='clip')",
        naive="jax.lax.stop_gradient(table)[indices]",
    ),
    Gotcha(
        "gather_default_axis",
        "tf.gather's default axis is 0; jnp.take without one flattens the table.",
        ("tf.gather", "jax.numpy.take"), {"table": TABLE, "indices": INSIDE}, "structure",
        tf="tf.gather(table, indices)", jax="jnp.take(table, indices, axis=0)", naive="jnp.take(table, indices)",
    ),
    Gotcha(
        "gather_batch_dims",
        "With batch_dims=1 each row has indices of its own: jnp.take along axis 1 gives all of them to every row; use "
        "jnp.take_along_axis or jax.vmap.",
        ("tf.gather", "jax.numpy.take", "jax.numpy.take_along_axis"),
        {"x": ArraySpec((3, 6, 2)), "indices": ArraySpec((3, 4), "int32", low=0, high=6)}, "structure",
        tf="tf.gather(x, indices, batch_dims=1)",
        jax="jnp.take_along_axis(x, indices[:, :, None], axis=1)",
        naive="jnp.take(x, indices, axis=1)",
    ),
    Gotcha(
        "gather_nd",
        "The last axis of the indices is one place in tf.gather_nd; x[indices] gathers a row for every number: use "
        "jaxport.indexing.gather_nd, or a tuple of columns.",
        ("tf.gather_nd",), {"x": X, "indices": PLACES}, "structure",
        tf="tf.gather_nd(x, indices)", jax="indexing.gather_nd(x, indices)", naive="x[indices]",
    ),
    Gotcha(
        "scatter_twice",
        "tf.scatter_nd adds values that share a place; .at[].set() keeps one of them: use .at[].add().",
        ("tf.scatter_nd", "jax.numpy.ndarray.at"),
        {"indices": ArraySpec((8,), "int32", low=0, high=3), "updates": ArraySpec((8, 4))}, "semantics",
        tf="tf.scatter_nd(indices[:, None], updates, (6, 4))",
        jax="jnp.zeros((6, 4), updates.dtype).at[indices].add(updates)",
        naive="jnp.zeros((6, 4), updates.dtype).at[indices].set(updates)",
    ),
    Gotcha(
        "scatter_negative",
        "Compiled by XLA, tf.scatter_nd drops negative indices; .at[] counts them from the end, with mode='drop' too: "
        "use jaxport.indexing.scatter_nd, or wrap_negative_indices=False.",
        ("tf.scatter_nd", "jax.numpy.ndarray.at"), {"indices": AROUND, "updates": ArraySpec((8, 4))}, "semantics",
        jax="indexing.scatter_nd(indices[:, None], jax.lax.stop_gradient(updates), (6, 4))",
        naive="jnp.zeros((6, 4), updates.dtype).at[indices].add(jax.lax.stop_gradient(updates), mode='drop')",
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
        tf="tf.reverse_sequence(x, lengths, seq_axis=1)",
        jax="indexing.reverse_sequence(x, lengths)",
        naive="jnp.flip(x, axis=1)",
    ),
    Gotcha(
        "one_hot_off_value",
        "tf.one_hot takes a value for all other places too: scale jax.nn.one_hot by the difference and add it.",
        ("tf.one_hot", "jax.nn.one_hot"), {"indices": INSIDE}, "semantics",
        tf="tf.one_hot(indices, 6, on_value=0.75, off_value=-0.25)",
        jax="jax.nn.one_hot(indices, 6) * (0.75 - -0.25) - 0.25",
        naive="jax.nn.one_hot(indices, 6) * 0.75",
    ),
    Gotcha(
        "split_sizes",
        "A list given to tf.split is of sizes, one given to jnp.split is of the places between.",
        ("tf.split", "jax.numpy.split"), {"x": X}, "structure",
        tf="tf.split(x, [1, 3, 4], axis=1)[1]",
        jax="jnp.split(x, [1, 1 + 3], axis=1)[1]",
        naive="jnp.split(x, [1, 3, 4], axis=1)[1]",
    ),
    Gotcha(
        "where_v1_rows",
        "A condition of rank 1 chooses rows in tf.compat.v1.where; jnp.where broadcasts it over the last axis.",
        ("tf.compat.v1.where", "jax.numpy.where"),
        {"condition": ArraySpec((6,), "bool"), "x": ArraySpec((6, 6)), "y": ArraySpec((6, 6))}, "semantics",
        tf="tf.compat.v1.where(condition, x, y)",
        jax="jnp.where(condition[:, None], x, y)",
        naive="jnp.where(condition, x, y)",
    ),
    Gotcha(
        "boolean_mask_mean",
        "What tf.boolean_mask leaves has a size that jit cannot know; zeros in place of the rest count in a mean: pass "
        "where.",
        ("tf.boolean_mask", "jax.numpy.where", "jax.numpy.mean"),
        {"x": ArraySpec((8,)), "lengths": ArraySpec((1,), "int32", low=1, high=9)}, "semantics",
        tf="tf.reduce_mean(tf.boolean_mask(tf.stop_gradient(x), tf.range(8) < lengths))",
        jax="jnp.mean(jax.lax.stop_gradient(x), where=jnp.arange(8) < lengths)",
        naive="jnp.mean(jnp.where(jnp.arange(8) < lengths, jax.lax.stop_gradient(x), 0))",
    ),
    Gotcha(
        "roll",
        "tf.roll wants an axis; jnp.roll without one rolls the flattened array.",
        ("tf.roll", "jax.numpy.roll"), {"x": X}, "semantics",
        tf="tf.roll(x, 1, axis=1)", jax="jnp.roll(x, 1, axis=1)", naive="jnp.roll(x, 1)",
    ),
    Gotcha(
        "tile",
        "tf.tile repeats the whole array, jnp.repeat each row: use jnp.tile.",
        ("tf.tile", "keras.layers.RepeatVector", "jax.numpy.tile", "jax.numpy.repeat"), {"x": X}, "semantics",
        tf="tf.tile(x, [2, 1])", jax="jnp.tile(x, (2, 1))", naive="jnp.repeat(x, 2, axis=0)",
    ),
    Gotcha("gather", "Inside of the table both agree.", ("tf.gather", "jax.numpy.take"),
           {"table": TABLE, "indices": INSIDE},
           tf="tf.gather(table, indices)", jax="jnp.take(table, indices, axis=0)"),
    Gotcha("one_hot_beyond", "An index beyond the depth is a row of zeros in both.", ("tf.one_hot", "jax.nn.one_hot"),
           {"indices": BEYOND},
           tf="tf.one_hot(indices, 6)", jax="jax.nn.one_hot(indices, 6)"),
    Gotcha("one_hot_axis", "The axis of the depth means the same.", ("tf.one_hot", "jax.nn.one_hot"),
           {"indices": ArraySpec((4, 3), "int32", low=0, high=6)},
           tf="tf.one_hot(indices, 6, axis=1)", jax="jax.nn.one_hot(indices, 6, axis=1)"),
    Gotcha("sequence_mask", "A comparison with jnp.arange.", ("tf.sequence_mask", "jax.numpy.arange"),
           {"lengths": ArraySpec((8,), "int32", low=0, high=7)},
           tf="tf.sequence_mask(lengths, 6)", jax="jnp.arange(6) < lengths[:, None]"),
    Gotcha("slice_beyond", "A slice ends where the array does, in both.", ("tf.strided_slice",), {"x": X},
           tf="x[2:99, -5:]", jax="x[2:99, -5:]"),
    Gotcha("slice_backwards", "Negative steps mean the same.", ("tf.strided_slice", "tf.reverse"), {"x": X},
           tf="x[::-1, 6:1:-2]", jax="x[::-1, 6:1:-2]"),
    Gotcha("tensor_scatter_add", "Values that share a place add up in both.",
           ("tf.tensor_scatter_nd_add", "jax.numpy.ndarray.at"),
           {"x": TABLE, "indices": INSIDE, "updates": ArraySpec((8, 4))},
           tf="tf.tensor_scatter_nd_add(x, indices[:, None], updates)", jax="x.at[indices].add(updates)"),
    Gotcha("meshgrid", "The default indexing is 'xy' in both.", ("tf.meshgrid", "jax.numpy.meshgrid"),
           {"x": ArraySpec((3,)), "y": ArraySpec((5,))},
           tf="tf.meshgrid(x, y)", jax="jnp.meshgrid(x, y)"),
)  # fmt: skip
