"""Cuts a Keras model behind its lookups: strings and tables stay in the input pipeline, since JAX has neither.

A port starts at the first numbers that the lookups return. The part cut off computes these numbers and has no trained
weights. Everything else belongs to the port, including what the model computes from the same inputs without lookups.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import keras

from tf_reference import _keras_outputs, _keras_variables
from tf_reference._symbol_graphs import calls_in_order
from workloads.protocol.architecture import Piped

_STRING = "string"
_GRAPHS = ("Functional", "Sequential")
_TABLES = ("StringLookup", "IntegerLookup", "TextVectorization", "Hashing", "HashedCrossing")
"""Layers that look up in tables or hash strings, whatever their input: XLA compiles neither."""


@dataclass(frozen=True)
class _Cut:
    """A model in two parts.

    Attributes:
      lookups: the first part, from the inputs in `taken` to one array for each entry of `pipeline`.
      taken: the numbers of the model's inputs that the first part takes.
      behind: the second part, under the name of the model.
      pipeline: the arrays that the first part passes to the second.
      kept: the inputs of the model that the second part takes: their numbers, by name.
    """

    lookups: Any
    taken: tuple[int, ...]
    behind: Any
    pipeline: tuple[Piped, ...]
    kept: Mapping[str, int]


def behind_lookups(model: Any) -> tuple[Any, tuple[Piped, ...]]:
    """The part of a model that is ported, compiled like the model, and its inputs from the pipeline.

    Args:
      model: a Keras model, returned unchanged if it has no lookups or no graph of Keras.
    """
    cut = _cut(model)
    if cut is None:
        return model, ()
    if getattr(model, "compiled", False):
        settings = {**_keras_outputs.compiled_with(model), "optimizer": model.optimizer, "auto_scale_loss": False}
        keras.Model.compile(cut.behind, **settings)
    return cut.behind, cut.pipeline


def _cut(model: Any) -> _Cut | None:
    """The two parts of a model; None if it has nothing to cut."""
    if type(model).__name__ not in _GRAPHS or not _keras_variables.is_keras(model) or not _inputs(model):
        return None
    graph = getattr(model, "_functional", None) or model
    outputs, stages_by_id = _with_cut_models(graph)
    finding = _Finding(_inputs(graph), keras.tree.flatten(outputs), stages_by_id)
    symbols = finding.symbols
    if not symbols or not finding.rest:
        return None
    pipeline = finding.pipeline()
    lookup_inputs = finding.lookup_inputs()
    kept_symbols = {symbol.name: symbol for symbol in finding.kept}
    behind = _model(
        graph, kept_symbols | {stage.name: symbol for stage, symbol in zip(pipeline, symbols, strict=True)}, outputs
    )
    inputs = _inputs(graph)
    numbers = {symbol.name: number for number, symbol in enumerate(inputs) if symbol.name in kept_symbols}
    return _Cut(
        keras.Model([inputs[number] for number in lookup_inputs], symbols), lookup_inputs, behind, pipeline, numbers
    )


def _inputs(model: Any) -> list[Any]:
    return list(getattr(model, "inputs", None) or ())


def _model(graph: Any, inputs: Mapping[str, Any], outputs: Any) -> Any:
    """A model from input symbols to output symbols, with the name of `graph`."""
    for name, symbol in inputs.items():
        symbol.name = name
    of_dict = isinstance(getattr(graph, "_inputs_struct", None), Mapping)
    inputs_listed = list(inputs.values())
    model = keras.Model(
        dict(inputs) if of_dict else inputs_listed[0] if len(inputs_listed) == 1 else inputs_listed,
        outputs,
        name=graph.name,
    )
    # Keras makes an input, with an invented name, for each symbol that is not an input.
    order = sorted(inputs) if of_dict else inputs
    for name, symbol in zip(order, model.inputs, strict=True):
        symbol.name = symbol._keras_history.operation.name = name
    return model


def _with_cut_models(graph: Any) -> tuple[Any, dict[int, tuple[Piped, ...]]]:
    """The outputs of a graph that calls each model with lookups in two parts, and what each first part returns."""
    inputs, outputs = _inputs(graph), getattr(graph, "_outputs_struct", graph.outputs)
    calls = calls_in_order(keras.tree.flatten(outputs), inputs)
    cuts = {id(call.operation): _cut(call.operation) for call in calls}
    if not any(cuts.values()):
        return outputs, {}
    values = {id(symbol): symbol for symbol in inputs}
    for call in calls:
        positional, keywords = call.arguments.fill_in(values)
        cut = cuts[id(call.operation)]
        results = call.operation(*positional, **keywords) if cut is None else _in_parts(cut, positional, keywords)
        values |= zip(map(id, call.outputs), keras.tree.flatten(results), strict=True)
    stages_by_id = {id(cut.lookups): cut.pipeline for cut in cuts.values() if cut is not None}
    return keras.tree.map_structure(lambda symbol: values[id(symbol)], outputs), stages_by_id


def _in_parts(cut: _Cut, positional: Sequence[Any], keywords: Mapping[str, Any]) -> Any:
    """The result of a model called as its two parts."""
    flat = keras.tree.flatten(positional)
    numbers = keras.tree.flatten(cut.lookups([flat[number] for number in cut.taken]))
    by_name = {stage.name: symbol for stage, symbol in zip(cut.pipeline, numbers, strict=True)}
    by_name |= {name: flat[number] for name, number in cut.kept.items()}
    values = [by_name[symbol.name] for symbol in cut.behind.inputs]
    return cut.behind(keras.tree.pack_sequence_as(cut.behind._inputs_struct, values), **keywords)


class _Finding:
    """Where a graph is cut.

    Args:
      stages_by_id: results of the first part of each inner model with lookups, by the id of that part.

    Attributes:
      symbols: the cut points: the first numbers behind lookups.
      kept: the inputs that the calls behind the cut use too.
      rest: the calls behind the cut.
    """

    def __init__(
        self, inputs: Sequence[Any], outputs: Sequence[Any], stages_by_id: Mapping[int, tuple[Piped, ...]]
    ) -> None:
        self._inputs, self._known = inputs, stages_by_id
        self._looking_up = self._lookups(calls_in_order(outputs, inputs))
        self.symbols: list[Any] = []
        self.kept: list[Any] = []
        self.rest: list[Any] = []
        self._walk(outputs)

    def _lookups(self, calls: Iterable[Any]) -> set[int]:
        """The ids of the lookup calls without trained weights, in them or before them."""
        trained_ids: set[int] = set()
        looking_up: set[int] = set()
        for call in calls:
            before = any(id(maker) in trained_ids for maker in _makers(call))
            if before or getattr(call.operation, "trainable_weights", ()):
                trained_ids.add(id(call))
            elif id(call.operation) in self._known or _looks_up(call):
                looking_up.add(id(call))
        return looking_up

    def _walk(self, outputs: Sequence[Any]) -> None:
        """Goes from the outputs towards the inputs, up to the first numbers behind lookups."""
        input_ids = {id(symbol) for symbol in self._inputs}
        waiting, seen_ids = [*reversed(outputs)], set[int]()
        while waiting:
            symbol = waiting.pop()
            if id(symbol) in seen_ids:
                continue
            seen_ids.add(id(symbol))
            call = None if id(symbol) in input_ids else _maker(symbol)
            if call is None:
                self.kept.append(symbol)
            elif id(call) in self._looking_up and symbol.dtype != _STRING:
                self.symbols.append(symbol)
            else:
                self.rest.append(call)
                waiting.extend(reversed(call.input_tensors))
        order = {id(symbol): number for number, symbol in enumerate(self._inputs)}
        self.kept.sort(key=lambda symbol: order.get(id(symbol), len(order)))

    def lookup_inputs(self) -> tuple[int, ...]:
        """The numbers of the inputs that lookups take."""
        reached_ids = {id(symbol) for call in self._before(self.symbols) for symbol in call.input_tensors}
        return tuple(number for number, symbol in enumerate(self._inputs) if id(symbol) in reached_ids)

    def _before(self, symbols: Sequence[Any]) -> list[Any]:
        return calls_in_order(list(symbols), list(self._inputs))

    def pipeline(self) -> tuple[Piped, ...]:
        """The port's input at each cut symbol, in order, each with a unique name."""
        names_taken = {symbol.name for symbol in self.kept} | {call.operation.name for call in self.rest}
        pipeline: list[Piped] = []
        for symbol in self.symbols:
            stage = self._stage_of(symbol)
            name = next(name for name in _number_names(stage.name) if name not in names_taken)
            names_taken.add(name)
            pipeline.append(replace(stage, name=name))
        return tuple(pipeline)

    def _stage_of(self, symbol: Any) -> Piped:
        maker, calls = _maker(symbol), self._before([symbol])
        layers = tuple(name for call in calls for name in self._layer_names(call))
        reached_ids = {id(tensor) for call in calls for tensor in call.input_tensors}
        of = tuple(tensor.name for tensor in self._inputs if id(tensor) in reached_ids)
        within = self._known.get(id(maker.operation))
        if within is not None:
            place = next(number for number, output in enumerate(maker.outputs) if output is symbol)
            return Piped(within[place].name, within[place].layers, of, within[place].size)
        return Piped(maker.operation.name, layers, of, _size(maker.operation, symbol))

    def _layer_names(self, call: Any) -> Iterator[str]:
        for stage in self._known.get(id(call.operation), ()):
            yield from stage.layers
        if id(call.operation) not in self._known:
            yield f"{call.operation.name} ({type(call.operation).__name__})"


def _number_names(name: str) -> Iterator[str]:
    yield name
    yield from (f"{name}_{number}" for number in range(2, 1 << 16))


def _maker(symbol: Any) -> Any:
    """The call that made a symbol; None for an input."""
    history = symbol._keras_history
    call = history.operation._inbound_nodes[history.node_index]
    return None if call.is_input else call


def _makers(call: Any) -> list[Any]:
    return [maker for maker in map(_maker, call.input_tensors) if maker is not None]


def _looks_up(call: Any) -> bool:
    """Whether a call takes or returns strings, or calls a lookup layer."""
    strings = any(symbol.dtype == _STRING for symbol in (*call.input_tensors, *call.outputs))
    return strings or (type(call.operation).__name__ in _TABLES and _keras_variables.is_keras(call.operation))


def _size(operation: Any, symbol: Any) -> int | None:
    """How many different numbers a lookup can return; None if unknown."""
    if "int" not in symbol.dtype:
        return None
    if callable(vocabulary_size := getattr(operation, "vocabulary_size", None)):
        return int(vocabulary_size())
    bins = getattr(operation, "num_bins", None)
    return bins if isinstance(bins, int) else None
