"""What a Keras model returns, and what `compile` was told for each output: losses, their weights and metrics."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import keras

from tf_reference import _traced_calls, _traced_training
from tf_reference._function_graph import UNTRACED
from tf_reference._keras_described import described
from workloads._architecture import Described, drawn_size
from workloads._framework import Unsupported


def compiled_with(model: Any) -> Mapping[str, Any]:
    """What compile() was told, by the names of its arguments; nothing where Keras keeps none of it.

    Args:
      model: of Keras.
    """
    return getattr(getattr(model, "_compile_config", None), "config", None) or {}


def losses(model: Any, told: Mapping[str, Any]) -> tuple[Described | None, ...]:
    """The loss of each output; None of one that has none.

    Args:
      model: of Keras, compiled.
      told: what compile() was.

    Raises:
      Unsupported: no output has that name, or there are more or fewer losses than outputs.
    """
    given = _by_output(model, told.get("loss", getattr(model, "loss", None)), "losses")
    if any(keras.tree.is_nested(loss) for loss in given):
        raise Unsupported("losses in losses in compile()")
    outputs = keras.tree.flatten(nest(model))
    return tuple(
        None if loss is None else _traced_training.loss(keras.losses.get(loss), output)
        for loss, output in zip(given, outputs, strict=False)
    )


def weights(model: Any, told: Mapping[str, Any]) -> tuple[float, ...]:
    """What the loss of each output is multiplied with; none where nothing is told.

    Args:
      model: as of `losses`.
      told: likewise.

    Raises:
      Unsupported: it is no number for each loss.
    """
    given = told.get("loss_weights")
    if given is None:
        return ()
    loss = told.get("loss")
    if isinstance(given, Mapping) and not isinstance(loss, Mapping):
        raise Unsupported("loss_weights by name in compile(), of losses without names")
    if len(keras.tree.flatten(given)) != len(keras.tree.flatten(loss)):
        raise Unsupported("loss_weights in compile() that are no number for each loss")
    listed = [1.0 if weight is None else weight for weight in _by_output(model, given, "loss_weights")]
    if not all(isinstance(weight, int | float) for weight in listed):
        raise Unsupported("loss_weights in compile() that are no numbers")
    return tuple(map(float, listed))


def metrics(model: Any, told: Mapping[str, Any]) -> tuple[tuple[Described, ...], ...]:
    """The metrics of each output; none where there are none at all.

    Args:
      model: as of `losses`.
      told: likewise.

    Raises:
      Unsupported: no output has that name, or it is not said which output each is of; or some count by sample weights.
    """
    if told.get("weighted_metrics"):
        raise Unsupported("weighted_metrics in compile(), which count by sample weights")
    given = told.get("metrics")
    if not given:
        return ()
    if len(keras.tree.flatten(nest(model))) == 1:
        # Of one output Keras takes them all, whatever name they are told by.
        given = [keras.tree.flatten(given)]
    return tuple(tuple(_described(of_output)) for of_output in _by_output(model, given, "metrics"))


def filled(model: Any, targets: Sequence[Any], predictions: Any) -> Any:
    """Targets in the nest that a model returns; an output without a loss stands for its own.

    Args:
      model: as of `losses`.
      targets: of the outputs that have a loss, in order.
      predictions: what the model returned.
    """
    told, left = compiled_with(model), list(targets)
    flat = keras.tree.flatten(predictions)
    given = [one if loss is None else left.pop(0) for one, loss in zip(flat, losses(model, told), strict=True)]
    return keras.tree.pack_sequence_as(predictions, given)


def nest(model: Any) -> Any:
    """Symbols of what a model returns, as it returns them.

    Args:
      model: of Keras.
    """
    graph = getattr(model, "_functional", None) or model
    structure = getattr(graph, "_outputs_struct", None)
    if structure is None:
        structure = _traced_calls.output_nest(model)
    return _traced_calls.as_called(structure)


def _by_output(model: Any, given: Any, what: str) -> Sequence[Any]:
    """One value for each output, in the order in which Keras flattens them: a dict by its sorted keys."""
    returned = nest(model)
    _check_order(returned)
    count = len(keras.tree.flatten(returned))
    if isinstance(given, Mapping):
        names = _names(model, returned)
        if set(given) - set(names):
            raise Unsupported(f"{what} in compile() by the name of something that is no output")
        return [given.get(name) for name in names]
    if not isinstance(given, list | tuple):
        return [given] * count
    if len(given) != count:
        raise Unsupported(f"{len(given)} {what} in compile() for {count} outputs")
    if any(isinstance(value, Mapping) for value in given):
        raise Unsupported(f"{what} in compile() by the names of outputs in outputs")
    return given


def _names(model: Any, returned: Any) -> Sequence[str]:
    if not isinstance(returned, Mapping):
        # Of a class of the user's Keras knows none, and refuses them itself.
        return list(getattr(model, "output_names", None) or ())
    if any(keras.tree.is_nested(output) for output in returned.values()):
        raise Unsupported("outputs in outputs, which compile() names")
    return sorted(returned)


def _check_order(returned: Any) -> None:
    """Raise Unsupported of an OrderedDict whose order is not that of its keys: JAX would have another one."""
    if isinstance(returned, OrderedDict) and list(returned) != sorted(returned):
        raise Unsupported("an OrderedDict of outputs that is not in the order of its keys")
    inner = returned.values() if isinstance(returned, Mapping) else returned
    for output in inner if isinstance(returned, Mapping | list | tuple) else ():
        _check_order(output)


def _described(given: Any) -> Iterator[Described]:
    for item in given if isinstance(given, list | tuple) else [given]:
        if isinstance(item, list | tuple):
            yield from _described(item)
        elif isinstance(item, str):
            yield Described(item)
        elif item is not None:
            yield described(item)


def drawn(model: Any) -> tuple[tuple[int | None, ...], ...]:
    """See `workloads._architecture.Architecture.drawn`.

    Args:
      model: of Keras.
    """

    def sized(tensor: Any) -> Any:
        shape = (tensor.shape[0], *(drawn_size(size, len(tensor.shape)) for size in tensor.shape[1:]))
        return keras.KerasTensor(shape, tensor.dtype)

    try:
        told = keras.tree.flatten(model.output)
        if all(None not in tensor.shape[1:] for tensor in told):
            return ()
        made = keras.tree.flatten(model.compute_output_spec(keras.tree.map_structure(sized, model.input)))
    except (*UNTRACED, AssertionError, ArithmeticError):
        # A class of one's own has no symbols; a model may not take what is drawn.
        return ()
    return tuple(tensor.shape for tensor in made) if len(made) == len(told) else ()
