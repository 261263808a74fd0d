"""The way back: variables of a safetensors file as the leaves that they were made of, in a .weights.h5 file."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from compare import files
from compare.errors import RequestError
from compare.sides.weight_workers import KerasModel, WeightWorkers
from compare.weights import receipt as receipts
from compare.weights.receipt import CarriedLeaf, Receipt
from compare.weights.transforms import TransformError
from compare.writing import write_atomically
from workloads.core.spec import Arrays
from workloads.protocol.transfer import STATES

MOST_BYTES = 64 << 30
"""The largest file of weights: those of a model of 16 billion parameters."""

_EXPECTED = files.Expected("weights in safetensors", "name the file that jaxport weights wrote", RequestError)


@dataclass(frozen=True)
class Returned:
    """The weights that came back.

    Attributes:
      leaves: how many there are.
      changed: those that are not what was carried, by key.
      misread: those that Keras reads otherwise from the file than they were written, by key.
      left: leaves that were not carried, which the model has of its own.
      slots: how many of the leaves are variables of an optimizer.
    """

    leaves: int
    changed: tuple[str, ...]
    misread: tuple[str, ...]
    left: tuple[str, ...]
    slots: int = 0

    @property
    def equal(self) -> int:
        """How many leaves are bit-equal to what was carried, and read from the file as such."""
        return self.leaves - len({*self.changed, *self.misread})


def write_back(weights: Path, model: KerasModel, path: Path, workers: WeightWorkers) -> Returned:
    """Write a .weights.h5 file of what a safetensors file and its receipt hold.

    Args:
      weights: the safetensors file, or the folder of a checkpoint of Orbax.
      path: of the file that is written.

    Raises:
      RequestError: a file or the model is none of that carriage's.
      UnwrittenError: the file cannot be written.
    """
    receipt = receipts.read(receipts.beside(weights))
    model = replace(model, optimizer=receipt.optimizer is not None)
    by_variable = _read(weights, receipt, workers)
    leaves = taken_back(receipt, by_variable, weights)
    _, own = workers.source(model)
    arrays = _complete(leaves, own, receipt)
    data, read = workers.write_weights(model, arrays)
    write_atomically(path, data)
    # A file of Keras has no states of stateful layers.
    leaves_saved = [leaf for leaf in receipt.all_leaves if not leaf.leaf.startswith(STATES)]
    return Returned(
        leaves=len(leaves_saved),
        changed=tuple(leaf.key for leaf in leaves_saved if receipts.digest(leaves[leaf.key]) != leaf.sha256),
        misread=tuple(leaf.key for leaf in leaves_saved if not _equal(read[leaf.key], leaves[leaf.key])),
        left=tuple(receipt.left),
        slots=len(receipt.optimizer.leaves) if receipt.optimizer else 0,
    )


def _read(weights: Path, receipt: Receipt, workers: WeightWorkers) -> Arrays:
    if not weights.is_dir():
        return files.read_arrays(weights, _EXPECTED, MOST_BYTES)[0]
    paths = {variable.path for leaf in receipt.all_leaves for variable in leaf.variables}
    kept_paths = set(receipt.allowed)
    arrays = {_receipt_path(path, paths): array for path, array in workers.read_checkpoint(weights).items()}
    return {path: array for path, array in arrays.items() if path not in kept_paths}


def _receipt_path(path: str, paths: set[str]) -> str:
    """The path as the receipt has it: a checkpoint of Linen has collections around it."""
    inner = path.partition(".")[2]
    return inner if path not in paths and inner in paths else path


def taken_back(receipt: Receipt, arrays: Arrays, path: Path) -> dict[str, np.ndarray]:
    """The leaves that variables were made of, by key.

    Args:
      arrays: by the path of the variable.
      path: of the file that they come from, for the error.

    Raises:
      RequestError: a variable is missing, left over, or of another shape or dtype.
    """
    variables = {variable.path: variable for leaf in receipt.all_leaves for variable in leaf.variables}
    absent, unknown = sorted(variables.keys() - arrays.keys()), sorted(arrays.keys() - variables.keys())
    if absent or unknown:
        _EXPECTED.refuse(path, f"no variable {absent[0]}" if absent else f"a variable {unknown[0]} of no receipt")
    for name, variable in variables.items():
        array = arrays[name]
        if (array.shape, array.dtype.name) != (variable.shape, variable.dtype):
            expected_type = f"{variable.dtype}{list(variable.shape)}"
            _EXPECTED.refuse(path, f"{array.dtype}{list(array.shape)} for {name}, which was {expected_type}")
    return {leaf.key: _leaf(leaf, arrays, path) for leaf in receipt.all_leaves}


def _leaf(leaf: CarriedLeaf, arrays: Arrays, path: Path) -> np.ndarray:
    try:
        array = np.ascontiguousarray(leaf.transform.back([arrays[variable.path] for variable in leaf.variables]))
    except TransformError as error:
        _EXPECTED.refuse(path, f"{leaf.key}: {error}")
    array = array.reshape(array.shape if leaf.shape else ())
    if (array.shape, array.dtype.name) != (leaf.shape, leaf.dtype):
        found_type, expected_type = f"{array.dtype}{list(array.shape)}", f"{leaf.dtype}{list(leaf.shape)}"
        _EXPECTED.refuse(path, f"{found_type} for {leaf.key}, of which the receipt says {expected_type}")
    return array


def _complete(leaves: Mapping[str, np.ndarray], own: Arrays, receipt: Receipt) -> dict[str, np.ndarray]:
    """The leaves, and what was left out of the carriage as the model has it."""
    unknown = sorted(leaves.keys() - own.keys())
    lacking = sorted(own.keys() - leaves.keys() - receipt.left.keys())
    if unknown or lacking:
        difference = f"one without {unknown[0]}" if unknown else f"one with {lacking[0]} too"
        raise RequestError(
            f"expected the model that the weights were carried from, found {difference}: name that model"
        )
    return {key: leaves.get(key, array) for key, array in own.items()}


def _equal(read: np.ndarray, array: np.ndarray) -> bool:
    return read.dtype == array.dtype and read.shape == array.shape and read.tobytes() == array.tobytes()
