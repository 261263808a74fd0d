"""The outputs of a Keras model, and the arguments of `compile` for each: losses, their weights and metrics."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import keras

from tf_reference import _traced_calls, _traced_training
from tf_reference._function_graph import UNTRACED
from tf_reference._keras_described import describe
from workloads.protocol.architecture import Described, drawn_size
from workloads.protocol.framework import Unsupported


def compiled_with(model: Any) -> Mapping[str, Any]:
    """The arguments of compile() by name; empty where Keras keeps none of them."""
    return getattr(getattr(model, "_compile_config", None), "config", None) or {}


def losses(model: Any, settings: Mapping[str, Any]) -> tuple[Described | None, ...]:
    """The loss of each output; None of one that has none.

    Raises:
      Unsupported: no output has that name, or there are more or fewer losses than outputs.
    """
    output_losses = _by_output(model, settings.get("loss", getattr(model, "loss", None)), "losses")
    if any(keras.tree.is_nested(loss) for loss in output_losses):
        raise Unsupported("losses in losses in compile()")
    outputs = keras.tree.flatten(nest(model))
    return tuple(
        None if loss is None else _traced_training.loss(keras.losses.get(loss), output)
        for loss, output in zip(output_losses, outputs, strict=False)
    )


def weights(model: Any, settings: Mapping[str, Any]) -> tuple[float, ...]:
    """The weight of the loss of each output; none by default.

    Raises:
      Unsupported: it is no number for each loss.
    """
    setting = settings.get("loss_weights")
    if setting is None:
        return ()
    loss = settings.get("loss")
    if isinstance(setting, Mapping) and not isinstance(loss, Mapping):
        raise Unsupported("loss_weights by name in compile(), of losses without names")
    if len(keras.tree.flatten(setting)) != len(keras.tree.flatten(loss)):
        raise Unsupported("loss_weights in compile() that are no number for each loss")
    weight_list = [1.0 if weight is None else weight for weight in _by_output(model, setting, "loss_weights")]
    if not all(isinstance(weight, int | float) for weight in weight_list):
        raise Unsupported("loss_weights in compile() that are no numbers")
    return tuple(map(float, weight_list))


def metrics(model: Any, settings: Mapping[str, Any]) -> tuple[tuple[Described, ...], ...]:
    """The metrics of each output; none where there are none at all.

    Raises:
      Unsupported: no output has that name, or it is not said which output each is of; or some count by sample weights.
    """
    if settings.get("weighted_metrics"):
        raise Unsupported("weighted_metrics in compile(), which count by sample weights")
    setting = settings.get("metrics")
    if not setting:
        return ()
    if len(keras.tree.flatten(nest(model))) == 1:
        # For a single output Keras takes them all, whatever their names are.
        setting = [keras.tree.flatten(setting)]
    return tuple(tuple(_descriptions(of_output)) for of_output in _by_output(model, setting, "metrics"))


def have_losses(model: Any) -> Sequence[bool]:
    """Whether each output has a loss: this may call the model, which forgets what its last call added to the loss."""
    return [loss is not None for loss in losses(model, compiled_with(model))]


def fill_targets(has_loss: Sequence[bool], targets: Sequence[Any], predictions: Any) -> Any:
    """Targets in the nest that a model returns; an output without a loss stands for its own.

    Args:
      has_loss: of each output, as from `have_losses`.
      targets: of the outputs that have a loss, in order.
    """
    remaining_targets, flat = list(targets), keras.tree.flatten(predictions)
    flat_targets = [
        remaining_targets.pop(0) if takes_target else one for one, takes_target in zip(flat, has_loss, strict=True)
    ]
    return keras.tree.pack_sequence_as(predictions, flat_targets)


def nest(model: Any) -> Any:
    """Symbols of what a model returns, as it returns them."""
    graph = getattr(model, "_functional", None) or model
    structure = getattr(graph, "_outputs_struct", None)
    if structure is None:
        structure = _traced_calls.output_nest(model)
    return _traced_calls.as_called(structure)


def _by_output(model: Any, setting: Any, what: str) -> Sequence[Any]:
    """One value for each output, in the order in which Keras flattens them: a dict by its sorted keys."""
    outputs = nest(model)
    _check_order(outputs)
    count = len(keras.tree.flatten(outputs))
    if isinstance(setting, Mapping):
        names = _names(model, outputs)
        if set(setting) - set(names):
            raise Unsupported(f"{what} in compile() by the name of something that is no output")
        return [setting.get(name) for name in names]
    if not isinstance(setting, list | tuple):
        return [setting] * count
    if len(setting) != count:
        raise Unsupported(f"{len(setting)} {what} in compile() for {count} outputs")
    if any(isinstance(value, Mapping) for value in setting):
        raise Unsupported(f"{what} in compile() by the names of outputs in outputs")
    return setting


def _names(model: Any, outputs: Any) -> Sequence[str]:
    if not isinstance(outputs, Mapping):
        # Of a class of the user's Keras knows none, and refuses them itself.
        return list(getattr(model, "output_names", None) or ())
    if any(keras.tree.is_nested(output) for output in outputs.values()):
        raise Unsupported("outputs in outputs, which compile() names")
    return sorted(outputs)


def _check_order(outputs: Any) -> None:
    """Raise Unsupported of an OrderedDict whose order is not that of its keys: JAX would have another one."""
    if isinstance(outputs, OrderedDict) and list(outputs) != sorted(outputs):
        raise Unsupported("an OrderedDict of outputs that is not in the order of its keys")
    inner = outputs.values() if isinstance(outputs, Mapping) else outputs
    for output in inner if isinstance(outputs, Mapping | list | tuple) else ():
        _check_order(output)


def _descriptions(value: Any) -> Iterator[Described]:
    for item in value if isinstance(value, list | tuple) else [value]:
        if isinstance(item, list | tuple):
            yield from _descriptions(item)
        elif isinstance(item, str):
            yield Described(item)
        elif item is not None:
            yield describe(item)


def drawn_shapes(model: Any) -> tuple[tuple[int | None, ...], ...]:
    """See `workloads.protocol.architecture.Architecture.drawn`."""

    def with_size(tensor: Any) -> Any:
        shape = (tensor.shape[0], *(drawn_size(size, len(tensor.shape)) for size in tensor.shape[1:]))
        return keras.KerasTensor(shape, tensor.dtype)

    try:
        tensors = keras.tree.flatten(model.output)
        if all(None not in tensor.shape[1:] for tensor in tensors):
            return ()
        specs = keras.tree.flatten(model.compute_output_spec(keras.tree.map_structure(with_size, model.input)))
    except (*UNTRACED, AssertionError, ArithmeticError):
        # A class of one's own has no symbols; a model may not take what is drawn.
        return ()
    return tuple(tensor.shape for tensor in specs) if len(specs) == len(tensors) else ()
