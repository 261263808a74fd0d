"""ResNet and the FocalNet pipeline with one planted porting error each: the gate that can see it must fail.

The honest JAX twin stands for TensorFlow: `test_contract.py` holds it to that. What is judged here is the judge.
"""

from __future__ import annotations

import pytest
from mutants import Cases, Mutant, found_by, plant, remake, verdicts
from mutants_vision import MUTANTS
from runs import IN_ZOO

from compare.record.vocabulary import FAIL, PASS

pytestmark = [IN_ZOO, pytest.mark.process]

SHALLOW = {"resnet50": {"stage2": 0}}
"""A residual network of one stage has every operation whose gradient is judged: each is compiled on its own here."""

Honest = dict[tuple[str, str], Cases]
"""(workload, gate) -> what the gate looks at."""


def seen(workload: str, gate: str) -> Cases:
    """What a gate looks at, in as small a twin as shows it."""
    smaller = {} if gate == "semantics" else SHALLOW.get(workload, {})
    return found_by(workload, gate, **smaller)


@pytest.fixture(scope="module")
def honest() -> Honest:
    """What the twins as they are give."""
    wanted = dict.fromkeys((mutant.workload, mutant.gate) for mutant in MUTANTS)
    return {at: seen(*at) for at in wanted}


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.name.replace(" ", "_"))
def test_a_planted_error_fails_at_its_gate(mutant: Mutant, honest: Honest, monkeypatch: pytest.MonkeyPatch) -> None:
    at = mutant.workload, mutant.gate
    plant(monkeypatch, mutant)
    assert set(verdicts(*at, honest[at], seen(*at)).values()) == {FAIL}


@pytest.mark.parametrize(("workload", "gate"), sorted({(mutant.workload, mutant.gate) for mutant in MUTANTS}))
def test_the_same_modules_without_an_error_pass(
    workload: str, gate: str, honest: Honest, monkeypatch: pytest.MonkeyPatch
) -> None:
    remake(monkeypatch, workload)
    assert set(verdicts(workload, gate, honest[workload, gate], seen(workload, gate)).values()) == {PASS}
