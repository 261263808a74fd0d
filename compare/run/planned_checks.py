"""Plans the checks of one workload before anything runs, the cheapest first.

A check is a step of the progress. As soon as it is done, a line says what is known by then.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from compare.inputs.at_size import Prepared
from compare.inputs.request import Request
from compare.parity.holding import Held
from compare.prove.subjects import twin_of
from compare.record.parity_part import Gate
from compare.record.vocabulary import FAIL, NOT_JUDGED, PASS, PASS_WORDS, compose
from workloads.core.dimensions import describe_dimensions
from workloads.core.spec import STABILITY
from workloads.protocol.framework import FORWARD, GRADIENTS, STEP

_SHARES = {FORWARD: 45.0, GRADIENTS: 90.0, STEP: 120.0}
GATES, PROGRAMS = "gates", "programs"
_GATES, _FORWARD_SWEEP, _GRADIENTS_SWEEP, _REST = 180.0, 30.0, 220.0, 100.0
"""How long each check takes: seconds of MobileNetV2 at 96 px, compiled, on two processors."""


def plan_passes(instance: Prepared) -> Sequence[str]:
    """The passes that both sides run one after the other."""
    is_there = {FORWARD: True, GRADIENTS: twin_of(instance).is_differentiable, STEP: bool(instance.workload.training)}
    return [pass_ for pass_, exists in is_there.items() if exists]


def plan_checks(instance: Prepared, request: Request) -> Mapping[str, float]:
    """By check, its share of the time; in order, as far as checks are known before the sides are loaded."""
    passes = plan_passes(instance)
    sweeps = {FORWARD: _FORWARD_SWEEP} | ({GRADIENTS: _GRADIENTS_SWEEP} if GRADIENTS in passes else {})
    devices = request.targets.devices if request.targets else ()
    return (
        {PASS_WORDS[pass_]: _SHARES[pass_] for pass_ in passes}
        | {GATES: _GATES}
        | {f"{STABILITY}, {pass_}": share for pass_, share in sweeps.items()}
        | {f"at {describe_dimensions(other)}": _REST for other in instance.others}
        | ({} if request.parity_only else {PROGRAMS: _REST})
        | {device.name: _REST for device in devices}
    )


def describe_pass(pass_: str, leaves: Mapping[str, Sequence[Held]], refusal: str) -> str:
    """A line on the gates that hold in a pass at their strictest, and the places where the others do not.

    Args:
      leaves: by gate, what was compared in this pass.
      refusal: why TensorFlow has no results of the pass; empty where it has some.
    """
    verdicts = {gate: compose(leaf.verdict for leaf in of_gate) for gate, of_gate in leaves.items() if of_gate}
    parts = []
    if holding := [gate for gate, verdict in verdicts.items() if verdict == PASS]:
        parts.append(f"{', '.join(holding)} hold{'s' * (len(holding) == 1)} on the drawn arrays")
    if failing := [gate for gate, verdict in verdicts.items() if verdict == FAIL]:
        first = next(leaf for gate in failing for leaf in leaves[gate] if leaf.verdict == FAIL)
        parts.append(f"{', '.join(failing)} {_describe_error(first)}")
    return f"{PASS_WORDS[pass_]}: {'; '.join(parts) or refusal or 'nothing was compared'}"


def _describe_error(leaf: Held) -> str:
    """An error that may have a cause that excuses it, such as a rounded constant; or what nothing can excuse."""
    if not math.isfinite(leaf.error):
        return f"not: {leaf.message}"
    where = f"{leaf.place.leaf} of {leaf.place.found_from}"
    return f"not yet ({where}: error {leaf.error:.3g}, strictest bound {leaf.limit:.3g})"


def describe_gates(gates: Mapping[str, Gate]) -> str:
    """The verdict of each gate, those of one verdict together.

    Args:
      gates: by name.
    """
    by_verdict: dict[str, list[str]] = {}
    for name, gate in gates.items():
        by_verdict.setdefault((gate.verdict or NOT_JUDGED).replace("_", " "), []).append(name)
    return "; ".join(f"{verdict}: {', '.join(names)}" for verdict, names in by_verdict.items())
