"""Compiler options of a port, searched here: compiled, timed in fresh processes, judged against TensorFlow."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from compare.bench.pairs import Measured
from compare.errors import RequestError
from compare.inputs.at_size import Prepared
from compare.measure.phase_processes import Workers
from compare.progress import Reporter
from compare.prove.collect import choose_pass
from compare.run.record_parts import cpu_name
from compare.sides import requests
from compare.sides._side import Side, SideError
from compare.sides.pool import Pool
from compare.sides.workers import WorkerSet
from compare.tuning.candidate_gates import CANDIDATE, SIDE, Gates
from compare.tuning.candidate_options import SPACE, Option, Options, snippet
from compare.tuning.option_search import PortFails, Refused, Row, Search
from compare.tuning.racing import Race, Round
from compare.tuning.screening import DEFAULT, Confirmed, Rules
from workloads.protocol.framework import Scalar


@dataclass(frozen=True)
class Plan:
    """The search space, and how long candidates are timed.

    Attributes:
      options: instead of those that are known for the platform; None takes these.
      keep_numbers: leave out what allows other results than the program asks for.
      rules: sets of processes for screening and for confirming.
      budget_s: seconds of rounds a set.
      threads: of every process.
      parity_size: where parity is judged, if not at the size that is tuned.
      main_pass: what is compiled and timed; None takes the training step, or else the forward pass.
    """

    options: Sequence[Option] | None = None
    keep_numbers: bool = False
    rules: Rules = field(default_factory=Rules)
    budget_s: float = 2.0
    threads: int = 1
    seed: int = 0
    parity_size: str | None = None
    main_pass: str | None = None


@dataclass(frozen=True)
class Tuned:
    """The result for one workload. `reason` says why the search did not end: the port's own parity fails."""

    size: str
    pass_: str
    platform: str
    dimensions: Mapping[str, int]
    environment: Mapping[str, Scalar]
    threads: int
    rows: Sequence[Row] = ()
    confirmed: Confirmed | None = None
    options: Options = field(default_factory=dict)
    snippet: str = ""
    reason: str = ""


def tune_workload(small: Prepared, large: Prepared, workers: Workers, plan: Plan, reporter: Reporter) -> Tuned:
    """Search options for the program that the workload is timed on.

    Raises:
      RequestError: no such pass, no options known for the platform, or the compiler rejects one that was asked
        for.
      SideError: a side cannot be started, or the port cannot be compiled.
    """
    # Not entered: that would start both sides, and the machine is to be quiet.
    pool = Pool(dict(workers.sources), workers.scratch, workers.timeout_s)
    with Live(small, large, workers, pool, plan, reporter) as live:
        return _search(live, large, plan, reporter)


def _search(live: Live, large: Prepared, plan: Plan, reporter: Reporter) -> Tuned:
    facts, environment = live.load()
    platform = environment["device"].partition(" ")[0]
    result = Tuned(
        size=large.size,
        pass_=choose_pass(facts.modes, plan.main_pass, large.workload.name),
        platform=platform,
        dimensions=dict(large.dimensions),
        environment=environment,
        threads=plan.threads,
    )
    has_options = plan.options is not None
    search = Search(live, plan.rules, reporter, large.workload.name, _options_of(plan, platform), has_options)
    try:
        confirmation = search.run(facts.compiler_options)
    except PortFails as error:
        return dataclasses.replace(result, rows=list(search.rows.values()), reason=str(error))
    options = search.candidates[confirmation.name] if confirmation and confirmation.faster else {}
    return dataclasses.replace(
        result,
        rows=list(search.rows.values()),
        confirmed=confirmation,
        options=options,
        snippet=snippet(options, platform, describe_confirmation(result, confirmation))
        if confirmation and options
        else "",
    )


def describe_confirmation(result: Tuned, confirmation: Confirmed) -> str:
    """Ratio, interval and circumstances in one line."""
    ratio = confirmation.ratio
    low, high = ratio.ci95 or (0.0, 0.0)
    where = (
        f"{result.pass_} at size {result.size} on {result.threads} thread{'s' * (result.threads > 1)} of {cpu_name()}"
    )
    by = f"jaxlib {result.environment['jaxlib']}, jaxport tune"
    return f"{ratio.ratio:.3f}x [{low:.3f}, {high:.3f}] of the time without: {where}; {by}"


def _options_of(plan: Plan, platform: str) -> Sequence[Option]:
    options = plan.options if plan.options is not None else SPACE.get(platform, ())
    if not options:
        raise RequestError(
            f"expected a platform whose options are known ({', '.join(SPACE)}), found {platform}: name some by --option"
        )
    return [option for option in options if not (plan.keep_numbers and option.changes_numbers)]


class Live:
    """Compiles and measures on this machine. Implements compare.tuning.option_search.Bench.

    Only one process works at a time: what compiles and what judges ends before candidates race. What one process
    compiled, the next one finds: compiling every candidate in every process took most of the time.

    Args:
      pool: the sides that parity asks, started when the first candidate is judged.
    """

    def __init__(
        self, small: Prepared, large: Prepared, workers: Workers, pool: Pool, plan: Plan, reporter: Reporter
    ) -> None:
        self._large, self._workers, self._pool, self._plan = large, workers, pool, plan
        self._gates = Gates(small, pool, reporter)
        self._cache = workers.folder("compiled-")
        self._compilers = WorkerSet(partial(workers.start, cache=self._cache), self._load)
        self._loaded = requests.Loaded({})

    def __enter__(self) -> Live:
        return self

    def __exit__(self, *_: object) -> None:
        self.rest()

    def load(self) -> tuple[requests.Loaded, dict[str, Any]]:
        """The environment of the port: versions and the machine."""
        self.rest()
        environment = requests.environment(self._compilers.get(SIDE))
        return self._loaded, environment

    def _load(self, compiler: Side) -> None:
        self._loaded = requests.load_twin(compiler, self._large.loading)

    def rest(self) -> None:
        """End what does not race."""
        self._compilers.close()
        self._pool.close()

    def digest(self, options: Options) -> str:
        """A digest of the main pass's compiled code. A compiler that crashes does not take these options either."""
        # What judges ends before something is compiled.
        self._pool.close()
        compiler = self._compilers.get(SIDE)
        try:
            requests.offer(compiler, CANDIDATE, options)
            return requests.digest(compiler, CANDIDATE)
        except SideError as error:
            if not options:
                raise
            raise Refused(error.reason) from error

    def race(self, candidates: Mapping[str, Options], number: int) -> Measured[str]:
        """One fresh process that runs all of them in turn; another one without what made it crash."""
        self.rest()

        def ready(side: Side, name: str) -> Round:
            requests.offer(side, name, candidates[name])
            requests.prepare(side, name)
            return partial(requests.time_round, side, name)

        race = Race(self._start, ready, DEFAULT, self._plan.budget_s)
        return race.run(list(candidates), self._plan.seed + number)

    @contextmanager
    def _start(self) -> Iterator[Side]:
        with self._workers.once(SIDE, self._cache) as side:
            requests.load(side, self._large.loading)
            yield side

    def judge(self, options: Options) -> str:
        """Why the port with these options is not the original; empty where every gate passes."""
        return self._gates.first_failure(options)
