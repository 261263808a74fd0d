"""The results of running each module of a dump directory again."""

from __future__ import annotations

from compare.record.base import Count, Many, Number, Part, Text


class ReplayedModule(Part, frozen=True):
    """One module; what was not reached is missing."""

    number: Count = None
    """The number of the module in its process."""
    name: Text = ""
    function: Text = ""
    """The compiled function: the user's function, or the autocluster."""
    framework: Text = ""
    stage: Text = ""
    """The HLO that was run: before_optimizations, or after_optimizations if there is no other."""
    read_back: bool | None = None
    """Whether the module, written as StableHLO and read back, computes the same values."""
    compile_s: Number = None
    run_s: Number = None
    """Seconds of a call with its arrays in place."""
    results: Count = None
    not_finite: Count = None
    """Results that hold a NaN or an infinity; on inputs that were drawn that need be no error."""
    optimized_error: Number = None
    """The largest error of the optimized module's results, relative to the largest value."""
    optimized_agrees: bool | None = None
    """Whether the dump's optimized module, run on the same inputs, gives these results."""
    not_compared: Text = ""
    """Why the optimized module was not run, or its results not compared."""
    failure: Text = ""
    """Why this module fails; empty where it does not."""


class ReplayedDump(Part, frozen=True):
    """A dump directory, module by module."""

    schema: Count = None
    directory: Text = ""
    seed: Count = None
    """The seed of the inputs."""
    modules: Many[ReplayedModule] = ()
