"""Shows the progress of a run: a bar in a terminal, plain lines elsewhere, nothing for scripts."""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from types import TracebackType
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn
from rich.text import Text

Steps = int | Mapping[str, float]
"""The number of steps of a stage, or by step how long it takes, relative to the others."""


class Reporter(ABC):
    """Receives stages (the parity of a workload, a pair of processes) and the steps inside them."""

    @abstractmethod
    def stage(self, text: str, steps: Steps) -> None:
        """A new stage begins."""

    @abstractmethod
    def step(self, text: str) -> None:
        """One step of the stage begins."""

    @abstractmethod
    def detail(self, text: str) -> None:
        """The progress of the current step."""

    @abstractmethod
    def result(self, text: str) -> None:
        """A result that a reader waits for."""

    def __enter__(self) -> Reporter:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        return None


class Silent(Reporter):
    """Prints nothing: for --json and for callers of the library."""

    def stage(self, text: str, steps: Steps) -> None:
        """Nothing."""

    def step(self, text: str) -> None:
        """Nothing."""

    def detail(self, text: str) -> None:
        """Nothing."""

    def result(self, text: str) -> None:
        """Nothing."""


QUIET_S = 10
"""A log is silent for so long before the next step is a line of its own."""
ESTIMATE_S = 30
"""The time left of a stage is estimated after so long: start-up is no measure of what follows."""


class Position:
    """Where a stage is: the number of its step, and how long it takes to the end.

    Args:
      start: seconds on the clock when it began.
    """

    def __init__(self, steps: Steps, start: float) -> None:
        self._shares = {} if isinstance(steps, int) else steps
        self._count = steps if isinstance(steps, int) else len(steps)
        self._start = self._end = start
        self.number = 0
        """The number of the current step, from 1; 0 before the first."""

    @property
    def count(self) -> int:
        """How many steps there are."""
        return max(self._count, self.number)

    def begin_step(self, text: str, now: float) -> None:
        """Note that a step begins. Planned steps may be left out; one that is not planned is part of the step before.

        Args:
          now: seconds on the clock.
        """
        names = list(self._shares)
        if not names:
            self.number += 1
        elif text in names:
            self.number = names.index(text) + 1
            share_before = sum(self._shares[name] for name in names[: self.number - 1])
            seconds = (now - self._start) * sum(self._shares.values()) / share_before if share_before else 0.0
            self._end = self._start + seconds

    def describe_rest(self, now: float) -> str:
        """How long it takes to the end; empty where nothing can be estimated, or the estimate is over.

        Args:
          now: seconds on the clock.
        """
        is_early, is_late = now - self._start < ESTIMATE_S, self._end <= now
        return "" if is_early or is_late else f"about {_in_words(self._end - now)} to the end"


class Lines(Reporter):
    """Prints a line for each stage, with the seconds since the start, and the steps of long stages: for logs."""

    def __init__(self, console: Console, clock: Callable[[], float] = time.monotonic) -> None:
        self._console, self._clock = console, clock
        self._start = self._last = clock()
        self._stage, self._position = "", Position(0, self._start)

    def stage(self, text: str, steps: Steps) -> None:
        """Print the stage."""
        self._stage = text
        self.result(text)
        self._position = Position(steps, self._last)

    def step(self, text: str) -> None:
        """Print it if nothing was printed for `QUIET_S`: all steps would flood a log."""
        self._position.begin_step(text, self._clock())
        self.detail(text)

    def detail(self, text: str) -> None:
        """Print it, with the step that it is part of, if nothing was printed for `QUIET_S`."""
        if (now := self._clock()) - self._last < QUIET_S:
            return
        position, rest = self._position, self._position.describe_rest(now)
        number = f", step {position.number} of {position.count}" if position.number else ""
        self.result(f"{self._stage}: {text}{number}{f' ({rest})' if rest else ''}")

    def result(self, text: str) -> None:
        """Print it as a stage is."""
        self._last = self._clock()
        self._console.print(Text(f"[{self._last - self._start:6.1f} s] {text}"), soft_wrap=True)


class Bars(Reporter):
    """Shows a bar for the current stage; finished stages stay above it."""

    def __init__(self, console: Console, **how: Any) -> None:
        self._progress = Progress(
            SpinnerColumn(),
            TextColumn("{task.description}", markup=False),
            BarColumn(bar_width=30),
            TimeElapsedColumn(),
            TextColumn("{task.fields[left]}"),
            TextColumn("{task.fields[doing]}", style="dim", markup=False),
            console=console,
            **how,
        )
        self._task = None
        self._position = Position(0, 0.0)

    def __enter__(self) -> Bars:
        self._progress.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._finish()
        self._progress.stop()

    def stage(self, text: str, steps: Steps) -> None:
        """Finish the bar before, start one."""
        self._finish()
        self._position = Position(steps, time.monotonic())
        self._task = self._progress.add_task(text, total=self._position.count, doing="", left="")
        self._progress.refresh()

    def step(self, text: str) -> None:
        """Advance the bar."""
        self._position.begin_step(text, time.monotonic())
        self.detail(text)

    def detail(self, text: str) -> None:
        """Show it beside the bar."""
        if self._task is not None:
            rest = self._position.describe_rest(time.monotonic())
            self._progress.update(self._task, completed=self._position.number, doing=text, left=rest, refresh=True)

    def result(self, text: str) -> None:
        """Print it above the bar."""
        self._progress.console.print(Text(text), soft_wrap=True)

    def _finish(self) -> None:
        if self._task is not None:
            task = self._progress.tasks[self._task]
            self._progress.update(self._task, completed=task.total, doing="", left="")


class Countdown:
    """Shows how many of equal parts of a step are done, and how long the others will take.

    Args:
      total: how many parts there are.
    """

    def __init__(self, reporter: Reporter, text: str, total: int, clock: Callable[[], float] = time.monotonic) -> None:
        self._reporter, self._text, self._total, self._clock = reporter, text, total, clock
        self._start = clock()

    def show(self, count: int) -> None:
        """Show the number of finished parts.

        Args:
          count: how many parts are done.
        """
        seconds = self._clock() - self._start
        rest = f", about {_in_words(seconds / count * (self._total - count))} left" if count else ""
        self._reporter.detail(f"{self._text}, {count} of {self._total}{rest}")


def _in_words(seconds: float) -> str:
    return f"{seconds:.0f} s" if seconds < 100 else f"{seconds / 60:.0f} min"


def reporter(console: Console, quiet: bool) -> Reporter:
    """The reporter for this output."""
    if quiet:
        return Silent()
    return Bars(console) if console.is_terminal else Lines(console)
