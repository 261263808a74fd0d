"""Translation ports with one planted error each: the judge of float64 runs must find it in the pass that shows it."""

from __future__ import annotations

import functools

import pytest
from mutants import Cases, Mutant, found_by, plant, remake, verdicts
from mutants_translation import MUTANTS
from runs import IN_ZOO

from compare.record.vocabulary import FAIL, PASS

pytestmark = [IN_ZOO, pytest.mark.process]


@functools.cache
def honest(workload: str, gate: str) -> Cases:
    """What a gate looks at in the twin as it is."""
    return found_by(workload, gate)


@pytest.mark.parametrize(("workload", "gate"), sorted({(mutant.workload, mutant.gate) for mutant in MUTANTS}))
def test_the_same_modules_without_an_error_pass(workload: str, gate: str, monkeypatch: pytest.MonkeyPatch) -> None:
    expected = honest(workload, gate)
    remake(monkeypatch, workload)
    assert set(verdicts(workload, gate, expected, found_by(workload, gate)).values()) == {PASS}


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: f"{mutant.workload}: {mutant.name}")
def test_a_planted_error_fails_at_its_gate(mutant: Mutant, monkeypatch: pytest.MonkeyPatch) -> None:
    at = mutant.workload, mutant.gate
    expected = honest(*at)
    plant(monkeypatch, mutant)
    assert set(verdicts(*at, expected, found_by(*at)).values()) == {FAIL}
