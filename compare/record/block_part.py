"""A chain of layers in compiled functions of several layers each: which blocks to compile."""

from __future__ import annotations

from compare.record.base import Count, Many, Named, Number, Part, Text, Verdict
from compare.record.crossing_part import SizeRatio
from compare.record.envelope import Environment
from compare.record.timing_part import Ratio
from compare.record.workload_part import Failure


class BlockRun(Part, frozen=True):
    """The chain in blocks of one size."""

    block: Count = None
    """Layers of each compiled function; 0 where none is compiled."""
    parity: Verdict = None
    """The verdict of parity; without a pass there are no times."""
    reason: Text = ""
    """Why parity does not pass."""
    bit_equal: Named[bool | None] = {}
    """By mode in blocks, whether its results are those of the chain compiled whole by that framework, bit for bit."""
    error: Named[Number] = {}
    """By mode, the largest difference of that, in parts of the largest value."""
    kernels: Named[Count] = {}
    """By mode, kernels of one call, as the profiler saw them run."""
    seconds: Named[Number] = {}
    """Seconds of a call by mode: the median over processes of their medians."""
    over_whole: Named[SizeRatio] = {}
    """By mode in blocks, its time over that of the same framework with the chain compiled whole, in the same rounds."""
    over_graph: Named[SizeRatio] = {}
    """By mode, its time over that of tf/graph with nothing compiled, through tf/jit, which ran beside both."""
    null: Named[Ratio] = {}
    """The A/A control: identical code in two processes."""
    failures: Many[Failure] = ()
    """Results that are missing."""


class BlockAdvice(Part, frozen=True):
    """The advice for one mode."""

    mode: Text = ""
    layers: Count = None
    """The least block from which on compiling the chain whole gains too little to measure or to be worth it; null where
    that is not known, or every block is too small."""
    shown: bool = False
    """Whether the intervals from there on exclude a gain that is worth it."""


class BlockSeries(Part, frozen=True):
    """One chain in blocks of several sizes."""

    name: Text = ""
    summary: Text = ""
    level: Number = None
    """The level of each interval: all intervals of one mode hold together with 95 % (Bonferroni)."""
    least_gain: Number = None
    """The part of the time below which a gain is not worth it."""
    runs: Many[BlockRun] = ()
    """By rising size of the blocks."""
    advice: Many[BlockAdvice] = ()


class ChainsInBlocks(Part, frozen=True):
    """Several chains, timed in the same processes."""

    schema: Count = None
    series: Many[BlockSeries] = ()
    threads: Count = None
    """Threads of every process."""
    environment: Environment | None = None
    interrupted: bool = False
    """Whether a signal ended it before all was timed."""
