"""Both programs on devices, on a terminal: a row a program, the differences, each note once."""

from __future__ import annotations

import io
from typing import Any

import pytest
from pages import decoded
from rich.console import Console
from target_views import NOTE, OF_ONE, cell, on_tpu, target

from compare.files import convert_plain
from compare.record.target_part import Target
from compare.report.console import print_overview
from compare.report.numbers import MISSING
from compare.report.target_tables import print_targets
from compare.report.terminal import PlainConsole


def printed(*rows: tuple[str, str, dict[str, Any]], width: int | None = None) -> list[str]:
    """The lines of a pipe, or of a terminal of that width."""
    file = io.StringIO()
    console = PlainConsole(file=file, force_terminal=width is not None, width=width, color_system=None)
    print_targets([(name, device, convert_plain(plain, Target)) for name, device, plain in rows], console)
    return file.getvalue().splitlines()


def row(lines: list[str], *start: str) -> list[str]:
    (found,) = [line.split() for line in lines if line.split()[: len(start)] == list(start)]
    return found[len(start) :]


def test_every_program_has_a_row_with_every_figure() -> None:
    lines = printed(("mnist_mlp", "H100", target()))
    assert " ".join(row(lines, "mnist_mlp", "H100", "tf@jax")) == (
        "17 23 11 5 cuBLASLt, 2 cuDNN 1.18 MiB 5.00 MiB 20.2 MiB 37.0 µs by memory no"
    )
    assert " ".join(row(lines, "mnist_mlp", "H100", "jax@jax")) == (
        "17 19 11 5 cuBLASLt, 2 cuDNN 4.01 MiB 5.00 MiB 20.2 MiB 23.5 µs by memory no"
    )


def test_a_tpu_has_no_launches_and_a_program_that_does_not_fit_says_so() -> None:
    lines = printed(("a", "v5e", on_tpu()), ("a", "T4", target(**{"jax@jax": cell(fits=False)})))
    assert row(lines, "a", "v5e", "tf@jax")[:3] == ["17", MISSING, "11"]
    assert row(lines, "a", "v5e", "tf@jax")[-1] == "yes"
    assert "5.00 MiB, does not fit" in " ".join(row(lines, "a", "T4", "jax@jax"))


def test_below_the_table_stand_a_sentence_and_the_first_differences_of_each_device() -> None:
    many = [f"figure {number}: 1 in tf@jax, 2 in jax@jax" for number in range(8)]
    lines = printed(("a", "H100", target(differences=many)))
    start = next(place for place, line in enumerate(lines) if line.startswith("a: On H100, XLA makes 19 launches of"))
    assert lines[start + 1 : start + 8] == [
        *(f"  {line}" for line in many[:6]),
        "  and 2 more, on the page and in hlo.json",
    ]


def test_a_note_is_printed_once_with_those_that_it_is_said_of() -> None:
    lines = printed(("a", "H100", target()), ("b", "H100", target()), ("b", "T4", target()), ("c", "v5e", on_tpu()))
    assert [line for line in lines if line.startswith("note")] == [
        f"note H100, T4: {NOTE}",
        f"note H100, T4: {OF_ONE}",
        "note v5e: kernels count instructions",
    ]
    apart = target(**{"tf@jax": cell()})
    assert f"note b on T4: {OF_ONE}" in printed(("a", "T4", apart), ("b", "T4", target()))


@pytest.mark.parametrize("missing", [None, {}, {"reason": "expected libtpu"}])
def test_a_missing_cell_has_a_reason_in_place_of_figures(missing: dict[str, str] | None) -> None:
    reason = (missing or {}).get("reason", "the record does not say why")
    lines = printed(("a", "H100", target(**{"jax@jax": missing, "equal": None})))
    assert set(row(lines, "a", "H100", "jax@jax")) == {MISSING}
    assert [line for line in lines if line.endswith(f"and nothing of the port: {reason}")]


def test_reasons_that_a_sentence_has_no_room_for_are_printed_in_full() -> None:
    long = "at this place " * 50
    lines = printed(("a", "H100", target(**{"tf@jax": {"reason": "stopped"}, "jax@jax": {"reason": long}})))
    assert "  tf@jax: stopped" in lines and f"  jax@jax: {long}".rstrip() in [line.rstrip() for line in lines]


def test_a_terminal_of_80_columns_keeps_a_row_a_program() -> None:
    rows = ("running_example", "v5e:2x2", on_tpu()), ("running_example", "H100", target())
    narrow, wide = printed(*rows, width=80), printed(*rows, width=180)
    legend = next(place for place, line in enumerate(narrow) if line.startswith("both programs compiled by"))
    assert legend > 4 and max(map(len, narrow[:legend])) <= 80
    assert " ".join(row(narrow, "running_example", "H100", "jax@jax")) == "19 23.5 µs by memory no"
    assert any("fusions" in line for line in wide) and not any("fusions" in line for line in narrow)


def test_no_name_steers_the_terminal_or_reads_as_markup() -> None:
    evil = "[red]x[/red]\x1b[2J\nforged"
    hostile = target(differences=[evil], **{"tf@jax": cell(notes=[evil]), "jax@jax": {"reason": evil}})
    file = io.StringIO()
    rows = [(evil, evil, hostile), ("long" * 100, "H100", target())]
    print_targets(
        [(name, device, convert_plain(plain, Target)) for name, device, plain in rows], Console(file=file, width=80)
    )
    lines = file.getvalue().splitlines()
    assert "\x1b" not in "".join(lines) and "[red]x[/red]" in "".join(lines)
    assert not [line for line in lines if line.strip().startswith("forged ")]


def test_without_devices_nothing_is_printed() -> None:
    assert printed() == []


def test_the_overview_of_a_run_has_a_line_a_device() -> None:
    file = io.StringIO()
    record = decoded({"workloads": {"mnist_mlp": {"targets": {"H100": target(), "v5e:2x2": on_tpu()}}}})
    print_overview(record, PlainConsole(file=file))
    lines = [line for line in file.getvalue().splitlines() if line.startswith("target mnist_mlp: ")]
    assert [line.split(",")[0] for line in lines] == ["target mnist_mlp: On H100", "target mnist_mlp: On v5e:2x2"]
