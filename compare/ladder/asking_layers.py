"""Layers of both sides on the same arrays: asked, matched by name and judged, also on TensorFlow's own inputs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from compare.inputs.at_size import Prepared
from compare.ladder.first_departure import First, first_departure
from compare.ladder.gradient_departure import gradient_departure
from compare.ladder.layer_verdicts import BOUNDS, Captured, Paired, pair_calls, verdicts
from compare.ladder.matched_layers import find_exchanges, match_calls, modules_of
from compare.record.rung_part import NOT_COMPARED, Layers
from compare.sides import requests
from compare.sides._side import SIDES, SideError
from compare.sides.pool import Pool
from workloads.protocol.framework import FORWARD
from workloads.protocol.layer_calls import Given


@dataclass(frozen=True)
class Asked:
    """The findings on layers.

    Attributes:
      layers: for the record.
      exchanged: what proves that weights lie in another layer's module, a line each.
      changed: weights that the port does not give back as it took them.
    """

    layers: Layers
    exchanged: tuple[str, ...] = ()
    changed: tuple[str, ...] = ()


def ask(pool: Pool, instance: Prepared, pass_: str, case: str, names: Mapping[str, str]) -> Asked:
    """Layers in one pass, in float64, or where a side has none in float32.

    Args:
      pass_: "forward", or "gradients": layers as the loss calls them, and their gradients.
      case: whose arrays are used; the first where the sides do not have it.
      names: path of a layer -> that of its module, where something else than the names says so.

    Raises:
      SideError: a side was lost.
    """
    case_name = case_of(instance, case)
    reason = ""
    for dtype in BOUNDS:
        try:
            return _ask(pool, pass_, case_name, dtype, names)
        except SideError as error:
            if error.lost:
                raise
            reason = str(error)
    return Asked(Layers(pass_=pass_, case=case_name, reason=reason))


def case_of(instance: Prepared, case: str) -> str:
    """The case whose layers are compared: the first where the sides do not have this one."""
    return case if case in instance.loading.cases else instance.loading.cases[0]


def _ask(pool: Pool, pass_: str, case: str, dtype: str, names: Mapping[str, str]) -> Asked:
    original, port = (Captured(*requests.layers(pool.get(side), pass_, case, dtype, (), {})) for side in SIDES)
    modules = modules_of(original.calls, port.calls, names)
    matches = match_calls(original.calls, port.calls, names)
    bound = BOUNDS[dtype]
    pairs = pair_calls(original, port, matches, bound)
    if pass_ == FORWARD:
        port = _on_tensorflows_inputs(pool, case, dtype, original, port, pairs)
        pairs = pair_calls(original, port, matches, bound)
    layer_verdicts = verdicts(original, port, pairs, matches, bound)
    first = first_departure(original, port, pairs, layer_verdicts, bound)
    # In float32 a wrong gradient cannot be distinguished from rounding.
    if first is None and pass_ != FORWARD and dtype == "float64":
        first = gradient_departure(original, port, pairs, layer_verdicts)
    comparable = [verdict for verdict in layer_verdicts if verdict.path and verdict.state != NOT_COMPARED]
    reason = "" if comparable else _why_none(original, port)
    # Without layers there is no place to tell.
    departure = (first if comparable else None) or First("", "")
    layers = Layers(
        *(pass_, case, dtype, tuple(verdict for verdict in layer_verdicts if verdict.path)),
        *(departure.layer, departure.between, departure.after, departure.told, reason),
    )
    return Asked(layers, tuple(find_exchanges(original.calls, port.calls, modules)), port.calls.changed)


def _on_tensorflows_inputs(
    pool: Pool, case: str, dtype: str, original: Captured, port: Captured, pairs: Mapping[int, Paired]
) -> Captured:
    """The port's calls once more, each module called besides on what TensorFlow's layer was given."""
    started_with: list[Given] = []
    arrays: dict[str, np.ndarray] = {}
    for pair in pairs.values():
        if pair.inputs is None:
            continue
        names_chosen = [pair.layer.inputs[index] for index in pair.inputs]
        started_with.append(Given(pair.module.started, tuple(names_chosen)))
        arrays |= {name: original.arrays[name] for name in names_chosen}
    if not started_with:
        return port
    return Captured(*requests.layers(pool.get("jax"), FORWARD, case, dtype, started_with, arrays))


def _why_none(original: Captured, port: Captured) -> str:
    if not any(call.path for call in original.calls.calls):
        return "the original calls no layers of Keras"
    if not any(call.path for call in port.calls.calls):
        return "the port calls no modules of Flax"
    return "no module of the port has the name of a layer"
