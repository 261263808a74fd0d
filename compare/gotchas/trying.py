"""Entries tried: the naive port has to fail where its entry says, the right one has to pass."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from compare.inputs.request import Request
from compare.progress import Reporter
from compare.record.parity_part import Parity
from compare.record.vocabulary import FAIL, NOT_JUDGED, PASS
from compare.record.workload_part import Workload
from compare.run import whole_run
from compare.sides.remembering import RememberingPool
from workloads.core.modes import TF, TF_JIT
from workloads.gotchas._catalogue import Entry


@dataclass(frozen=True)
class Attempt:
    """One port of an entry, judged.

    Attributes:
      verdict: of parity, pass or fail; empty where a side failed to deliver.
      gate: the first that fails, in the order of the gates.
      message: the first line of that gate, or why a side failed.
      bit_equal: whether forward pass and gradients are those of TensorFlow eager or XLA, bit for bit.
    """

    verdict: str = ""
    gate: str = ""
    message: str = ""
    bit_equal: bool = False


@dataclass(frozen=True)
class Trial:
    """An entry with its ports as they were judged; a control has no naive one."""

    entry: Entry
    naive: Attempt | None
    right: Attempt

    @property
    def is_judged(self) -> bool:
        """Whether the gates say of both ports that they pass or fail."""
        attempts = [self.right] if self.naive is None else [self.naive, self.right]
        return all(attempt.verdict in (PASS, FAIL) for attempt in attempts)

    @property
    def holds(self) -> bool:
        """Whether both ports came out as the entry says."""
        return self.right.verdict == PASS and (
            self.naive is None or (self.naive.verdict == FAIL and self.naive.gate == self.entry.gotcha.fails)
        )


def try_all(entries: Sequence[Entry], reporter: Reporter, timeout_s: float) -> list[Trial]:
    """Judge both ports of every entry by all gates, in one pair of processes; both have one original, asked once.

    In TensorFlow eager and XLA, and in jax/jit: the other modes run the same formulas again.

    Args:
      timeout_s: seconds that a request may take.
    """
    workloads = [entry.workload(naive) for entry in entries for naive in _ports(entry)]
    request = Request(workloads, plans=(), modes=(TF_JIT,), parity_only=True, timeout_s=timeout_s)
    with (
        tempfile.TemporaryDirectory(prefix="jaxport-") as folder,
        RememberingPool(dict(request.sources), Path(folder), timeout_s, remembering=(TF,)) as pool,
    ):
        parts = whole_run.run(request, reporter, pool).record.workloads

    def attempt(entry: Entry, naive: bool) -> Attempt:
        return attempt_of(parts[entry.workload(naive).name])

    return [
        Trial(entry, None if entry.gotcha.is_control else attempt(entry, True), attempt(entry, False))
        for entry in entries
    ]


def _ports(entry: Entry) -> tuple[bool, ...]:
    """Whether each port of an entry is the naive one."""
    return (False,) if entry.gotcha.is_control else (True, False)


def attempt_of(part: Workload) -> Attempt:
    """The attempt that a port's record describes.

    A side that raised is no difference in numbers: nothing is concluded from it.
    """
    if part.failures or part.parity is None:
        return Attempt(message=next((failure.reason for failure in part.failures), "nothing was judged"))
    if part.parity.verdict == NOT_JUDGED:
        return Attempt(message=next(gate.reason for gate in part.parity.gates.values() if gate.verdict == NOT_JUDGED))
    failing = [name for name, gate in part.parity.gates.items() if gate.verdict == FAIL]
    gate = failing[0] if failing else ""
    return Attempt(part.parity.verdict or "", gate, _message(part.parity, gate), bool(part.parity.bit_equal))


def _message(parity: Parity, gate: str) -> str:
    if not gate:
        return ""
    failing = (comparison.message for comparison in parity.gates[gate].comparisons if comparison.verdict == FAIL)
    return next(failing, parity.gates[gate].reason)
