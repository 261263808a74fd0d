"""The times of calls by mode and cell, and the ratios that may be stated."""

from __future__ import annotations

from compare.record.base import Count, Indices, Interval, Named, Number, Part, Text


class Mode(Part, frozen=True):
    """One mode of either side, or of a peer."""

    median_s: Number = None
    """Seconds of a call: the median over processes of their medians."""
    first_call_s: Number = None
    """Seconds until the first result: trace, compile and run."""
    trace_s: Number = None
    """Seconds to trace."""
    lower_s: Number = None
    """Seconds to lower to StableHLO."""
    compile_s: Number = None
    """Seconds to compile."""
    peak_rss_bytes: Number = None
    """Bytes of the process's physical memory at most since the mode was prepared, modes that ran before included."""
    page_faults: Number = None
    """Page faults of a call; Linux only."""


class CellTime(Part, frozen=True):
    """One program@compiler, executed bare."""

    median_s: Number = None
    """Seconds of a call: the median over processes of their medians."""


class Ratio(Part, frozen=True):
    """Time of A over time of B, of "A vs B"."""

    pairs: Count = None
    """Pairs of fresh processes."""
    rounds: Count = None
    """Rounds of all pairs together."""
    ratio: Number = None
    """Below 1 A is faster; null where it is withheld."""
    ci95: Interval = None
    """The 95 % interval; null with fewer than five pairs."""
    ci99: Interval = None
    """The 99 % interval."""
    verdict: Text = ""
    """Faster, slower, equivalent or inconclusive."""
    between_pair_share: Number = None
    """The part of the variance that lies between pairs."""
    withheld: Text = ""
    """Why there is none; empty where there is one."""
    note: Text = ""
    """A qualification of it."""


class Power(Part, frozen=True):
    """The slowdowns that this run detects."""

    planted: Named[Ratio] = {}
    """By mode and slowdown, as "jax/jit +5 %"."""
    smallest: Named[Number] = {}
    """By mode, the slowdown that is detected 95 times in 100, as a part of the time."""


class Bound(Part, frozen=True):
    """The observed threads and processors of one side."""

    processors: Indices = ()
    """Numbers of those that its threads may run on."""
    parallelism: Number = None
    """Threads that computed at once; null where the platform does not tell."""


class Threads(Part, frozen=True):
    """Whether both sides used the threads that were asked for."""

    asked: Count = None
    """How many."""
    sides: Named[Bound] = {}
    """By side."""
    equal: bool | None = None
    """Whether they did."""
    reason: Text = ""
    """The reason in one line."""


class Timing(Part, frozen=True):
    """Times of every mode, and the ratios that may be stated."""

    modes: Named[Mode] = {}
    """By mode, peers among them."""
    cells: Named[CellTime] = {}
    """By program@compiler."""
    ratios: Named[Ratio] = {}
    """By "A vs B"."""
    program_ratios: Named[Ratio] = {}
    """By "jax@jax vs tf@jax": of the two programs under one compiler, each executed bare, in one process."""
    null: Named[Ratio] = {}
    """The A/A control: identical code in two processes."""
    margin: Number = None
    """The relative difference within which two modes are equivalent."""
    power: Power | None = None
    """The slowdowns that this run detects."""
    threads: Threads | None = None
    """Null where they were left to the frameworks."""


class Attribution(Part, frozen=True):
    """The ratio jax/jit vs tf/jit as a product of three factors; below 1, JAX gains there."""

    frontend: Number = None
    """The factor of the programs, under one compiler."""
    compiler: Number = None
    """The factor of the compilers, for one program."""
    runtime: Number = None
    """The factor of calling the compiled code through either framework."""
