"""What a verdict on one workload consists of: checks that are planned before anything runs, the cheapest first.

A check is a step of the progress. As soon as it is done, a line says what is known by then.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from compare.inputs.at_size import Prepared
from compare.inputs.request import Request
from compare.parity.holding import Held
from compare.prove.subjects import twin_of
from compare.record.parity_part import Parity
from compare.record.vocabulary import FAIL, NOT_JUDGED, PASS, PASS_WORDS, compose
from workloads._framework import FORWARD, GRADIENTS, STEP
from workloads._spec import STABILITY


@dataclass(frozen=True)
class Check:
    """A part of a verdict.

    Attributes:
      text: what is checked.
      share: how long it takes, relative to the others: seconds of MobileNetV2 at 96 px, compiled, on two processors.
    """

    text: str
    share: float


_COLLECT = {FORWARD: Check(PASS_WORDS[FORWARD], 45), GRADIENTS: Check(PASS_WORDS[GRADIENTS], 90)}
_TRAIN = Check("training", 120)
_GATES, _FURTHER, _PROGRAMS = Check("gates", 180), Check("another size", 100), Check("programs", 100)
_SWEEPS = (Check(f"{STABILITY}, {FORWARD}", 30), Check(f"{STABILITY}, {GRADIENTS}", 220))


def plan_stages(instance: Prepared) -> Sequence[tuple[str, ...]]:
    """The passes that both sides run one after the other.

    Args:
      instance: the workload, and the arrays that it is judged on.
    """
    is_there = {FORWARD: True, GRADIENTS: twin_of(instance).is_differentiable, STEP: bool(instance.workload.training)}
    return [(pass_,) for pass_, exists in is_there.items() if exists]


def plan_checks(instance: Prepared, request: Request) -> tuple[Check, ...]:
    """The checks of a run in order, as far as they are known before both sides are loaded.

    Args:
      instance: the workload, and the arrays that it is judged on.
      request: of the run.
    """
    passes = [pass_ for stage in plan_stages(instance) for pass_ in stage]
    devices = len(request.targets.devices) if request.targets else 0
    return (
        *(_TRAIN if pass_ == STEP else _COLLECT[pass_] for pass_ in passes),
        _GATES,
        *(_SWEEPS if GRADIENTS in passes else _SWEEPS[:1]),
        *[_FURTHER] * len(instance.others),
        *[_PROGRAMS] * (not request.parity_only),
        *[_PROGRAMS] * devices,
    )


def describe_pass(pass_: str, leaves: Mapping[str, Sequence[Held]]) -> str:
    """Which gates hold in a pass at their strictest, and where the others do not.

    Args:
      pass_: the pass that both sides ran.
      leaves: by gate, what was compared in this pass.
    """
    verdicts = {gate: compose(leaf.verdict for leaf in of_gate) for gate, of_gate in leaves.items() if of_gate}
    parts = []
    if holding := [gate for gate, verdict in verdicts.items() if verdict == PASS]:
        parts.append(f"{', '.join(holding)} hold{'s' * (len(holding) == 1)} on the drawn arrays")
    if failing := [gate for gate, verdict in verdicts.items() if verdict == FAIL]:
        first = next(leaf for gate in failing for leaf in leaves[gate] if leaf.verdict == FAIL)
        source = f"{first.place.leaf} of {first.place.found_from}"
        parts.append(
            f"{', '.join(failing)} not yet ({source}: error {first.error:.3g}, strictest bound {first.limit:.3g})"
        )
    return f"{PASS_WORDS[pass_]}: {'; '.join(parts) or 'nothing was compared'}"


def describe_gates(parity: Parity) -> str:
    """The verdict of each gate, those of one verdict together.

    Args:
      parity: of all passes.
    """
    by_verdict: dict[str, list[str]] = {}
    for gate, judgement in parity.gates.items():
        by_verdict.setdefault((judgement.verdict or NOT_JUDGED).replace("_", " "), []).append(gate)
    return "; ".join(f"{verdict}: {', '.join(gates)}" for verdict, gates in by_verdict.items())
