"""The design of the experiment: who starts first, who runs when, and how often."""

from __future__ import annotations

import math
import random
import statistics
import time
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

from compare.bench.clock import NANOSECONDS, Clock

Name = TypeVar("Name", bound=Hashable)
"""What arms are told apart by: `workloads._modes.Arm`, or the name of a candidate."""

CALLS, DROPPED = 5, 2
"""Of a round: the first calls find the caches as another arm left them, and go."""

STEADY_S = 0.05
STEADY_CALLS, STEADY_DROPPED = 3, 1
"""Of every arm, where even the quickest arm's call takes longer than that: one call is then enough to fill the caches,
and arms that are nearly as fast as one another are measured in one way."""

LONG_S, LONG_FACTOR = 0.2, 4
LONG_CALLS, LONG_DROPPED = 2, 1
"""Of an arm whose call takes longer than that and so many times as long as the quickest arm's: five of its calls would
take most of the time, and its ratio is far from 1 however it is taken."""


@dataclass(frozen=True)
class Timer(Generic[Name]):
    """Times one arm: `round(calls)` gives the seconds of that many consecutive calls."""

    name: Name
    round: Callable[[int], Sequence[float]]


@dataclass(frozen=True)
class Measured(Generic[Name]):
    """What one pair of processes gave. An arm that failed is in `failures`, with the reason, and only there.

    `medians` holds one value a round, in seconds; equal places were taken in the same round.
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
      names: of the processes.
      pair: its number, counted from 0.
      seed: of the design.
    """
    return _balanced(names, pair, f"spawn {seed}")


def measure(
    arms: Sequence[Timer[Name]],
    *,
    budget_s: float,
    seed: int,
    failing: type[Exception],
    min_rounds: int = 5,
    max_rounds: int = 30,
    calls: int = CALLS,
    dropped: int = DROPPED,
    steady_s: float = STEADY_S,
    long_s: float = LONG_S,
    clock: Clock = time.perf_counter_ns,
) -> Measured[Name]:
    """Rounds of all arms in balanced, shuffled order: one median an arm and round.

    An arm's round is `calls` calls; the first `dropped` find the caches as another arm left them and
    go. The first round of all calibrates and goes too: where every arm's calls take longer than `steady_s`
    all make fewer from then on, and one whose calls take longer than `long_s`, and much longer than the
    quickest arm's, the fewest. How many rounds follow depends on what is left of `budget_s`, within
    `min_rounds` and `max_rounds`. Give every pair a seed of its own:
    an order is balanced over 2n rounds of n arms, and what is left over must not repeat from pair to pair.

    Args:
      arms: each with what times it.
      budget_s: seconds that all rounds may take together, the first one included.
      seed: of the orders.
      failing: what an arm raises when it cannot go on; it is then left out and reported. Anything
        else is a defect and goes through.
      min_rounds: however little is left of the budget.
      max_rounds: however much is left of it.
      calls: of an arm in a round.
      dropped: of these, the first, which are not counted.
      steady_s: seconds of every arm's call beyond which fewer calls are enough.
      long_s: seconds of an arm's call beyond which the fewest are.
      clock: that tells what the first round took.

    Raises:
      ValueError: two arms of one name, a round of nothing but dropped calls, or an arm that gave
        another number of times than it was asked for.
    """
    named = {arm.name: arm for arm in arms}
    if len(named) < len(arms):
        raise ValueError(f"expected arms of different names, found {[str(arm.name) for arm in arms]}")
    if not 0 <= dropped < calls:
        raise ValueError(f"expected to drop fewer than the {calls} calls of a round, found {dropped} dropped")
    failures: dict[Name, str] = {}
    plans = dict.fromkeys(named, (calls, dropped))

    def run(turn: int) -> dict[Name, float]:
        order = [named[name] for name in _balanced(list(named), turn, f"rounds {seed}") if name not in failures]
        return _round(order, plans, failing, failures)

    start = clock()
    first = run(0)
    spent = (clock() - start) * NANOSECONDS
    quickest = min(first.values(), default=0.0)
    usual = (min(calls, STEADY_CALLS), min(dropped, STEADY_DROPPED)) if quickest > steady_s else (calls, dropped)
    fewest = min(calls, LONG_CALLS), min(dropped, LONG_DROPPED)
    plans = {
        name: fewest if seconds > max(long_s, LONG_FACTOR * quickest) else usual for name, seconds in first.items()
    }
    part = sum(first[name] * plans[name][0] for name in first) / (sum(first.values()) * calls or 1)
    total = _rounds(budget_s - spent, spent * part, min_rounds, max_rounds)
    kept = [run(turn) for turn in range(total)]
    return Measured({name: tuple(taken[name] for taken in kept) for name in named if name not in failures}, failures)


def samples_of(pairs: Sequence[Measured[Name]]) -> dict[Name, tuple[tuple[float, ...], ...]]:
    """Round medians by arm, then pair; an arm that a pair lacks is empty there, so that places agree."""
    names = dict.fromkeys(name for pair in pairs for name in pair.medians)
    return {name: tuple(pair.medians.get(name, ()) for pair in pairs) for name in names}


def _round(
    order: Sequence[Timer[Name]],
    plans: Mapping[Name, tuple[int, int]],
    failing: type[Exception],
    failures: dict[Name, str],
) -> dict[Name, float]:
    """The median of each arm; one that raises `failing` goes into `failures` instead.

    Args:
      order: in which the arms take turns.
      plans: by arm, how many calls it makes and how many of them go.
      failing: what an arm raises when it cannot go on.
      failures: by arm, the reason; added to.
    """
    medians = {}
    for arm in order:
        calls, dropped = plans[arm.name]
        try:
            seconds = arm.round(calls)
        except failing as error:
            failures[arm.name] = str(error)
            continue
        if len(seconds) != calls:
            raise ValueError(f"expected {calls} times from {arm.name}, found {len(seconds)}: an arm times every call")
        medians[arm.name] = statistics.median(seconds[dropped:])
    return medians


def _rounds(left_s: float, round_s: float, least: int, most: int) -> int:
    """How many rounds fit into what the calibration round left of the budget."""
    fitting = math.floor(left_s / round_s) if round_s > 0 else most
    return max(least, min(most, fitting))


def _balanced(names: Sequence[Name], turn: int, seed: str) -> tuple[Name, ...]:
    """Turn `turn` of a design that is balanced over 2n turns and shuffled anew for the next 2n."""
    if not names:
        return ()
    count = len(names)
    cycle, place = divmod(turn, count)
    shuffled = list(names)
    random.Random(f"{seed} {cycle // 2}").shuffle(shuffled)
    # Directions alternate, so that one cycle already balances who precedes whom; and from one cycle to
    # the next, so that every name leads once in either direction.
    step = -1 if (cycle + place) % 2 else 1
    return tuple(shuffled[(place + step * distance) % count] for distance in range(count))
