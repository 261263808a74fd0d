"""The digit convolution and the LSTMs with one planted porting error each: the gate that can see it must fail.

The honest JAX twin stands for TensorFlow: `test_contract.py` holds it to that. What is judged here is the judge.
"""

from __future__ import annotations

import pytest
from mutants import Cases, Mutant, found_by, plant, remake, verdicts
from mutants_conv_and_lstm import MUTANTS
from runs import IN_ZOO

from compare.record.vocabulary import FAIL, PASS

pytestmark = [IN_ZOO, pytest.mark.process]


@pytest.fixture(scope="module")
def honest() -> dict[tuple[str, str], Cases]:
    """(workload, gate) -> what the gate looks at in the twin as it is."""
    wanted = dict.fromkeys((mutant.workload, mutant.gate) for mutant in MUTANTS)
    return {(workload, gate): found_by(workload, gate, kinks=True) for workload, gate in wanted}


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.name.replace(" ", "_"))
def test_a_planted_error_fails_at_its_gate(
    mutant: Mutant, honest: dict[tuple[str, str], Cases], monkeypatch: pytest.MonkeyPatch
) -> None:
    expected = honest[mutant.workload, mutant.gate]
    plant(monkeypatch, mutant)
    found = verdicts(mutant.workload, mutant.gate, expected, found_by(mutant.workload, mutant.gate, kinks=True))
    assert found["seed0"] == (PASS if mutant.only_kinks else FAIL)
    assert FAIL in found.values()


@pytest.mark.parametrize(("workload", "gate"), sorted({(mutant.workload, mutant.gate) for mutant in MUTANTS}))
def test_the_same_modules_without_an_error_pass(
    workload: str, gate: str, honest: dict[tuple[str, str], Cases], monkeypatch: pytest.MonkeyPatch
) -> None:
    remake(monkeypatch, workload)
    found = verdicts(workload, gate, honest[workload, gate], found_by(workload, gate, kinks=True))
    assert set(found.values()) == {PASS}
