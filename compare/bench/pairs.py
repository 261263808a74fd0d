"""The design of the experiment: who starts first, who runs when, and how often."""

from __future__ import annotations

import itertools
import math
import random
import statistics
import time
from collections.abc import Callable, Collection, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

from compare.bench.clock import NANOSECONDS, Clock

Name = TypeVar("Name", bound=Hashable)
"""The name of an arm: `workloads.core.modes.Arm`, or the name of a candidate."""

CALLS, DROPPED = 5, 2
"""Calls of a round, and how many of them are dropped: the first find the caches as another arm left them."""

STEADY_S = 0.05
STEADY_CALLS, STEADY_DROPPED = 3, 1
"""Of every arm, where even the quickest arm's call takes longer than that: one call is then enough to fill the caches,
and arms that are nearly as fast as one another are measured in one way."""

LONG_S, LONG_FACTOR = 0.005, 4
LONG_CALLS, LONG_DROPPED = 2, 1
"""Of an arm whose call takes longer than that and so many times as long as the quickest arm's. Its ratio is far from 1
however it is taken, while its calls would take most of the time: it makes few, and sits most rounds out."""

GAP = 1.5
"""How many times as long as the next quicker arm's the call of the quickest such arm takes: arms that are nearly as
fast as one another, identical code above all, are measured in one way."""

LEAST_ROUNDS, MOST_ROUNDS = 5, 100


@dataclass(frozen=True)
class Timer(Generic[Name]):
    """Times one arm: `round(calls)` gives the seconds of that many consecutive calls."""

    name: Name
    round: Callable[[int], Sequence[float]]


@dataclass(frozen=True)
class Measured(Generic[Name]):
    """The results of one pair of processes. An arm that failed is only in `failures`, with the reason.

    `medians` holds one value for each round, in seconds; values at one index are of one round. Rounds in which
    every arm ran come first: an arm that sits rounds out has no others.
    """

    medians: Mapping[Name, tuple[float, ...]]
    failures: Mapping[Name, str]


def spawn_order(names: Sequence[str], pair: int, seed: int) -> tuple[str, ...]:
    """The order in which pair number `pair`, counted from 0, starts its processes.

    In n consecutive pairs from a multiple of n, each of n names comes first once and precedes each
    other name as often as it follows it, n being even. In 2n, that holds for any n, and each name
    takes every place twice. A process that starts first tends to be slower: unbalanced, that reads as
    a difference between the arms.

    Args:
      pair: its number, counted from 0.
    """
    return _balance(names, pair, f"spawn {seed}")


def measure(
    arms: Sequence[Timer[Name]],
    *,
    budget_s: float,
    seed: int,
    failing: type[Exception],
    min_rounds: int = LEAST_ROUNDS,
    max_rounds: int = MOST_ROUNDS,
    calls: int = CALLS,
    warmup_calls: int = DROPPED,
    steady_s: float = STEADY_S,
    long_s: float = LONG_S,
    clock: Clock = time.perf_counter_ns,
) -> Measured[Name]:
    """Rounds of arms in balanced, shuffled order: one median an arm and round.

    An arm's round is `calls` calls; the first `warmup_calls` find the caches as another arm left them and
    go. The first round of all calibrates and goes too: where every arm's calls take longer than `steady_s`
    all make fewer from then on. Those whose calls take longer than `long_s`, and much longer than the
    quickest arm's, make the fewest and take part in some of the rounds only, spread evenly over all. How many rounds
    follow depends on what is left of `budget_s`, within `min_rounds` and `max_rounds`. Give every pair a seed of its
    own: an order is balanced over 2n rounds of n arms, and what is left over must not repeat from pair to pair.

    Args:
      budget_s: seconds that all rounds may take together, the first one included. Rounds without the longest calls
        have half of it, whatever those took.
      failing: what an arm raises when it cannot go on; it is then left out and reported. Anything
        else is a defect and goes through.
      warmup_calls: of these, the first, which are not counted.
      steady_s: seconds of every arm's call beyond which fewer calls are enough.
      long_s: seconds of an arm's call beyond which the fewest are.

    Raises:
      ValueError: two arms of one name, a round of nothing but warmup calls, or an arm that gave
        another number of times than it was asked for.
    """
    arms_by_name = _by_name(arms)
    if not 0 <= warmup_calls < calls:
        raise ValueError(f"expected to drop fewer than the {calls} calls of a round, found {warmup_calls} dropped")
    failures: dict[Name, str] = {}

    def run(order: Sequence[Name], plans: Mapping[Name, _Calls]) -> dict[Name, float]:
        return _round([arms_by_name[name] for name in order if name not in failures], plans, failing, failures)

    fewer = _Calls(min(calls, STEADY_CALLS), min(warmup_calls, STEADY_DROPPED))
    start = clock()
    first = run(_balance(list(arms_by_name), 0, f"rounds {seed}"), dict.fromkeys(arms_by_name, fewer))
    spent_s = (clock() - start) * NANOSECONDS
    long = _long(first, long_s)
    plans = _plans(first, long, fewer if min(first.values(), default=0.0) > steady_s else _Calls(calls, warmup_calls))
    beside_s = max(0.0, spent_s - fewer.made * sum(first.values())) / max(1, len(first))
    costs = {name: plans[name].made * seconds + beside_s for name, seconds in first.items()}
    design = _design(costs, long, budget_s, budget_s - spent_s, min_rounds, max_rounds)
    rounds_of_turns = [run(order, plans) for order in _orders(list(arms_by_name), long, design, seed)]
    usable = [
        medians
        for kind in (True, False)
        for whole, medians in zip(design, rounds_of_turns, strict=True)
        if whole == kind
    ]
    working = [name for name in arms_by_name if name not in failures]
    return Measured({name: tuple(medians[name] for medians in usable if name in medians) for name in working}, failures)


def _by_name(arms: Sequence[Timer[Name]]) -> dict[Name, Timer[Name]]:
    arms_by_name = {arm.name: arm for arm in arms}
    if len(arms_by_name) < len(arms):
        raise ValueError(f"expected arms of different names, found {[str(arm.name) for arm in arms]}")
    return arms_by_name


def same_rounds(a: Sequence[float], b: Sequence[float]) -> tuple[Sequence[float], Sequence[float]]:
    """The times of two arms in the rounds of one pair that have both."""
    both = min(len(a), len(b))
    return a[:both], b[:both]


@dataclass(frozen=True)
class _Calls:
    """The calls of one arm in one round, and how many of them are dropped."""

    made: int
    dropped: int


def _long(seconds: Mapping[Name, float], long_s: float) -> frozenset[Name]:
    """The arms whose calls take so much longer than the others' that they take part in some rounds only."""
    rising = sorted(seconds, key=lambda name: seconds[name])
    least = max(long_s, LONG_FACTOR * seconds[rising[0]]) if rising else 0.0
    for place in range(1, len(rising)):
        if seconds[rising[place]] > max(least, GAP * seconds[rising[place - 1]]):
            return frozenset(rising[place:])
    return frozenset()


def _plans(seconds: Mapping[Name, float], long: Collection[Name], usual: _Calls) -> dict[Name, _Calls]:
    fewest = _Calls(min(usual.made, LONG_CALLS), min(usual.dropped, LONG_DROPPED))
    return {name: fewest if name in long else usual for name in seconds}


def _design(
    costs: Mapping[Name, float], long: Collection[Name], budget_s: float, left_s: float, least: int, most: int
) -> list[bool]:
    """Round by round, whether every arm takes part, or all but the long ones.

    Args:
      costs: seconds that each arm takes of a round.
      long: arms that need not take part in every round.
      budget_s: seconds that all rounds may take together.
    """
    whole_s = sum(costs.values())
    if not long:
        return [True] * _fitting(left_s, whole_s, least, most)
    whole = _fitting(left_s / 2, whole_s, least, most)
    quick_s = sum(cost for name, cost in costs.items() if name not in long)
    total = whole + _fitting(max(left_s - whole * whole_s, budget_s / 2), quick_s, 0, most - whole)
    return [turn * whole // total < (turn + 1) * whole // total for turn in range(total)]


def samples_of(pairs: Sequence[Measured[Name]]) -> dict[Name, tuple[tuple[float, ...], ...]]:
    """Round medians by arm, then pair; an arm that a pair lacks is empty there, so that places agree."""
    names = dict.fromkeys(name for pair in pairs for name in pair.medians)
    return {name: tuple(pair.medians.get(name, ()) for pair in pairs) for name in names}


def _orders(
    names: Sequence[Name], long: Collection[Name], design: Sequence[bool], seed: int
) -> Iterator[Sequence[Name]]:
    """The order of the arms in each round; rounds of either kind are balanced among themselves."""
    quick = [name for name in names if name not in long]
    turns = {True: itertools.count(), False: itertools.count()}
    for whole in design:
        yield _balance(names if whole else quick, next(turns[whole]), f"rounds {seed}")


def _round(
    order: Sequence[Timer[Name]],
    plans: Mapping[Name, _Calls],
    failing: type[Exception],
    failures: dict[Name, str],
) -> dict[Name, float]:
    """The median of each arm; one that raises `failing` goes into `failures` instead.

    Args:
      plans: by arm, the calls that it makes.
      failing: what an arm raises when it cannot go on.
      failures: by arm, the reason; added to.
    """
    medians = {}
    for arm in order:
        plan = plans[arm.name]
        try:
            seconds = arm.round(plan.made)
        except failing as error:
            failures[arm.name] = str(error)
            continue
        if len(seconds) != plan.made:
            raise ValueError(
                f"expected {plan.made} times from {arm.name}, found {len(seconds)}: an arm times every call"
            )
        medians[arm.name] = statistics.median(seconds[plan.dropped :])
    return medians


def _fitting(left_s: float, round_s: float, least: int, most: int) -> int:
    """How many rounds fit into some seconds."""
    fitting = math.floor(left_s / round_s) if round_s > 0 else most
    return max(least, min(most, fitting))


def _balance(names: Sequence[Name], turn: int, seed: str) -> tuple[Name, ...]:
    """Turn `turn` of a design that is balanced over 2n turns and shuffled anew for the next 2n."""
    if not names:
        return ()
    count = len(names)
    cycle, place = divmod(turn, count)
    order = list(names)
    random.Random(f"{seed} {cycle // 2}").shuffle(order)
    # Directions alternate, so that one cycle already balances who precedes whom; and from one cycle to
    # the next, so that every name leads once in either direction.
    step = -1 if (cycle + place) % 2 else 1
    return tuple(order[(place + step * distance) % count] for distance in range(count))
