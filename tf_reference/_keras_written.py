"""Sets arrays into a Keras model, saves it and takes steps of its optimizer: checks weights that come back."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from tf_reference import _keras_optimizer, _keras_weights, _weight_files
from tf_reference._keras_weights import Given
from workloads.protocol.framework import Unsupported

SUFFIX = ".weights.h5"


def write(location: Given, arrays: Mapping[str, np.ndarray], scratch: Path) -> tuple[bytes, dict[str, np.ndarray]]:
    """A .weights.h5 file with these arrays, and what another such model reads from it, by key.

    Args:
      arrays: by key, one for every weight.

    Raises:
      Unsupported: the model has other weights than these.
    """
    model, path = _keras_weights.model(location, scratch), scratch / f"back{SUFFIX}"
    _set(model, arrays, location.optimizer)
    _keras_weights.saved_as(model).save_weights(path, overwrite=True)
    other = _keras_weights.model(location, scratch)
    _weight_files.load(
        _keras_weights.saved_as(other), path, _keras_optimizer.of_model(other) if location.optimizer else None
    )
    return path.read_bytes(), _keras_weights.of_model(other, location.optimizer)[1]


def _set(model: Any, arrays: Mapping[str, np.ndarray], optimizer: bool) -> None:
    own = dict(_keras_weights.variables(model))
    own |= _keras_optimizer.variables(model, _keras_weights.keys(model)) if optimizer else {}
    absent, unknown = own.keys() - arrays.keys(), arrays.keys() - own.keys()
    if absent or unknown:
        raise Unsupported(
            f"expected the model that the weights were read of, found one "
            f"{f'with {min(absent)}' if absent else f'without {min(unknown)}'}: name the same model"
        )
    for key, variable in own.items():
        array = arrays[key]
        if tuple(variable.shape) != array.shape or str(variable.dtype) != array.dtype.name:
            raise Unsupported(
                f"expected {variable.dtype}{list(variable.shape)} for {key}, found {array.dtype}{list(array.shape)}: "
                "name the same model"
            )
        variable.assign(array)


def take_steps(
    location: Given, gradients: Mapping[str, np.ndarray], steps: int, fresh: bool, scratch: Path
) -> dict[str, np.ndarray]:
    """The trained weights of a model after each of some steps of its optimizer, as "STEP/KEY".

    Args:
      gradients: as "STEP/KEY".
      fresh: whether the optimizer starts anew, in place of going on from where it is.

    Raises:
      Unsupported: as `read`.
    """
    model = _keras_weights.model(location, scratch)
    return _keras_optimizer.take_steps(model, _keras_weights.keys(model), gradients, steps, fresh)
