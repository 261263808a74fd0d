"""Evidence of a chain besides parity: kernels of a call, and whether blocks give the bits of the whole chain."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from compare.hlo import kernel_times
from compare.parity.identical import same_leaves
from compare.parity.measure import distance, scale_of
from compare.progress import Reporter
from compare.prove.collect import FLOAT32
from compare.record.workload_part import Failure
from compare.sides import requests
from compare.sides._side import Side, SideError
from compare.sides.pool import Pool
from compare.sides.requests import Loading
from compare.sides.workers import failure_of
from workloads.core.modes import Mode
from workloads.core.spec import Arrays
from workloads.protocol.framework import FORWARD


@dataclass
class Seen:
    """By mode: kernels of a call, whether results are the bits of the whole, and how far they are from it at most."""

    kernels: dict[str, int] = field(default_factory=dict)
    bit_equal: dict[str, bool] = field(default_factory=dict)
    error: dict[str, float] = field(default_factory=dict)
    failures: list[Failure] = field(default_factory=list)


def collect(pool: Pool, loading: Loading, whole: Mapping[Mode, Mode], reporter: Reporter) -> Seen:
    """Ask both sides, which have just judged it, for kernels and results in every mode.

    Args:
      whole: by mode in blocks, the mode of the same side that its results are compared with.
    """
    evidence = Seen()
    for name in dict.fromkeys(mode.side for mode in whole):
        modes = {mode: other for mode, other in whole.items() if mode.side == name}
        try:
            side = pool.get(name)
            requests.load(side, loading)
            _kernels(side, dict.fromkeys((*modes, *modes.values())), evidence, reporter)
            _results(side, loading.cases, modes, evidence)
        except SideError as error:
            evidence.failures.append(failure_of(error, "kernels and results in blocks"))
    return evidence


def _kernels(side: Side, modes: Iterable[Mode], evidence: Seen, reporter: Reporter) -> None:
    for mode in modes:
        reporter.detail(f"{mode} kernels")
        requests.prepare(side, mode.name)
        evidence.kernels[str(mode)] = kernel_times.profile(requests.profile(side, mode.name)).kernels


def _results(side: Side, cases: Iterable[str], modes: Mapping[Mode, Mode], evidence: Seen) -> None:
    for case in cases:
        outputs = {mode: _outputs(side, mode, case) for mode in dict.fromkeys((*modes, *modes.values()))}
        for mode, whole in modes.items():
            same = same_leaves(outputs[mode], outputs[whole])
            evidence.bit_equal[str(mode)] = evidence.bit_equal.get(str(mode), True) and same
            evidence.error[str(mode)] = max(evidence.error.get(str(mode), 0.0), _error(outputs[mode], outputs[whole]))


def _outputs(side: Side, mode: Mode, case: str) -> Arrays:
    return requests.outputs(side, mode.name, FORWARD, case, FLOAT32)


def _error(actual: Arrays, expected: Arrays) -> float:
    return max(
        (distance(actual[leaf], expected[leaf], scale_of(expected[leaf], 0.0)).error for leaf in expected), default=0.0
    )
