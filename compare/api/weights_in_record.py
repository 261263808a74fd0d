"""Adds the weights of both objects to the record of the judges."""

from __future__ import annotations

from msgspec.structs import replace

from compare.api.live_weights import DifferentVariable, WeightPairs
from compare.record.envelope import Record
from compare.record.parity_part import Comparison, Gate, Parity
from compare.record.vocabulary import FAIL, PASS
from workloads.core.modes import JAX, TF
from workloads.protocol.framework import GRADIENTS

SEMANTICS = "semantics"
"""The gate of equal numbers, of which weights are the first."""

_OF_INPUTS = "gradients with respect to inputs alone were judged: variables of the functions are constants of a check"

_OF_EQUAL = (
    "gradients with respect to inputs and equal weights were judged: other variables of the functions are constants of "
    "a check"
)


def with_weights(record: Record, name: str, pairs: WeightPairs) -> Record:
    """The record of a pair: it fails where weights differ, and its gradients tell what they were taken of.

    Args:
      record: of one workload.
      name: of it.
      pairs: of its weights.
    """
    parity = record.workloads[name].parity
    if parity is None:
        return record
    if pairs.different:
        parity = _failing(parity, name, pairs)
    return _keep(record, name, _add_note(parity, _reach(pairs)))


def with_constants(record: Record, name: str) -> Record:
    """The record of functions that read variables: it names the variables whose gradients were judged."""
    parity = record.workloads[name].parity
    return record if parity is None else _keep(record, name, _add_note(parity, _OF_INPUTS))


def _keep(record: Record, name: str, parity: Parity) -> Record:
    return replace(record, workloads={name: replace(record.workloads[name], parity=parity)})


def _add_note(parity: Parity, note: str) -> Parity:
    gate = parity.gates[GRADIENTS]
    if gate.verdict != PASS or not note:
        return parity
    with_note = replace(gate, reason="; ".join(filter(None, (gate.reason, note))))
    return replace(parity, gates={**parity.gates, GRADIENTS: with_note})


def _reach(pairs: WeightPairs) -> str:
    """The weights with gradients, if these are not all."""
    if not (pairs.unpaired or pairs.different):
        return ""
    if not pairs.equal:
        return _OF_INPUTS
    return _OF_EQUAL


def _failing(parity: Parity, name: str, pairs: WeightPairs) -> Parity:
    gate = parity.gates[SEMANTICS]
    comparisons = tuple(_comparison(name, different) for different in pairs.different)
    failing = Gate(FAIL, (*comparisons, *gate.comparisons), gate.reason)
    return replace(parity, verdict=FAIL, gates={**parity.gates, SEMANTICS: failing})


def _comparison(name: str, different: DifferentVariable) -> Comparison:
    place = f"{different.variable}{list(different.index) if different.index else ''}"
    return Comparison(
        gate=SEMANTICS,
        pass_="weights",
        leaf=different.weight,
        found_from=JAX,
        expected_from=TF,
        error=different.error,
        bound=0.0,
        verdict=FAIL,
        worst_index=different.index,
        expected=different.expected,
        found=different.found,
        message=f"{name}: {SEMANTICS} gate, weights: expected {different.expected!r} in {place}, as in "
        f"{different.weight}, found {different.found!r}: carry the weights with jaxport.carry_weights",
    )
