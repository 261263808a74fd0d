"""Public functions that measure: whether both programs are one for XLA, and how fast they are."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, overload

from jaxport._checking import judges

if TYPE_CHECKING:
    from compare.api.bench_report import BenchReport as BenchReport
    from compare.api.programs_report import ProgramsReport as ProgramsReport
    from workloads.core.spec import Deviation


@overload
def compare_programs(
    tf_fn: str | Path,
    jax_fn: str | Path | None = None,
    *,
    level: str = "algebraic",
    pass_: str | None = None,
    size: str | None = None,
    timeout_s: float = 300,
    quiet: bool = False,
) -> ProgramsReport: ...


@overload
def compare_programs(
    tf_fn: Callable[..., Any] | str | Path,
    jax_fn: Callable[..., Any] | str | Path,
    inputs: Mapping[str, Any],
    *,
    level: str = "algebraic",
    pass_: str | None = None,
    dimensions: Mapping[str, str] | None = None,
    map: Mapping[str, str] | None = None,
    name: str | None = None,
    timeout_s: float = 300,
    quiet: bool = False,
    isolated: bool = False,
) -> ProgramsReport: ...


def compare_programs(
    tf_fn: Callable[..., Any] | str | Path,
    jax_fn: Callable[..., Any] | str | Path | None = None,
    inputs: Mapping[str, Any] | None = None,
    *,
    level: str = "algebraic",
    pass_: str | None = None,
    size: str | None = None,
    dimensions: Mapping[str, str] | None = None,
    map: Mapping[str, str] | None = None,
    name: str | None = None,
    timeout_s: float = 300,
    quiet: bool = False,
    isolated: bool = False,
) -> ProgramsReport:
    """Whether TensorFlow's and JAX's programs are one program for XLA, and why not, as `jaxport hlo` says it.

    Args:
      tf_fn: the original, or a port file, as of `check`; or a program: a file of StableHLO bytecode or of an HLO proto,
        a dump directory, or "port.py:tf".
      inputs: by name, in the order of the arguments; not beside a port file or programs.
      level: that the verdict is of: "raw", "structural", "algebraic", "unfused", or "optimized".
      pass_: "forward", "gradients" or "step"; by default the training step, or the forward pass if there is none.

    Returns:
      `equal`, `verdict`, `levels`, `differences`, `assert_equal()`; programs that differ are no exception.

    Raises:
      RequestError: as of `check`, or the programs cannot be compared at this level.

    Example:
      >>> import jax.numpy as jnp, tensorflow as tf, jaxport
      >>> report = jaxport.compare_programs(tf.tanh, jnp.tanh, {"x": "f32[8]"})
      >>> report.equal, report.differences
      (True, ())
    """
    with judges():
        from compare.api import doors
        from compare.api.live_workload import Options
        from compare.api.programs_report import ProgramOptions

        options = Options(dimensions or {}, map or {}, (), name, timeout_s, quiet, isolated)
        return doors.compare_programs(tf_fn, jax_fn, inputs, ProgramOptions(level, pass_, size), options)


@overload
def bench(
    tf_fn: str | Path,
    *,
    size: str | None = None,
    modes: Sequence[str] = (),
    pass_: str | None = None,
    pairs: int = 12,
    max_pairs: int | None = None,
    budget: float = 2.0,
    threads: int | str = "all",
    phases: int = 0,
    limits: bool = True,
    peers: bool = False,
    timeout_s: float = 300,
    quiet: bool = False,
) -> BenchReport: ...


@overload
def bench(
    tf_fn: Callable[..., Any] | str | Path,
    jax_fn: Callable[..., Any] | str | Path,
    inputs: Mapping[str, Any],
    *,
    dimensions: Mapping[str, str] | None = None,
    deviations: Sequence[Deviation] = (),
    modes: Sequence[str] = (),
    pass_: str | None = None,
    pairs: int = 12,
    max_pairs: int | None = None,
    budget: float = 2.0,
    threads: int | str = "all",
    phases: int = 0,
    limits: bool = True,
    peers: bool = False,
    name: str | None = None,
    timeout_s: float = 300,
    quiet: bool = False,
) -> BenchReport: ...


def bench(
    tf_fn: Callable[..., Any] | str | Path,
    jax_fn: Callable[..., Any] | str | Path | None = None,
    inputs: Mapping[str, Any] | None = None,
    *,
    size: str | None = None,
    dimensions: Mapping[str, str] | None = None,
    deviations: Sequence[Deviation] = (),
    modes: Sequence[str] = (),
    pass_: str | None = None,
    pairs: int = 12,
    max_pairs: int | None = None,
    budget: float = 2.0,
    threads: int | str = "all",
    phases: int = 0,
    limits: bool = True,
    peers: bool = False,
    name: str | None = None,
    timeout_s: float = 300,
    quiet: bool = False,
) -> BenchReport:
    """Judge a port by all gates, and time it against its original, each framework in fresh processes of its own.

    A port that fails is not timed. Takes a minute or more, on a machine that does nothing else.

    Args:
      tf_fn: the original: a function of a module, or FILE.py:NAME; or a port file, alone. A lambda, a function of a
        notebook or a model in memory is in this process alone, and cannot be timed.
      inputs: by name, in the order of the arguments, as of `check`.
      dimensions: as of `check`: "32" is the size that is timed.
      modes: "tf/eager", "tf/graph", "tf/jit", "jax/jit"...: these alone, and always "tf/eager" and "jax/jit"; all of
        them by default.
      pass_: what is timed: "forward", "gradients" or "step"; by default the training step, or the forward pass if
        there is none.
      pairs: the number of pairs of fresh processes. Fewer than 5 give no interval.
      max_pairs: pairs are added up to so many while identical code differs from itself by more than 4 %; by default
        twice `pairs`.
      budget: seconds of timed calls for each pair.
      threads: the threads of every process: a number, or "all" for one for each processor.
      phases: fresh processes for the median of each phase of a start; 0 leaves these out.
      limits: whether the bandwidth and the peak FLOP/s of the machine are measured as well.
      peers: whether tf2jax, call_tf and Keras on JAX are judged and timed as well.

    Returns:
      `passed`, `ratio`, `times`, `ratios`, `reasons`, and `parity`, which is what `check` finds.

    Raises:
      RequestError: as of `check`, or this process alone has a function.

    Example:
      >>> import jax, tensorflow as tf, jaxport
      >>> report = jaxport.bench(tf.nn.softplus, jax.nn.softplus, {"features": "f32[8]"}, pairs=1, modes=["tf/jit"])
      >>> report.passed, sorted(report.times)
      (True, ['jax/jit', 'tf/eager', 'tf/jit'])
    """
    with judges():
        from compare.api import doors
        from compare.api.live_workload import Options
        from compare.api.timing_options import TimingOptions

        timing = TimingOptions(modes, pass_, size, pairs, max_pairs, budget, threads, phases, limits, peers)
        options = Options(dimensions or {}, {}, deviations, name, timeout_s, quiet)
        return doors.bench(tf_fn, jax_fn, inputs, timing, options)
