"""Weights carried from a Keras model into a Flax module: read by workers, planned here, written whole or not at all."""

from __future__ import annotations

import contextlib
import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from difflib import get_close_matches
from pathlib import Path

from safetensors.numpy import save

from compare.errors import RequestError
from compare.plain_json import write_json
from compare.sides import wire
from compare.sides.weight_workers import KerasModel, WeightWorkers
from compare.weights import receipt as receipts
from compare.weights.matching import Matching
from compare.weights.planning import Plan, plan
from compare.weights.receipt import Receipt
from compare.writing import write_atomically
from workloads._spec import Arrays
from workloads._transfer import Source, Target

KEPT = "kept"
"""In the metadata of the file: variables that it leaves as they are, each with why, as JSON. The one key: safetensors
writes several in another order each time."""


@dataclass(frozen=True)
class Request:
    """What is carried.

    Attributes:
      model: of Keras.
      module: FILE.py:NAME of a Flax module.
      names: path of a layer -> path of its module, where names differ.
      allowed: path of a variable that keeps what it has -> why.
    """

    model: KerasModel
    module: str
    names: Mapping[str, str] = field(default_factory=dict)
    allowed: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Carriage:
    """What was read, and what is to be done.

    Attributes:
      request: that it answers.
      source: the layers.
      arrays: of their leaves.
      target: the module.
      plan: with findings where weights do not fit.
    """

    request: Request
    source: Source
    arrays: Arrays
    target: Target
    plan: Plan


def planned(request: Request, workers: WeightWorkers) -> Carriage:
    """Read both and plan.

    Args:
      request: what is carried.
      workers: that read.

    Raises:
      RequestError: one cannot be read, or `names` or `allowed` name what is not there.
    """
    workers.start()
    source, arrays = workers.source(request.model)
    target = workers.target(request.module, source.inputs)
    _check_names(request.names, source, target)
    _check_allowed(request.allowed, target)
    return Carriage(request, source, arrays, target, plan(source, arrays, target, request.names, request.allowed))


def _check_names(names: Mapping[str, str], source: Source, target: Target) -> None:
    layers = {each.path for each in source.layers}
    matching = Matching(target, {})
    modules = {each.path for each in target.modules}
    for layer, module in names.items():
        # The last step may be a module of a rule: the depthwise half of a separable convolution.
        if layer not in layers and layer.rpartition("/")[0] not in layers - {""}:
            raise RequestError(f"expected a layer of the model in the map, found {layer!r}{_meant(layer, layers)}")
        if matching.canonical(module) not in modules:
            raise RequestError(
                f"expected a module of the target for {layer} in the map, found {module!r}{_meant(module, modules)}"
            )


def _check_allowed(allowed: Mapping[str, str], target: Target) -> None:
    variables = {each.path for each in target.variables}
    for path in allowed:
        if path not in variables:
            raise RequestError(f"expected a variable of the target in --allow, found {path!r}{_meant(path, variables)}")


def _meant(name: str, names: set[str]) -> str:
    close = get_close_matches(name, names, 3)
    return f": {' or '.join(close)} is there" if close else f": there are {', '.join(sorted(names)[:8]) or 'none'}"


def write(carriage: Carriage, path: Path) -> Receipt:
    """Write a safetensors file and its receipt, both or none.

    Args:
      carriage: whose plan has no findings.
      path: of the file; the receipt lies beside it.

    Raises:
      RequestError: there is a dtype that safetensors has not.
      UnwrittenError: a file cannot be written.
    """
    assert not carriage.plan.findings
    data = save(dict(_kept(carriage.plan.arrays)), {KEPT: json.dumps(dict(carriage.request.allowed))})
    written = receipt_of(carriage, hashlib.sha256(data).hexdigest())
    with contextlib.ExitStack() as undone:
        write_atomically(path, data)
        undone.callback(path.unlink, missing_ok=True)
        write_json(receipts.beside(path), receipts.plain(written))
        undone.pop_all()
    return written


def _kept(arrays: Arrays) -> Arrays:
    """The arrays as safetensors wants them, under no other names."""
    try:
        kept = wire.contiguous(arrays)
    except TypeError as error:
        raise RequestError(f"{error}") from error
    renamed = kept.keys() - arrays.keys()
    if renamed:
        raise RequestError(f"expected dtypes that safetensors has, found another: {min(renamed)}: use --orbax")
    return kept


def receipt_of(carriage: Carriage, sha256: str) -> Receipt:
    """The receipt of what was carried.

    Args:
      carriage: whose plan has no findings.
      sha256: of the file that was written; "" of none.
    """
    model = carriage.request.model
    names = (model.reference, str(model.weights or model.checkpoint or ""), carriage.request.module)
    return receipts.made(
        names, carriage.plan, carriage.source, carriage.arrays, carriage.target, carriage.request.allowed, sha256
    )
