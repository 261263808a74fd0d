"""Normalisation: epsilons, variances, moving averages and masks."""

from workloads.core.spec import ArraySpec
from workloads.gotchas._gotcha import Gotcha

X = {"x": ArraySpec((4, 8))}
SCALED = {**X, "gamma": ArraySpec((8,)), "beta": ArraySpec((8,))}
BATCH = {**SCALED, "mean": ArraySpec((8,)), "variance": ArraySpec((8,), low=0.25, high=1.0)}
IMAGES = {"x": ArraySpec((2, 3, 3, 3))}
SEQUENCES = {"x": ArraySpec((2, 4, 8)), "gamma": ArraySpec((8,)), "beta": ArraySpec((8,))}

GOTCHAS = (
    Gotcha(
        "layer_norm_epsilon",
        "keras.layers.LayerNormalization adds 1e-3 to the variance, nnx.LayerNorm 1e-6: pass epsilon.",
        ("keras.layers.LayerNormalization", "flax.nnx.LayerNorm"), SCALED, "semantics",
        tf="LAYER_NORM.stateless_call([gamma, beta], [], x)[0]",
    ),
    Gotcha(
        "layer_norm_fast_variance",
        "Flax takes the variance as the mean square less the squared mean unless told otherwise, and loses it far "
        "from zero: pass use_fast_variance=False.",
        ("keras.layers.LayerNormalization", "flax.nnx.LayerNorm"), SCALED, "stability",
        tf="LAYER_NORM.stateless_call([gamma, beta], [], x)[0]",
    ),
    Gotcha(
        "layer_norm_rms_scaling",
        "With rms_scaling=True Keras divides by the deviation about the mean without subtracting the mean: that is no "
        "RMSNorm.",
        ("keras.layers.LayerNormalization", "flax.nnx.RMSNorm"), {**X, "gamma": ArraySpec((8,))}, "semantics",
        tf="keras.ops.layer_normalization(x, gamma, epsilon=1e-3, rms_scaling=True)",
    ),
    Gotcha(
        "batch_norm_epsilon",
        "keras.layers.BatchNormalization adds 1e-3 to the variance, nnx.BatchNorm 1e-5: pass epsilon.",
        ("keras.layers.BatchNormalization", "flax.nnx.BatchNorm"), BATCH, "semantics",
        tf="BATCH_NORM.stateless_call([gamma, beta], [mean, variance], x, training=False)[0]",
    ),
    Gotcha(
        "batch_norm_fast_variance",
        "Flax takes the variance as the mean square less the squared mean unless told otherwise, and loses it far "
        "from zero: pass use_fast_variance=False.",
        ("keras.layers.BatchNormalization", "flax.nnx.BatchNorm"), SCALED, "stability",
        tf="BATCH_NORM.stateless_call([gamma, beta], [tf.zeros(8), tf.ones(8)], x, training=True)[0]",
    ),
    Gotcha(
        "batch_norm_momentum",
        "Keras keeps 0.99 of the moving averages and so does nnx.BatchNorm; the 0.9 of Flax's examples is not Keras' "
        "default.",
        ("keras.layers.BatchNormalization", "flax.nnx.BatchNorm"), BATCH, "semantics",
        tf="_and_moved(BATCH_NORM.stateless_call([gamma, beta], [mean, variance], x, training=True))",
    ),
    Gotcha(
        "batch_norm_frozen",
        "A keras.layers.BatchNormalization with trainable=False normalises by its moving averages even when called "
        "with training=True: pass use_running_average=True.",
        ("keras.layers.BatchNormalization", "flax.nnx.BatchNorm"), BATCH, "semantics",
        tf="FROZEN.stateless_call([], [gamma, beta, mean, variance], x, training=True)[0]",
    ),
    Gotcha(
        "batch_norm_mask",
        "Keras adds 1e-7 to the number of unmasked values that it divides by, Flax does not, and is nan where all are "
        "masked: use jaxport.normalization.masked_moments.",
        ("keras.layers.BatchNormalization", "flax.nnx.BatchNorm"),
        {**SEQUENCES, "mask": ArraySpec((2, 4), "bool")}, "structure",
        tf="MASKED.stateless_call([gamma, beta], [tf.zeros(8), tf.ones(8)], x, training=True, mask=mask)[0]",
    ),
    Gotcha(
        "fused_batch_norm_variance",
        "The variance that tf.compat.v1.nn.fused_batch_norm keeps is the unbiased one, those of Keras and Flax are "
        "biased: use jaxport.normalization.fused_batch_norm.",
        ("tf.compat.v1.nn.fused_batch_norm", "flax.nnx.BatchNorm"),
        {**BATCH, "x": ArraySpec((2, 2, 2, 8))}, "semantics",
    ),
    Gotcha(
        "group_norm_epsilon",
        "keras.layers.GroupNormalization adds 1e-3 to the variance, nnx.GroupNorm 1e-6: pass epsilon.",
        ("keras.layers.GroupNormalization", "flax.nnx.GroupNorm"), SEQUENCES, "semantics",
        tf="GROUP_NORM.stateless_call([gamma, beta], [], x)[0]",
    ),
    Gotcha(
        "instance_norm_epsilon",
        "keras.layers.GroupNormalization(groups=-1) is instance norm with 1e-3 added to the variance, "
        "nnx.InstanceNorm adds 1e-6: pass epsilon.",
        ("keras.layers.GroupNormalization", "flax.nnx.InstanceNorm"), SEQUENCES, "semantics",
        tf="INSTANCE_NORM.stateless_call([gamma, beta], [], x)[0]",
    ),
    Gotcha(
        "l2_normalize_zero",
        "tf.nn.l2_normalize bounds the sum of squares from below by 1e-12, so that zero stays zero; x / norm(x) is "
        "nan there: use jaxport.normalization.l2_normalize.",
        ("tf.nn.l2_normalize", "tf.math.l2_normalize", "jax.numpy.linalg.norm"), X, "structure",
        tf="tf.nn.l2_normalize(x, axis=-1)",
        jax="normalization.l2_normalize(x, axis=-1)",
        naive="x / jnp.linalg.norm(x, axis=-1, keepdims=True)",
    ),
    Gotcha(
        "unit_normalization_zero",
        "keras.layers.UnitNormalization bounds one over the norm from above by 1e12: zero stays zero, with a gradient "
        "of nan. Use jaxport.normalization.unit_normalize, or l2_normalize for a gradient.",
        ("keras.layers.UnitNormalization", "jax.numpy.linalg.norm"), X, "structure",
        jax="normalization.unit_normalize(x)", naive="x / jnp.linalg.norm(x, axis=-1, keepdims=True)",
    ),
    Gotcha(
        "local_response_normalization",
        "TensorFlow sums 2 * 5 + 1 channels and does not divide alpha by their number, as the formula of AlexNet is "
        "often written: use jaxport.normalization.local_response_normalization.",
        ("tf.nn.local_response_normalization",), {"x": ArraySpec((1, 2, 2, 16))}, "semantics",
        tf="tf.nn.local_response_normalization(x)",
    ),
    Gotcha(
        "per_image_standardization",
        "TensorFlow divides by at least one over the root of the number of values, so that a constant image is 0: use "
        "jaxport.normalization.per_image_standardization.",
        ("tf.image.per_image_standardization",), IMAGES, "structure",
    ),
    Gotcha(
        "normalization_layer_constant_feature",
        "keras.layers.Normalization divides by at least 1e-7, and adds nothing to a larger deviation: a feature "
        "without variance is multiplied by 1e7.",
        ("keras.layers.Normalization",), {"x": ArraySpec((4, 4))}, "semantics",
        tf="STANDARDIZE(x)",
        jax="(x - jnp.array(MEAN)) / jnp.maximum(jnp.sqrt(jnp.array(VARIANCE)), 1e-7)",
        naive="(x - jnp.array(MEAN)) / jnp.sqrt(jnp.array(VARIANCE) + 1e-7)",
    ),
    Gotcha(
        "unit_norm_constraint",
        "keras.constraints.UnitNorm adds 1e-7 to the norm that it divides by: zero stays zero, and no norm is exactly "
        "1.",
        ("keras.constraints.UnitNorm",), X, "structure",
    ),
    Gotcha(
        "max_norm_constraint",
        "keras.constraints.MaxNorm scales every column, by min(norm, 2) / (1e-7 + norm): one that is short enough is "
        "not left as it is.",
        ("keras.constraints.MaxNorm",), {"x": ArraySpec((4, 8), low=1.0, high=2.0)}, "semantics",
    ),
    Gotcha(
        "deviation_by_squares",
        "The root of the mean square less the squared mean loses the deviation far from zero: use jnp.std, which "
        "subtracts the mean first, as TensorFlow does.",
        ("tf.math.reduce_std", "jax.numpy.std"), X, "stability",
        tf="tf.math.reduce_std(x, axis=-1)",
        jax="jnp.std(x, axis=-1)",
        naive="jnp.sqrt(jnp.mean(x * x, axis=-1) - jnp.square(jnp.mean(x, axis=-1)))",
    ),
    Gotcha("rms_norm", "The same formula and epsilon.", ("keras.layers.RMSNormalization", "flax.nnx.RMSNorm"),
           {**X, "gamma": ArraySpec((8,))},
           tf="RMS_NORM.stateless_call([gamma], [], x)[0]"),
    Gotcha(
        "layer_norm_of_two_axes",
        "Both normalise and scale over several axes; Flax takes them twice.",
        ("keras.layers.LayerNormalization", "flax.nnx.LayerNorm"),
        {"x": ArraySpec((2, 4, 8)), "gamma": ArraySpec((4, 8)), "beta": ArraySpec((4, 8))},
        tf="LAYER_NORM_OF_TWO.stateless_call([gamma, beta], [], x)[0]",
    ),
    Gotcha(
        "batch_norm_training",
        "The moving averages keep the biased variance in both Keras and jaxport.normalization.BatchNorm.",
        ("keras.layers.BatchNormalization",), BATCH,
        tf="_and_moved(BATCH_NORM.stateless_call([gamma, beta], [mean, variance], x, training=True))",
    ),
    Gotcha("moments_biased", "Both variances are biased unless told otherwise.", ("tf.nn.moments", "jax.numpy.var"), X,
           jax="jnp.mean(x, axis=0), jnp.var(x, axis=0)"),
    Gotcha("weighted_moments", "The same sums over the same weights.", ("tf.nn.weighted_moments", "jax.numpy.average"),
           {**X, "weights": ArraySpec((4, 8), low=0.5, high=1.0)}),
    Gotcha("standardize", "jax.nn.standardize takes its variance as keras.ops.var does, once epsilon is the same.",
           ("keras.ops.moments", "jax.nn.standardize"), X,
           jax="jax.nn.standardize(x, axis=-1, variance=jnp.var(x, axis=-1, keepdims=True))"),
)  # fmt: skip
