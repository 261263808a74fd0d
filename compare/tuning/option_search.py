"""A search for compiler options: which change the program, which are faster, which of those is still the same port."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from compare.bench.pairs import Measured
from compare.errors import RequestError
from compare.progress import Reporter
from compare.tuning.candidate_options import Option, Options, flags_text, loose, singles, together
from compare.tuning.screening import DEFAULT, Confirmed, Rules, Screening, Standing, confirm

PROMISING = 0.98
"""The largest ratio of an option alone that is tried together with others."""

SIMPLER = 0.01
"""How much faster a candidate must be for each additional option, or option that allows other results."""

SAME, REFUSED, DROPPED, SLOWER, TIMED, FAILS, WINNER = (
    *("same code", "rejected by the compiler", "dropped", "not faster", "faster when screened"),
    *("parity fails", "confirmed"),
)
"""The outcomes of a candidate."""


class Refused(Exception):
    """The compiler does not take an option; the message says which, and why."""


class PortFails(Exception):
    """The port itself is not the original: there is nothing to tune. The message is the first gate's."""


class Bench(Protocol):
    """The operations of the machine that a search needs."""

    def digest(self, options: Options) -> str:
        """A digest of the compiled code; empty if unknown.

        Raises:
          Refused: the compiler does not take these options.
        """
        ...

    def race(self, candidates: Mapping[str, Options], number: int) -> Measured[str]:
        """The times of sets of options by name, in the set of fresh processes of that number."""
        ...

    def judge(self, options: Options) -> str:
        """Why results with these options are not the original's, in one line; empty where every gate passes.

        Raises:
          PortFails: the port itself is not the original.
        """
        ...


@dataclass(frozen=True)
class Row:
    """One candidate: its time over the default's when screened, in how many sets, and its outcome."""

    name: str
    options: Options
    outcome: str
    reason: str = ""
    ratio: float | None = None
    sets: int = 0
    changes_numbers: bool = False


@dataclass
class Search:
    """The candidates of one program, and what is known of each.

    `known` are the options that are tried. Where they are `asked` for by name, one that the compiler
    rejects is an error.
    """

    bench: Bench
    rules: Rules
    reporter: Reporter
    name: str
    known: Sequence[Option] = ()
    asked: bool = False
    candidates: dict[str, Options] = field(default_factory=dict)
    """By name, those that make another program; filled before they are raced."""
    rows: dict[str, Row] = field(default_factory=dict)
    _digests: dict[str, str] = field(default_factory=dict)

    def run(self, port_options: Options) -> Confirmed | None:
        """The fastest candidate that every gate passes, confirmed in processes of its own.

        The first that is not confirmed as faster ends the search and is returned as measured, unjudged. None where no
        candidate led the screening, or where every one that was confirmed fails a gate.
        """
        first = singles(self.known) | ({flags_text(port_options): port_options} if port_options else {})
        screening = Screening(self.rules)
        self._screen(screening, self._compile(first), "one option at a time")
        best = [self.candidates[leader.name] for leader in screening.leaders() if (leader.ratio or 1) < PROMISING]
        more = self._compile(together(best))
        if more:
            self._screen(screening, [flags_text(best[0]), *more], "the best together")
        return self._first_that_holds(screening)

    def _compile(self, candidates: Mapping[str, Options]) -> list[str]:
        """The names of candidates that compile to a program of their own; the outcome of the others is noted."""
        new = {name: options for name, options in candidates.items() if name not in self.rows}
        if not new:
            return []
        self.reporter.stage(f"{self.name}: compiling with {len(new)} sets of options", len(new) + 1)
        if DEFAULT not in self._digests:
            self.reporter.step(DEFAULT)
            self._digests[DEFAULT] = self.bench.digest({})
        names = []
        for name, options in new.items():
            self.reporter.step(name)
            try:
                digest = self.bench.digest(options)
            except Refused as refusal:
                if self.asked:
                    raise RequestError(
                        f"expected --option with what this XLA takes, found {refusal}: correct or leave it out"
                    ) from refusal
                self._note(name, options, REFUSED, str(refusal))
                continue
            twin = next((other for other, seen_digest in self._digests.items() if digest and seen_digest == digest), "")
            if twin:
                self._note(name, options, SAME, f"as {'the default' if twin == DEFAULT else twin}")
                continue
            self._digests[name], self.candidates[name] = digest, options
            names.append(name)
        return names

    def _screen(self, screening: Screening, names: Sequence[str], what: str) -> None:
        if not names:
            return
        self.reporter.stage(f"{self.name}: screening {what}", self.rules.screening)
        screening.run(names, self._race, self.reporter.step)
        for name, standing in screening.standings.items():
            outcome = DROPPED if standing.dropped else TIMED if standing in screening.leaders() else SLOWER
            self._note(name, self.candidates[name], outcome, standing.dropped, standing)

    def _race(self, names: Sequence[str], number: int) -> Measured[str]:
        return self.bench.race({name: self.candidates.get(name, {}) for name in names}, number)

    def _first_that_holds(self, screening: Screening) -> Confirmed | None:
        """Confirmed before it is judged: that takes fresh processes for a minute or two, and every gate many."""
        first = screening.sets
        for leader in sorted(screening.leaders(), key=self._rank):
            options = self.candidates[leader.name]
            self.reporter.stage(f"{self.name}: confirming {leader.name}", self.rules.confirming)
            confirmation = confirm(leader.name, self._race, self.rules, first, self.reporter.step)
            first += self.rules.confirming
            if not confirmation.faster:
                why = confirmation.ratio.withheld or f"confirmed as {confirmation.ratio.verdict}"
                self._note(leader.name, options, SLOWER, why, leader)
                return confirmation
            self.reporter.stage(f"{self.name}: parity with {leader.name}", 1)
            self.reporter.step("gates")
            wrong = self.bench.judge(options)
            self._note(leader.name, options, FAILS if wrong else WINNER, wrong, leader)
            if not wrong:
                return confirmation
        return None

    def _rank(self, standing: Standing) -> float:
        """The rank of a candidate: of two equally fast ones, the one with fewer options wins."""
        options = self.candidates[standing.name]
        complexity = len(options) + loose(options, self.known)
        return (standing.ratio or 1.0) * (1 + SIMPLER) ** complexity

    def _note(self, name: str, options: Options, outcome: str, reason: str, standing: Standing | None = None) -> None:
        ratio, sets = (standing.ratio, standing.pairs) if standing else (None, 0)
        self.rows[name] = Row(name, options, outcome, reason, ratio, sets, loose(options, self.known))
