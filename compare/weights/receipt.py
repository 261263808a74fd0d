"""The receipt: which leaf became which variable, by which rule, with the SHA-256 of both: enough for the way back."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from compare import files
from compare.errors import RequestError
from compare.weights.planning import OWN, Move, Plan, Told
from compare.weights.slot_planning import SlotMove, SlotPlan
from compare.weights.transforms import Transform
from workloads.protocol.optimizer_transfer import PREFIX
from workloads.protocol.transfer import Source, Target

FORMAT = 1
SUFFIX = ".receipt.json"

_EXPECTED = files.Expected(
    "the receipt of jaxport weights", "keep it beside the weights, under the name that it was given", RequestError
)


class CarriedVariable(msgspec.Struct, frozen=True):
    """One variable of the target. `sha256` is of its values in row-major order."""

    path: str
    kind: str
    shape: tuple[int, ...]
    dtype: str
    sha256: str


class CarriedLeaf(msgspec.Struct, frozen=True):
    """One leaf of the source, and the variables that its transform makes of it. `sha256` as of a variable."""

    key: str
    layer: str
    class_name: str
    leaf: str
    shape: tuple[int, ...]
    dtype: str
    sha256: str
    rule: str
    transform: Transform
    variables: tuple[CarriedVariable, ...]


class CarriedLayer(msgspec.Struct, frozen=True):
    """One layer: its module or the function that stands in for it, and the attributes that were checked or were not."""

    path: str
    class_name: str
    rule: str
    target: str
    module: str
    function: str
    checked: tuple[str, ...]
    unchecked: tuple[str, ...]
    advice: tuple[str, ...]


class CarriedOptimizer(msgspec.Struct, frozen=True):
    """The optimizer: its rule, its attributes, those that differ from its counterpart's, and its variables.

    The key of a variable has the prefix "optimizer:", its `layer` is "", and its `leaf` the name of the slot.
    """

    class_name: str
    rule: str
    config: dict[str, Any]
    apart: tuple[str, ...]
    leaves: tuple[CarriedLeaf, ...]


class Receipt(msgspec.Struct, frozen=True):
    """The receipt of carried weights.

    `left` are leaves, `allowed` variables, and `excluded` random states that were not carried, each with why. `sha256`
    is that of the file of weights.
    """

    format: files.FormatNumber
    source: str
    weights: str
    target: str
    sha256: str
    versions: dict[str, str]
    layers: tuple[CarriedLayer, ...]
    leaves: tuple[CarriedLeaf, ...]
    tied: dict[str, str]
    left: dict[str, str]
    allowed: dict[str, str]
    excluded: dict[str, str]
    optimizer: CarriedOptimizer | None = None

    @property
    def all_leaves(self) -> tuple[CarriedLeaf, ...]:
        """Weights, and variables of the optimizer."""
        return (*self.leaves, *(self.optimizer.leaves if self.optimizer else ()))


def make_receipt(
    names: tuple[str, str, str],
    plan: Plan,
    source: Source,
    arrays: Mapping[str, np.ndarray],
    target: Target,
    allowances: Mapping[str, str],
    sha256: str,
    slots: SlotPlan | None = None,
) -> Receipt:
    """The receipt of a plan that was carried out.

    Args:
      sha256: of the file that was written.
      slots: the plan of the optimizer, without findings; None where it was not asked for.
    """
    kinds = {variable.path: variable.kind for variable in target.variables}
    return Receipt(
        *(FORMAT, *names, sha256, {**source.versions, **target.versions}),
        layers=tuple(_layer(layer) for layer in plan.told),
        leaves=tuple(_leaf(move, plan, arrays, kinds) for move in plan.moves),
        tied={leaf.key: leaf.tied for layer in source.layers for leaf in layer.leaves if leaf.tied},
        left={**plan.left, **(slots.left if slots else {})},
        allowed=dict(allowances),
        excluded={state.path: state.reason for state in (*source.excluded, *target.excluded)},
        optimizer=_optimizer(source, slots, arrays) if slots else None,
    )


def _optimizer(source: Source, slots: SlotPlan, arrays: Mapping[str, np.ndarray]) -> CarriedOptimizer:
    assert source.optimizer is not None
    optimizer = source.optimizer
    leaves = tuple(_slot(move, slots, arrays[move.slot.key], optimizer.class_name) for move in slots.moves)
    return CarriedOptimizer(optimizer.class_name, slots.rule, dict(optimizer.config), slots.apart, leaves)


def _slot(move: SlotMove, slots: SlotPlan, array: np.ndarray, class_name: str) -> CarriedLeaf:
    states = ((path, slots.arrays[path]) for path in move.paths)
    slot = move.slot
    return CarriedLeaf(
        *(slot.key, "", class_name, slot.name, slot.shape, slot.dtype, digest(array), move.rule, move.transform),
        tuple(
            CarriedVariable(
                f"{PREFIX}{path}", "OptState", state_array.shape, state_array.dtype.name, digest(state_array)
            )
            for path, state_array in states
        ),
    )


def _layer(layer: Told) -> CarriedLayer:
    return CarriedLayer(
        *(layer.layer.path, layer.layer.class_name, layer.rule, layer.target, layer.module, layer.function),
        *(layer.checked, layer.unchecked, layer.advice),
    )


def _leaf(move: Move, plan: Plan, arrays: Mapping[str, np.ndarray], kinds: Mapping[str, str]) -> CarriedLeaf:
    variables = ((path, plan.arrays[path]) for path in move.variables)
    return CarriedLeaf(
        *(move.leaf.key, move.layer.path, move.layer.class_name, move.leaf.name, move.leaf.shape, move.leaf.dtype),
        *(digest(arrays[move.leaf.key]), move.rule, move.transform),
        tuple(
            CarriedVariable(path, kinds[path], array.shape, array.dtype.name, digest(array))
            for path, array in variables
        ),
    )


def digest(array: np.ndarray) -> str:
    """SHA-256 of the values in row-major order."""
    return hashlib.sha256(np.ascontiguousarray(array).tobytes()).hexdigest()


def names_of(receipt: Receipt) -> dict[str, str]:
    """Where each layer and each weight of a class of the user's went, as a map of `jaxport weights` names it."""
    modules = {layer.path: layer.target for layer in receipt.layers if layer.path and layer.target}
    own = {leaf.key: leaf.variables[0].path for leaf in receipt.leaves if leaf.rule == OWN}
    return modules | own


def plain(receipt: Receipt) -> Any:
    """A receipt as plain JSON data, from which `read` makes it again."""
    return msgspec.to_builtins(receipt)


def beside(weights: Path) -> Path:
    """The path of the receipt of a file of weights."""
    return weights.with_name(f"{weights.name.removesuffix('.safetensors')}{SUFFIX}")


def read(path: Path) -> Receipt:
    """The receipt in a file.

    Raises:
      RequestError: it is none, of another format, or has a leaf or a variable twice.
    """
    receipt = files.convert(files.read_json(path, _EXPECTED), Receipt, path, _EXPECTED)
    if receipt.format != FORMAT:
        _EXPECTED.refuse(path, f"one of format {receipt.format}, where {FORMAT} is known")
    keys = Counter(leaf.key for leaf in receipt.all_leaves)
    paths = Counter(variable.path for leaf in receipt.all_leaves for variable in leaf.variables)
    twice = [name for name, count in (*keys.items(), *paths.items()) if count > 1]
    if twice:
        _EXPECTED.refuse(path, f"{twice[0][:80]!r} twice")
    return receipt
