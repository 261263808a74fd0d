"""TensorFlow's own modes, asked about inputs that it was not given before."""

from __future__ import annotations

from collections.abc import Mapping

from compare.inputs.at_size import Prepared
from compare.prove.collect import FLOAT32, FLOAT64, NATIVE_MODES, Collected
from compare.prove.oracle import Doubles
from compare.prove.special_cases import Original, Runs
from compare.sides import requests
from compare.sides._side import Side, SideError
from compare.sides.pool import Pool
from workloads._modes import TF, TF_EAGER, TF_JIT
from workloads._spec import Arrays


def asked_original(pool: Pool, collected: Mapping[str, Collected], doubles: Doubles, prepared: Prepared) -> Original:
    """What asks TensorFlow's eager mode, and XLA, about inputs; it raises SideError if that loses the worker.

    Where the twin was built in float64, eager mode is asked in float64 as well: then it is unlike the float64 program,
    which XLA runs, only if it decides otherwise.

    Args:
      pool: has the sides, the workload loaded.
      collected: what each side delivered, by side.
      doubles: tell where float64 results came from.
      prepared: the workload.
    """
    case = prepared.loading.cases[0]

    def ask(pass_: str, inputs: Arrays) -> Runs:
        if TF not in collected or collected[TF].lost:
            return Runs()
        side, source = pool.get(TF), doubles.sources.get((TF, pass_))
        modes = [mode.name for mode in (TF_EAGER, TF_JIT) if mode.name in collected[TF].modes[pass_]]
        own = {f"{TF}/{mode}": _outputs(side, mode, pass_, case, FLOAT32, inputs) for mode in modes}
        if source is None or source.kind != "native":
            eager = str(TF_EAGER)
            return Runs({eager: own[eager]} if eager in own else {}, own)
        mode = NATIVE_MODES[TF][0]
        wide = _outputs(side, mode, pass_, case, FLOAT64, inputs)
        return Runs({f"{TF}/{mode} in float64": wide}, own)

    return ask


def _outputs(side: Side, mode: str, pass_: str, case: str, dtype: str, inputs: Arrays) -> Arrays | str:
    try:
        return requests.outputs(side, mode, pass_, case, dtype, inputs)
    except SideError as error:
        if error.lost:
            raise
        return error.reason
