"""Weights of a Keras model and of an nnx module that a caller holds: which is which, and where they differ."""

from __future__ import annotations

import importlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import msgspec
import numpy as np

from compare.api.in_python import in_python
from compare.parity import measure
from compare.report.numbers import list_first
from compare.weights.carrying import planned_weights
from compare.weights.planning import Move, Plan, without_misfits
from workloads.core.spec import Arrays
from workloads.protocol.framework import Unsupported
from workloads.protocol.transfer import Leaf, Source, Target

_MOST_NAMED = 4
"""Names in a sentence; the others are counted."""

# By name, as every framework: the judges import none.
MODELS, MODULES = "tf_reference._live_models", "jaxport._live_modules"


@dataclass(frozen=True)
class DifferentVariable:
    """A variable of the module that is not what its weight becomes, at the element where they differ most.

    Attributes:
      weight: the key of the weight in the Keras model: "dense/kernel".
      variable: the path of the variable in the module: "dense.kernel".
      index: of the element.
      found: its value in the module.
      expected: its value in the Keras model.
      error: the largest difference, relative to the largest expected value.
    """

    weight: str
    variable: str
    index: tuple[int, ...]
    found: float
    expected: float
    error: float


@dataclass(frozen=True)
class WeightPairs:
    """Weights of a Keras model and variables of an nnx module, paired by the rules of `jaxport weights`.

    Attributes:
      equal: by the key of a weight, the variables that hold what it becomes. Gradients are judged with respect to those
        that Keras can train.
      different: variables that hold something else. A port with any of them has not passed.
      unpaired: one sentence that names what was not paired, and why; "" where everything was. It is judged as it
        stands, as constants of both functions.
      attributes: lines on layers whose modules compute with other attributes, such as another epsilon.
    """

    equal: Mapping[str, tuple[str, ...]]
    different: tuple[DifferentVariable, ...] = ()
    unpaired: str = ""
    attributes: tuple[str, ...] = ()

    @property
    def lines(self) -> tuple[str, ...]:
        """Sentences on what the gates do not cover."""
        return tuple(f"weights: {line}" for line in (self.unpaired, *self.attributes) if line)


@dataclass(frozen=True)
class LivePair:
    """Both objects as the judges take them.

    Attributes:
      pairs: as the report shows them.
      weights: by key, those that are equal and that TensorFlow takes gradients of, in Keras' layout. All others are
        constants of both: a moving mean, or a count that a call changes.
      described: the same as a receipt describes them.
    """

    pairs: WeightPairs
    weights: Arrays
    described: Sequence[Mapping[str, Any]]


def is_model(value: Any) -> bool:
    """Whether it is a Keras model or layer."""
    return importlib.import_module(MODELS).is_model(value)


def is_module(value: Any) -> bool:
    """Whether it is an nnx module."""
    return importlib.import_module(MODULES).is_module(value)


def read(model: Any, module: Any) -> tuple[tuple[Source, Arrays], tuple[Target, Arrays]]:
    """The layers and weights of a Keras model, and the modules and variables of an nnx module.

    Raises:
      Unsupported: one of them cannot be read.
    """
    return importlib.import_module(MODELS).read(model), importlib.import_module(MODULES).read(module)


def pair_weights(model: Any, module: Any, names: Mapping[str, str]) -> LivePair:
    """Pair the weights of a Keras model with variables of an nnx module; neither is changed.

    Args:
      model: of Keras, or a layer.
      module: of nnx.
      names: path of a layer -> path of its module, where names differ.

    Raises:
      RequestError: `names` names what is not there.
    """
    try:
        (source, arrays), (target, variables) = read(model, module)
    except Unsupported as error:
        return no_pairs(f"weights were not paired: {error}")
    plan = planned_weights(source, arrays, target, names, {})
    # Of a layer with another epsilon, say, the weights are paired all the same: what it computes is judged.
    misfits = tuple(finding for finding in plan.findings if finding.kind != "attribute")
    fitting = without_misfits(replace(plan, findings=misfits))
    different = tuple(variable for move in fitting.moves for variable in _differences(move, fitting, arrays, variables))
    apart = {variable.weight for variable in different}
    moves = [move for move in fitting.moves if move.leaf.key not in apart]
    attributes = tuple(finding.line for finding in plan.findings if finding.kind == "attribute")
    return LivePair(
        pairs=WeightPairs(
            {move.leaf.key: move.variables for move in moves},
            different,
            _sentence(replace(fitting, findings=misfits), source, variables),
            attributes,
        ),
        weights={move.leaf.key: arrays[move.leaf.key] for move in moves if move.leaf.trainable},
        described=[_describe(move) for move in moves if move.leaf.trainable],
    )


def no_pairs(why: str) -> LivePair:
    """Two objects of which no weights are paired, and why; "" where there are none to pair."""
    return LivePair(WeightPairs({}, unpaired=why), {}, ())


def _describe(move: Move) -> Mapping[str, Any]:
    return {
        "key": move.leaf.key,
        "shape": move.leaf.shape,
        "transform": msgspec.to_builtins(move.transform),
        "variables": [{"path": path} for path in move.variables],
    }


def _differences(move: Move, plan: Plan, arrays: Arrays, variables: Arrays) -> list[DifferentVariable]:
    pairs = ((path, _widen(variables[path]), _widen(plan.arrays[path])) for path in move.variables)
    return [
        _difference(move.leaf, path, actual, expected)
        for path, actual, expected in pairs
        if not np.array_equal(actual, expected, equal_nan=actual.dtype.kind in "fc")
    ]


def _widen(array: np.ndarray) -> np.ndarray:
    return measure.wide(array) if measure.is_float(array) else array


def _difference(leaf: Leaf, path: str, actual: np.ndarray, expected: np.ndarray) -> DifferentVariable:
    measure_distance = measure.distance if measure.is_float(expected) else measure.exact_distance
    far = measure_distance(actual, expected, measure.largest([expected]) or 1.0)
    values = {"found": float(np.real(far.found)), "expected": float(np.real(far.expected))}
    return DifferentVariable(leaf.key, path, far.index, **values, error=far.error)


def _sentence(plan: Plan, source: Source, variables: Arrays) -> str:
    """A sentence on weights without a partner, and why."""
    moved_keys = {move.leaf.key for move in plan.moves}
    weights = [
        leaf.key
        for layer in source.layers
        for leaf in layer.leaves
        if not leaf.tied and leaf.key not in moved_keys and leaf.key not in plan.left
    ]
    paths_written = {path for move in plan.moves for path in move.variables}
    rest = [path for path in variables if path not in paths_written]
    parts = [
        f"{what} {list_first(names, _MOST_NAMED)}"
        for what, names in (("weights", weights), ("variables", rest))
        if names
    ]
    # That a variable is left over follows from the others.
    lines = [finding.line for finding in plan.findings if finding.kind != "variable"] or [
        finding.line for finding in plan.findings
    ]
    why = "; ".join(in_python(line) for line in lines[:_MOST_NAMED])
    return f"{' and '.join(parts)} are not paired, and constant in this check ({why})" if parts else ""
