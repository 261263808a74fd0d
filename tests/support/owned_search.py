"""A search of options on a machine whose truth is known."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from owned_machines import Machine

from compare.bench.pairs import Measured
from compare.progress import Silent
from compare.tuning.candidate_options import Option, Options, flags_text
from compare.tuning.option_search import Refused, Search
from compare.tuning.screening import AGAIN, DEFAULT, Confirmed, Rules

RULES = Rules(screening=2, confirming=6)
FUSION = "xla_fusion"
WIDTH = "xla_width"
MATH = "xla_fast_math"
KNOWN = (Option(FUSION, ("", "REDUCE")), Option(WIDTH, (128, 512)), Option(MATH, (True,), changes_numbers=True))


class Owned:
    """A machine that the test owns: seconds by candidate, which are the same code, which are refused or wrong."""

    def __init__(
        self,
        seconds: Mapping[str, float],
        same: Mapping[str, str] | None = None,
        refused: Iterable[str] = (),
        wrong: Iterable[str] = (),
    ) -> None:
        self.machine = Machine(seconds)
        self.same, self.refused, self.wrong = same or {}, set(refused), set(wrong)
        self.raced: list[tuple[str, ...]] = []
        self.numbers: list[int] = []
        self.judged: list[str] = []

    def digest(self, options: Options) -> str:
        name = flags_text(options)
        if name in self.refused:
            raise Refused(f"No such compile option: '{next(iter(options))}'")
        return self.same.get(name, name) or DEFAULT

    def race(self, candidates: Mapping[str, Options], number: int) -> Measured[str]:
        assert all(flags_text(options) == name for name, options in candidates.items() if name not in (DEFAULT, AGAIN))
        self.raced.append(tuple(candidates))
        self.numbers.append(number)
        return self.machine(list(candidates), number)

    def judge(self, options: Options) -> str:
        self.judged.append(flags_text(options))
        return "rounding gate: too far" if flags_text(options) in self.wrong else ""


def searched(
    bench: Owned, known: Sequence[Option] = KNOWN, declared: Options | None = None, asked: bool = False
) -> tuple[Search, Confirmed | None]:
    found = Search(bench, RULES, Silent(), "my_port", known, asked)
    return found, found.run(declared or {})
