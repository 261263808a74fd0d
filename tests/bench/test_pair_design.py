"""The design: no arm gains by its place, a round is what it says, and a failing arm takes nobody with it."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import pairwise, permutations
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from compare.bench.pairs import Measured, Timer, measure, same_rounds, samples_of, spawn_order
from compare.bench.stats import ratio

NAMES = ("tf/eager", "tf/jit", "jax/eager", "jax/jit", "jax/donated", "tf/jit#2", "jax/jit#2", "tf@tf")


class ArmFailed(Exception):
    """What an arm of these tests raises when it cannot go on."""


@dataclass
class Machine:
    """A clock that arms move, and the order in which they ran."""

    now: int = 0
    ran: list[str] = field(default_factory=list)

    def clock(self) -> int:
        return self.now

    def arm(self, name: str, seconds: Callable[[int], float] = lambda _: 1.0) -> Timer:
        """An arm whose n-th call, counted from 0 over all rounds, takes `seconds(n)`."""
        calls = 0

        def round_(count: int) -> Sequence[float]:
            nonlocal calls
            self.ran.append(name)
            taken = [seconds(number) for number in range(calls, calls + count)]
            calls += count
            self.now += round(1e9 * sum(taken))
            return taken

        return Timer(name, round_)

    def rounds(self, count: int) -> list[list[str]]:
        """What ran, in rounds of `count` arms."""
        return [self.ran[start : start + count] for start in range(0, len(self.ran), count)]

    def measure(self, *arms: Timer, budget_s: float = 0.0, **options: Any) -> Measured:
        chosen = {"calls": 4, "warmup_calls": 1, "steady_s": math.inf, "long_s": math.inf} | options
        return measure(arms, budget_s=budget_s, seed=1, failing=ArmFailed, clock=self.clock, **chosen)


@pytest.mark.parametrize("seed", [0, 1])
@pytest.mark.parametrize("count", range(1, 9))
def test_each_name_starts_first_equally_often(count: int, seed: int) -> None:
    for cycle in range(4):
        first = [spawn_order(NAMES[:count], cycle * count + pair, seed)[0] for pair in range(count)]
        assert sorted(first) == sorted(NAMES[:count])


def precedences(orders: Sequence[tuple[str, ...]]) -> Counter[tuple[str, str]]:
    """How often each name came before each other name."""
    return Counter((a, b) for order in orders for a, b in permutations(order, 2) if order.index(a) < order.index(b))


@pytest.mark.parametrize("count", range(2, 9))
def test_within_one_cycle_no_name_is_always_before_another(count: int) -> None:
    orders = [spawn_order(NAMES[:count], pair, seed=0) for pair in range(count)]
    assert max(precedences(orders).values()) == (count + 1) // 2


@pytest.mark.parametrize("seed", [0, 1])
@pytest.mark.parametrize("count", range(2, 9))
def test_over_two_cycles_no_name_has_the_better_places(count: int, seed: int) -> None:
    orders = [spawn_order(NAMES[:count], pair, seed) for pair in range(2 * count)]
    places = Counter((name, order.index(name)) for order in orders for name in order)
    precedes = precedences(orders)
    assert set(places.values()) == {2} and len(places) == count**2
    assert set(precedes.values()) == {count} and len(precedes) == count * (count - 1)


def test_the_order_depends_on_the_seed_and_on_nothing_else() -> None:
    orders = {tuple(spawn_order(NAMES, pair, seed) for pair in range(4)) for seed in (0, 1, 2, 0, 1, 2)}
    assert len(orders) == 3


def test_a_round_is_the_median_of_the_calls_after_the_dropped_ones() -> None:
    def seconds(number: int) -> float:
        return (50.0, 3.0, 1.0, 8.0)[number % 4]

    machine = Machine()
    assert machine.measure(machine.arm("tf/jit", seconds)).medians == {"tf/jit": (3.0,) * 5}
    assert machine.measure(machine.arm("tf/jit", seconds), warmup_calls=0).medians == {"tf/jit": (5.5,) * 5}


def test_a_round_is_five_calls_of_which_two_are_dropped_unless_asked_otherwise() -> None:
    asked: list[int] = []

    def slow_at_first(calls: int) -> Sequence[float]:
        asked.append(calls)
        return [0.09, 0.09, *[0.01] * (calls - 2)]

    found = measure([Timer("tf/jit", slow_at_first)], budget_s=0, seed=0, failing=ArmFailed)
    assert asked == [3, 5, 5, 5, 5, 5] and found.medians["tf/jit"] == (0.01,) * 5


@pytest.mark.parametrize(("scale", "eager", "others"), [(1, 2, 3), (0.1, 2, 5), (0.004, 5, 5)])
def test_long_calls_are_made_less_often_once_that_is_known(scale: float, eager: int, others: int) -> None:
    asked: dict[str, list[int]] = {"tf/eager": [], "tf/jit": [], "jax/jit": []}

    def arm(name: str, seconds: float) -> Timer:
        def round_(calls: int) -> Sequence[float]:
            asked[name].append(calls)
            return [2 * seconds, *[seconds] * (calls - 1)]

        return Timer(name, round_)

    arms = [arm("tf/eager", 0.9 * scale), arm("tf/jit", 0.3 * scale), arm("jax/jit", 0.2 * scale)]
    found = measure(arms, budget_s=0, seed=0, failing=ArmFailed)
    # A ratio near 1 is never taken of arms that were measured in two ways.
    assert asked == {"tf/eager": [3, *[eager] * 5], "tf/jit": [3, *[others] * 5], "jax/jit": [3, *[others] * 5]}
    assert found.medians == {
        arm.name: (seconds * scale,) * 5 for arm, seconds in zip(arms, (0.9, 0.3, 0.2), strict=True)
    }


def test_no_arm_makes_more_calls_than_were_asked_for() -> None:
    asked: list[int] = []

    def round_(calls: int) -> Sequence[float]:
        asked.append(calls)
        return [0.3] * calls

    measure([Timer("jax/jit", round_)], budget_s=0, seed=0, failing=ArmFailed, calls=1, warmup_calls=0)
    assert set(asked) == {1}


def test_the_first_round_calibrates_and_is_not_kept() -> None:
    machine = Machine()
    measured = machine.measure(machine.arm("jax/jit", lambda number: 1000.0 if number < 4 else 1.0))
    assert measured.medians["jax/jit"] == (1.0,) * 5
    assert len(machine.ran) == 6


@pytest.mark.parametrize(
    ("budget_s", "kept"),
    [(0, 5), (60, 6), (101.9, 11), (1000, 100)],
    ids=["never fewer", "what fits", "what fits", "never more"],
)
def test_rounds_fill_the_budget_that_calibration_left(budget_s: float, kept: int) -> None:
    machine = Machine()
    measured = machine.measure(machine.arm("tf/jit"), machine.arm("jax/jit"), budget_s=budget_s)
    assert {len(medians) for medians in measured.medians.values()} == {kept}
    assert machine.now == 2 * (3 + 4 * kept) * 10**9


LONG, QUICK = 1.0, 0.001


def beside_a_long_one(machine: Machine, **options: Any) -> Measured:
    """Two quick arms and one whose call takes a thousand times as long, on a machine that slows down steadily."""

    def drifting(seconds: float) -> Callable[[int], float]:
        return lambda _: seconds * (1 + machine.now * 2e-10)

    arms = (machine.arm("tf/eager", drifting(LONG)), machine.arm("jax/jit", drifting(QUICK)))
    again = machine.arm("jax/jit#2", drifting(QUICK))
    return machine.measure(*arms, again, long_s=0.005, **options)


def test_a_long_call_sits_most_rounds_out_and_what_it_took_is_held_against_the_same_rounds() -> None:
    machine = Machine()
    measured = beside_a_long_one(machine, budget_s=10.0)
    assert {name: len(rounds) for name, rounds in measured.medians.items()} == {
        "tf/eager": 5, "jax/jit": 100, "jax/jit#2": 100,
    }  # fmt: skip
    long, quick = same_rounds(measured.medians["tf/eager"], measured.medians["jax/jit"])
    # In another round the machine would be slower or faster by more than that.
    assert [a / b for a, b in zip(long, quick, strict=True)] == pytest.approx([LONG / QUICK] * 5, rel=0.3)
    assert max(measured.medians["jax/jit"]) > 2 * min(measured.medians["jax/jit"])


def test_rounds_with_a_long_call_are_spread_evenly() -> None:
    machine = Machine()
    beside_a_long_one(machine, budget_s=10.0)
    places = [place for place, name in enumerate(machine.ran) if name == "tf/eager"][1:]
    apart = [after - before for before, after in pairwise(places)]
    assert len(apart) == 4 and max(apart) - min(apart) <= 4


def test_a_long_call_leaves_the_others_half_of_the_budget() -> None:
    machine = Machine()
    measured = beside_a_long_one(machine, budget_s=0.01 * 2 * 2 * 4, max_rounds=1000)
    assert len(measured.medians["jax/jit"]) > 5 == len(measured.medians["tf/eager"])


@given(
    seconds=st.lists(st.floats(1e-6, 10), min_size=1, max_size=8),
    budget_s=st.floats(0, 100),
    max_rounds=st.integers(5, 200),
)
def test_every_arm_takes_part_in_enough_rounds_and_none_in_too_many(
    seconds: list[float], budget_s: float, max_rounds: int
) -> None:
    machine = Machine()
    arms = [machine.arm(str(number), lambda _, taken=taken: taken) for number, taken in enumerate(seconds)]
    measured = machine.measure(*arms, budget_s=budget_s, max_rounds=max_rounds, long_s=0.005)
    rounds = [len(measured.medians[arm.name]) for arm in arms]
    assert all(5 <= count <= max_rounds for count in rounds) and len(set(rounds)) <= 2
    assert all(a <= b for a, b in zip(sorted(rounds), [rounds[place] for place in ordered(seconds)], strict=True))


def ordered(seconds: Sequence[float]) -> list[int]:
    """Places of the numbers, the largest first."""
    return sorted(range(len(seconds)), key=lambda place: -seconds[place])


@given(seconds=st.floats(1e-4, 1), apart=st.floats(1, 1.5), quickest=st.floats(1e-6, 1e-4))
def test_arms_that_are_nearly_as_fast_are_measured_in_one_way(seconds: float, apart: float, quickest: float) -> None:
    machine = Machine()
    arms = [
        machine.arm(name, lambda _, taken=taken: taken)
        for name, taken in (("tf/jit", seconds), ("tf/jit#2", seconds * apart), ("jax/jit", quickest))
    ]
    measured = machine.measure(*arms, budget_s=5.0, long_s=0.005)
    assert len(measured.medians["tf/jit"]) == len(measured.medians["tf/jit#2"])


def test_every_round_has_every_arm_once_in_balanced_order() -> None:
    machine = Machine()
    machine.measure(*(machine.arm(name) for name in NAMES[:4]), budget_s=1e9, max_rounds=16)
    rounds = machine.rounds(4)[1:]
    assert all(sorted(order) == sorted(NAMES[:4]) for order in rounds)
    assert set(Counter((name, order.index(name)) for order in rounds for name in order).values()) == {4}
    assert len({tuple(order) for order in rounds}) > 8


def test_a_drifting_machine_favours_no_arm_in_rounds_but_does_in_blocks() -> None:
    """Identical arms on a machine that slows down steadily: taken one after the other they seem to differ by far."""
    machine = Machine()

    def drifting(_: int) -> float:
        return 1.0 + machine.now * 1e-9 / 200

    arms = [machine.arm(name, drifting) for name in ("a", "b")]
    in_rounds = machine.measure(*arms, budget_s=1e9, max_rounds=20).medians
    in_blocks = [machine.measure(arm, budget_s=1e9, max_rounds=20).medians[arm.name] for arm in arms]
    assert ratio([in_rounds["a"]], [in_rounds["b"]]).ratio == pytest.approx(1, abs=0.01)
    assert ratio(in_blocks[:1], in_blocks[1:]).ratio < 0.8


@pytest.mark.parametrize("failing_call", [0, 4, 12], ids=["at once", "in the first kept round", "later"])
def test_a_failing_arm_is_reported_and_the_others_go_on(failing_call: int) -> None:
    def fails(number: int) -> float:
        if number >= failing_call:
            raise ArmFailed("the worker ended by signal SIGSEGV")
        return 1.0

    machine = Machine()
    measured = machine.measure(machine.arm("tf/jit", fails), machine.arm("jax/jit"))
    assert measured.medians == {"jax/jit": (1.0,) * 5}
    assert measured.failures == {"tf/jit": "the worker ended by signal SIGSEGV"}
    assert machine.ran.count("tf/jit") == failing_call // 4 + 1


def test_when_every_arm_fails_only_the_failures_are_left() -> None:
    def fails(_: int) -> Sequence[float]:
        raise ArmFailed("gone")

    assert Machine().measure(Timer("a", fails), Timer("b", fails)) == Measured({}, {"a": "gone", "b": "gone"})


def test_no_arms_give_no_times() -> None:
    assert spawn_order([], 0, seed=0) == ()
    assert Machine().measure() == Measured({}, {})


def test_a_defect_is_not_taken_for_a_failing_arm() -> None:
    def defect(_: int) -> Sequence[float]:
        raise KeyError("tf/jit")

    with pytest.raises(KeyError):
        Machine().measure(Timer("tf/jit", defect))


def test_an_arm_that_times_other_calls_than_asked_for_is_refused() -> None:
    with pytest.raises(ValueError, match="expected 3 times from tf/jit, found 2"):
        Machine().measure(Timer("tf/jit", lambda _: [1.0, 1.0]))


@pytest.mark.parametrize("warmup_calls", [4, -1])
def test_a_round_must_keep_a_call(warmup_calls: int) -> None:
    with pytest.raises(ValueError, match="fewer than the 4 calls"):
        Machine().measure(Machine().arm("tf/jit"), warmup_calls=warmup_calls)


def test_two_arms_of_one_name_are_refused() -> None:
    with pytest.raises(ValueError, match="different names"):
        Machine().measure(Machine().arm("tf/jit"), Machine().arm("tf/jit"))


def test_an_arm_that_failed_in_one_pair_keeps_its_place_in_the_others() -> None:
    pairs = [
        Measured({"tf/jit": (1.0, 1.1), "jax/jit": (2.0, 2.1)}, {}),
        Measured({"jax/jit": (3.0,)}, {"tf/jit": "gone"}),
        Measured({"tf/jit": (4.0,), "jax/jit": (5.0,)}, {}),
    ]
    assert samples_of(pairs) == {"tf/jit": ((1.0, 1.1), (), (4.0,)), "jax/jit": ((2.0, 2.1), (3.0,), (5.0,))}
