"""Losses and metrics of Keras as expressions of targets and predictions."""

from __future__ import annotations

from dataclasses import dataclass

from compare.porting.safe_expressions import UnwritableError, literal
from compare.porting.traced_functions import function_name, takes_numbers_of_classes
from workloads.protocol.architecture import Described

_ALIASES = {
    "mse": "MeanSquaredError", "mean_squared_error": "MeanSquaredError", "MSE": "MeanSquaredError",
    "mae": "MeanAbsoluteError", "mean_absolute_error": "MeanAbsoluteError", "MAE": "MeanAbsoluteError",
    "mape": "MeanAbsolutePercentageError", "mean_absolute_percentage_error": "MeanAbsolutePercentageError",
    "msle": "MeanSquaredLogarithmicError", "mean_squared_logarithmic_error": "MeanSquaredLogarithmicError",
    "sparse_categorical_crossentropy": "SparseCategoricalCrossentropy",
    "categorical_crossentropy": "CategoricalCrossentropy", "binary_crossentropy": "BinaryCrossentropy",
    "kl_divergence": "KLDivergence", "poisson": "Poisson", "hinge": "Hinge", "categorical_hinge": "CategoricalHinge",
    "cosine_similarity": "CosineSimilarity", "log_cosh": "LogCosh", "logcosh": "LogCosh", "huber": "Huber",
}  # fmt: skip

_SIMPLE = {
    "MeanSquaredError": "jnp.square({predictions} - {targets})",
    "MeanAbsoluteError": "jaxport.elementwise.absolute({predictions} - {targets})",
    "MeanAbsolutePercentageError": "jaxport.losses.mean_absolute_percentage_error({targets}, {predictions})",
    "MeanSquaredLogarithmicError": "jaxport.losses.mean_squared_logarithmic_error({targets}, {predictions})",
    "KLDivergence": "jaxport.losses.kl_divergence({targets}, {predictions})",
    "Poisson": "jaxport.losses.poisson({targets}, {predictions})",
    "Hinge": "jaxport.losses.hinge({targets}, {predictions})",
    "CategoricalHinge": "jaxport.losses.categorical_hinge({targets}, {predictions})",
}
_SPARSE = "SparseCategoricalCrossentropy"
_BEHIND = {_SPARSE: "softmax", "CategoricalCrossentropy": "softmax", "BinaryCrossentropy": "sigmoid"}

_METRICS = {
    "MeanSquaredError": "jnp.mean(jnp.square({predictions} - {targets}))",
    "MeanAbsoluteError": "jnp.mean(jnp.abs({predictions} - {targets}))",
    "SparseCategoricalAccuracy": "jnp.mean({predictions}.argmax(-1) == {targets})",
    "CategoricalAccuracy": "jnp.mean({predictions}.argmax(-1) == {targets}.argmax(-1))",
    "BinaryAccuracy": "jnp.mean(({predictions} > 0.5) == {targets})",
    "RootMeanSquaredError": "jnp.sqrt(jnp.mean(jnp.square({predictions} - {targets})))",
    "SparseTopKCategoricalAccuracy": "jnp.mean(jaxport.metrics.in_top_k({targets}, {predictions}, {k}))",
    "TopKCategoricalAccuracy": "jnp.mean(jaxport.metrics.in_top_k({targets}.argmax(-1), {predictions}, {k}))",
    "Precision": "jaxport.metrics.precision({targets}, {predictions})",
    "Recall": "jaxport.metrics.recall({targets}, {predictions})",
    "AUC": "jaxport.metrics.auc({targets}.ravel(), {predictions}.ravel(), {num_thresholds})",
}
_WRITTEN_WITH = {
    "threshold": (None, 0.5), "thresholds": (None,), "top_k": (None,), "class_id": (None,), "curve": (None, "ROC"),
    "summation_method": (None, "interpolation"), "multi_label": (None, False), "label_weights": (None,),
    "from_logits": (None, False),
}  # fmt: skip
"""The attributes of a metric that its text requires."""
_DEFAULTS = {"k": 5, "num_thresholds": 200}
"""Default arguments of a metric that is given by name."""
_METRIC_ALIASES = {
    "sparse_categorical_accuracy": "SparseCategoricalAccuracy", "categorical_accuracy": "CategoricalAccuracy",
    "binary_accuracy": "BinaryAccuracy",
}  # fmt: skip


@dataclass(frozen=True)
class Operands:
    """The operands of a loss or a metric, as expressions."""

    targets: str = "targets"
    predictions: str = "predictions"


ALL = Operands()
"""The operands for a model with one output."""


def class_of(loss: Described) -> str:
    """The class of a loss, also where it was named as a function."""
    return _ALIASES.get(loss.class_name, loss.class_name)


def takes_classes(loss: Described) -> bool:
    """Whether its targets are numbers of classes."""
    return class_of(loss) == _SPARSE if loss.own else takes_numbers_of_classes(loss)


def takes_shares(loss: Described) -> bool:
    """Whether its targets lie between 0 and 1."""
    return loss.traced is not None or class_of(loss) in (
        "CategoricalCrossentropy",
        "BinaryCrossentropy",
        "KLDivergence",
        "Poisson",
    )


def of_logits(loss: Described) -> str:
    """The activation behind which Keras finds the logits of a loss of probabilities; "" where it looks for none."""
    if loss.config.get("from_logits") or not loss.own:
        return ""
    return _BEHIND.get(class_of(loss), "")


def loss_expression(loss: Described, logits: bool, of: Operands = ALL) -> str:
    """The losses of single examples.

    Args:
      logits: whether the predictions are logits where the loss says that it takes probabilities.

    Raises:
      UnwritableError: there is none.
    """
    name, config = class_of(loss), loss.config
    if not loss.own:
        # Keras makes floats of the targets.
        return f"{function_name(loss)}({of.targets}.astype({of.predictions}.dtype), {of.predictions})"
    _check_loss(loss)
    if name in _SIMPLE:
        return _SIMPLE[name].format(targets=of.targets, predictions=of.predictions)
    logits, smoothing = logits or bool(config.get("from_logits")), config.get("label_smoothing") or 0
    if name == _SPARSE and config.get("ignore_class") is None:
        if logits:
            return f"optax.softmax_cross_entropy_with_integer_labels({of.predictions}, {of.targets})"
        return f"jaxport.losses.sparse_categorical_crossentropy({of.targets}, {of.predictions})"
    if name == "CategoricalCrossentropy" and config.get("axis", -1) == -1:
        targets = f"optax.smooth_labels({of.targets}, {smoothing!r})" if smoothing else of.targets
        if logits:
            return f"jaxport.losses.softmax_cross_entropy({targets}, {of.predictions})"
        return f"jaxport.losses.categorical_crossentropy({targets}, {of.predictions})"
    if name == "BinaryCrossentropy" and config.get("axis", -1) == -1:
        if not logits:
            more = f", {smoothing!r}" if smoothing else ""
            return f"jaxport.losses.binary_crossentropy({of.targets}, {of.predictions}{more})"
        targets = f"{of.targets} * (1 - {smoothing!r}) + 0.5 * {smoothing!r}" if smoothing else of.targets
        return f"optax.sigmoid_binary_cross_entropy({of.predictions}, {targets})"
    if name == "Huber":
        return f"optax.huber_loss({of.predictions}, {of.targets}, delta={config.get('delta', 1.0)!r})"
    if name == "LogCosh":
        return f"optax.log_cosh({of.predictions}, {of.targets})"
    if name == "CosineSimilarity" and config.get("axis", -1) == -1:
        return f"jaxport.losses.cosine_similarity({of.targets}, {of.predictions})"
    raise UnwritableError(f"{loss.class_name} is not known here")


def _check_loss(loss: Described) -> None:
    if loss.config.get("reduction", "sum_over_batch_size") not in ("sum_over_batch_size", "mean"):
        raise UnwritableError(f"its reduction is {loss.config['reduction']!r}")


def metric_expression(metric: Described, loss: Described | None, of: Operands = ALL) -> tuple[str, str]:
    """The name of a metric and its value over one batch.

    Args:
      loss: of the same output; "accuracy" depends on it.

    Raises:
      UnwritableError: it is not known here.
    """
    name = metric.class_name
    if name in ("accuracy", "acc", "Accuracy") and loss:
        kinds = {_SPARSE: "SparseCategoricalAccuracy", "CategoricalCrossentropy": "CategoricalAccuracy",
                 "BinaryCrossentropy": "BinaryAccuracy"}  # fmt: skip
        kind = kinds.get(class_of(loss), "")
    else:
        kind = _METRIC_ALIASES.get(name, _ALIASES.get(name, name))
    if not metric.own or kind not in _METRICS:
        raise UnwritableError(f"the metric {name} is not known here")
    for attribute, allowed_values in _WRITTEN_WITH.items():
        if metric.config.get(attribute) not in allowed_values:
            raise UnwritableError(f"the metric {name} has {attribute}={str(metric.config[attribute])[:40]}")
    numbers = {attribute: literal(metric.config.get(attribute, default)) for attribute, default in _DEFAULTS.items()}
    text = _METRICS[kind].format(**numbers, targets=of.targets, predictions=of.predictions)
    return str(metric.config.get("name") or name), text
