"""The search for faster options, on machines whose truth is known: what is dropped, chosen, confirmed, withheld."""

from __future__ import annotations

import pytest
from owned_machines import Machine

from compare.bench.stats import EQUIVALENT, FASTER, INCONCLUSIVE, SLOWER
from compare.tuning.screening import AGAIN, DEFAULT, Confirmed, Rules, Screening, confirm

RULES = Rules(screening=3, confirming=8)


def screened(machine: Machine, *names: str) -> Screening:
    found = Screening(RULES)
    found.run(names, machine)
    return found


def confirmed(machine: Machine, name: str = "fast") -> Confirmed:
    return confirm(name, machine, RULES, first=3)


def test_candidates_are_ranked_by_their_time_and_slower_ones_are_no_leaders() -> None:
    found = screened(Machine({"fast": 0.9, "faster": 0.85, "slow": 1.05}), "fast", "slow", "faster")
    assert [each.name for each in found.leaders()] == ["faster", "fast"]
    assert found.standings["faster"].ratio == pytest.approx(0.85, rel=0.02)
    assert {each.pairs for each in (found.standings["faster"], found.standings["fast"])} == {3}


def test_what_is_hopeless_is_not_timed_again_and_says_why() -> None:
    machine = Machine({"fast": 0.5, "middling": 0.8, "slow": 2.0})
    found = screened(machine, "fast", "middling", "slow")
    kept = (DEFAULT, "fast", "middling")
    assert machine.raced == [(0, (*kept, "slow")), (1, kept), (2, kept)]
    assert found.standings["slow"].pairs == 1
    assert found.standings["slow"].dropped.endswith(" % slower than the default")
    assert [each.name for each in found.leaders()] == ["fast", "middling"]


def test_identical_code_is_never_hopeless() -> None:
    found = screened(Machine({}, noise=0.03), "same", "also the same")
    assert [each.dropped for each in found.standings.values()] == ["", ""]


def test_where_nothing_is_left_no_further_processes_start() -> None:
    machine = Machine({"slow": 2.0})
    assert screened(machine, "slow").leaders() == []
    assert len(machine.raced) == 1


def test_a_candidate_that_fails_is_left_out_with_its_reason() -> None:
    found = screened(Machine({"fast": 0.8}, failing="broken"), "broken", "fast")
    assert found.standings["broken"].dropped == "out of memory"
    assert [each.name for each in found.leaders()] == ["fast"]


def test_a_second_screening_goes_on_counting_sets_and_keeps_what_is_known() -> None:
    machine = Machine({"fast": 0.8, "both": 0.7, "slow": 1.5})
    found = screened(machine, "fast", "slow")
    found.run(["fast", "both"], machine)
    assert [number for number, _ in machine.raced] == [0, 1, 2, 3, 4, 5]
    assert [each.name for each in found.leaders()] == ["both", "fast"]
    assert (found.standings["fast"].pairs, found.standings["both"].pairs) == (6, 3)


@pytest.mark.parametrize(("seconds", "verdict"), [(0.8, FASTER), (1.0, EQUIVALENT), (1.3, SLOWER), (0.97, EQUIVALENT)])
def test_the_winner_is_stated_by_the_statistics_of_every_ratio(seconds: float, verdict: str) -> None:
    found = confirmed(Machine({"fast": seconds}))
    assert found.ratio.verdict == verdict
    assert found.faster == (verdict == FASTER)
    assert found.ratio.ratio == pytest.approx(seconds, rel=0.02)
    assert found.ratio.ci95 is not None and found.ratio.ci95[0] < seconds < found.ratio.ci95[1]
    assert found.ratio.pairs == RULES.confirming
    assert found.null.verdict == EQUIVALENT


def test_what_chose_the_winner_has_no_part_in_its_ratio() -> None:
    """Twenty candidates of identical code: the luckiest leads the screening, and the confirmation says so."""
    machine = Machine({}, noise=0.05)
    names = [f"candidate {number}" for number in range(20)]
    screening = screened(machine, *names)
    leader = screening.leaders()[0]
    assert leader.ratio is not None and leader.ratio < 0.995
    found = confirm(leader.name, machine, RULES, screening.sets)
    assert not found.faster
    assert {number for number, _ in machine.raced} == set(range(3 + RULES.confirming))


def test_where_the_default_does_not_come_out_as_itself_nothing_is_stated() -> None:
    found = confirmed(Machine({"fast": 0.5, AGAIN: 1.2}))
    assert not found.faster
    assert found.ratio.ratio is None
    assert found.ratio.withheld.startswith("A/A check failed: default against a second copy of itself gives 1.2")


def test_a_winner_that_fails_in_the_end_is_not_faster() -> None:
    found = confirmed(Machine({"fast": 0.5}, failing="fast"))
    assert not found.faster
    assert found.ratio.verdict == INCONCLUSIVE and "did not both run" in found.ratio.withheld
    assert "fast" not in found.seconds


def test_fewer_sets_than_intervals_need_call_nothing_faster() -> None:
    found = confirm("fast", Machine({"fast": 0.5}), Rules(confirming=2), first=0)
    assert found.ratio.ratio == pytest.approx(0.5, rel=0.05)
    assert not found.faster
