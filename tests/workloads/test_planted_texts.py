"""What the planted errors of `make zoo` replace stands in the ports: a port that changed takes its errors along."""

from __future__ import annotations

import pytest
import test_mutants_bert
import test_mutants_conv_and_lstm
import test_mutants_mask_rcnn
import test_mutants_translation
import test_mutants_vision
from mutants import Mutant, holding

MUTANTS = (
    *test_mutants_bert.MUTANTS,
    *test_mutants_conv_and_lstm.MUTANTS,
    *test_mutants_mask_rcnn.MUTANTS,
    *test_mutants_translation.MUTANTS,
    *test_mutants_vision.MUTANTS,
)


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: f"{mutant.workload}: {mutant.name}")
def test_the_text_stands_in_one_module_of_the_port(mutant: Mutant) -> None:
    assert len(holding(mutant.workload, mutant.old)) == 1
