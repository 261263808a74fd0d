"""The request for a run."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from compare.sides._side import SIDES
from compare.sides.device_worker import Targets
from compare.sides.peers import PEERS
from compare.sides.pool import Source
from workloads.core.declared import AnyWorkload
from workloads.core.modes import Mode


@dataclass(frozen=True)
class Plan:
    """How long and how often to time.

    Attributes:
      pairs: sets of fresh processes; 0 times nothing.
      most_pairs: more are added up to this many while a null's half-width is above `precision`. What decides
        is how far identical code comes out from itself, never the ratio that is being measured.
      precision: the half-width of a null's 95 % interval that is narrow enough.
      budget_s: seconds of rounds a workload and set.
      threads: of every process; None leaves them to the frameworks.
      seed: of the orders in which processes and arms take turns.
      peers: whether peers that a workload brings are timed too.
      other_processes: of `workloads.core.modes.IN_OTHER_PROCESSES`, in which the port is timed once more.
    """

    pairs: int = 7
    most_pairs: int = 7
    precision: float = 0.04
    budget_s: float = 1.5
    threads: int | None = None
    seed: int = 0
    peers: bool = True
    other_processes: Sequence[Mode] = ()


@dataclass(frozen=True)
class Extras:
    """The measurements besides ratios. The default ones cost seconds.

    Attributes:
      limits: of the machine, and each workload's share of the one that binds it.
      dispatch: processes that the cost of a call which does next to nothing is measured in.
      phases: processes that each median of the phases is taken over; 0 measures none.
      batches: sizes of the batch, for workloads that train; none measures none.
      memory_limit: bytes, for the largest batch under it.
      peers: other ways to run the original in JAX, as further arms.
      handover: from which size on each side's XLA hands a computation to other threads.
    """

    limits: bool = True
    dispatch: int = 1
    phases: int = 0
    batches: Sequence[int] = ()
    memory_limit: int = 1 << 30
    peers: bool = False
    handover: bool = False


@dataclass(frozen=True)
class Request:
    """The request for a run. `size` None takes each workload's size of the tour.

    Attributes:
      plans: one a number of threads; the first is the headline, and without any nothing is timed.
      targets: devices that both programs are compiled for, which need not be here.
      modes: those that are judged and timed; empty takes all. The reference and the port itself always are.
      main_pass: what is compiled, profiled and timed; None takes the training step, or else the forward pass.
      unrolled: how many training steps one program takes, with times per step; 0 for one step per call.
      parity_size: where parity is judged, if not at the size that is compiled and timed.
      alignment: whether the programs are compared value by value.
      parity_only: whether the six gates are all that is asked for: no profile, no cells, no alignment.
      fail_fast: whether passes are judged one by one, and the run stops at the first that fails and locates it.
    """

    workloads: Sequence[AnyWorkload]
    size: str | None = None
    data: Path | None = None
    sources: Mapping[str, Source] = field(default_factory=lambda: {side: Source() for side in SIDES})
    timeout_s: float = 300
    plans: Sequence[Plan] = (Plan(),)
    extras: Extras = field(default_factory=Extras)
    targets: Targets | None = None
    modes: Collection[Mode] = ()
    main_pass: str | None = None
    unrolled: int = 0
    alignment: bool = True
    parity_only: bool = False
    parity_size: str | None = None
    fail_fast: bool = False

    def __post_init__(self) -> None:
        if self.parity_only and self.plans:
            raise ValueError("expected no plan beside parity_only: what is not compiled apart is not timed")

    def sources_with_peers(self) -> dict[str, Source]:
        """Where sides and peers come from: a peer needs both frameworks, and has them in this interpreter."""
        peer = Source(device=self.sources["jax"].device)
        return dict(self.sources) | dict.fromkeys(PEERS if self.extras.peers else (), peer)
