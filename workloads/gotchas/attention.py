"""Attention: orders of arguments, scales, masks and their polarity, heads."""

from workloads.core.spec import ArraySpec
from workloads.gotchas._gotcha import Gotcha

MASK = ArraySpec((2, 4, 5), "bool")
THREE = {"query": ArraySpec((2, 4, 6)), "value": ArraySpec((2, 5, 6)), "key": ArraySpec((2, 5, 6))}
PAIR = {"query": ArraySpec((2, 4, 6)), "value": ArraySpec((2, 5, 6))}
KERNELS = {f"{name}_kernel": ArraySpec((6, 2, 4)) for name in ("query", "key", "value")}
WEIGHTS = {**KERNELS, "output_kernel": ArraySpec((2, 4, 6))}
GROUPED = {
    "query_kernel": ArraySpec((6, 4, 4)),
    "key_kernel": ArraySpec((6, 2, 4)),
    "value_kernel": ArraySpec((6, 2, 4)),
    "output_kernel": ArraySpec((4, 4, 6)),
}
MHA = ("keras.layers.MultiHeadAttention", "flax.nnx.MultiHeadAttention")
ATTENTION = ("keras.layers.Attention", "jax.nn.dot_product_attention")

GOTCHAS = (
    Gotcha(
        "mha_argument_order",
        "Keras's MultiHeadAttention takes query, value, key; nnx.MultiHeadAttention query, key, value.",
        MHA, {**THREE, **WEIGHTS}, "semantics",
    ),
    Gotcha(
        "mha_key_dim",
        "Keras's key_dim is the size of one head, and scores are scaled by its root; nnx's qkv_features is that of all "
        "heads.",
        MHA, {**PAIR, **WEIGHTS}, "semantics",
    ),
    Gotcha(
        "mha_mask_polarity",
        "Where Keras's attention_mask is True it attends; the masks of older code, 1 where it must not, are the "
        "opposite.",
        MHA, {**PAIR, "mask": MASK, **WEIGHTS}, "semantics",
    ),
    Gotcha(
        "mha_query_mask",
        "Keras takes a query's mask from the tensor, to which an Embedding with mask_zero ties it; a query_mask that "
        "is passed is ignored.",
        (*MHA, "keras.layers.Embedding"),
        {**PAIR, "query_mask": ArraySpec((2, 4), "bool"), "value_mask": ArraySpec((2, 5), "bool"), **WEIGHTS},
        "semantics",
    ),
    Gotcha(
        "mha_causal_and_mask",
        "use_causal_mask is in addition to attention_mask: combine them by and.",
        (*MHA, "flax.nnx.make_causal_mask", "flax.nnx.combine_masks"), {**PAIR, "mask": MASK, **WEIGHTS}, "semantics",
    ),
    Gotcha(
        "mha_causal_lengths",
        "With fewer queries than keys Keras aligns the causal mask at the first of both; when decoding with a cache "
        "it is aligned at the last.",
        (*MHA, "jax.numpy.tril"), {**PAIR, **WEIGHTS}, "semantics",
    ),
    Gotcha(
        "mha_scores",
        "return_attention_scores gives those of every head; the mean over heads is another library's.",
        MHA, {**PAIR, **WEIGHTS}, "structure",
    ),
    Gotcha(
        "grouped_query_heads",
        "Neighbouring query heads share a key head in Keras: repeat key heads, do not tile them.",
        ("keras.layers.GroupQueryAttention", "jax.numpy.repeat", "jax.nn.dot_product_attention"),
        {**PAIR, **GROUPED}, "semantics",
    ),
    Gotcha(
        "attention_scale",
        "keras.layers.Attention does not scale its scores; jax.nn.dot_product_attention divides by the root of their "
        "size: pass scale=1.",
        ATTENTION, THREE, "semantics",
        tf="ATTENTION([query, value, key])",
        jax="_one_head(query, key, value, scale=1.0)",
        naive="_one_head(query, key, value)",
    ),
    Gotcha(
        "attention_argument_order",
        "keras.layers.Attention takes [query, value, key], jax.nn.dot_product_attention query, key, value.",
        ATTENTION, THREE, "semantics",
        tf="ATTENTION([query, value, key])",
        jax="_one_head(query, key, value, scale=1.0)",
        naive="_one_head(query, value, key, scale=1.0)",
    ),
    Gotcha(
        "attention_masked_row",
        "keras.layers.Attention takes 1e9 off masked scores: where all are masked it attends as without a mask, and "
        "does not give NaN, as minus infinity does.",
        ATTENTION, {**PAIR, "value_mask": ArraySpec((2, 5), "bool")}, "structure",
        tf="ATTENTION([query, value], mask=[None, value_mask & (tf.range(2)[:, None] > 0)])",
    ),
    Gotcha(
        "additive_attention_scale",
        "keras.layers.AdditiveAttention weighs the features of tanh(query + key) by a vector that is trained.",
        ("keras.layers.AdditiveAttention",), {**THREE, "scale": ArraySpec((6,))}, "semantics",
        tf="ADDITIVE.stateless_call([scale], [], [query, value, key])[0]",
    ),
    Gotcha("mha", "nnx.MultiHeadAttention takes Keras's kernels as they are.", MHA, {**THREE, **WEIGHTS}),
    Gotcha("mha_causal", "use_causal_mask is nnx.make_causal_mask.",
           (*MHA, "flax.nnx.make_causal_mask"), {"query": PAIR["query"], **WEIGHTS}),
    Gotcha("mha_masked_row", "Where all keys are masked both give the mean of all values.",
           MHA, {**PAIR, "mask": MASK, **WEIGHTS}),
)  # fmt: skip
