"""What the planted errors of `make zoo` replace stands in the ports: a port that changed takes its errors along."""

from __future__ import annotations

import mutants_bert
import mutants_conv_and_lstm
import mutants_mask_rcnn
import mutants_translation
import mutants_vision
import pytest
from mutants import Mutant, holding

MUTANTS = (
    *mutants_bert.MUTANTS,
    *mutants_conv_and_lstm.MUTANTS,
    *mutants_mask_rcnn.MUTANTS,
    *mutants_translation.MUTANTS,
    *mutants_vision.MUTANTS,
)


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: f"{mutant.workload}: {mutant.name}")
def test_the_text_stands_in_one_module_of_the_port(mutant: Mutant) -> None:
    assert len(holding(mutant.workload, mutant.old)) == 1
