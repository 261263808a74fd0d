"""Embeddings: indices outside of the table, masks of padding, counts, positions."""

from workloads.core.spec import ArraySpec
from workloads.gotchas._gotcha import Gotcha

TABLE = ArraySpec((6, 4))
IDS = ArraySpec((2, 5), "int32", low=0, high=6)
EMBEDDING = ("keras.layers.Embedding", "flax.nnx.Embed")

GOTCHAS = (
    Gotcha(
        "embedding_mask_zero",
        "With mask_zero Keras's mask follows the embedding: the layers behind it, here an average, leave padding out.",
        ("keras.layers.Embedding", "keras.layers.GlobalAveragePooling1D", "flax.nnx.Embed"),
        {"table": TABLE, "ids": ArraySpec((4, 5), "int32", low=0, high=4)}, "semantics",
    ),
    Gotcha(
        "embedding_beyond",
        "An index beyond the table is clamped to the last row under XLA; nnx.Embed gives NaN: clip indices.",
        EMBEDDING, {"table": TABLE, "ids": ArraySpec((2, 8), "int32", low=0, high=12)}, "structure",
        jax="jax.lax.stop_gradient(_embed(table)(jnp.clip(ids, 0, len(table) - 1)))",
        naive="jax.lax.stop_gradient(_embed(table)(ids))",
    ),
    Gotcha(
        "embedding_lookup_negative",
        "XLA clamps a negative index of tf.nn.embedding_lookup to row 0; JAX, and keras.layers.Embedding, count it "
        "from the end.",
        ("tf.nn.embedding_lookup", "flax.nnx.Embed"),
        {"table": TABLE, "ids": ArraySpec((2, 8), "int32", low=-6, high=6)}, "semantics",
        jax="jax.lax.stop_gradient(_embed(table)(jnp.clip(ids, 0, len(table) - 1)))",
        naive="jax.lax.stop_gradient(_embed(table)(ids))",
    ),
    Gotcha(
        "multi_hot",
        "Keras's multi_hot is 1 for a token however often it occurs; a sum of one_hot rows counts.",
        ("keras.layers.CategoryEncoding", "jax.nn.one_hot"), {"ids": IDS}, "structure",
        tf="tf.cast(MULTI_HOT(ids), tf.int32)",
        jax="jax.nn.one_hot(ids, 6, dtype=jnp.int32).max(1)",
        naive="jax.nn.one_hot(ids, 6, dtype=jnp.int32).sum(1)",
    ),
    Gotcha(
        "embedding_float_ids",
        "Keras cuts off the fraction of indices that are floats; rounding gives other rows.",
        EMBEDDING, {"table": TABLE, "ids": ArraySpec((2, 5), low=0.0, high=5.0)}, "semantics",
        tf="_looked_up(table, ids)",
        jax="_embed(table)(ids.astype(jnp.int32))",
        naive="_embed(table)(jnp.round(ids).astype(jnp.int32))",
    ),
    Gotcha("embedding_lookup", "Inside of the table a lookup, and its gradient where an index repeats, are the same.",
           EMBEDDING, {"table": TABLE, "ids": IDS},
           tf="_looked_up(table, ids)", jax="_embed(table)(ids)"),
    Gotcha("embedding_negative", "Both count a negative index from the end.",
           EMBEDDING, {"table": TABLE, "ids": ArraySpec((2, 8), "int32", low=-6, high=6)},
           tf="_looked_up(table, ids)", jax="_embed(table)(ids)"),
    Gotcha("embedding_tied", "nnx.Embed.attend is the product with the transposed table.",
           EMBEDDING, {"table": TABLE, "x": ArraySpec((2, 5, 4))},
           tf="tf.matmul(x, table, transpose_b=True)", jax="_embed(table).attend(x)"),
    Gotcha("embedding_by_one_hot", "A product with one_hot rows is a lookup.",
           ("keras.layers.Embedding", "jax.nn.one_hot"), {"table": TABLE, "ids": IDS},
           tf="_looked_up(table, ids)", jax="jax.nn.one_hot(ids, 6) @ table"),
    Gotcha("count_encoding", "Keras's count is a sum of one_hot rows.",
           ("keras.layers.CategoryEncoding", "jax.nn.one_hot"), {"ids": IDS},
           tf="tf.cast(COUNT(ids), tf.int32)", jax="jax.nn.one_hot(ids, 6, dtype=jnp.int32).sum(1)"),
)  # fmt: skip
