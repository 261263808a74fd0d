"""What is said of both programs on a device: the sentence, figures, notes and launches."""

from __future__ import annotations

from typing import Any

import pytest
from pages import texts
from target_views import KERNEL, NOTE, OF_ONE, cell, on_tpu, target

from compare.files import convert_plain
from compare.record.target_part import Target
from compare.report import target_blocks, target_rows
from compare.report.pages import Facts


def on_device(**more: Any) -> Target:
    return convert_plain(target(**more), Target)


def said(**more: Any) -> str:
    return target_rows.sentence("H100", on_device(**more))


def test_a_sentence_says_what_differs_for_who_ports() -> None:
    assert said() == (
        "On H100, XLA makes 19 launches of the port and 23 of TensorFlow's program, with 4.01 MiB of intermediates for "
        "the port and 1.18 MiB for TensorFlow's program; the bound by memory is 23.5 µs for the port and 37.0 µs for "
        "TensorFlow's program"
    )


def test_what_is_the_same_is_said_once() -> None:
    assert said(**{"tf@jax": cell(), "jax@jax": cell()}) == (
        "On H100, XLA makes 19 launches of either program, with 4.01 MiB of intermediates each; the bound by memory is "
        "23.5 µs for either"
    )


def test_a_bound_is_called_by_what_binds_each() -> None:
    other = cell(bound_by="tf32 peak", bound_s=1e-3)
    assert "; the bound is 23.5 µs by memory for the port and 1.00 ms by tf32 peak for" in said(**{"tf@jax": other})


def test_a_device_that_lists_no_launches_is_counted_in_kernels() -> None:
    sentence = target_rows.sentence("v5e:2x2", convert_plain(on_tpu(), Target))
    assert sentence.startswith("On v5e:2x2, XLA makes 17 kernels of either program")


@pytest.mark.parametrize(
    ("tf", "jax", "ending"),
    [
        (True, False, "; the port does not fit into its 79.1 GiB"),
        (False, True, "; TensorFlow's program does not fit into its 79.1 GiB"),
        (False, False, "; neither fits into its 79.1 GiB"),
        (True, None, "37.0 µs for TensorFlow's program"),
    ],
)
def test_a_program_that_does_not_fit_is_named(tf: bool, jax: bool | None, ending: str) -> None:
    one = target()["tf@jax"] | {"fits": tf}
    assert said(**{"tf@jax": one, "jax@jax": cell(fits=jax)}).endswith(ending)


def test_a_cell_without_a_module_is_said_with_its_reason() -> None:
    sentence = said(**{"jax@jax": {"reason": "out of\nmemory"}})
    assert sentence == "On H100, XLA makes 23 launches of TensorFlow's program, and nothing of the port: out of memory"
    assert said(**{"tf@jax": None}).endswith(
        "19 launches of the port, and nothing of TensorFlow's program: the record does not say why"
    )


def test_a_long_reason_is_cut_in_the_sentence_and_whole_beside_it() -> None:
    reason = "RESOURCE_EXHAUSTED " + "at this place " * 100
    assert len(said(**{"jax@jax": {"reason": reason}})) < 400
    blocks = list(target_blocks.summary("H100", on_device(**{"jax@jax": {"reason": reason}})))
    assert Facts([("jax@jax", reason)]) in blocks


def test_where_neither_compiles_the_reason_of_both_is_said_once() -> None:
    both = {"tf@jax": {"reason": "expected libtpu"}, "jax@jax": {"reason": "expected libtpu"}}
    assert said(**both) == "For H100, XLA compiles neither program: expected libtpu"
    assert said(**both | {"tf@jax": {"reason": "stopped"}}) == "For H100, XLA compiles neither program"


def test_figures_that_differ_are_marked_though_they_are_shown_alike() -> None:
    rows = {row.title: row for row in target_rows.figures(on_device(**{"tf@jax": cell(flops=360765.0, compile_s=9.0)}))}
    assert rows["operations of the program"].texts == ("361 kFLOP", "361 kFLOP")
    assert rows["operations of the program"].exact == ("360,765", "360,521")
    assert [title for title, row in rows.items() if row.differs] == ["operations of the program"]


def test_launches_come_by_their_bytes_and_keep_the_order_of_the_runtime() -> None:
    light = KERNEL | {"bytes": None}
    launched = [light, KERNEL, KERNEL | {"bytes": 10**9}, KERNEL]
    on_jax = target_rows.of_sides(on_device(**{"jax@jax": cell(launched=launched)}))["jax"]
    rows = texts(target_blocks.launch_table("jax", on_jax))
    assert [row[0] for row in rows] == ["3", "2", "4", "1"]
    assert rows[0][4:6] == ["96 x 2", "128"]


def test_a_note_of_one_program_names_it() -> None:
    assert list(target_rows.notes(on_device())) == [NOTE, f"tf@jax: {OF_ONE}"]
