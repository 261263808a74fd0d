"""Losses: reductions, clipping, smoothing, weights, and what is left out of a mean."""

from workloads.core.spec import ArraySpec
from workloads.gotchas._gotcha import Gotcha

SCORES = ArraySpec((4, 8))
PAIR = {"y_true": SCORES, "y_pred": SCORES}
MASKED = {"y_true": ArraySpec((2, 4, 4)), "y_pred": ArraySpec((2, 4, 4)), "mask": ArraySpec((2, 4), "bool")}
LABELS = ArraySpec((4,), "int32", low=0, high=8)
SOME = ArraySpec((4,), "int32", low=-1, high=8)
BINARY = ArraySpec((4, 8), low=0.0, high=1.0)
SHARES = ArraySpec((4, 8), low=0.25, high=1.0)
# Logits are bounded by 8: from 600 on the loss that optax computes is off by a thousandth.
SPEECH = {
    "labels": ArraySpec((2, 2), "int32", low=1, high=4),
    "logits": ArraySpec((2, 6, 4)),
    "label_length": ArraySpec((2,), "int32", low=1, high=3),
    "logit_length": ArraySpec((2,), "int32", low=5, high=7),
}

GOTCHAS = (
    Gotcha(
        "mean_squared_error_not_halved",
        "Keras' mean squared error is not halved, optax.l2_loss is: use optax.squared_error.",
        ("keras.losses.MeanSquaredError", "optax.losses.l2_loss"), PAIR, "semantics",
        tf="keras.losses.MeanSquaredError()(y_true, y_pred)",
        jax="jnp.mean(optax.losses.squared_error(y_pred, y_true))",
        naive="jnp.mean(optax.losses.l2_loss(y_pred, y_true))",
    ),
    Gotcha(
        "l2_loss",
        "tf.nn.l2_loss is half of the sum of squares, not of their mean: sum optax.l2_loss.",
        ("tf.nn.l2_loss", "optax.losses.l2_loss"), {"x": ArraySpec((4, 8))}, "semantics",
        tf="tf.nn.l2_loss(x)", jax="jnp.sum(optax.losses.l2_loss(x))", naive="jnp.mean(optax.losses.l2_loss(x))",
    ),
    Gotcha(
        "categorical_crossentropy_reduction",
        "A Keras loss is the mean over the batch, optax's losses are those of each example.",
        ("keras.losses.CategoricalCrossentropy", "optax.losses.softmax_cross_entropy"),
        {"y_true": SHARES, "y_pred": SCORES}, "structure",
        tf="keras.losses.CategoricalCrossentropy(from_logits=True)(tf.nn.softmax(y_true), y_pred)",
        jax="jnp.mean(optax.losses.softmax_cross_entropy(y_pred, jax.nn.softmax(y_true)))",
        naive="optax.losses.softmax_cross_entropy(y_pred, jax.nn.softmax(y_true))",
    ),
    Gotcha(
        "sample_weight_mean",
        "Keras divides the weighted sum by the number of losses, not by the sum of the weights: use "
        "jaxport.losses.reduce.",
        ("keras.losses.MeanSquaredError", "jax.numpy.average"),
        {**PAIR, "weights": ArraySpec((4,), low=0.5, high=2.0)}, "semantics",
        tf="keras.losses.MeanSquaredError()(y_true, y_pred, sample_weight=weights)",
        jax="losses.reduce(jnp.mean(jnp.square(y_true - y_pred), axis=-1), weights)",
        naive="jnp.average(jnp.mean(jnp.square(y_true - y_pred), axis=-1), weights=weights)",
    ),
    Gotcha(
        "v1_loss_nonzero_weights",
        "tf.compat.v1.losses divide the weighted sum by the number of weights that are not zero.",
        ("tf.compat.v1.losses.mean_squared_error",),
        {**PAIR, "weights": ArraySpec((4, 8), low=0.0, high=2.0)}, "semantics",
        tf="tf.compat.v1.losses.mean_squared_error(y_true, y_pred, weights=tf.stop_gradient(weights))",
    ),
    Gotcha(
        "masked_loss_mean",
        "The mask that keras.layers.Masking attaches to a prediction leaves values out of Keras' mean, their number "
        "too: use jaxport.losses.reduce.",
        ("keras.layers.Masking", "keras.losses.MeanSquaredError"), MASKED, "semantics",
    ),
    Gotcha(
        "sparse_crossentropy_ignore_class",
        "keras.losses.SparseCategoricalCrossentropy leaves ignored labels out of its mean, their number too: use "
        "jaxport.losses.reduce.",
        ("keras.losses.SparseCategoricalCrossentropy", "optax.losses.softmax_cross_entropy_with_integer_labels"),
        {"y_true": SOME, "y_pred": SCORES}, "semantics",
        tf="keras.losses.SparseCategoricalCrossentropy(from_logits=True, ignore_class=-1)(y_true, y_pred)",
    ),
    Gotcha(
        "binary_crossentropy_clips",
        "Keras clips probabilities to [1e-7, 1 - 1e-7]; the formula without is nan or infinite at 0 and 1: use "
        "jaxport.losses.binary_crossentropy.",
        ("keras.losses.BinaryCrossentropy",), {"y_true": BINARY, "y_pred": BINARY}, "structure",
        tf="keras.losses.binary_crossentropy(y_true, y_pred)",
        jax="losses.binary_crossentropy(y_true, y_pred)",
        naive="-jnp.mean(y_true * jnp.log(y_pred) + (1 - y_true) * jnp.log(1 - y_pred), axis=-1)",
    ),
    Gotcha(
        "binary_label_smoothing",
        "Keras smooths binary labels towards one half; optax.smooth_labels towards one over the size of the last "
        "axis.",
        ("keras.losses.BinaryCrossentropy", "optax.smooth_labels"), {"y_true": BINARY, "y_pred": SCORES}, "semantics",
        tf="keras.losses.binary_crossentropy(y_true, y_pred, from_logits=True, label_smoothing=0.125)",
    ),
    Gotcha(
        "categorical_crossentropy_normalises",
        "Of probabilities Keras first divides by their sum: use jaxport.losses.categorical_crossentropy.",
        ("keras.losses.CategoricalCrossentropy",), {"y_true": SHARES, "y_pred": SHARES}, "semantics",
        tf="keras.losses.categorical_crossentropy(y_true, y_pred)",
        jax="losses.categorical_crossentropy(y_true, y_pred)",
        naive="-jnp.sum(y_true * jnp.log(y_pred), axis=-1)",
    ),
    Gotcha(
        "sparse_crossentropy_normalises",
        "Of probabilities Keras takes logarithms, and then a softmax of those: use "
        "jaxport.losses.sparse_categorical_crossentropy.",
        ("keras.losses.SparseCategoricalCrossentropy",), {"y_true": LABELS, "y_pred": SHARES}, "semantics",
        tf="keras.losses.sparse_categorical_crossentropy(y_true, y_pred)",
        jax="losses.sparse_categorical_crossentropy(y_true, y_pred)",
        naive="-jnp.log(jnp.take_along_axis(y_pred, y_true[:, None], axis=-1)[:, 0])",
    ),
    Gotcha(
        "crossentropy_of_softmax",
        "Keras finds the logits behind a softmax and takes the loss of those; the logarithm of clipped probabilities "
        "stops at 16: use the logits.",
        ("keras.losses.CategoricalCrossentropy", "keras.activations.softmax", "optax.losses.softmax_cross_entropy"),
        {"y_true": BINARY, "y_pred": SCORES}, "semantics",
        tf="keras.losses.categorical_crossentropy(tf.nn.softmax(y_true), keras.activations.softmax(y_pred))",
        jax="optax.losses.softmax_cross_entropy(y_pred, jax.nn.softmax(y_true))",
        naive="-jnp.sum(jax.nn.softmax(y_true) * jnp.log(jnp.clip(jax.nn.softmax(y_pred), 1e-7, 1)), axis=-1)",
    ),
    Gotcha(
        "softmax_cross_entropy_gradient",
        "TensorFlow's gradient by the logits is softmax - labels even of labels that do not add up to 1, where the "
        "derivative is another: use jaxport.losses.softmax_cross_entropy.",
        ("tf.nn.softmax_cross_entropy_with_logits", "optax.losses.softmax_cross_entropy"), PAIR, "gradients",
        tf="tf.nn.softmax_cross_entropy_with_logits(y_true, y_pred)",
        jax="losses.softmax_cross_entropy(y_true, y_pred)",
        naive="optax.losses.softmax_cross_entropy(y_pred, y_true)",
    ),
    Gotcha(
        "weighted_cross_entropy_with_logits",
        "The weight of tf.nn.weighted_cross_entropy_with_logits is that of positive labels, not of the loss: use "
        "jaxport.losses.weighted_cross_entropy_with_logits.",
        ("tf.nn.weighted_cross_entropy_with_logits", "optax.losses.sigmoid_binary_cross_entropy"),
        {"y_true": BINARY, "y_pred": SCORES}, "semantics",
        tf="tf.nn.weighted_cross_entropy_with_logits(y_true, y_pred, pos_weight=2.0)",
        jax="losses.weighted_cross_entropy_with_logits(y_true, y_pred, pos_weight=2.0)",
        naive="2 * optax.losses.sigmoid_binary_cross_entropy(y_pred, y_true)",
    ),
    Gotcha(
        "cosine_loss_sign",
        "keras.losses.cosine_similarity is minus the cosine, optax.cosine_distance one minus it: use "
        "jaxport.losses.cosine_similarity.",
        ("keras.losses.CosineSimilarity", "optax.losses.cosine_distance"),
        {"y_true": SHARES, "y_pred": SHARES}, "semantics",
        tf="keras.losses.cosine_similarity(y_true, y_pred)",
        jax="losses.cosine_similarity(y_true, y_pred)",
        naive="optax.losses.cosine_distance(y_pred, y_true)",
    ),
    Gotcha(
        "kl_divergence_clips",
        "Keras clips both distributions to [1e-7, 1]; optax takes the logarithm of a prediction that may be 0: use "
        "jaxport.losses.kl_divergence.",
        ("keras.losses.KLDivergence", "optax.losses.kl_divergence"), {"y_true": BINARY, "y_pred": BINARY}, "structure",
        tf="keras.losses.kl_divergence(y_true, y_pred)",
        jax="losses.kl_divergence(y_true, y_pred)",
        naive="optax.losses.kl_divergence(jnp.log(y_pred), y_true)",
    ),
    Gotcha(
        "poisson_epsilon",
        "Keras adds 1e-7 to what the logarithm takes: use jaxport.losses.poisson.",
        ("keras.losses.Poisson",), {"y_true": BINARY, "y_pred": BINARY}, "structure",
        tf="keras.losses.poisson(y_true, y_pred)",
        jax="losses.poisson(y_true, y_pred)",
        naive="jnp.mean(y_pred - y_true * jnp.log(y_pred), axis=-1)",
    ),
    Gotcha(
        "percentage_error_at_zero",
        "Keras' error is relative to at least 1e-7: use jaxport.losses.mean_absolute_percentage_error.",
        ("keras.losses.MeanAbsolutePercentageError",), PAIR, "structure",
        tf="keras.losses.mean_absolute_percentage_error(y_true, y_pred)",
        jax="losses.mean_absolute_percentage_error(y_true, y_pred)",
        naive="100 * jnp.mean(jnp.abs((y_true - y_pred) / y_true), axis=-1)",
    ),
    Gotcha(
        "logarithmic_error_of_negative",
        "Keras raises both values to 1e-7 before it takes logarithms: use "
        "jaxport.losses.mean_squared_logarithmic_error.",
        ("keras.losses.MeanSquaredLogarithmicError",), PAIR, "structure",
        tf="keras.losses.mean_squared_logarithmic_error(y_true, y_pred)",
        jax="losses.mean_squared_logarithmic_error(y_true, y_pred)",
        naive="jnp.mean(jnp.square(jnp.log1p(y_pred) - jnp.log1p(y_true)), axis=-1)",
    ),
    Gotcha(
        "hinge_of_binary_labels",
        "Keras takes labels 0 and 1 for -1 and 1, optax.hinge_loss does not: use jaxport.losses.hinge.",
        ("keras.losses.Hinge", "optax.losses.hinge_loss"),
        {"y_true": ArraySpec((4, 8), "int32", low=0, high=2), "y_pred": SCORES}, "semantics",
        tf="keras.losses.hinge(y_true, y_pred)",
        jax="losses.hinge(y_true, y_pred)",
        naive="jnp.mean(optax.losses.hinge_loss(y_pred, y_true), axis=-1)",
    ),
    Gotcha(
        "categorical_hinge",
        "In Keras the true class competes too, with a score of 0: use jaxport.losses.categorical_hinge instead of "
        "optax.multiclass_hinge_loss.",
        ("keras.losses.CategoricalHinge", "optax.losses.multiclass_hinge_loss"),
        {"y_true": ArraySpec((8,), "int32", low=0, high=3), "y_pred": ArraySpec((8, 3))}, "semantics",
        tf="keras.losses.categorical_hinge(tf.one_hot(y_true, 3), y_pred)",
        jax="losses.categorical_hinge(jax.nn.one_hot(y_true, 3), y_pred)",
        naive="optax.losses.multiclass_hinge_loss(y_pred, y_true)",
    ),
    Gotcha(
        "binary_focal_alpha",
        "Keras weighs the classes only with apply_class_balancing=True; the alpha of 0.25 of the paper is not its "
        "default: use jaxport.losses.binary_focal_crossentropy.",
        ("keras.losses.BinaryFocalCrossentropy", "optax.losses.sigmoid_focal_loss"),
        {"y_true": BINARY, "y_pred": SCORES}, "semantics",
        tf="keras.losses.binary_focal_crossentropy(y_true, y_pred, from_logits=True)",
        jax="losses.binary_focal_crossentropy(y_true, y_pred, from_logits=True)",
        naive="jnp.mean(optax.losses.sigmoid_focal_loss(y_pred, y_true, alpha=0.25), axis=-1)",
    ),
    Gotcha(
        "dice_of_batch",
        "keras.losses.Dice is one over the whole batch, and smooths the denominator alone: use jaxport.losses.dice.",
        ("keras.losses.Dice",), {"y_true": SHARES, "y_pred": SHARES}, "semantics",
        tf="keras.losses.Dice()(y_true, y_pred)",
    ),
    Gotcha(
        "tversky_alpha",
        "The alpha of keras.losses.Tversky weighs what was missed and its beta false alarms, the reverse of the "
        "paper: use jaxport.losses.tversky.",
        ("keras.losses.Tversky",), {"y_true": SHARES, "y_pred": SHARES}, "semantics",
        tf="keras.losses.Tversky(alpha=0.25, beta=0.75)(y_true, y_pred)",
    ),
    Gotcha(
        "ctc_lengths",
        "tf.nn.ctc_loss takes lengths, optax.ctc_loss paddings; without them all of a padded batch counts: use "
        "jaxport.losses.ctc_loss.",
        ("tf.nn.ctc_loss", "optax.losses.ctc_loss"), SPEECH, "semantics",
    ),
    Gotcha(
        "v1_log_loss",
        "tf.compat.v1.losses.log_loss adds 1e-7 to what both logarithms take.",
        ("tf.compat.v1.losses.log_loss",), {"y_true": BINARY, "y_pred": BINARY}, "structure",
        tf="tf.compat.v1.losses.log_loss(y_true, y_pred)",
        jax="jnp.mean(-y_true * jnp.log(y_pred + 1e-7) - (1 - y_true) * jnp.log(1 - y_pred + 1e-7))",
        naive="-jnp.mean(y_true * jnp.log(y_pred) + (1 - y_true) * jnp.log(1 - y_pred))",
    ),
    Gotcha("huber", "The same formula and delta; Keras takes the mean.",
           ("keras.losses.Huber", "optax.losses.huber_loss"), PAIR,
           tf="keras.losses.Huber()(y_true, y_pred)", jax="jnp.mean(optax.losses.huber_loss(y_pred, y_true))"),
    Gotcha("mean_squared_error", "The mean over the last axis.",
           ("keras.losses.mean_squared_error", "optax.losses.squared_error"), PAIR,
           tf="keras.losses.mean_squared_error(y_true, y_pred)",
           jax="jnp.mean(optax.losses.squared_error(y_pred, y_true), axis=-1)"),
    Gotcha(
        "squared_hinge",
        "The square has gradient 0 at the margin however the tie is shared.",
        ("keras.losses.SquaredHinge", "optax.losses.hinge_loss"),
        {"y_true": ArraySpec((4, 8), low=1.5, high=2.0), "y_pred": SCORES},
        tf="keras.losses.squared_hinge(y_true, y_pred)",
        jax="jnp.mean(jnp.square(optax.losses.hinge_loss(y_pred, y_true)), axis=-1)",
    ),
    Gotcha(
        "sigmoid_cross_entropy",
        "The same function of logits.",
        ("tf.nn.sigmoid_cross_entropy_with_logits", "optax.losses.sigmoid_binary_cross_entropy"),
        {"y_true": BINARY, "y_pred": SCORES},
        tf="tf.nn.sigmoid_cross_entropy_with_logits(y_true, y_pred)",
        jax="optax.losses.sigmoid_binary_cross_entropy(y_pred, y_true)",
    ),
    Gotcha(
        "sparse_softmax_cross_entropy",
        "The same function of logits.",
        ("tf.nn.sparse_softmax_cross_entropy_with_logits", "optax.losses.softmax_cross_entropy_with_integer_labels"),
        {"y_true": LABELS, "y_pred": SCORES},
        tf="tf.nn.sparse_softmax_cross_entropy_with_logits(y_true, y_pred)",
        jax="optax.losses.softmax_cross_entropy_with_integer_labels(y_pred, y_true)",
    ),
    Gotcha("categorical_label_smoothing", "Both smooth towards one over the number of classes.",
           ("keras.losses.CategoricalCrossentropy", "optax.smooth_labels"), {"y_true": LABELS, "y_pred": SCORES},
           jax="optax.losses.softmax_cross_entropy(y_pred, optax.smooth_labels(jax.nn.one_hot(y_true, 8), 0.125))"),
    Gotcha("generalized_cross_entropy", "One less a power of the probability of the class, over the exponent.",
           ("keras.losses.CategoricalGeneralizedCrossEntropy",), {"y_true": LABELS, "y_pred": SHARES},
           tf="keras.losses.categorical_generalized_cross_entropy(y_true, y_pred, 0.5)",
           jax="(1 - jnp.sqrt(jnp.take_along_axis(y_pred, y_true[:, None], axis=-1)[:, 0])) / 0.5"),
    Gotcha("categorical_focal_crossentropy", "jaxport.losses.categorical_focal_crossentropy is Keras' formula.",
           ("keras.losses.CategoricalFocalCrossentropy",), {"y_true": SHARES, "y_pred": SHARES},
           tf="keras.losses.categorical_focal_crossentropy(y_true, y_pred)",
           jax="losses.categorical_focal_crossentropy(y_true, y_pred)"),
)  # fmt: skip
