"""Mixed precision: what a policy computes in, what it keeps, and what leaves a layer."""

from workloads.core.spec import ArraySpec
from workloads.gotchas._gotcha import Gotcha

X = {"x": ArraySpec((4, 8))}
NARROW = {"x": ArraySpec((4, 8), "bfloat16")}
DENSE = {**X, "kernel": ArraySpec((8, 4)), "bias": ArraySpec((4,))}
SCALED = {**NARROW, "gamma": ArraySpec((8,)), "beta": ArraySpec((8,))}

GOTCHAS = (
    Gotcha(
        "mixed_dense",
        "The policy mixed_bfloat16 computes in bfloat16 and keeps weights in float32: that is dtype=, not "
        "param_dtype=, of a Flax layer.",
        ("keras.DTypePolicy", "keras.layers.Dense", "flax.nnx.Linear"), DENSE, "structure",
        tf="_call_layer(DENSE, x, kernel, bias)",
    ),
    Gotcha(
        "mixed_embedding",
        "An embedding of the policy mixed_bfloat16 hands out bfloat16, nnx.Embed what its table is kept in: pass "
        "dtype.",
        ("keras.layers.Embedding", "flax.nnx.Embed"),
        {"indices": ArraySpec((8,), "int32", low=0, high=6), "table": ArraySpec((6, 4))}, "structure",
        tf="EMBEDDING.stateless_call([table], [], indices)[0]",
    ),
    Gotcha(
        "mixed_layer_norm",
        "Keras normalises in float32 and rounds the result; nnx.LayerNorm with dtype=bfloat16 rounds its weights too: "
        "leave dtype out and convert what it returns.",
        ("keras.layers.LayerNormalization", "flax.nnx.LayerNorm"), SCALED, "gradients",
        tf="LAYER_NORM.stateless_call([gamma, beta], [], x)[0]",
    ),
    Gotcha(
        "mixed_batch_norm",
        "Keras normalises in float32 and rounds the result; nnx.BatchNorm with dtype=bfloat16 rounds its weights too: "
        "leave dtype out and convert what it returns.",
        ("keras.layers.BatchNormalization", "flax.nnx.BatchNorm"),
        {**SCALED, "mean": ArraySpec((8,)), "variance": ArraySpec((8,), low=0.25, high=1.0)}, "semantics",
        tf="BATCH_NORM.stateless_call([gamma, beta], [mean, variance], x, training=False)[0]",
    ),
    Gotcha(
        "loss_of_narrow_predictions",
        "A Keras loss converts predictions to float32 before it does anything; optax computes in the type of the "
        "logits: convert them.",
        ("keras.losses.CategoricalCrossentropy", "optax.losses.softmax_cross_entropy"),
        {"y_true": ArraySpec((4, 8), low=0.0, high=1.0), "y_pred": ArraySpec((4, 8), "bfloat16")}, "structure",
        tf="keras.losses.CategoricalCrossentropy(from_logits=True)(tf.nn.softmax(y_true), y_pred)",
        jax="jnp.mean(optax.losses.softmax_cross_entropy(y_pred.astype(jnp.float32), jax.nn.softmax(y_true)))",
        naive="jnp.mean(optax.losses.softmax_cross_entropy(y_pred, jax.nn.softmax(y_true.astype(y_pred.dtype))))",
    ),
    Gotcha(
        "softmax_head_in_float32",
        "A last activation with dtype=float32 converts its argument: convert it before the softmax, which else is "
        "rounded to bfloat16.",
        ("keras.layers.Activation", "jax.nn.softmax"), NARROW, "structure",
        tf="keras.layers.Activation('softmax', dtype='float32')(x)",
        jax="jax.nn.softmax(x.astype(jnp.float32))",
        naive="jax.nn.softmax(x)",
    ),
    Gotcha(
        "softmax_mask_in_float16",
        "float16 ends at 65504: a mask of -1e9 is minus infinity there, and a row of those nan: use "
        "jaxport.activations.masked_softmax.",
        ("keras.layers.Softmax", "jax.nn.softmax"),
        {"x": ArraySpec((4, 8), "float16"), "mask": ArraySpec((4, 8), "bool")}, "structure",
        tf="keras.layers.Softmax(dtype='float16')(x, mask=mask)",
        jax="activations.masked_softmax(x, mask)",
        naive="jax.nn.softmax(jnp.where(mask, x, jnp.asarray(-1e9, x.dtype)))",
    ),
    Gotcha(
        "loss_scale_overflow",
        "keras.optimizers.LossScaleOptimizer leaves out a step whose gradients are not finite; dividing them by the "
        "scale takes it: use jaxport.loss_scaling.scaled.",
        ("keras.optimizers.LossScaleOptimizer",),
        {"gradients": ArraySpec((4, 8)), "start": ArraySpec((8,))}, "structure",
        jax="_steps(loss_scaling.scaled(optax.sgd(0.125), initial_scale=16.0), gradients, start)",
        naive="_steps(_divide_gradients(optax.sgd(0.125)), gradients, start)",
    ),
    Gotcha("mixed_dense_in_float16", "dtype=jnp.float16 is the policy mixed_float16.",
           ("keras.DTypePolicy", "keras.layers.Dense", "flax.nnx.Linear"), DENSE,
           tf="_call_layer(DENSE_IN_HALF, x, kernel, bias)"),
    Gotcha("matmul_of_bfloat16", "Both add up in float32 and round once.", ("tf.matmul", "jax.numpy.matmul"),
           {**NARROW, "y": ArraySpec((8, 4), "bfloat16")},
           tf="tf.matmul(x, y)", jax="jnp.matmul(x, y)"),
    Gotcha("mean_of_bfloat16", "Both add up in float32 and round once.", ("tf.reduce_mean", "jax.numpy.mean"), NARROW,
           tf="tf.reduce_mean(x, axis=-1)", jax="jnp.mean(x, axis=-1)"),
    Gotcha("cast_to_bfloat16", "Both round halves to even.", ("tf.cast", "jax.Array.astype"), X,
           tf="tf.cast(x, tf.bfloat16)", jax="x.astype(jnp.bfloat16)"),
    Gotcha(
        "keras_promotes_narrow",
        "keras.ops promote bfloat16 and float32 to float32 as JAX does, and TensorFlow does not.",
        ("keras.ops.add", "jax.numpy.add"), {**NARROW, "y": ArraySpec((4, 8))},
        tf="keras.ops.add(x, y)", jax="x + y",
    ),
)  # fmt: skip
