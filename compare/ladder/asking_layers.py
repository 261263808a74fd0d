"""Layers of both sides on the same arrays: asked, matched by name and judged, also on TensorFlow's own inputs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from compare.inputs.at_size import Prepared
from compare.ladder.first_departure import First, first_departure
from compare.ladder.gradient_departure import gradient_departure
from compare.ladder.layer_verdicts import BOUNDS, Captured, Paired, paired, verdicts
from compare.ladder.matched_layers import exchanged, matched, modules_of
from compare.record.rung_part import NOT_COMPARED, Layers
from compare.sides import requests
from compare.sides._side import SIDES, SideError
from compare.sides.pool import Pool
from workloads._framework import FORWARD
from workloads._layer_calls import Given


@dataclass(frozen=True)
class Asked:
    """What was found of layers.

    Attributes:
      layers: for the record.
      exchanged: what proves that weights lie in another layer's module, a line each.
      changed: weights that the port does not give back as it took them.
    """

    layers: Layers
    exchanged: tuple[str, ...] = ()
    changed: tuple[str, ...] = ()


def ask(pool: Pool, prepared: Prepared, pass_: str, case: str, names: Mapping[str, str]) -> Asked:
    """Layers in one pass, in float64, or where a side has none in float32.

    Args:
      pool: has the sides, with the workload loaded.
      prepared: the workload.
      pass_: "forward", or "gradients": layers as the loss calls them, and their gradients.
      case: whose arrays are used; the first where the sides were not given it.
      names: path of a layer -> that of its module, where something else than the names says so.

    Raises:
      SideError: a side was lost.
    """
    at = case_of(prepared, case)
    reason = ""
    for dtype in BOUNDS:
        try:
            return _asked(pool, pass_, at, dtype, names)
        except SideError as error:
            if error.lost:
                raise
            reason = str(error)
    return Asked(Layers(pass_=pass_, case=at, reason=reason))


def case_of(prepared: Prepared, case: str) -> str:
    """The case whose layers are looked at: the first where the sides were not given it."""
    return case if case in prepared.loading.cases else prepared.loading.cases[0]


def _asked(pool: Pool, pass_: str, case: str, dtype: str, names: Mapping[str, str]) -> Asked:
    original, port = (Captured(*requests.layers(pool.get(side), pass_, case, dtype, (), {})) for side in SIDES)
    modules = modules_of(original.calls, port.calls, names)
    matches = matched(original.calls, port.calls, names)
    bound = BOUNDS[dtype]
    pairs = paired(original, port, matches, bound)
    if pass_ == FORWARD:
        port = _on_tensorflows_inputs(pool, case, dtype, original, port, pairs)
        pairs = paired(original, port, matches, bound)
    said = verdicts(original, port, pairs, matches, bound)
    first = first_departure(original, port, pairs, said, bound)
    # In float32 no gradient is told from rounding.
    if first is None and pass_ != FORWARD and dtype == "float64":
        first = gradient_departure(original, port, pairs, said)
    compared = [verdict for verdict in said if verdict.path and verdict.state != NOT_COMPARED]
    reason = "" if compared else _why_none(original, port)
    # Without layers there is no place to tell.
    kept = (first if compared else None) or First("", "")
    layers = Layers(
        *(pass_, case, dtype, tuple(verdict for verdict in said if verdict.path)),
        *(kept.layer, kept.between, kept.after, kept.told, reason),
    )
    return Asked(layers, tuple(exchanged(original.calls, port.calls, modules)), port.calls.changed)


def _on_tensorflows_inputs(
    pool: Pool, case: str, dtype: str, original: Captured, port: Captured, pairs: Mapping[int, Paired]
) -> Captured:
    """The port's calls once more, each module called besides on what TensorFlow's layer was given."""
    given: list[Given] = []
    sent: dict[str, np.ndarray] = {}
    for pair in pairs.values():
        if pair.inputs is None:
            continue
        chosen = [pair.layer.inputs[at] for at in pair.inputs]
        given.append(Given(pair.module.started, tuple(chosen)))
        sent |= {name: original.arrays[name] for name in chosen}
    if not given:
        return port
    return Captured(*requests.layers(pool.get("jax"), FORWARD, case, dtype, given, sent))


def _why_none(original: Captured, port: Captured) -> str:
    if not any(call.path for call in original.calls.calls):
        return "the original calls no layers of Keras"
    if not any(call.path for call in port.calls.calls):
        return "the port calls no modules of Flax"
    return "no module of the port has the name of a layer"
