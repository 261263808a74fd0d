"""Training judged step by step: each step starts from TensorFlow's weights, and none amplifies the errors before it.

A network with batch normalization multiplies a rounding in every step, so that two honest runs soon share no digit.
What a port has to get right is the step: a function of weights, optimizer state, batch and counters. If step after step
agrees from TensorFlow's weights, with the port's own optimizer state and counters, it computes that function.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial

from compare.inputs.at_size import Prepared
from compare.parity.evidence import Evidence, double_mode, promoted_mode
from compare.parity.holding import Held
from compare.progress import Reporter
from compare.prove.collect import FLOAT64
from compare.prove.oracle import Doubles
from compare.record.vocabulary import FAIL
from compare.sides import requests
from compare.sides.pool import Pool
from workloads.core.modes import JAX, TF, parse_mode
from workloads.core.spec import Arrays
from workloads.protocol.compiling import REPEATEDLY
from workloads.protocol.framework import STEP
from workloads.protocol.trajectory import WEIGHTS, kept_as

MOST_BYTES = 1 << 31
"""The most bytes of float64 weights that TensorFlow's run passes on, of all steps; with larger ones it is shorter."""
LEAST_STEPS = 2
"""The second step starts from moments and statistics that the first one made."""


def guided_training(
    pool: Pool, instance: Prepared, doubles: Doubles, evidence: Evidence, reporter: Reporter
) -> Doubles | None:
    """The float64 evidence with every training run anew, each going on from TensorFlow's float64 weights.

    None where a side has no float64 run: TensorFlow's is what others go on from, and in the port's an error of one step
    is not taken for rounding.

    Args:
      doubles: the float64 programs.

    Raises:
      SideError: a side does not train so.
    """
    training, reference = instance.workload.training, double_mode(evidence, TF)
    if training is None or not reference or not double_mode(evidence, JAX):
        return None
    steps = _steps(training.steps, evidence.trajectories[reference, FLOAT64])
    if not steps:
        return None
    runs = _Runs(pool, doubles, steps, reporter)
    guide = runs.train(reference, FLOAT64)
    by_side: dict[str, list[tuple[str, str]]] = {}
    for mode, dtype in evidence.trajectories:
        if (mode, dtype) != (reference, FLOAT64):
            by_side.setdefault(_host_of(mode), []).append((mode, dtype))
    with ThreadPoolExecutor() as threads:
        others = [one for of_side in threads.map(partial(runs.train_all, guide), by_side.values()) for one in of_side]
    return dataclasses.replace(doubles, trajectories={(reference, FLOAT64): guide, **dict(others)}, guide=guide)


def drift(leaves: Sequence[Held], steps: int, count: int) -> str:
    """How far runs come apart that go on from their own weights.

    Args:
      steps: of those runs.
      count: of the steps that were judged from TensorFlow's weights instead.
    """
    worst = max((leaf for leaf in leaves if leaf.verdict == FAIL), key=lambda leaf: leaf.error)
    own = "" if worst.noise is None else f"; TensorFlow's eager mode and XLA by {worst.noise:.2g}"
    judgements = "every step was" if count == steps else f"the first {count} of {steps} steps were"
    return (
        f"{judgements} judged from TensorFlow's weights: left to themselves the runs come apart by "
        f"{worst.error:.2g} at {worst.place.leaf} of {worst.place.found_from}{own}"
    )


def _host_of(mode: str) -> str:
    """The side whose worker trains: JAX's runs the promoted step of either side."""
    side = parse_mode(mode).side
    return JAX if mode == promoted_mode(side) else side


def _steps(steps: int, run: Arrays) -> tuple[int, ...]:
    """The first steps, as many as have room for their weights; none without weights.

    Each starts from TensorFlow's weights. To hand them on every few steps instead would amplify errors in between.
    """
    checkpoints = ((kept_as(name), array.nbytes) for name, array in run.items())
    sizes = [(of.step, size) for of, size in checkpoints if of is not None and of.kind == WEIGHTS]
    if not sizes:
        return ()
    return tuple(range(1, count_steps(steps, sum(size for step, size in sizes if step == sizes[0][0])) + 1))


def count_steps(steps: int, weight_bytes: int) -> int:
    """How many steps are judged from TensorFlow's weights.

    Args:
      steps: of a training run.
      weight_bytes: of its weights in float64.
    """
    return min(steps, max(LEAST_STEPS, MOST_BYTES // max(weight_bytes, 1)))


@dataclasses.dataclass(frozen=True)
class _Runs:
    """Training runs of either side.

    Attributes:
      pool: has both sides.
      doubles: the float64 programs.
      steps: after which weights are kept, and handed on.
      reporter: shows each run.
    """

    pool: Pool
    doubles: Doubles
    steps: tuple[int, ...]
    reporter: Reporter

    def train_all(self, guide: Arrays, runs: Iterable[tuple[str, str]]) -> list[tuple[tuple[str, str], Arrays]]:
        """Runs of one worker, one after the other, each by its mode and float type."""
        return [(run, self.train(*run, guide)) for run in runs]

    def train(self, mode: str, dtype: str, guide: Arrays | None = None) -> Arrays:
        """A run of a mode, or of a side's promoted step."""
        self.reporter.detail(f"{mode} {dtype} training from TensorFlow's weights")
        of = parse_mode(mode)
        if mode != promoted_mode(of.side):
            return requests.trajectory(self.pool.get(of.side), of.name, dtype, self.steps, guide)
        jax = self.pool.get(JAX)
        handle = requests.compile_program(jax, self.doubles.programs[of.side, STEP], REPEATEDLY).handle
        return requests.unroll(jax, handle, self.steps, guide)
