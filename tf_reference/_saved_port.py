"""A part of a saved graph, for `jaxport init`, which writes a port of it, and for the judges, which run it."""

from __future__ import annotations

import keyword
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import tensorflow as tf
from safetensors import SafetensorError, safe_open

from tf_reference import _saved_function
from tf_reference._flat_graph import scope_of
from tf_reference._function_graph import UNTRACED, Origin, Reading, Spec, variable_names
from tf_reference._model import Model
from tf_reference._saved_function import SavedFunction
from workloads.core import foreign
from workloads.core.foreign import Unusable
from workloads.core.spec import Arrays, dtype_in
from workloads.protocol.framework import Unsupported
from workloads.protocol.function_graph import VALUE, FunctionGraph
from workloads.protocol.saved_graph import SavedGraph, plain

_MOST_BYTES = 64 << 30
_NUMBER = re.compile(r"_\d+$")


def read(selection: SavedGraph, inputs: Sequence[Spec]) -> tuple[FunctionGraph, Arrays]:
    """The graph of what is computed; its constants, and under `VALUE` what variables hold.

    Args:
      inputs: name, shape and dtype of arguments whose sizes the file leaves open.

    Raises:
      Unsupported: the file cannot be read, or an input cannot be given.
    """
    function = _saved_function.read(selection)
    specs = _specs(function, inputs)
    _, concrete = _trace(function, specs)
    other, why, remarks = None, "", function.remarks
    # A trace does not keep its variables alive.
    wider = function
    try:
        wider = function.wider()
        other = wider.stage().get_concrete_function(*_tensor_specs(specs, "float64"))
    except UNTRACED as error:
        why = foreign.error_line(error)[:200]
        remarks = (*remarks, f"TensorFlow does not compute this graph in float64, which gates need: {why}")
    reading = Reading(concrete, other, _Scopes([one.name for one in function.held]).place_of)
    graph, arrays = reading.all(function.entry.name, [name for name, _, _ in specs], why)
    values = {f"{VALUE}{name}": variable.numpy() for name, variable in variable_names(concrete.graph).items()}
    return replace(graph, remarks=remarks), {**arrays, **values}


def saved_graph_port(selection: SavedGraph, inputs: Sequence[Spec], dtype: str, weights_file: Path | None) -> Model:
    """A part of a saved graph for `jaxport run`, with its variables as weights.

    Args:
      inputs: name, shape and dtype of each argument.
      weights_file: the file of weights that has what the variables hold; None where there are none.

    Raises:
      Unsupported: the file cannot be read, or weights in it are not those of the graph.
    """
    function = _saved_function.read(selection)
    specs = _specs(function, inputs)
    variables = variable_names(_trace(function, specs)[1].graph)
    if weights_file is not None:
        _check_carried(weights_file, {name: variable.numpy() for name, variable in variables.items()})
    in_dtype, concrete = _trace(function, specs, dtype)
    return Model(forward=in_dtype.make_callable(), weights=variable_names(concrete.graph))


def _trace(function: SavedFunction, specs: Sequence[Spec], dtype: str = "") -> tuple[SavedFunction, Any]:
    """The function in this float type, "" for that of the file, and its trace."""
    try:
        in_dtype = function.wider() if dtype == "float64" else function
        return in_dtype, in_dtype.stage().get_concrete_function(*_tensor_specs(specs, dtype))
    except UNTRACED as error:
        raise Unsupported(
            f"expected a graph that TensorFlow {tf.__version__} takes{' in float64' * (dtype == 'float64')}, found "
            f"{foreign.error_line(error)[:200]}: correct --input, or save it again with this one"
        ) from error


def _tensor_specs(specs: Sequence[Spec], precision: str = "") -> list[tf.TensorSpec]:
    return [tf.TensorSpec(shape, dtype_in(dtype, precision), name) for name, shape, dtype in specs]


def _specs(function: SavedFunction, inputs: Sequence[Spec]) -> list[Spec]:
    """Name, shape and dtype of each argument, from the inputs, or else from the file."""
    specs_given = {name: (shape, dtype) for name, shape, dtype in inputs}
    specs: list[Spec] = []
    for key, tensor in function.entry.inputs.items():
        shape, dtype = next(
            (specs_given.pop(name) for name in (key, plain(key)) if name in specs_given), (tensor.shape, tensor.dtype)
        )
        if dtype in ("string", "resource", "variant"):
            raise Unsupported(
                f"expected numbers as inputs, found {key[:100]} of the type {dtype}, which nothing turns into numbers: "
                "name outputs that do without it by --output"
            )
        if dtype != tensor.dtype:
            raise Unsupported(f"expected {key[:100]} of {tensor.dtype}, found {dtype}: give --input of this type")
        if shape is None:
            raise Unsupported(
                f"expected sizes of {key[:100]}, of which the graph has none: add --input '{plain(key)[:100]}=f32[B,8]'"
            )
        specs.append((key, tuple(shape), dtype))
    if specs_given:
        raise Unsupported(
            f"expected --input for one of {', '.join(function.entry.inputs)[:300] or 'no input'}, found "
            f"{', '.join(specs_given)}: name one of these"
        )
    if not specs:
        raise Unsupported("expected a graph that takes inputs, found none: name one that does")
    return specs


def _check_carried(path: Path, arrays: Mapping[str, np.ndarray]) -> None:
    """Raise Unsupported unless a file has these arrays, bit by bit."""
    try:
        foreign.check(path, _MOST_BYTES)
        with safe_open(path, "numpy") as file:
            arrays_there = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118 - no mapping
    except (Unusable, OSError, SafetensorError) as error:
        raise Unsupported(
            f"expected the weights of the graph in {path}, found {error}: write the port again"
        ) from error
    for name in sorted(arrays.keys() | arrays_there.keys()):
        here, there = arrays.get(name), arrays_there.get(name)
        if here is None or there is None:
            expectation, actual = (name, "none") if there is None else ("no other weight", name)
            raise Unsupported(f"expected {expectation} in {path}, found {actual}: write the port again")
        if (here.dtype, here.shape, here.tobytes()) != (there.dtype, there.shape, there.tobytes()):
            raise Unsupported(
                f"expected {name} in {path} as the graph has it, bit by bit, found another value: write the port again"
            )


class _Scopes:
    """The scope of each node."""

    def __init__(self, variables: Sequence[str]) -> None:
        self._layers = {tuple(_bare(name.split("/")[:-1])) for name in variables}

    def place_of(self, operation: Any) -> Origin:
        """The scope of a node, the name that it gives to its outputs, and the scopes around it."""
        scopes = scope_of(operation.name.removeprefix(f"{_saved_function.SCOPE}/"))[:-1]
        depth = max(
            (d for d in range(len(scopes) + 1) if tuple(_bare(scopes[:d])) in self._layers), default=len(scopes)
        )
        scopes = scopes[:depth] or scopes
        names = [word for word in (_word(scope) for scope in scopes) if word]
        return "/".join(scopes), tuple(names[-1:]), tuple(scopes)


def _bare(scopes: Sequence[str]) -> list[str]:
    """Scopes without the numbers that tracing adds to them."""
    return [_NUMBER.sub("", scope) for scope in scopes]


def _word(scope: str) -> str:
    """A scope as the name of a variable; "" where it is none."""
    word = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", plain(_NUMBER.sub("", scope))).lower().strip("_")
    return word if word.isidentifier() and not keyword.iskeyword(word) else ""
