"""The pytest plugin: fixtures that prove a port, and benchmark it once it is proved.

pytest imports this in every session of every repository where jaxport is installed, so that what takes
time to import is imported by the first test that asks for it, as are jaxport's other packages, whose names may be the
repository's own.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import pytest

from jaxport._neighbours import neighbours

if TYPE_CHECKING:
    from pytest_benchmark.fixture import BenchmarkFixture

    from compare.record.base import Part
    from compare.record.workload_part import Workload
    from compare.run.prover import Judged, Port, Prover
    from compare.sides.pool import Source
    from workloads.core.modes import Mode

PAIRS = 5
"""The fewest pairs of processes from which a ratio has an interval."""

MOST_ROUNDS = 100

Result = TypeVar("Result")


class Refused(Exception):
    """Why a test fails: the sentences of the report, or the one line of a request that cannot be carried out."""


class WorkerClock:
    """The timer of pytest-benchmark: seconds that workers measured. What asking them takes does not pass on it."""

    def __init__(self) -> None:
        self._seconds = 0.0
        self.__name__ = "worker_clock"

    def __call__(self) -> float:
        """Seconds measured so far."""
        return self._seconds

    def advance(self, seconds: float) -> None:
        """Add what a worker measured."""
        self._seconds += seconds


class Proof:
    """The fixture `port`: proves a port, and gives the test its part of the record."""

    def __init__(self, prover: Prover, folder: Path, size: str | None) -> None:
        self._prover, self._folder, self._size = prover, folder, size

    def __call__(
        self,
        reference: str | None = None,
        *,
        tf: str | None = None,
        jax: str | None = None,
        inputs: Mapping[str, str] | None = None,
        dimensions: Mapping[str, str] | None = None,
        size: str | None = None,
        main_pass: str | None = None,
        parity_only: bool = False,
    ) -> dict[str, Any]:
        """Fail the test where parity fails or a side did not deliver; nothing is timed.

        Args:
          reference: a workload's name, or a port file, as for `jaxport run`.
          tf: "FILE.py:FUNCTION", instead of a reference, with `jax` and `inputs`.
          inputs: name to "f32[8,128]", "i32[8]:0..10" or "f32[B,128]", in the order of the arguments.
          dimensions: of those that inputs name, "1..64" to judge between, or "32" to compile.
          size: by default that of --jaxport-size.
          main_pass: "forward", "gradients" or "step": what is compiled and timed; by default the step, if there is one.
          parity_only: the six gates alone, no programs and kernels: seconds less.

        Returns:
          The workload's part of results.json, as `json.load` gives it.
        """

        def prove() -> dict[str, Any]:
            port = _port(self._folder, reference, tf, jax, inputs, dimensions, main_pass)
            return _plain(_prove(self._prover, port, size or self._size, 0, parity_only).part)

        return _or_fail(prove)


class Benchmark:
    """The fixture `port_benchmark`: proves a port, then times one mode of it through pytest-benchmark."""

    def __init__(self, prover: Prover, benchmark: BenchmarkFixture, request: pytest.FixtureRequest) -> None:
        self._prover, self._benchmark, self._folder = prover, benchmark, request.path.parent
        options, marker = request.config.option, request.node.get_closest_marker("benchmark")
        settings = marker.kwargs if marker else {}
        self._baseline: str | None = options.jaxport_baseline
        self._size, self._pairs = options.jaxport_size, options.jaxport_pairs if benchmark.enabled else 0
        self._max_time_s = float(settings.get("max_time", options.benchmark_max_time))
        self._min_rounds = int(settings.get("min_rounds", options.benchmark_min_rounds))
        clock = settings.get("timer")
        if not isinstance(clock, WorkerClock):
            # pytest-benchmark has its timer by now: it would time the pipe to the worker.
            pytest.fail(
                "expected port_benchmark among the arguments of the test or its fixtures, found it asked for while "
                "they run: name it there",
                pytrace=False,
            )
        self._clock = clock

    def __call__(
        self,
        reference: str | None = None,
        *,
        tf: str | None = None,
        jax: str | None = None,
        inputs: Mapping[str, str] | None = None,
        dimensions: Mapping[str, str] | None = None,
        size: str | None = None,
        main_pass: str | None = None,
        mode: str | None = None,
    ) -> dict[str, Any]:
        """Fail the test as `port` does; else benchmark `mode`, with ratios over pairs of processes in extra_info.

        Args:
          reference: a workload's name, or a port file, as for `jaxport run`.
          tf: "FILE.py:FUNCTION", instead of a reference, with `jax` and `inputs`.
          inputs: name to "f32[8,128]", "i32[8]:0..10" or "f32[B,128]", in the order of the arguments.
          dimensions: of those that inputs name, "1..64" to judge between, or "32" to compile.
          size: by default that of --jaxport-size.
          main_pass: "forward", "gradients" or "step": what is compiled and timed; by default the step, if there is one.
          mode: "tf/graph", and so on; by default "jax/jit".

        Returns:
          The workload's part of results.json, timing included.
        """
        part: dict[str, Any] = {}
        try:
            with _refusing():
                port = _port(self._folder, reference, tf, jax, inputs, dimensions, main_pass)
                part, once, rounds = self._ready(port, size or self._size, mode)
        except Refused as refusal:
            # Left unused, pytest-benchmark's fixture would warn beside the failure; used and failed, it keeps quiet.
            once, rounds = _raising(refusal), 1
        _or_fail(lambda: self._benchmark.pedantic(lambda: self._clock.advance(once()), rounds=rounds))
        return part

    def _ready(self, port: Port, size: str | None, mode: str | None) -> tuple[dict[str, Any], Callable[[], float], int]:
        """The record's part, what times one round of the mode, and how many rounds there is time for."""
        from compare.report.benchmark_json import extra_info

        timed_mode = _known_mode(mode)
        baseline = _known_mode(self._baseline) if self._baseline else None
        judgement = _prove(self._prover, port, size, self._pairs)
        _check_compiled(str(timed_mode), judgement)
        once = self._prover.rounds(port, size, timed_mode)
        start = time.perf_counter()
        once()
        fitting = int(self._max_time_s / (time.perf_counter() - start))
        self._benchmark.group = self._benchmark.group or judgement.name
        part = _plain(judgement.part)
        self._benchmark.extra_info.update(extra_info(judgement.name, part, str(timed_mode), baseline))
        return part, once, max(self._min_rounds, min(MOST_ROUNDS, fitting))


@pytest.fixture(scope="session")
def jaxport_prover(request: pytest.FixtureRequest) -> Iterator[Prover]:
    """The prover of `port` and `port_benchmark`: `judge` proves several ports in one run, before their tests."""
    with ExitStack() as workers:
        prover = _or_fail(lambda: workers.enter_context(_prover(request.config.option)))
        request.config.stash[_PROVER] = prover
        yield prover
        with neighbours():
            workers.close()


@pytest.fixture
def port(request: pytest.FixtureRequest, jaxport_prover: Prover) -> Proof:
    """Proves a port: `port("my_port.py")`, or `port(tf="my_tf.py:f", jax="my_jax.py:g", inputs={"x": "f32[8,128]"})`.

    Paths start at the test file's folder. The test fails with the report's sentences where parity fails.
    """
    return Proof(jaxport_prover, request.path.parent, request.config.option.jaxport_size)


@pytest.fixture
def port_benchmark(request: pytest.FixtureRequest, jaxport_prover: Prover, benchmark: BenchmarkFixture) -> Benchmark:
    """Proves a port as `port` does, then benchmarks its mode jax/jit, or another one: `mode="tf/jit"`."""
    return Benchmark(jaxport_prover, benchmark, request)


def pytest_addoption(parser: pytest.Parser) -> None:
    """The options of both fixtures."""
    group = parser.getgroup("jaxport", "ports of TensorFlow models to JAX")
    group.addoption("--jaxport-size", metavar="SIZE", help="size of ports whose test names none (default: the tour's)")
    group.addoption(
        "--jaxport-pairs", type=_count, default=PAIRS, metavar="N",
        help="sets of fresh processes that ratios rest on (default: %(default)s)",
    )  # fmt: skip
    group.addoption(
        "--jaxport-baseline", metavar="MODE",
        help="the mode that benchmarks are held against, such as tf/graph (default: jax/jit against each mode, and "
        "other modes of JAX against the fastest mode of TensorFlow)",
    )  # fmt: skip
    for side in ("tf", "jax"):
        group.addoption(f"--jaxport-{side}-python", metavar="PATH", help=f"interpreter of the {side} worker")
        group.addoption(
            f"--jaxport-{side}-recorded", type=Path, metavar="FILE", help=f"replay the {side} side from a file"
        )


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Give benchmarks of ports the workers' clock, before pytest-benchmark looks for a timer."""
    clock = WorkerClock()
    for item in items:
        if "port_benchmark" in getattr(item, "fixturenames", ()):
            own = item.get_closest_marker("benchmark")
            keywords = own.kwargs if own else {}
            item.add_marker(pytest.mark.benchmark(**{**keywords, "timer": clock}), append=False)


@pytest.hookimpl(optionalhook=True)
def pytest_benchmark_update_machine_info(config: pytest.Config, machine_info: dict[str, Any]) -> None:
    """Versions of both sides: without them no two files can be compared."""
    prover = config.stash.get(_PROVER, None)
    if prover is None:
        return
    with neighbours():
        from compare.report.benchmark_json import KEY

        machine_info[KEY] = _plain(prover.environment)


_PROVER: pytest.StashKey[Prover] = pytest.StashKey()


def _prover(options: argparse.Namespace) -> Prover:
    from compare.run.prover import Prover

    return Prover(_sources(options))


def _sources(options: argparse.Namespace) -> dict[str, Source]:
    from compare.sides._side import SIDES
    from compare.sides.sources import source

    return {
        side: source(
            side, getattr(options, f"jaxport_{side}_python"), getattr(options, f"jaxport_{side}_recorded"), "--jaxport-"
        )
        for side in SIDES
    }


def _port(
    folder: Path,
    reference: str | None,
    tf: str | None,
    jax: str | None,
    inputs: Mapping[str, str] | None,
    dimensions: Mapping[str, str] | None,
    main_pass: str | None,
) -> Port:
    from compare.run.prover import Port

    pairs = tuple((inputs or {}).items()), tuple((dimensions or {}).items())
    return Port(folder, reference, tf, jax, *pairs, _known_pass(main_pass))


def _known_pass(name: str | None) -> str | None:
    """A pass, checked before anything is proved."""
    from workloads.protocol.framework import PASSES

    if name is not None and name not in PASSES:
        raise Refused(f"expected a pass ({', '.join(PASSES)}), found {name!r}: name one of those")
    return name


def _known_mode(name: str | None) -> Mode:
    """The mode of a name, checked before anything is proved."""
    from workloads.core.modes import MODES, PORT

    modes = {str(mode): mode for mode in MODES}
    if name is not None and name not in modes:
        raise Refused(f"expected a mode ({', '.join(modes)}), found {name!r}: name one of those")
    return PORT if name is None else modes[name]


def _check_compiled(mode: str, judgement: Judged) -> None:
    """Refuse a mode that the port has not, or that is another mode under a second name."""
    profiles = judgement.part.profile
    if mode not in profiles:
        raise Refused(f"expected a mode of {judgement.name} ({', '.join(profiles)}), found {mode!r}: name one of those")
    same_as = profiles[mode].same_as
    if same_as:
        raise Refused(
            f"expected a mode of {judgement.name} with code of its own, found {mode!r}, which compiled nothing: "
            f"name {same_as}, it is the same"
        )


def _prove(prover: Prover, port: Port, size: str | None, pairs: int, parity_only: bool = False) -> Judged:
    """The judgement of a port that holds.

    Raises:
      Refused: it does not, or a result is missing; one sentence a line.
    """
    (judgement,) = prover.judge([port], size, pairs, parity_only)
    wrong = _wrong(judgement.name, judgement.part)
    if wrong:
        raise Refused("\n".join(wrong))
    return judgement


def _plain(part: Part) -> dict[str, Any]:
    """A part of the record as JSON, made anew: what one test does to it, another does not see."""
    from compare.plain_json import to_json

    return to_json(part)


def _wrong(name: str, part: Workload) -> Sequence[str]:
    """The report's sentence for each gate that fails or is not judged, and each result that is missing."""
    from compare.report import verdicts
    from compare.report.showable import printable

    return verdicts.complaints(name, printable(part))


def _or_fail(ask: Callable[[], Result]) -> Result:
    """The result of a request; on an error the test fails with the reason, without a traceback."""
    try:
        with _refusing():
            return ask()
    except Refused as refusal:
        reason = str(refusal)
    pytest.fail(reason, pytrace=False)


@contextmanager
def _refusing() -> Iterator[None]:
    """Turn errors into one line, as the command line does. Inside, `compare` is jaxport's package."""
    with neighbours():
        from compare.errors import FORESEEN
        from compare.report.showable import printable

        try:
            yield
        except FORESEEN as error:
            raise Refused(" ".join(printable(str(error)).split())) from error


def _raising(error: Refused) -> Callable[[], float]:
    def once() -> float:
        raise error

    return once


def _count(text: str) -> int:
    number = int(text) if text.isdecimal() else 0
    if number < 1:
        raise argparse.ArgumentTypeError(f"expected a whole number from 1, found {text!r}")
    return number
