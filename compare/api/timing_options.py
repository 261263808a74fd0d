"""Converts the options of `jaxport.bench` to a request for a run."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from compare.errors import RequestError
from compare.inputs.request import Extras, Plan, Request
from compare.sides.settings import available_processors
from workloads.core.declared import AnyWorkload
from workloads.core.modes import MODES, Mode
from workloads.protocol.framework import PASSES

ALL = "all"
"""A number of threads: one per processor."""
MODES_BY_NAME = {str(mode): mode for mode in MODES}


@dataclass(frozen=True)
class TimingOptions:
    """How a port is timed, under the names that `jaxport.bench` has for it."""

    modes: Sequence[str] = ()
    pass_: str | None = None
    size: str | None = None
    pairs: int = 12
    max_pairs: int | None = None
    budget: float = 2.0
    threads: int | str = ALL
    phases: int = 0
    limits: bool = True
    peers: bool = False

    def request(self, workload: AnyWorkload, timeout_s: float) -> Request:
        """The run that times a workload.

        Args:
          workload: that files declare.
          timeout_s: how long a worker may take for one request.

        Raises:
          RequestError: an option is nothing that can be timed by.
        """
        pairs = _integer("pairs", self.pairs, 1)
        most = 2 * pairs if self.max_pairs is None else _integer("max_pairs", self.max_pairs, pairs)
        return Request(
            (workload,),
            size=self.size,
            timeout_s=timeout_s,
            plans=(Plan(pairs, most, budget_s=self._seconds(), threads=self._threads()),),
            extras=self._extras(),
            modes=self._modes(),
            main_pass=check_pass(self.pass_),
        )

    def _extras(self) -> Extras:
        phases = _integer("phases", self.phases, 0)
        return Extras(limits=bool(self.limits), phases=phases, peers=bool(self.peers))

    def _modes(self) -> list[Mode]:
        if isinstance(self.modes, str):
            raise RequestError(f"expected a list of modes, found {self.modes!r}: write modes=[{self.modes!r}]")
        unknown = [mode for mode in self.modes if mode not in MODES_BY_NAME]
        if unknown:
            raise RequestError(
                f"expected modes of {', '.join(MODES_BY_NAME)}, found {unknown[0]!r}: choose among these"
            )
        return [MODES_BY_NAME[mode] for mode in self.modes]

    def _seconds(self) -> float:
        seconds = self.budget
        if not _is_number(seconds) or not 0 < seconds < math.inf:
            raise RequestError(f"expected seconds above 0 as budget, found {seconds!r}: name a number")
        return float(seconds)

    def _threads(self) -> int:
        available = available_processors()
        if self.threads == ALL:
            return available
        threads = _integer("threads", self.threads, 1)
        if threads > available:
            raise RequestError(
                f"expected threads of at most {available}, the processors of this machine, found {threads}: lower it"
            )
        return threads


def check_pass(pass_: str | None) -> str | None:
    """The pass; None for the training step, or else the forward pass.

    Raises:
      RequestError: there is no such pass.
    """
    if pass_ is not None and pass_ not in PASSES:
        raise RequestError(f"expected pass_ of {', '.join(PASSES)}, found {pass_!r}: choose one of these")
    return pass_


def _integer(name: str, value: Any, least: int) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or value < least:
        raise RequestError(f"expected an integer of at least {least} as {name}, found {value!r}: name one")
    return value


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
