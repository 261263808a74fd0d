"""Finds the reference of a function in one type: float64 results, and int64 where TensorFlow refuses the type."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from compare.inputs import at_size
from compare.inputs.at_size import Prepared
from compare.parity.evidence import TF_REFERENCE, Evidence
from compare.progress import Silent
from compare.prove import casting
from compare.prove.collect import FLOAT64, Collected, collect_evidence
from compare.prove.oracle import find_doubles
from compare.sides import requests
from compare.sides._side import SideError
from compare.sides.workers import WorkerSet, failure_of
from workloads.core.modes import JAX, TF
from workloads.core.spec import Arrays, Workload, ends_of, is_float, is_integer
from workloads.protocol.framework import FORWARD

X64 = "jax x64"
"""The worker of JAX that keeps 64 bits; the other has JAX's default."""

STAND_IN = "TensorFlow's int64, modulo the type's range"

Doubles = dict[tuple[str, str, str], Arrays]


@dataclass(frozen=True)
class Reference:
    """The reference for the modes of one type.

    Attributes:
      evidence: the outputs of all modes and the float64 results.
      told: a description of the reference; empty without one.
      stand_in: what took the place of TensorFlow's eager mode; empty where nothing did.
      missing: why floats have no float64 results; empty where they have, or where there are no floats.
    """

    evidence: Evidence
    told: str
    stand_in: str = ""
    missing: str = ""


def collect_from(workers: WorkerSet, name: str, instance: Prepared) -> Collected:
    """The delivery of a worker; if it does not start, an empty one with the reason."""
    try:
        side = workers.get(name)
    except SideError as error:
        return Collected(TF if name == TF else JAX, failures=[failure_of(error)], lost=True)
    return collect_evidence(side, instance, Silent(), passes=(FORWARD,))


def find_reference(
    workers: WorkerSet, instance: Prepared, dtype: str, tf: Collected, jax: Collected, port: str
) -> Reference:
    """The evidence of both sides, with its reference.

    Args:
      workers: compute float64 results, and int64.
      dtype: by NumPy's or ml_dtypes' name.
    """
    outputs = tf.outputs | jax.outputs
    exact = _int64(workers, instance, dtype) if is_integer(dtype) and not _eager(tf) else None
    phrases = ["tf/eager, exactly"] if _eager(tf) and not is_float(dtype) else []
    if exact is not None:
        outputs |= _standing_in(exact[0], jax, dtype)
        phrases = [STAND_IN]
    doubles, missing = {}, ""
    if any(_has_floats(arrays) for arrays in outputs.values()):
        where = (X64, exact[0], exact[1]) if exact else (port, tf, instance)
        doubles, source, missing = _doubles(workers, *where)
        phrases += (
            [f"floats against tf in float64, {source}" if phrases else f"tf in float64, {source}"] if doubles else []
        )
    failures = (*tf.failures, *tf.refusals, *jax.failures, *jax.refusals)
    evidence = Evidence(instance.title, outputs, doubles, deviations=instance.workload.deviations, failures=failures)
    return Reference(evidence, "; ".join(phrases), STAND_IN if exact else "", missing)


def _has_floats(arrays: Arrays) -> bool:
    return any(is_float(array.dtype.name) or array.dtype.kind == "c" for array in arrays.values())


def _eager(delivery: Collected) -> Doubles:
    """The outputs of TensorFlow's eager mode; empty where it refuses."""
    return {key: arrays for key, arrays in delivery.outputs.items() if key[0] == TF_REFERENCE}


def _doubles(workers: WorkerSet, name: str, tf: Collected, instance: Prepared) -> tuple[Doubles, str, str]:
    """The original in float64 or complex128 by case, where it came from, and why there is none."""
    original: Doubles = {}
    reason = missing = ""
    try:
        worker = workers.get(name)
        requests.load(worker, instance.loading)
        doubles = find_doubles(worker, [tf], instance)
        original = dict(doubles.arrays)
        reason = str(doubles.sources.get((TF, FORWARD), ""))
        missing = next((failure.reason or "" for failure in doubles.failures), "")
    except SideError as error:
        missing = error.reason
    if not original and (FORWARD, FLOAT64) in tf.programs:
        # Every mode refuses the type itself, but not the same function of the same numbers in float64.
        original = {(TF, FORWARD, case): arrays for (_, case), arrays in tf.doubles.items()}
        reason = "native"
    return original, reason, "" if original else missing or tf.not_double.get(FORWARD, "")


def _int64(workers: WorkerSet, instance: Prepared, dtype: str) -> tuple[Collected, Prepared] | None:
    """The results and the workload in int64; None if TensorFlow refuses that too."""
    assert isinstance(instance.workload, Workload)
    workload = casting.as_integers(instance.workload, instance.inputs, dtype)
    folder = instance.loading.arrays.parent / "int64"
    folder.mkdir()
    wide = at_size.prepare(workload, "cast", None, folder)
    delivery = collect_from(workers, TF, wide)
    return (delivery, wide) if _eager(delivery) else None


def _standing_in(delivery: Collected, jax: Collected, dtype: str) -> Doubles:
    """By mode and case, what int64 gives, wrapped as the type wraps, but for results that are int64 in the port, too.

    Of an index, which is int64 whatever the inputs are, that is so.
    """
    int64_leaves = {
        leaf for arrays in jax.outputs.values() for leaf, array in arrays.items() if array.dtype == np.int64
    }  # fmt: skip
    return {
        key: {leaf: array if leaf in int64_leaves else _wrap(array, dtype) for leaf, array in arrays.items()}
        for key, arrays in _eager(delivery).items()
    }


def _wrap(array: np.ndarray, dtype: str) -> np.ndarray:
    if array.dtype != np.int64:
        return array
    least, most = ends_of(dtype)
    if most - least >= np.iinfo(np.int64).max:
        return array.astype(dtype)
    return ((array - least) % (most - least + 1) + least).astype(dtype)
