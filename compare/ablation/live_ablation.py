"""An ablation on this machine: one worker compiles, then both sides judge, then fresh processes race."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from msgspec.structs import replace

from compare.ablation.ablating import FULL, Asked, ablate
from compare.ablation.compiling import COMPILER, Compiler, Made
from compare.ablation.leaving_out import Omission
from compare.bench.pairs import Measured
from compare.inputs.at_size import Prepared
from compare.measure.phase_processes import Workers
from compare.progress import Reporter
from compare.record.ablation_part import Ablation
from compare.sides import requests
from compare.sides._side import Side
from compare.sides.pool import Pool
from compare.tuning.candidate_gates import Gates
from compare.tuning.candidate_options import Options
from compare.tuning.racing import Race, Round


@dataclass(frozen=True)
class Plan:
    """The program and omissions of an ablation, and how it is measured.

    Attributes:
      omissions: None takes each pass that changed the program, and each feature.
      program: the side whose program it is.
      sets: fresh processes that times are taken in; 0 takes none.
      budget_s: seconds of rounds in each.
      threads: of every process.
      seed: of the order of programs.
      has_gates: whether results of other bits are judged, which only the port's can be.
      parity_size: where they are judged, if not at the size that is compiled.
    """

    omissions: Sequence[Omission] | None = None
    program: str = COMPILER
    sets: int = 5
    budget_s: float = 2.0
    threads: int = 1
    seed: int = 0
    has_gates: bool = True
    parity_size: str | None = None


def ablate_workload(small: Prepared, large: Prepared, workers: Workers, plan: Plan, reporter: Reporter) -> Ablation:
    """Hold the program that the workload is timed on, its training step or else its forward pass, against itself.

    Raises:
      SideError: a side cannot be started, or the full pipeline cannot be compiled, run or timed.
    """
    # Not entered: that would start both sides, and the machine is to be quiet.
    pool = Pool(dict(workers.sources), workers.scratch, workers.timeout_s)
    request = Asked(plan.omissions, plan.sets, plan.has_gates and plan.program == COMPILER)
    with Live(small, large, workers, pool, plan, reporter) as live:
        environment = live.compiler.environment()
        return replace(
            ablate(live, request, reporter),
            program=plan.program,
            size=large.size,
            pass_=live.compiler.pass_,
            dimensions=dict(large.dimensions),
            environment=environment,
            threads=plan.threads,
            disassembler=Path(live.compiler.disassembler).name,
        )


class Live:
    """Compiles and measures on this machine. Implements compare.ablation.ablating.Bench.

    Only one process works at a time. What one process compiled for a race, the next one finds in a cache.

    Args:
      pool: the sides that parity asks, started when the first row is judged.
    """

    def __init__(
        self, small: Prepared, large: Prepared, workers: Workers, pool: Pool, plan: Plan, reporter: Reporter
    ) -> None:
        self._large, self._workers, self._pool, self._plan = large, workers, pool, plan
        self._gates = Gates(small, pool, reporter)
        self._cache = workers.folder("compiled-")
        self.compiler = Compiler(large, workers, plan.program)

    def __enter__(self) -> Live:
        return self

    def __exit__(self, *_: object) -> None:
        self._rest()

    def _rest(self) -> None:
        self.compiler.rest()
        self._pool.close()

    def make(self, options: Options) -> Made:
        """The program compiled with options, and run."""
        self._pool.close()
        return self.compiler.make(options)

    def first_failure(self, options: Options) -> str:
        """The message of the first parity gate that fails with these options; empty if all pass."""
        self.compiler.rest()
        return self._gates.first_failure(options)

    def race(self, candidates: Mapping[str, Options], number: int) -> Measured[str]:
        """One fresh process that runs all of them in turn; another one without what made it crash."""
        self._rest()

        def ready(side: Side, name: str) -> Round:
            return self.compiler.ready(side, candidates[name])

        race = Race(self._start, ready, FULL, self._plan.budget_s)
        return race.run(list(candidates), self._plan.seed + number)

    @contextmanager
    def _start(self) -> Iterator[Side]:
        with self._workers.once(COMPILER, self._cache) as side:
            requests.load(side, self._large.loading)
            yield side
