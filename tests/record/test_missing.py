"""One form for what a record lacks: what is missing, null or empty reads the same, and no part that is null is lost."""

from __future__ import annotations

import math
from typing import Any

import pytest
from pages import decoded, workload_of

from compare.record.envelope import Record
from compare.record.results_file import RecordError
from compare.record.timing_part import Attribution, Mode
from compare.record.workload_part import Workload


def test_a_workload_that_is_null_is_one_that_holds_nothing() -> None:
    assert decoded({"workloads": {"lost": None}}).workloads == {"lost": Workload()}


@pytest.mark.parametrize("plain", [{}, {"timing": None, "failures": None, "programs": None, "stages": {}}])
def test_missing_null_and_empty_read_the_same(plain: dict[str, Any]) -> None:
    assert workload_of(plain) == Workload()


def test_a_name_whose_part_is_null_keeps_an_empty_one_and_a_list_leaves_it_out() -> None:
    workload = workload_of({"timing": {"modes": {"tf/jit": None}}, "failures": [None, {"side": "tf"}]})
    assert workload.timing is not None and workload.timing.modes == {"tf/jit": Mode()}
    assert [failure.side for failure in workload.failures] == ["tf"]


def test_texts_and_counts_by_name_are_never_null_and_numbers_may_be() -> None:
    workload = workload_of(
        {
            "inputs": {"x": None, "y": "f32[]"},
            "programs": {"tf": {"opcodes": {"add": 2, "multiply": None}}},
            "stages": {"tf": {"hlo": None}},
            "attribution": {"frontend": None, "compiler": "inf"},
        }
    )
    assert (workload.inputs, workload.stages) == ({"y": "f32[]"}, {"tf": {}})
    assert workload.programs["tf"].opcodes == {"add": 2}
    assert workload.attribution == Attribution(None, math.inf)


def test_values_of_dimensions_and_options_keep_their_type() -> None:
    options = {"width": 256, "fast": True, "share": 0.5, "backend": "x", "unset": None}
    assert repr(workload_of({"compiler_options": options}).compiler_options) == repr(options)


@pytest.mark.parametrize(
    "plain", [{"workloads": None}, {"workloads": {}, "command": [None]}, {"workloads": {"one": {"size": 3}}}]
)
def test_what_is_of_another_type_is_refused(plain: dict[str, Any]) -> None:
    with pytest.raises(RecordError):
        decoded(plain)


def test_fields_of_another_version_stand_beside() -> None:
    assert decoded({"workloads": {"one": {"added_later": 3}}, "added_later": [1]}) == Record(1, {"one": Workload()})
