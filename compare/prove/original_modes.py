"""Runs TensorFlow's own modes on inputs that no case of the workload has: the request carries them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from compare.inputs.at_size import Prepared
from compare.prove.collect import FLOAT32, FLOAT64, NATIVE_MODES, Collected
from compare.prove.oracle import NATIVE, Doubles
from compare.prove.special_cases import Original, Runs
from compare.sides import requests
from compare.sides._side import SideError
from compare.sides.pool import Pool
from workloads.core.modes import TF, TF_EAGER, TF_JIT
from workloads.core.spec import Arrays


@dataclass(frozen=True)
class Eager:
    """The results of eager mode in one call, as the twin is written and in float64."""

    written: Arrays
    exact: Arrays


AskEager = Callable[[str, Sequence[Arrays]], Sequence[Eager]]
"""The results of eager mode of a pass in each call, by its inputs; empty without a TensorFlow side."""


class OriginalModes:
    """Calls of TensorFlow's own modes on inputs that no case of the workload has.

    Args:
      delivery: what TensorFlow delivered; a lost side is not asked.
    """

    def __init__(self, pool: Pool, instance: Prepared, delivery: Collected | None) -> None:
        self.delivery = delivery
        self._pool, self._instance = pool, instance
        self._is_loaded = False

    def outputs(self, mode: str, pass_: str, dtype: str, inputs: Arrays) -> Arrays:
        """The results of a mode.

        Args:
          dtype: "float32" or "float64".
          inputs: by name, and the weights that are changed; the workload is loaded.

        Raises:
          SideError: it gives nothing.
        """
        case = self._instance.loading.cases[0]
        return requests.outputs(self._pool.get(TF), mode, pass_, case, dtype, inputs)

    def eager(self, pass_: str, calls: Sequence[Arrays]) -> list[Eager]:
        """See `AskEager`; empty for a model that cannot be built in float64, too.

        Args:
          calls: by name, the inputs of each, and the weights that it changes.
        """
        if self.delivery is None or self.delivery.lost or not calls:
            return []
        mode = NATIVE_MODES[TF][0]
        try:
            self._load()
            return [Eager(*(self.outputs(mode, pass_, dtype, call) for dtype in (FLOAT32, FLOAT64))) for call in calls]
        except SideError as error:
            self.delivery.lost |= error.lost
            return []

    def _load(self) -> None:
        # `jaxport tune` ends workers between its candidates; a new one has nothing loaded.
        if not self._is_loaded:
            requests.load_twin(self._pool.get(TF), self._instance.loading)
            self._is_loaded = True


def make_original(modes: OriginalModes, doubles: Doubles) -> Original:
    """A function that runs TensorFlow's eager mode and its XLA on inputs; it raises SideError if the worker is lost.

    Where the twin was built in float64, eager mode runs in float64 as well. Then its results differ from those of the
    float64 program, which XLA runs, only if it decides otherwise.

    Args:
      doubles: tell where float64 results came from.
    """

    def ask(pass_: str, inputs: Arrays) -> Runs:
        if modes.delivery is None or modes.delivery.lost:
            return Runs()
        source = doubles.sources.get((TF, pass_))
        names = [mode.name for mode in (TF_EAGER, TF_JIT) if mode.name in modes.delivery.modes[pass_]]
        own = {f"{TF}/{mode}": _outputs_or_reason(modes, mode, pass_, FLOAT32, inputs) for mode in names}
        if source is None or source.kind != NATIVE:
            eager = str(TF_EAGER)
            return Runs({eager: own[eager]} if eager in own else {}, own)
        mode = NATIVE_MODES[TF][0]
        wide = _outputs_or_reason(modes, mode, pass_, FLOAT64, inputs)
        return Runs({f"{TF}/{mode} in float64": wide}, own)

    return ask


def _outputs_or_reason(modes: OriginalModes, mode: str, pass_: str, dtype: str, inputs: Arrays) -> Arrays | str:
    try:
        return modes.outputs(mode, pass_, dtype, inputs)
    except SideError as error:
        if error.lost:
            raise
        return error.reason
