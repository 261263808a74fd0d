"""Which operations are written: how each is counted, and the page of all of them."""

import pytest
import rule_counts
from places import ROOT

from compare.counterparts.raw_operations import RawOperation, read
from compare.porting.functions import written_types
from compare.porting.functions.rule_coverage import how, shares

PAGE = ROOT / "docs" / "results" / rule_counts.PAGE


def test_the_page_is_current():
    assert PAGE.read_text() == rule_counts.page(read().operations), "python docs/rule_counts.py"


@pytest.mark.parametrize(
    ("operation", "kind"),
    [
        ("Exp", "always"),
        ("Sum", "constants"),
        ("Conv2D", "conditions"),
        ("MatrixDiagPartV3", "conditions"),
        ("Shape", "sizes"),
        ("While", "control"),
        ("TensorListSetItem", "lists"),
        ("Const", "plumbing"),
        ("Assert", "left out"),
        ("RandomUniform", "place"),
        ("Unique", "place"),
    ],
)
def test_how_an_operation_is_written(operation, kind):
    assert how(operation) == kind


def test_an_operation_that_loses_its_rule_is_counted_no_more(monkeypatch):
    operations = {"Exp": RawOperation(public=True), "Sum": RawOperation(), "Unique": RawOperation()}
    assert shares(operations)["all"] == (2, 3) and shares(operations)["in tf.raw_ops"] == (1, 1)
    monkeypatch.delitem(written_types.RULES, "Sum")
    assert shares(operations)["all"] == (1, 3)


def test_every_operation_that_is_written_is_one_of_tensorflow():
    known = read().operations
    written = {*written_types.RULES, *written_types.TEMPLATES, *written_types.CONTROL, *written_types.LISTS}
    assert written - {*known} == set()
