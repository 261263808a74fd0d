"""The table of raw operations that is shipped: its file, what it may name, and what each operation says of itself."""

from __future__ import annotations

import msgspec
import pytest
from places import ROOT

from compare.counterparts import raw_operations, rows
from compare.counterparts.raw_operations import PLUMBING, RawOperation, RawTable
from workloads.protocol.raw_operations import XLA_DEVICE

TABLE = raw_operations.read()
GROUPS = (*rows.operations().values(), *rows.layers().values())
MAKE = "run `make operations`"
ROWS = {row.name: row for group in GROUPS for row in group}


def test_a_table_is_written_as_it_is_read(tmp_path) -> None:
    path = tmp_path / "table.json"
    raw_operations.write(TABLE, path)
    assert path.read_bytes() == raw_operations.FILE.read_bytes()
    assert msgspec.json.decode(path.read_bytes(), type=RawTable) == TABLE


def test_every_operation_has_a_line_of_its_own() -> None:
    assert len(raw_operations.text(TABLE).splitlines()) == len(TABLE.operations) + 2


def test_rows_that_the_table_names_are_rows_of_the_map() -> None:
    named = {name for each in TABLE.operations.values() for name in (*each.rows, *each.within, *each.backward)}
    assert sorted(named - ROWS.keys()) == [], MAKE


def test_every_row_that_is_executed_is_in_the_table() -> None:
    named = {name for each in TABLE.operations.values() for name in (*each.rows, *each.within)}
    without = sorted(name for name, row in ROWS.items() if row.has_counterpart and name not in named)
    # Python computes it while a function is traced.
    assert without == ["tf.broadcast_static_shape"], MAKE


def test_operations_that_rows_say_they_are_about_exist_and_have_the_row() -> None:
    for row in (row for group in rows.operations().values() for row in group):
        for name in row.raw:
            assert row.name in TABLE.operations[name].rows, MAKE


def test_what_needs_no_counterpart_exists() -> None:
    assert sorted(PLUMBING - TABLE.operations.keys()) == []


def test_what_compiled_has_a_kernel_and_says_how() -> None:
    for name, each in TABLE.operations.items():
        assert each.outcome != "compiled" or each.compilable, name
        assert not each.alone or each.outcome == "compiled", name
        assert not each.opcodes or each.alone, name
        assert not each.folded or not each.compilable, name
        assert each.outcome != "refused" or each.reason, name


def test_counts_are_near_those_of_documents() -> None:
    counts = TABLE.counts
    assert 1400 < counts["public"] < 1600
    assert 400 < counts["public_xla_kernel"] < counts["xla_kernel"] < 600
    assert counts["compiled"] > 350 and counts["hlo_opcodes"] > 70


@pytest.mark.parametrize(
    ("kernels", "outcome", "xla"),
    [
        ({XLA_DEVICE: {}}, "compiled", "compiled"),
        ({XLA_DEVICE: {}}, "not tried", "not tried"),
        ({XLA_DEVICE: {}}, "refused", "refused"),
        ({"CPU": {}}, "refused", "no kernel"),
        ({"CPU": {}, "DEFAULT": {}}, "not tried", "no kernel"),
    ],
)
def test_without_a_kernel_xla_cannot_whatever_was_tried(kernels, outcome, xla) -> None:
    operation = RawOperation(kernels=kernels, outcome=outcome)
    assert operation.xla == xla and operation.compilable == (XLA_DEVICE in kernels)


def test_an_operation_has_the_rows_that_are_about_it() -> None:
    assert TABLE.operations["Softmax"].counterparts[0].jax == "jax.nn.softmax(x)"
    assert TABLE.operations["AddV2"].rows[0] == "tf.add"
    assert TABLE.operations["StridedSlice"].constants == ("strides",)
    assert "convolution" in TABLE.operations["Conv2D"].opcodes


def test_gotchas_of_a_row_are_its_own_and_those_that_concern_it() -> None:
    row = rows.Operation("tf.nn.gelu(x)", gotcha="activations/gelu")
    assert rows.gotchas(row)[0] == "activations/gelu" and len(set(rows.gotchas(row))) == len(rows.gotchas(row))
    assert rows.gotchas(rows.Operation("tf.absent(x)", gotcha="no/such")) == ()


def test_a_damaged_table_is_refused(tmp_path) -> None:
    text = raw_operations.text(RawTable({"tensorflow": "1"}, {"A": RawOperation()}))
    assert msgspec.json.decode(text, type=RawTable).operations == {"A": RawOperation()}
    with pytest.raises(msgspec.ValidationError):
        msgspec.json.decode(text.replace('"A":{', '"A":{"outcom":"compiled"'), type=RawTable)


def test_the_page_gives_the_numbers_of_the_table() -> None:
    page, counts = (ROOT / "docs" / "ops.md").read_text(), TABLE.counts
    assert f"TensorFlow {TABLE.versions['tensorflow'].rpartition('.')[0]}:" in page
    for name in ("operations", "public", "xla_kernel", "public_xla_kernel", "compiled"):
        assert f"{counts[name]:,}" in page, name
    assert f"{counts['hlo_opcodes']} opcodes of HLO" in page
