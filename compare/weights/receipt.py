"""The receipt: which leaf became which variable, by which rule, with the SHA-256 of both: enough for the way back."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from compare import files
from compare.errors import RequestError
from compare.weights.planning import Move, Plan, Told
from compare.weights.transforms import Transform
from workloads._transfer import Source, Target

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


class Receipt(msgspec.Struct, frozen=True):
    """What was carried.

    `left` are leaves, `allowed` variables, and `excluded` random states that were not carried, each with why. `sha256`
    is that of the file of weights.
    """

    format: int
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


def made(
    names: tuple[str, str, str],
    plan: Plan,
    source: Source,
    arrays: Mapping[str, np.ndarray],
    target: Target,
    allowed: Mapping[str, str],
    sha256: str,
) -> Receipt:
    """The receipt of a plan that was carried out.

    Args:
      names: of the source, of the weights that were loaded into it, and of the target, as the user gave them.
      plan: without findings.
      source: the layers.
      arrays: of their leaves.
      target: the module.
      allowed: variables that stay as they are, each with why.
      sha256: of the file that was written.
    """
    kinds = {each.path: each.kind for each in target.variables}
    return Receipt(
        *(FORMAT, *names, sha256, {**source.versions, **target.versions}),
        layers=tuple(_layer(each) for each in plan.told),
        leaves=tuple(_leaf(each, plan, arrays, kinds) for each in plan.moves),
        tied={leaf.key: leaf.tied for layer in source.layers for leaf in layer.leaves if leaf.tied},
        left=dict(plan.left),
        allowed=dict(allowed),
        excluded={each.path: each.reason for each in (*source.excluded, *target.excluded)},
    )


def _layer(told: Told) -> CarriedLayer:
    return CarriedLayer(
        *(told.layer.path, told.layer.class_name, told.rule, told.target, told.module, told.function),
        *(told.checked, told.unchecked, told.advice),
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


def plain(receipt: Receipt) -> Any:
    """A receipt as plain JSON data, from which `read` makes it again."""
    return msgspec.to_builtins(receipt)


def beside(weights: Path) -> Path:
    """The path of the receipt of a file of weights."""
    return weights.with_name(f"{weights.name.removesuffix('.safetensors')}{SUFFIX}")


def read(path: Path) -> Receipt:
    """The receipt in a file.

    Raises:
      RequestError: it is none, or of another format.
    """
    found = files.convert(files.read_json(path, _EXPECTED), Receipt, path, _EXPECTED)
    if found.format != FORMAT:
        _EXPECTED.refuse(path, f"one of format {found.format}, where {FORMAT} is known")
    return found
