"""A Keras model and the training that it was compiled for as the judges take them."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Any

import keras
import tensorflow as tf

from tf_reference import (
    _drawn_numbers,
    _dropping_layers,
    _input_pipeline,
    _keras_constants,
    _keras_outputs,
    _keras_variables,
    _keras_weights,
    _own_steps,
    _private,
    _recurrent_states,
    _same_masks,
    _traced_calls,
    _traced_steps,
    _watched_tape,
)
from tf_reference._gradients import densify
from tf_reference._model import Model
from workloads.core.precision import NARROW
from workloads.core.written_port import left_weights

_WITH_DROPOUT = (keras.layers.MultiHeadAttention, keras.layers.GroupQueryAttention)
"""They have a Dropout, which is silenced where their own call is, and compute in another way where they have none."""

_RATES = ("rate", "stddev", "drop_path_rate", "_dropout", "dropout", "recurrent_dropout")
"""Attributes of Keras' layers that say how much is dropped, or how loud noise is."""


def keras_port(
    source: str, receipt: Path, dtype: str, *, inputs: int, trained: bool, custom: Sequence[str] = ()
) -> Model:
    """A Keras model for `jaxport run`, by the keys that `jaxport weights` gives its weights.

    Of a model that looks words up it is the part behind the lookups.

    Dropout, noise and code of the user's own draw the same numbers as the port; what else draws does not.

    Args:
      source: a .keras file, or FILE.py:NAME of a function that makes the model.
      inputs: how many of the workload's inputs the model takes; the others are the targets.
      trained: whether the step that the model was compiled for is judged too.
      custom: FILE.py:NAME of every class that a .keras file names and Keras does not have.
    """
    narrow = _narrow_outputs(source, custom) if trained and dtype == "float64" else ()
    with _floats(dtype):
        model = _make(source, dtype, custom)
        _draw_alike(model)
        _write_anew(model)
        variables = _variables_by_key(model, receipt)
        states = _recurrent_states.states_in(model, variables)

        def call(*arguments: Any) -> Any:
            with _drawn_numbers.drawn_by_place(dtype):
                return _call(model, arguments[:inputs], False)

        forward = _recurrent_states.with_states_left(call, states)
        if not trained:
            return Model(forward=forward, weights=variables)
        _compile(model)
        _resolve_losses(model)
    if _own_steps.is_own(model):
        return own_step(model, forward, variables, dtype, inputs=inputs)

    has_loss = _keras_outputs.have_losses(model)

    def loss(*arguments: Any) -> Any:
        with _drawn_numbers.drawn_by_place(dtype):
            predictions = _without_logits(_call(model, arguments[:inputs], True), narrow)
        targets = _keras_outputs.fill_targets(has_loss, arguments[inputs:], predictions)
        return model.compute_loss(None, targets, predictions, None)

    def step(*arguments: Any) -> Any:
        with tf.GradientTape() as tape:
            value = loss(*arguments)
            scaled_loss = model.optimizer.scale_loss(value)
        gradients = densify(tape.gradient(scaled_loss, model.trainable_variables))
        model.optimizer.apply_gradients(zip(gradients, model.trainable_variables, strict=True))
        return value

    return Model(
        forward=forward,
        loss=_recurrent_states.without_states_left(loss, states),
        step=step,
        weights=variables,
        state={variable.path: variable for variable in model.optimizer.variables},
        optimizer=model.optimizer,
    )


def keras_rest(
    source: str,
    receipt: Path,
    dtype: str,
    *,
    parts: Sequence[tuple[str, int, Sequence[str]]],
    step_inputs: int = 0,
    custom: Sequence[str] = (),
) -> Model:
    """Models without some of their layers: inputs stand for what these return, and what they are given is a result.

    Args:
      parts: the path of each model, "" the whole, how many of the workload's inputs it takes, and the paths of the
        layers in it that are left out: inputs that stand for their results follow, in order.
      step_inputs: how many inputs behind these the train_step of the whole is trained on; 0 if that is not judged.
    """
    model = _made_as_written(source, dtype, custom)
    layers = _keras_weights.layers_by_path(model)
    stands = {path: [_StandIn(layers[place]) for place in places] for path, _, places in parts}

    def forward(*arguments: Any) -> Any:
        rest, results = list(arguments), {}
        for path, count, _ in parts:
            inputs, rest = rest[:count], rest[count:]
            for stand in stands[path]:
                stand.value = rest.pop(0)
            with _drawn_numbers.drawn_by_place(dtype):
                result = _call(layers[path] if path else model, inputs, False)
            results[path] = _as_tuple(result) if path else result
        stand_in_inputs = [stand.given for of_part in stands.values() for stand in of_part]
        return {"result": results.get("", results), "given": stand_in_inputs}

    variables = _variables_by_key(model, receipt)
    states = _recurrent_states.states_in(model, variables)
    call = _recurrent_states.with_states_left(forward, states)
    if not step_inputs:
        return Model(forward=call, weights=variables)
    with _floats(dtype):
        _compile(model)
    first = sum(count for _, count, _ in parts)
    return own_step(model, call, variables, dtype, first=first, inputs=step_inputs)


def _compile(model: Any) -> None:
    """Compile a model anew without metrics, and make the variables of its optimizers."""
    # By Keras' own method, whatever that of the class takes: it leaves metrics out.
    settings = _keras_outputs.compiled_with(model)
    keras.Model.compile(
        model,
        optimizer=model.optimizer,
        loss=getattr(model, "loss", None),
        loss_weights=settings.get("loss_weights"),
        jit_compile=True,
        # An optimizer that scales has been made so already.
        auto_scale_loss=False,
    )
    if all(optimizer is model.optimizer for optimizer in _optimizers_of(model).values()):
        model.optimizer.build(model.trainable_variables)
        return
    for optimizer, weights in _traced_steps.optimizers(model).values():
        optimizer.build(weights)


def _as_tuple(result: Any) -> Any:
    """A result as the class of a model in another returns it: a tensor, or a tuple of such."""
    flat = tuple(keras.tree.flatten(result))
    return flat[0] if len(flat) == 1 else flat


class _StandIn:
    """Replaces the call of a layer: it returns preset values, and keeps its arguments.

    Attributes:
      value: that it returns next.
      given: it last: each tensor once.
    """

    def __init__(self, layer: Any) -> None:
        self.value: Any = None
        self.given: list[Any] = []
        layer.call = self._return

    def _return(self, *positional: Any, **keywords: Any) -> Any:
        tensors = [value for value in tf.nest.flatten((positional, keywords)) if tf.is_tensor(value)]
        self.given = list({id(tensor): tensor for tensor in tensors}.values())
        return self.value


def own_step(
    model: Any,
    forward: Callable[..., Any],
    variables: dict[str, Any],
    dtype: str,
    *,
    first: int = 0,
    inputs: int,
) -> Model:
    """A model whose class has a train_step or compute_loss of its own, which is called itself.

    Args:
      variables: of it, by key.
      first: how many of the workload's inputs are for `forward` alone.
      inputs: how many that follow the step is trained on; the others are the targets.
    """
    for metric in model.metrics:
        _mute(metric)

    def data(arguments: Sequence[Any]) -> Any:
        x = _traced_calls.pack(model, list(arguments[first : first + inputs]))
        targets = arguments[first + inputs :]
        return (x, _targets(targets)) if targets else x

    def train_step(arguments: Sequence[Any]) -> Any:
        with _drawn_numbers.drawn_by_place(dtype):
            return step(data(arguments))

    step = _own_steps.step_of(model)
    optimizers = _optimizers_of(model)
    return Model(
        forward=forward,
        loss=lambda *arguments: _watched_tape.loss_of_step(lambda: train_step(arguments)),
        step=lambda *arguments: _watched_tape.step_with_loss(lambda: train_step(arguments)),
        weights=variables,
        state={
            f"{name}{variable.path}": variable
            for name, optimizer in optimizers.items()
            for variable in optimizer.variables
        },
        # Another backend of Keras takes a step with one.
        optimizer=model.optimizer if len(optimizers) == 1 else None,
    )


def _optimizers_of(model: Any) -> dict[str, Any]:
    """The optimizers that a model holds, by what goes before the names of their variables."""
    others = [
        (name, value)
        for name, value in vars(model).items()
        if isinstance(value, keras.optimizers.Optimizer) and value is not model.optimizer
    ]
    return {"": model.optimizer} | {f"{name}/": optimizer for name, optimizer in others}


@contextmanager
def _floats(dtype: str) -> Iterator[None]:
    """Inside, Keras makes layers, losses and optimizers of a float type, and counts their names from the start."""
    before, policy = keras.config.floatx(), keras.config.dtype_policy()
    keras.utils.clear_session(free_memory=False)
    try:
        keras.config.set_floatx(dtype)
        keras.config.set_dtype_policy(dtype)
        with ExitStack() as wide:
            if dtype == "float64":
                # Mixed precision is rounding, and so is a layer that is told float32: float64 judges the rest. Of a
                # Keras that has it elsewhere, the float32 program is promoted.
                with suppress(_private.PrivateModuleMoved):
                    wide.enter_context(_private.policies_of(dtype))
            yield
    finally:
        keras.config.set_floatx(before)
        keras.config.set_dtype_policy(policy)


def _made_as_written(source: str, dtype: str, custom: Sequence[str]) -> Any:
    """A model whose layers are what the port was written of: of one that was read, some keep numbers of float32."""
    with _floats(dtype):
        model = _make(source, dtype, custom)
    _write_anew(model)
    return model


def _write_anew(model: Any) -> None:
    """Let every layer compute with what it was written with, in the type that is judged."""
    for layer in model._flatten_layers():
        _refresh(layer)
        _keras_constants.restate(layer)


def _make(source: str, dtype: str, custom: Sequence[str]) -> Any:
    location = _keras_weights.Given(source, dtype=dtype, compiled=True, custom=custom)
    with tempfile.TemporaryDirectory() as scratch:
        return _input_pipeline.behind_lookups(_keras_weights.model(location, Path(scratch)))[0]


def _variables_by_key(model: Any, receipt: Path) -> dict[str, Any]:
    """The variables of a model by key, without those that its port does without, as a layer's count of what it saw.

    These are not numbers from here on: where the model computes with them all the same, no result is one.
    """
    uncarried_keys = left_weights(receipt)
    variables = dict(_keras_weights.variables(model))
    for key in uncarried_keys & variables.keys():
        if variables[key].dtype.startswith(("float", "bfloat")):
            variables[key].assign(keras.ops.full(variables[key].shape, float("nan"), variables[key].dtype))
    return {key: variable for key, variable in variables.items() if key not in uncarried_keys}


def _draw_alike(model: Any) -> None:
    """Let what drops by itself drop what the port drops, and what else draws draw nothing."""
    layers = list(model._flatten_layers())
    # What these do with the layers in them is their own: attention is silenced whole, steps are taken all at once.
    within = {
        id(inner)
        for layer in layers
        if (isinstance(layer, _WITH_DROPOUT) and not _traced_calls.is_followed(layer)) or _drops_each_step(layer)
        for inner in layer._flatten_layers(include_self=False)
    }
    cells = {id(layer.cell) for layer in layers if type(layer) in _same_masks.RECURRENT}
    for layer in layers:
        if _drops_each_step(layer):
            noise = _same_masks.noise_of(layer.layer)
            _same_masks.drop_by_place(layer, layer.layer.rate, noise and [noise[0], None, *noise[1:]])
        elif id(layer) in cells:
            _same_masks.drop_states_by_place(layer)
        elif type(layer) in _same_masks.DROPOUTS and id(layer) not in within:
            _same_masks.drop_by_place(layer, layer.rate, _same_masks.noise_of(layer))
        elif type(layer) in _same_masks.NOISES and id(layer) not in within:
            _same_masks.add_noise_by_place(layer)
        elif (dropout := _dropping_layers.dropout(layer)) is not None:
            _same_masks.drop_by_place(layer, dropout.rate, dropout.noise_shape)
        else:
            _silence(layer)


def _drops_each_step(layer: Any) -> bool:
    return type(layer) is keras.layers.TimeDistributed and type(layer.layer) in _same_masks.DROPOUTS


def _silence(layer: Any) -> None:
    own = not _keras_variables.is_keras(layer)
    # What a layer of the user's own has of that name may be any number, where it draws nothing itself.
    if isinstance(layer, (keras.Model, *_WITH_DROPOUT)) or (own and not _keras_variables.own_seeds(layer)):
        return
    for name in _RATES:
        if isinstance(vars(layer).get(name), float):
            setattr(layer, name, 0.0)


def _refresh(layer: Any) -> None:
    """Let a Normalization compute with its weights: it keeps constants of what they were when it was built."""
    if isinstance(layer, keras.layers.Normalization):
        layer.call = partial(_with_its_weights, layer, layer.call)


def _with_its_weights(layer: Any, call: Callable[[Any], Any], inputs: Any) -> Any:
    layer.finalize_state()
    return call(inputs)


def _mute(metric: Any) -> None:
    """Let a metric keep and compute nothing: what a step tells it is no part of the step that is judged."""
    metric.update_state = lambda *positional, **keywords: None
    metric.result = lambda: 0.0


def _call(model: Any, arguments: Sequence[Any], training: bool) -> Any:
    return model(_traced_calls.pack(model, list(arguments)), training=training)


def _narrow_outputs(source: str, custom: Sequence[str]) -> tuple[bool, ...]:
    """Whether each output of the original model is narrower than float32."""
    with _floats("float32"):
        outputs = keras.tree.flatten(_keras_outputs.nest(_make(source, "float32", custom)))
    return tuple(str(output.dtype) in NARROW for output in outputs)


def _without_logits(predictions: Any, narrow: Sequence[bool]) -> Any:
    """Outputs through which Keras finds no logits, where it finds none in the original: it casts what is narrow."""
    if not any(narrow):
        return predictions
    flat = zip(keras.tree.flatten(predictions), narrow, strict=True)
    return keras.tree.pack_sequence_as(predictions, [tf.identity(output) if cast else output for output, cast in flat])


def _targets(arguments: Sequence[Any]) -> Any:
    return arguments[0] if len(arguments) == 1 else list(arguments)


def _resolve_losses(model: Any) -> None:
    """Let Keras make the losses now: it takes their float type from the setting of the moment."""
    if model._compile_loss is None:
        return
    symbols = keras.tree.map_structure(
        lambda symbol: keras.KerasTensor((1, *symbol.shape[1:]), symbol.dtype), _keras_outputs.nest(model)
    )
    model._compile_loss.build(symbols, symbols)
