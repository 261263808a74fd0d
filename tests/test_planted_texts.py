"""What the planted errors of `make zoo` replace stands in the ports: a port that changed takes its errors along."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
import test_mutants_bert
import test_mutants_conv_and_lstm
import test_mutants_mask_rcnn
import test_mutants_translation
import test_mutants_vision
from conftest import ROOT


def planted() -> Iterator[tuple[str, tuple[str, ...], str]]:
    """The name of every error, the files of the port that may hold what it replaces, and that text."""
    for each in test_mutants_vision.MUTANTS:
        yield each.name, (each.workload, *test_mutants_vision.SHARED[each.workload]), each.old
    for each in test_mutants_conv_and_lstm.MUTANTS:
        yield each.name, (each.workload, test_mutants_conv_and_lstm.SHARED[each.workload]), each.old
    for each in test_mutants_mask_rcnn.MUTANTS:
        yield each.name, tuple(test_mutants_mask_rcnn.COPIES), each.old
    for each in test_mutants_translation.MUTANTS:
        yield each.name, (each.module or each.workload,), each.old
    errors = test_mutants_bert.MUTANTS | test_mutants_bert.TRAINING_MUTANTS
    yield from ((name, (file,), old) for name, (file, old, _) in errors.items())


@pytest.mark.parametrize(("files", "old"), [pytest.param(files, old, id=name) for name, files, old in planted()])
def test_the_text_stands_in_one_file_of_the_port(files: tuple[str, ...], old: str) -> None:
    assert sum(old in (ROOT / "jaxport" / f"{file}.py").read_text() for file in files) == 1
