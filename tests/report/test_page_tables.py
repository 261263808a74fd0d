"""A table on a page: which columns and rows are shown, and where the rest is."""

from __future__ import annotations

import pytest

from compare.report.numbers import MISSING
from compare.report.pages import Cell, Column, Table

COLUMNS = (Column("node"), Column("lines"), Column("note"))


@pytest.mark.parametrize(
    ("cell", "is_shown"),
    [
        (Cell(""), False),
        (Cell(MISSING), True),
        (Cell("", names=("MatMul", "Relu")), True),
        (Cell("", note="by its trace"), True),
        (Cell("", bar="50.0%"), True),
    ],
    ids=["nothing", "not known", "names", "a note", "a bar"],
)
def test_only_columns_that_say_nothing_in_any_row_are_left_out(cell: Cell, is_shown: bool) -> None:
    columns, rows = Table(COLUMNS, [("a", cell, "x"), ("b", "", "y")]).compact()
    assert [column.title for column in columns] == (["node", "lines", "note"] if is_shown else ["node", "note"])
    assert len(rows[0]) == len(columns)


def test_a_row_is_left_out_only_where_a_file_has_it() -> None:
    rows = [(f"node {number}", "", "x") for number in range(7)]
    alone = Table(COLUMNS, rows, most=3)
    assert (len(alone.compact(alone.most_on_page)[1]), alone.left_out) == (7, "")
    beside = Table(COLUMNS, rows, most=3, whole_in="nodes.json")
    assert len(beside.compact(beside.most_on_page)[1]) == 3
    assert beside.left_out == "4 more: nodes.json has them all."
