"""The search: what is tried, what is left out and why, who wins, on a machine that the test owns."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import pytest
from test_screening import Machine

from compare.bench.pairs import Measured
from compare.errors import RequestError
from compare.progress import Silent
from compare.tuning import candidate_options, option_search
from compare.tuning.candidate_options import Option, Options, named
from compare.tuning.option_search import PortFails, Refused, Search
from compare.tuning.screening import AGAIN, DEFAULT, Confirmed, Rules

RULES = Rules(screening=2, confirming=6)
FUSION, WIDTH, MATH = "xla_fusion", "xla_width", "xla_fast_math"
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
        name = named(options)
        if name in self.refused:
            raise Refused(f"No such compile option: '{next(iter(options))}'")
        return self.same.get(name, name) or DEFAULT

    def race(self, candidates: Mapping[str, Options], number: int) -> Measured[str]:
        assert all(named(options) == name for name, options in candidates.items() if name not in (DEFAULT, AGAIN))
        self.raced.append(tuple(candidates))
        self.numbers.append(number)
        return self.machine(list(candidates), number)

    def judge(self, options: Options) -> str:
        self.judged.append(named(options))
        return "rounding gate: too far" if named(options) in self.wrong else ""


def searched(
    bench: Owned, known: Sequence[Option] = KNOWN, declared: Options | None = None, asked: bool = False
) -> tuple[Search, Confirmed | None]:
    found = Search(bench, RULES, Silent(), "my_port", known, asked)
    return found, found.run(declared or {})


def outcomes(found: Search) -> dict[str, str]:
    return {name: row.outcome for name, row in found.rows.items()}


# Who wins


def test_the_fastest_that_holds_wins_and_is_confirmed_in_processes_of_its_own() -> None:
    bench = Owned({"xla_fusion=": 0.8, "xla_width=128": 1.5})
    found, winner = searched(bench)
    assert winner is not None and winner.faster and winner.name == "xla_fusion="
    assert bench.judged == ["xla_fusion="]
    assert bench.raced[-RULES.confirming :] == [(DEFAULT, AGAIN, "xla_fusion=")] * RULES.confirming
    assert not any(AGAIN in each for each in bench.raced[: -RULES.confirming])
    assert outcomes(found)["xla_fusion="] == option_search.WINNER
    assert outcomes(found)["xla_width=128"] == option_search.DROPPED


def test_what_is_good_alone_is_tried_together() -> None:
    both = "xla_fusion= xla_width=512"
    found, winner = searched(Owned({"xla_fusion=": 0.8, "xla_width=512": 0.9, both: 0.7}))
    assert winner is not None and winner.name == both
    assert found.candidates[both] == {FUSION: "", WIDTH: 512}


def test_of_two_that_are_equally_fast_the_one_that_asks_for_less_wins() -> None:
    _, winner = searched(Owned({"xla_fusion=": 0.8, "xla_width=512": 0.95, "xla_fusion= xla_width=512": 0.799}))
    assert winner is not None and winner.name == "xla_fusion="
    _, winner = searched(Owned({"xla_fusion=": 0.8, "xla_fast_math=true": 0.799}))
    assert winner is not None and winner.name == "xla_fusion="


def test_what_fails_a_gate_is_passed_over_and_says_where() -> None:
    bench = Owned({"xla_fast_math=true": 0.5, "xla_fusion=": 0.6}, wrong=["xla_fast_math=true"])
    bench.machine.seconds = {**bench.machine.seconds, "xla_fast_math=true xla_fusion=": 0.95}
    found, winner = searched(bench)
    assert winner is not None and winner.name == "xla_fusion="
    row = found.rows["xla_fast_math=true"]
    assert (row.outcome, row.reason, row.changes_numbers) == (option_search.FAILS, "rounding gate: too far", True)
    # The next one is confirmed in sets of processes of its own.
    assert len(set(bench.numbers)) == len(bench.numbers)


def test_where_nothing_is_faster_nothing_is_judged() -> None:
    bench = Owned({name: 1.04 for name in candidate_options.singles(KNOWN)})
    found, winner = searched(bench)
    assert winner is None
    assert bench.judged == []
    assert set(outcomes(found).values()) == {option_search.SLOWER}


def test_luck_is_not_called_faster() -> None:
    bench = Owned({})
    bench.machine.noise = 0.05
    found, winner = searched(bench)
    assert winner is None or not winner.faster
    assert option_search.WINNER not in outcomes(found).values()


def test_what_is_not_confirmed_is_not_judged_and_nothing_behind_it_is_tried() -> None:
    bench = Owned({"xla_fusion=": 0.8, "xla_width=512": 0.9, AGAIN: 1.3})
    found, winner = searched(bench)
    assert winner is not None and not winner.faster
    assert bench.judged == []
    assert sum(AGAIN in each for each in bench.raced) == RULES.confirming
    assert found.rows[winner.name].outcome == option_search.SLOWER


def test_a_port_that_is_not_the_original_is_not_tuned() -> None:
    bench = Owned({"xla_fusion=": 0.8})

    def fails(options: Options) -> str:
        raise PortFails("semantics gate: jax 2, tf 1")

    bench.judge = fails
    with pytest.raises(PortFails):
        searched(bench)


# What is left out


def test_what_compiles_to_the_same_code_is_not_raced() -> None:
    bench = Owned({"xla_fusion=": 0.8}, same={"xla_width=128": "", "xla_fusion=REDUCE": "xla_fusion="})
    found, _ = searched(bench)
    assert outcomes(found)["xla_width=128"] == outcomes(found)["xla_fusion=REDUCE"] == option_search.SAME
    assert found.rows["xla_width=128"].reason == "as the default"
    assert found.rows["xla_fusion=REDUCE"].reason == "as xla_fusion="
    assert not any({"xla_width=128", "xla_fusion=REDUCE"} & set(each) for each in bench.raced)


def test_where_code_cannot_be_told_apart_everything_is_raced() -> None:
    bench = Owned({})
    bench.digest = lambda options: ""
    found, _ = searched(bench)
    assert option_search.SAME not in outcomes(found).values()
    assert set(bench.raced[0]) == {DEFAULT, *candidate_options.singles(KNOWN)}


def test_what_xla_does_not_take_is_left_out_unless_it_was_asked_for() -> None:
    bench = Owned({}, refused=["xla_width=128", "xla_width=512"])
    found, _ = searched(bench)
    row = found.rows["xla_width=128"]
    assert (row.outcome, row.reason) == (option_search.REFUSED, "No such compile option: 'xla_width'")
    with pytest.raises(RequestError, match="expected --option with what this XLA takes, found No such compile option"):
        searched(bench, asked=True)


def test_what_the_port_declares_is_a_candidate() -> None:
    bench = Owned({"xla_fusion=REDUCE xla_width=64": 0.6})
    _, winner = searched(bench, declared={FUSION: "REDUCE", WIDTH: 64})
    assert winner is not None and winner.name == "xla_fusion=REDUCE xla_width=64"
