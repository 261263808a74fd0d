"""Translates the calls of layers in a config of Keras 2 into the format of Keras 3."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from workloads.protocol.inspection import Config

_MODELS = frozenset({"Functional", "Model", "Sequential"})
_WITH_STATES = frozenset({"LSTM", "GRU", "SimpleRNN", "RNN", "Bidirectional", "ConvLSTM2D"})
_ENDS = ("input_layers", "output_layers")


def complete(config: Config) -> Config:
    """The config of a model with calls that Keras 3 can read; a config that Keras 3 wrote stays unchanged.

    Keras 2 counts the call that builds an inner model as its first call; Keras 3 does not. Keras 2 writes tensors among
    the keywords of a call as references, which Keras 3 takes for lists. Keras 2 returns the only output of a list
    without the list.
    """
    layers = [layer for layer in config["layers"] if isinstance(layer, Mapping)]
    if any(isinstance(call, Mapping) for layer in layers for call in _calls(layer)):
        return dict(config)
    models, names = {_name(layer) for layer in layers if _starts_with_input(layer)}, {_name(layer) for layer in layers}
    layers_called = [
        {**layer, "inbound_nodes": _decrement_calls(_calls(layer), models)} for layer in layers if _calls(layer)
    ]
    by_name = {_name(layer): layer for layer in layers_called}
    ends = {key: _alone(_decrement_calls(config[key], models)) for key in _ENDS if key in config}
    return {**config, "layers": [_with_tensors(by_name.get(_name(layer), layer), names) for layer in layers], **ends}


def _calls(layer: Config) -> list[Any]:
    calls = layer.get("inbound_nodes")
    return calls if isinstance(calls, list) else []


def _name(layer: Config) -> str:
    config = layer.get("config")
    return str(layer.get("name") or (config.get("name") if isinstance(config, Mapping) else ""))


def _starts_with_input(layer: Config) -> bool:
    """Whether a layer is a model built from symbols: Keras 2 counts the building as its first call."""
    config = layer.get("config")
    inner = config.get("layers") if isinstance(config, Mapping) and layer.get("class_name") in _MODELS else None
    first = inner[0] if isinstance(inner, list) and inner else None
    return isinstance(first, Mapping) and first.get("class_name") == "InputLayer"


def _is_reference(value: Any) -> bool:
    """Whether a value refers to a tensor: [layer, call, output], optionally followed by the keywords of the call."""
    return isinstance(value, list) and len(value) in (3, 4) and isinstance(value[0], str) and type(value[1]) is int


def _decrement_calls(value: Any, models: Collection[str]) -> Any:
    """References with the number of the call reduced by one for these models."""
    if isinstance(value, Mapping):
        return {name: _decrement_calls(item, models) for name, item in value.items()}
    if not isinstance(value, list):
        return value
    if _is_reference(value) and value[0] in models and value[1] > 0:
        return [value[0], value[1] - 1, *(_decrement_calls(item, models) for item in value[2:])]
    return [_decrement_calls(item, models) for item in value]


def _alone(ends: Any) -> Any:
    return ends[0] if isinstance(ends, list) and len(ends) == 1 and _is_reference(ends[0]) else ends


def _with_tensors(layer: Config, names: Collection[str]) -> Config:
    """A layer whose calls with tensors among the keywords have the format of Keras 3."""
    stateful = layer.get("class_name") in _WITH_STATES
    calls = [_with_states(call) if stateful else _call(call, names) for call in _calls(layer)]
    return {**layer, "inbound_nodes": calls} if calls else layer


def _call(call: Any, names: Collection[str]) -> Any:
    is_list = isinstance(call, list) and bool(call) and all(_is_reference(item) for item in call)
    keywords = call[0][3] if is_list and len(call[0]) == 4 else None
    if not isinstance(keywords, Mapping) or not _holds_tensor(keywords, names):
        return call
    tensors = [_tensor(item) for item in call]
    return {"args": tensors if len(tensors) == 1 else [tensors], "kwargs": _as_tensors(keywords, names)}


def _with_states(call: Any) -> Any:
    """The call of a recurrent layer. Keras 2 lists the initial states after the input."""
    if not isinstance(call, list) or len(call) < 2 or not all(_is_reference(item) for item in call):
        return call
    tensor, *states = (_tensor(item) for item in call)
    return {"args": [tensor], "kwargs": {**(call[0][3] if len(call[0]) == 4 else {}), "initial_state": states}}


def _is_tensor(value: Any, names: Collection[str]) -> bool:
    return _is_reference(value) and len(value) == 3 and value[0] in names


def _holds_tensor(value: Any, names: Collection[str]) -> bool:
    inner = value.values() if isinstance(value, Mapping) else value if isinstance(value, list) else ()
    return _is_tensor(value, names) or any(_holds_tensor(item, names) for item in inner)


def _as_tensors(value: Any, names: Collection[str]) -> Any:
    if _is_tensor(value, names):
        return _tensor(value)
    if isinstance(value, Mapping):
        return {name: _as_tensors(item, names) for name, item in value.items()}
    return [_as_tensors(item, names) for item in value] if isinstance(value, list) else value


def _tensor(reference: list[Any]) -> Config:
    """A tensor, identified by the call that made it. Keras takes shape and dtype from that call, not from here."""
    history = {"shape": [], "dtype": "float32", "keras_history": reference[:3]}
    return {"class_name": "__keras_tensor__", "config": history}
