"""Metrics: thresholds, ties, empty classes, and what is added up over batches."""

from workloads.core.spec import ArraySpec
from workloads.gotchas._gotcha import Gotcha

LABELS = ArraySpec((16,), "int32", low=0, high=2)
BINARY = {"y_true": LABELS, "y_pred": ArraySpec((16,), low=0.0, high=1.0)}
CLASSES = {"y_true": ArraySpec((8,), "int32", low=0, high=4), "y_pred": ArraySpec((8, 4))}
INDICES = {"y_true": ArraySpec((8,), "int32", low=0, high=4), "y_pred": ArraySpec((8,), "int32", low=0, high=4)}
PAIR = {"y_true": ArraySpec((6, 4)), "y_pred": ArraySpec((6, 4))}

GOTCHAS = (
    Gotcha(
        "mean_of_batch_means",
        "keras.metrics.Mean divides the sum over all batches by their count; a mean of the batches' means weighs a "
        "short last batch too much.",
        ("keras.metrics.Mean",), {"x": ArraySpec((6,))}, "semantics",
        tf="_over_batches(MEAN, x)",
        jax="jax.lax.stop_gradient(jnp.mean(x))",
        naive="jnp.mean(jnp.stack([jnp.mean(batch) for (batch,) in _batches(x)]))",
    ),
    Gotcha(
        "root_mean_squared_error",
        "keras.metrics.RootMeanSquaredError takes the root at the end; a mean of the batches' roots is smaller.",
        ("keras.metrics.RootMeanSquaredError",), PAIR, "semantics",
        tf="_over_batches(RMSE, y_true, y_pred)",
    ),
    Gotcha(
        "metric_sample_weight",
        "A metric divides the weighted sum by the sum of the weights, a Keras loss by the number of values: use "
        "jaxport.metrics.weighted_mean.",
        ("keras.metrics.Mean", "keras.losses.Loss"),
        {"x": ArraySpec((6,)), "weights": ArraySpec((6,), low=0.0, high=1.0)}, "semantics",
        tf="_over_batches(MEAN, x, weights)",
        jax="jax.lax.stop_gradient(metrics.weighted_mean(x, weights))",
        naive="jax.lax.stop_gradient(jnp.mean(x * weights))",
    ),
    Gotcha(
        "auc_by_thresholds",
        "keras.metrics.AUC sums trapezia between 200 thresholds; what lies between two of them is a tie: use "
        "jaxport.metrics.auc.",
        ("keras.metrics.AUC",), {"y_true": LABELS, "y_pred": ArraySpec((16,), low=0.5, high=0.515625)}, "semantics",
        tf="_over_batches(AUC, y_true, y_pred)",
    ),
    Gotcha(
        "precision_without_positives",
        "keras.metrics.Precision is 0 where nothing is predicted positive; the quotient is nan: use "
        "jaxport.metrics.precision.",
        ("keras.metrics.Precision",), BINARY, "structure",
        tf="_over_batches(PRECISION, y_true, y_pred)",
    ),
    Gotcha(
        "recall_without_labels",
        "keras.metrics.Recall is 0 where no label is 1; the quotient is nan: use jaxport.metrics.recall.",
        ("keras.metrics.Recall",), BINARY, "structure",
        tf="_over_batches(RECALL, y_true, y_pred)",
    ),
    Gotcha(
        "binary_accuracy_threshold",
        "In keras.metrics.BinaryAccuracy a prediction at the threshold is negative: compare by >.",
        ("keras.metrics.BinaryAccuracy",), BINARY, "semantics",
        tf="_over_batches(BINARY_ACCURACY, y_true[:, None], y_pred[:, None])",
        jax="jnp.mean(((y_pred > 0.5) == (y_true == 1)).astype(y_pred.dtype))",
        naive="jnp.mean(((y_pred >= 0.5) == (y_true == 1)).astype(y_pred.dtype))",
    ),
    Gotcha(
        "binary_accuracy_of_logits",
        "keras.metrics.BinaryAccuracy compares with 0.5 whatever it is given: of logits too, whose threshold would be "
        "0.",
        ("keras.metrics.BinaryAccuracy",), {"y_true": LABELS, "y_pred": ArraySpec((16,))}, "semantics",
        tf="_over_batches(BINARY_ACCURACY, y_true[:, None], y_pred[:, None])",
        jax="jnp.mean(((y_pred > 0.5) == (y_true == 1)).astype(y_pred.dtype))",
        naive="jnp.mean(((y_pred > 0) == (y_true == 1)).astype(y_pred.dtype))",
    ),
    Gotcha(
        "f1_score_per_class",
        "keras.metrics.F1Score is that of each class unless average is given: use jaxport.metrics.f1_score.",
        ("keras.metrics.F1Score",), CLASSES, "structure",
        tf="_over_batches(F1_SCORE, tf.one_hot(y_true, 4), y_pred)",
    ),
    Gotcha(
        "mean_iou_absent_class",
        "keras.metrics.MeanIoU leaves out classes that neither occur nor are predicted; a mean over all of them is "
        "nan: use jaxport.metrics.mean_iou.",
        ("keras.metrics.MeanIoU",), INDICES, "structure",
        tf="_over_batches(MEAN_IOU, y_true, y_pred)",
    ),
    Gotcha(
        "top_k_ties",
        "Ties with the target do not push it out of tf.math.in_top_k; they do by the indices of jax.lax.top_k: use "
        "jaxport.metrics.in_top_k.",
        ("keras.metrics.SparseTopKCategoricalAccuracy", "tf.math.in_top_k", "jax.lax.top_k"), CLASSES, "semantics",
        tf="_over_batches(TOP_K, y_true, y_pred)",
        jax="jnp.mean(metrics.in_top_k(y_true, y_pred, 2).astype(y_pred.dtype))",
        naive="jnp.mean(jnp.any(jax.lax.top_k(y_pred, 2)[1] == y_true[:, None], axis=-1).astype(y_pred.dtype))",
    ),
    Gotcha(
        "r2_score_of_outputs",
        "keras.metrics.R2Score is the mean of the outputs' scores, not one score of them together: use "
        "jaxport.metrics.r2_score.",
        ("keras.metrics.R2Score",), PAIR, "structure",
        tf="_over_batches(R2_SCORE, y_true, y_pred)",
    ),
    Gotcha(
        "cosine_metric_sign",
        "keras.metrics.CosineSimilarity is the cosine, keras.losses.CosineSimilarity minus it.",
        ("keras.metrics.CosineSimilarity", "keras.losses.CosineSimilarity", "optax.losses.cosine_similarity"),
        PAIR, "semantics",
        tf="_over_batches(COSINE, y_true, y_pred)",
    ),
    Gotcha(
        "confusion_matrix_rows",
        "The rows of tf.math.confusion_matrix are labels, its columns predictions: use "
        "jaxport.metrics.confusion_matrix.",
        ("tf.math.confusion_matrix",), INDICES, "structure",
        tf="tf.math.confusion_matrix(y_true, y_pred, num_classes=4)",
        jax="metrics.confusion_matrix(y_true, y_pred, num_classes=4)",
        naive="jnp.zeros((4, 4), jnp.int32).at[y_pred, y_true].add(1)",
    ),
    Gotcha("average_metric", "nnx.metrics.Average adds up sums and counts as keras.metrics.Mean does.",
           ("keras.metrics.Mean", "flax.nnx.metrics.Average"), {"x": ArraySpec((6,))},
           tf="_over_batches(MEAN, x)"),
    Gotcha("mean_absolute_error_metric", "A mean over all values.", ("keras.metrics.MeanAbsoluteError",), PAIR,
           tf="_over_batches(ABSOLUTE, y_true, y_pred)",
           jax="jax.lax.stop_gradient(jnp.mean(jnp.abs(y_true - y_pred)))"),
    Gotcha("true_positives", "What is above one half counts as positive.", ("keras.metrics.TruePositives",), BINARY,
           tf="_over_batches(TRUE_POSITIVES, y_true, y_pred)",
           jax="jnp.sum(((y_pred > 0.5) & (y_true == 1)).astype(y_pred.dtype))"),
    Gotcha("mean_squared_error_metric", "A mean over all values, whatever the batches.",
           ("keras.metrics.MeanSquaredError", "flax.nnx.metrics.Average"), PAIR,
           tf="_over_batches(SQUARED, y_true, y_pred)"),
)  # fmt: skip
