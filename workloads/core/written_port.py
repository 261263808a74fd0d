"""Draw the weights and examples of a written port, weights by its own receipt."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import ml_dtypes as ml_dtypes  # NumPy knows these types once it is imported
import numpy as np
from safetensors import SafetensorError, safe_open

from workloads.core.arrays import draw
from workloads.core.spec import Arrays, ArraySpec
from workloads.core.target import WeightsError
from workloads.protocol.transfer import STATES

_KERNELS = frozenset({"kernel", "recurrent_kernel", "depthwise_kernel", "pointwise_kernel", "embeddings"})
_SCALES, _VARIANCES = frozenset({"gamma", "scale"}), frozenset({"moving_variance", "variance"})
_OTHERS, _STATE_SCALE = 0.1, 0.5


def drawn_weights(receipt: Path) -> dict[str, ArraySpec | np.ndarray]:
    """A spec for every weight that a receipt of `jaxport weights` names, by its key, in Keras' shape.

    Drawn, not trained: a bias of zeros and a gamma of ones would hide that they are swapped, and states of zeros would
    hide that a call does not read them. Kernels keep the size of
    what they are given; gammas lie around 1, variances between a half and 2. Integers and truth values are those that
    were carried: others would be no places of a table, no permutation, and choose other branches.

    Args:
      receipt: a .receipt.json file, beside its .safetensors file.

    Raises:
      WeightsError: that file has not what the receipt says.
    """
    content = json.loads(receipt.read_bytes())
    return {
        weight["key"]: _carry(weight, receipt) if np.dtype(weight["dtype"]).kind in "iub" else _spec(weight)
        for weight in content["leaves"]
    }


def _carry(weight: Mapping[str, Any], receipt: Path) -> np.ndarray:
    (variable,) = weight["variables"]
    path = receipt.with_name(receipt.name.removesuffix(".receipt.json") + ".safetensors")
    try:
        with safe_open(path, "numpy") as file:
            array = file.get_tensor(variable["path"])
    except (OSError, SafetensorError) as error:
        raise WeightsError(f"expected {variable['path']} in {path.name}, found none: {error}") from error
    if hashlib.sha256(array.tobytes()).hexdigest() != variable["sha256"]:
        raise WeightsError(
            f"expected {variable['path']} in {path.name} as {receipt.name} tells of it, found another: carry the "
            "weights again with `jaxport weights`"
        )
    return array.astype(weight["dtype"])


def carried_weight(path: Path, name: str) -> np.ndarray:
    """A weight that is judged as it was carried: another number would choose other rows and branches.

    Raises:
      WeightsError: the file is not there, or has none of that name.
    """
    try:
        with safe_open(path, "numpy") as file:
            return file.get_tensor(name)
    except (OSError, SafetensorError) as error:
        raise WeightsError(f"expected {name} in {path.name}, found none ({error}): write the port again") from error


def left_weights(receipt: Path) -> frozenset[str]:
    """The keys of the weights that a receipt of `jaxport weights` says are computed with nowhere."""
    return frozenset(json.loads(receipt.read_bytes())["left"])


def _spec(weight: Mapping[str, Any]) -> ArraySpec:
    class_name, leaf, shape = weight["class_name"], weight["leaf"], tuple(weight["shape"])
    name = leaf.rpartition("/")[2]
    if leaf.startswith(STATES):
        return ArraySpec(shape, scale=_STATE_SCALE)
    if name in _KERNELS and len(shape) > 1:
        return ArraySpec(shape, scale=_inputs_of(class_name, leaf, shape) ** -0.5)
    if name in _SCALES:
        return ArraySpec(shape, low=0.5, high=1.5)
    return ArraySpec(shape, low=0.5, high=2.0) if name in _VARIANCES else ArraySpec(shape, scale=_OTHERS)


def _inputs_of(class_name: str, leaf: str, shape: tuple[int, ...]) -> int:
    """How many products are summed up for one value of the output."""
    if leaf == "embeddings":
        return 1
    if leaf == "depthwise_kernel" or class_name.startswith("Depthwise"):
        return math.prod(shape[:-2])
    if class_name.endswith("Transpose"):
        return math.prod(shape) // shape[-2]
    if leaf in ("query/kernel", "key/kernel", "value/kernel"):
        return shape[0]
    return math.prod(shape[:-1])


def drawn_examples(specs: Mapping[str, ArraySpec], batches: int) -> Arrays:
    """The inputs of so many batches, one behind the other along the first axis."""
    return {name: np.concatenate([draw(spec, name, seed) for seed in range(batches)]) for name, spec in specs.items()}


def with_states(result: Any, states: Mapping[str, Any]) -> Any:
    """The result of a call beside its states for the next call.

    Args:
      states: of recurrent layers, by the key of the weight; empty where there are none.
    """
    return {"result": result, "states": dict(states)} if states else result
