"""Weights carried from a Keras model into a Flax module: read by workers, planned here, written whole or not at all."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import shutil
from collections.abc import Mapping
from dataclasses import dataclass, field
from difflib import get_close_matches
from pathlib import Path

import numpy as np
from safetensors.numpy import save

from compare import leftovers
from compare.errors import RequestError
from compare.plain_json import write_json
from compare.sides import wire
from compare.sides.weight_workers import FlaxModule, KerasModel, WeightWorkers
from compare.weights import receipt as receipts
from compare.weights.matching import Finding, Matching
from compare.weights.optimizer_carrying import FRESH, planned_slots, prove
from compare.weights.planning import Plan, plan
from compare.weights.receipt import Receipt
from compare.weights.slot_planning import SlotPlan
from compare.writing import write_atomically, writing
from workloads.core.spec import Arrays
from workloads.protocol.optimizer_transfer import PREFIX
from workloads.protocol.transfer import Source, Target

KEPT = "kept"
"""In the metadata of the file: variables that it leaves as they are, each with why, as JSON. The one key: safetensors
writes several in another order each time."""


@dataclass(frozen=True)
class Request:
    """The request to carry weights.

    Attributes:
      model: of Keras.
      module: FILE.py:NAME of a Flax module.
      names: path of a layer -> path of its module, where names differ.
      allowed: path of a variable that keeps what it has -> why.
      optimizer: FILE.py:NAME of what makes the module's optimizer of optax; "" where none is carried.
      unused: path of a layer that nothing calls, and that has no module -> why its weights are left out.
    """

    model: KerasModel
    module: str
    names: Mapping[str, str] = field(default_factory=dict)
    allowed: Mapping[str, str] = field(default_factory=dict)
    optimizer: str = ""
    unused: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Carriage:
    """The model and module that were read, and the plan.

    Attributes:
      request: that it answers.
      source: the layers.
      arrays: of their leaves.
      target: the module.
      plan: with findings where weights do not fit.
      slots: of the optimizer likewise; None where it was not asked for.
    """

    request: Request
    source: Source
    arrays: Arrays
    target: Target
    plan: Plan
    slots: SlotPlan | None = None

    @property
    def findings(self) -> tuple[Finding, ...]:
        """All that does not fit; with any, nothing is written."""
        return (*self.plan.findings, *(self.slots.findings if self.slots else ()))


def plan_carriage(request: Request, workers: WeightWorkers) -> Carriage:
    """Read both and plan.

    Raises:
      RequestError: one cannot be read, or `names` or `allowed` name what is not there.
    """
    module = FlaxModule(request.module, request.optimizer)
    workers.start()
    source, arrays = workers.source(request.model)
    target = workers.target(module, source.inputs)
    weights = planned_weights(source, arrays, target, request.names, request.allowed, request.unused)
    slots = planned_slots(source, arrays, target, weights, request.allowed)
    if slots is not None and not (weights.findings or slots.findings):
        slots = prove(workers, request.model, module, (source, arrays, target), (weights, slots), request.allowed)
    return Carriage(request, source, arrays, target, weights, slots)


def planned_weights(
    source: Source,
    arrays: Arrays,
    target: Target,
    names: Mapping[str, str],
    allowances: Mapping[str, str],
    unused_layers: Mapping[str, str] | None = None,
) -> Plan:
    """Like `planning.plan`, after checks of the names.

    Raises:
      RequestError: `names` or `allowances` name what is not there.
    """
    _check_names(names, source, target)
    _check_allowed(allowances, target)
    return plan(source, arrays, target, names, allowances, unused_layers)


def _check_names(names: Mapping[str, str], source: Source, target: Target) -> None:
    layers = {source_layer.path for source_layer in source.layers}
    matching = Matching(target, names)
    modules = {target_module.path for target_module in target.modules}
    own = {
        leaf.key
        for source_layer in source.layers
        # Of a layer of Keras that is left to be written, each weight is named for itself.
        if source_layer.container or matching.names_every_weight(source_layer)
        for leaf in source_layer.leaves
    }
    variables = {variable.path for variable in target.variables}
    for layer, module in names.items():
        if layer in own:
            if matching.canonical(module) not in variables:
                name_text = f"{module!r}{_suggestion(module, variables)}"
                raise RequestError(f"expected a variable of the target for {layer} in the map, found {name_text}")
            continue
        # The last step may be a module of a rule: the depthwise half of a separable convolution.
        if layer not in layers and layer.rpartition("/")[0] not in layers - {""}:
            raise RequestError(f"expected a layer of the model in the map, found {layer!r}{_suggestion(layer, layers)}")
        if matching.canonical(module) not in modules:
            raise RequestError(
                f"expected a module of the target for {layer} in the map, "
                f"found {module!r}{_suggestion(module, modules)}"
            )


def _check_allowed(allowances: Mapping[str, str], target: Target) -> None:
    variables = {variable.path for variable in target.variables}
    if target.optimizer is not None:
        variables |= {FRESH, *(f"{PREFIX}{slot.path}" for slot in target.optimizer.slots)}
    for path in allowances:
        if path not in variables:
            raise RequestError(
                f"expected a variable of the target in --allow, found {path!r}{_suggestion(path, variables)}"
            )


def _suggestion(name: str, names: set[str]) -> str:
    candidates = names - {""}  # the model itself, and the module
    close = get_close_matches(name, candidates, 3)
    return f": {' or '.join(close)} is there" if close else f": there are {', '.join(sorted(candidates)[:8]) or 'none'}"


def write(carriage: Carriage, path: Path) -> Receipt:
    """Write a safetensors file and its receipt, both or none.

    Args:
      path: of the file; the receipt lies beside it.

    Raises:
      RequestError: there is a dtype that safetensors has not.
      UnwrittenError: a file cannot be written.
    """
    assert not carriage.findings
    data = save(dict(_keep_names(_arrays(carriage))), {KEPT: json.dumps(dict(_staying(carriage)))})
    new_receipt = receipt_of(carriage, hashlib.sha256(data).hexdigest())
    with contextlib.ExitStack() as rollback:
        write_atomically(path, data)
        rollback.callback(path.unlink, missing_ok=True)
        write_json(receipts.beside(path), receipts.plain(new_receipt))
        rollback.pop_all()
    return new_receipt


def write_checkpoint(carriage: Carriage, path: Path, workers: WeightWorkers) -> Receipt:
    """Write a checkpoint of Orbax and its receipt, both or none.

    Args:
      path: of the folder, which must not be there; the receipt lies beside it.

    Raises:
      RequestError: it cannot be written.
      UnwrittenError: the receipt cannot be written.
    """
    assert not carriage.findings
    request, new_receipt = carriage.request, receipt_of(carriage, "")
    module = FlaxModule(request.module, request.optimizer)
    path.parent.mkdir(parents=True, exist_ok=True)
    # Written beside it first: the folder is removed even if the worker is killed while it writes.
    with leftovers.folder_beside(path) as beside, contextlib.ExitStack() as rollback:
        workers.write_checkpoint(module, carriage.source.inputs, _arrays(carriage), beside / path.name)
        with writing(path):
            os.rename(beside / path.name, path)
        rollback.callback(shutil.rmtree, path, ignore_errors=True)
        write_json(receipts.beside(path), receipts.plain(new_receipt))
        rollback.pop_all()
    return new_receipt


def _arrays(carriage: Carriage) -> dict[str, np.ndarray]:
    """By the names that a file has: those of an optimizer's state have a prefix."""
    state = carriage.slots.arrays if carriage.slots else {}
    return {**carriage.plan.arrays, **{f"{PREFIX}{path}": array for path, array in state.items()}}


def _staying(carriage: Carriage) -> dict[str, str]:
    """The variables that keep their values, with reasons."""
    state = carriage.slots.kept if carriage.slots else {}
    return {**carriage.request.allowed, **{f"{PREFIX}{path}": reason for path, reason in state.items()}}


def _keep_names(arrays: Arrays) -> Arrays:
    """The arrays as safetensors wants them, under no other names."""
    try:
        contiguous = wire.contiguous(arrays)
    except TypeError as error:
        raise RequestError(f"{error}") from error
    other_names = contiguous.keys() - arrays.keys()
    if other_names:
        raise RequestError(f"expected dtypes that safetensors has, found another: {min(other_names)}: use --orbax")
    return contiguous


def receipt_of(carriage: Carriage, sha256: str) -> Receipt:
    """The receipt of what was carried.

    Args:
      sha256: of the file that was written; "" of none.
    """
    model = carriage.request.model
    names = (model.reference, str(model.weights or model.checkpoint or ""), carriage.request.module)
    return receipts.make_receipt(
        names, carriage.plan, carriage.source, carriage.arrays, carriage.target, _staying(carriage), sha256,
        carriage.slots,
    )  # fmt: skip
