"""Ports proved one after the other for a test session: each judged once, workers for timed rounds kept."""

from __future__ import annotations

import dataclasses
import shutil
import statistics
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType

from compare.bench.pairs import CALLS, DROPPED
from compare.errors import RequestError
from compare.inputs import functions, port_files
from compare.inputs.foreign_code import foreign_code_apart
from compare.inputs.port_files import prepare_both
from compare.inputs.request import Extras, Plan
from compare.progress import Silent
from compare.record.envelope import Environment, Record
from compare.record.vocabulary import PASS
from compare.record.workload_part import Workload
from compare.run import whole_run
from compare.sides import processes, requests
from compare.sides._side import Side, SideError
from compare.sides.pool import Pool, Source
from compare.sides.requests import Loading
from compare.sides.settings import available_processors
from workloads.core.declared import AnyWorkload
from workloads.core.modes import MODES, Mode


@dataclass(frozen=True)
class Port:
    """A port as a test names it: by `reference`, or by two functions and their inputs. Paths start at `folder`.

    `main_pass` is what is compiled and timed; None takes the training step, or else the forward pass.
    """

    folder: Path
    reference: str | None = None
    tf: str | None = None
    jax: str | None = None
    inputs: tuple[tuple[str, str], ...] = ()
    dimensions: tuple[tuple[str, str], ...] = ()
    main_pass: str | None = None

    def workload(self) -> AnyWorkload:
        """The workload that is named.

        Raises:
          RequestError, RegistryError: there is none.
        """
        if self.reference is not None and (self.tf, self.jax, self.inputs, self.dimensions) == (None, None, (), ()):
            return port_files.get(self._at_folder(self.reference))
        if self.reference is not None or self.tf is None or self.jax is None:
            raise RequestError(
                "expected a workload or port file, or else tf=, jax= and inputs= together, "
                f"found {', '.join(self._options_in_use()) or 'nothing'}: name the port in one of the two ways"
            )
        inputs = [f"{name}={text}" for name, text in self.inputs]
        dimensions = [f"{name}={text}" for name, text in self.dimensions]
        workload = functions.from_functions(self._at_folder(self.tf), self._at_folder(self.jax), inputs, dimensions)
        return dataclasses.replace(workload, summary=f"{self.tf} against {self.jax}", source="given by a test")

    def _options_in_use(self) -> list[str]:
        return [name for name in ("reference", "tf", "jax", "inputs", "dimensions") if getattr(self, name)]

    def _at_folder(self, reference: str) -> str:
        file = reference.endswith(".py") or reference.rpartition(":")[0].endswith(".py")
        return str(self.folder / reference) if file else reference


@dataclass(frozen=True)
class Judged:
    """The judgement of a port.

    Attributes:
      name: of its workload.
      part: of the record.
      pairs: of processes that it was to be timed in.
      parity_only: whether parity was all that was asked for.
    """

    name: str
    part: Workload
    pairs: int
    parity_only: bool = False


class Prover:
    """Judges ports and times rounds of them. What was asked before is not judged again."""

    def __init__(self, sources: Mapping[str, Source], timeout_s: float = 300) -> None:
        self._sources, self._timeout_s = dict(sources), timeout_s
        self._judged: dict[tuple[Port, str | None], Judged] = {}
        self._loaded: dict[str, tuple[Port, str | None]] = {}
        self._drawn: tuple[tuple[Port, str | None], Path, Loading] | None = None
        self._stack = ExitStack()
        self.environment = Environment()
        """The environment of the last run: versions and machine."""

    def __enter__(self) -> Prover:
        self._scratch = self._stack.enter_context(processes.scratch_folder())
        self._pool = Pool(self._sources, self._scratch, self._timeout_s, available_processors())
        # Not entered: that would start both sides, and parity alone needs neither.
        self._stack.push(self._pool)
        self._stack.enter_context(foreign_code_apart(self._timeout_s))
        # Importing a framework takes longer than judging a small port: requests for parity alone share these workers.
        self._judges = Pool(self._sources, self._scratch, self._timeout_s)
        self._stack.push(self._judges)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stack.close()

    def judge(self, ports: Sequence[Port], size: str | None, pairs: int, parity_only: bool = False) -> list[Judged]:
        """The judgement of each port; unknown ones share one run and its processes.

        Args:
          size: None takes each workload's size of the tour.
          pairs: sets of fresh processes that time; 0 times nothing.
          parity_only: no programs, cells, kernels or times are needed.

        Raises:
          RequestError, RegistryError, DataError, SideError: the request cannot be carried out.
        """
        missing = {port: port.workload() for port in ports if not self._knows(port, size, pairs, parity_only)}
        for main_pass in dict.fromkeys(port.main_pass for port in missing):
            together = {port: workload for port, workload in missing.items() if port.main_pass == main_pass}
            _check_names([workload.name for workload in together.values()])
            record = self._run(list(together.values()), size, pairs, parity_only, main_pass)
            self.environment = record.environment or Environment()
            for port, workload in together.items():
                part = record.workloads[workload.name]
                self._judged[port, size] = Judged(workload.name, part, pairs, parity_only)
        return [self._judged[port, size] for port in ports]

    def _knows(self, port: Port, size: str | None, pairs: int, parity_only: bool) -> bool:
        known_judgement = self._judged.get((port, size))
        if known_judgement is None or (known_judgement.parity_only and not parity_only):
            return False
        # What does not hold is not timed, however often it is asked for.
        return (
            known_judgement.pairs >= pairs
            or known_judgement.part.parity is None
            or known_judgement.part.parity.verdict != PASS
        )

    def _run(
        self,
        workloads: Sequence[AnyWorkload],
        size: str | None,
        pairs: int,
        parity_only: bool,
        main_pass: str | None,
    ) -> Record:
        plans = (Plan(pairs, pairs, threads=available_processors()),) if pairs else ()
        # A test reports ratios: measuring the machine's limits would take a minute, and no test reads them.
        extras = Extras(limits=False)
        # A benchmark may name any mode, and is asked only after its port was judged.
        request = whole_run.Request(
            workloads, size, sources=self._sources, timeout_s=self._timeout_s, plans=plans, extras=extras,
            parity_only=parity_only, main_pass=main_pass, modes=MODES,
        )  # fmt: skip
        result = whole_run.run(request, Silent(), self._judges if parity_only else None)
        if result.interrupted:
            raise KeyboardInterrupt  # the whole session is meant, not this port
        return result.record

    def rounds(self, port: Port, size: str | None, mode: Mode) -> Callable[[], float]:
        """Load a port, make the mode ready, and give what times one round of it: seconds of a call, the median.

        Args:
          size: None takes the workload's size of the tour.

        Raises:
          SideError: the side failed at it; what is returned raises the same.
        """
        name, target = mode.side, mode.name

        def once() -> float:
            with self._side(name) as side:
                return statistics.median(requests.time_round(side, target, CALLS)[DROPPED:])

        if self._pool.renew(name, grown=self._loaded.get(name) != (port, size)):
            self._loaded.pop(name, None)
        with self._side(name) as side:
            if self._loaded.get(name) != (port, size):
                self._loaded.pop(name, None)
                requests.load(side, self._arrays(port, size))
                self._loaded[name] = (port, size)
            requests.prepare(side, target)
        return once

    @contextmanager
    def _side(self, name: str) -> Iterator[Side]:
        """The side; what it had loaded is forgotten where it is lost."""
        try:
            yield self._pool.get(name)
        except SideError as error:
            if error.lost:
                self._loaded.pop(name, None)
            raise

    def _arrays(self, port: Port, size: str | None) -> Loading:
        """Drawn once for all modes of a port. Those of the port before go: workers that mapped them still hold them."""
        if self._drawn is None or self._drawn[0] != (port, size):
            if self._drawn is not None:
                shutil.rmtree(self._drawn[1])
                self._drawn = None
            folder = Path(tempfile.mkdtemp(dir=self._scratch))
            at_size = prepare_both(port.workload(), size, None, folder)[1].on_pass(port.main_pass)
            self._drawn = (port, size), folder, at_size.loading
        return self._drawn[2]


def _check_names(names: Sequence[str]) -> None:
    twice = [name for name in names if names.count(name) > 1]
    if twice:
        raise RequestError(f"expected ports of different names in one run, found {twice[0]!r} twice: rename one")
