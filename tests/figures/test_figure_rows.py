"""The rows as they are declared, held against what was measured: verdicts, and what is missing."""

import shlex
from typing import Any

import pytest
from places import ROOT

from compare import cli
from compare.errors import RequestError
from compare.figures.all_rows import ROWS, choose
from compare.figures.holding_figures import judge_rows
from compare.figures.kept_rows import load_row
from compare.figures.row import SMALL_SIZES
from compare.figures.running_rows import PROGRAMS
from compare.figures.verdict_rules import number
from compare.record.figure_part import (
    AGREES,
    DIFFERS,
    NOT_HERE,
    NOT_MEASURED,
    SAME_DIRECTION,
    SMALL,
    UNDECIDED,
    Figure,
    MeasuredExperiment,
    MeasuredRow,
)
from workloads.core import registry

BY_NAME = {row.name: row for row in ROWS}


def measured(name: str, figures: dict[str, Any], commands: tuple[str, ...] | None = None) -> MeasuredRow:
    made = tuple(Figure(each, "", value) for each, value in figures.items())
    return MeasuredRow(
        1, name, None, (MeasuredExperiment(commands or BY_NAME[name].experiments[0].commands, figures=made),)
    )


def verdicts(name: str, row: MeasuredRow | None) -> list[tuple[str, str]]:
    (found,) = judge_rows([BY_NAME[name]], {name: row}).rows
    return [(stated.verdict, stated.why) for stated in found.stated]


def test_there_are_the_rows_of_the_documents_in_their_order() -> None:
    assert [row.name for row in ROWS] == [f"S{number}" for number in range(1, 30)]


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)
def test_a_row_has_an_experiment_or_the_sentence_why_not(row: Any) -> None:
    assert row.what and row.claims
    assert bool(row.experiments) != all(claim.absent for claim in row.claims)
    names = [reading.name for experiment in row.experiments for reading in experiment.readings]
    assert len(names) == len(set(names))
    for claim in row.claims:
        assert set(claim.documents.split()) <= set("ABCDE")
        assert set(claim.shown) <= set(names)
        if row.experiments and not claim.absent:
            assert claim.shown and bool(claim.rule) == bool(claim.stated)


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)
def test_every_command_of_an_experiment_parses(row: Any) -> None:
    for command in (command for experiment in row.experiments for command in experiment.commands):
        program, *arguments = shlex.split(command)
        assert program in PROGRAMS
        if program == "jaxport":
            cli.parse_options(arguments)


def test_the_other_figure_turns_the_verdict_round() -> None:
    def of(graph: int, jit: int) -> str:
        return verdicts("S5", measured("S5", {"kernels of tf/graph": graph, "kernels of tf/jit": jit}))[0][0]

    assert (of(4, 1), of(4, 3), of(1, 4)) == (AGREES, SAME_DIRECTION, DIFFERS)


def test_a_figure_of_a_small_size_is_held_against_nothing() -> None:
    row = BY_NAME["S9"]
    figures = tuple(
        Figure(f"recurrent: {mode} faster than tf/graph", "x", 1.2, (1.1, 1.3)) for mode in ("tf/jit", "jax/jit")
    )
    assert row.experiments[0].small_size == "smoke"
    kept = MeasuredRow(1, "S9", None, (MeasuredExperiment(row.experiments[0].commands, figures=figures),))
    verdict, why = verdicts("S9", kept)[0]
    assert verdict == SMALL and why.startswith(
        "our interval is 1.1x to 1.3x, stated: 1.2x; at size smoke, where this agrees"
    )


@pytest.mark.parametrize("name", registry.names())
def test_a_size_that_counts_as_small_is_smoke_in_another_type(name: str) -> None:
    sizes = registry.get(name).sizes
    for size in set(SMALL_SIZES) & set(sizes):
        assert sizes[size].items() >= sizes["smoke"].items()


def test_a_parity_size_is_not_the_size_that_is_measured() -> None:
    sizes = {row.name: [experiment.small_size for experiment in row.experiments] for row in ROWS}
    assert sizes["S1"] == ["", ""] and sizes["S10"] == ["mixed_bfloat16"] * 4 and set(sizes["S8"]) == {""}


def test_nearly_four_times_is_held_against_eager() -> None:
    factors = {"tf/jit faster than tf/graph": 3.5, "tf/jit faster than tf/eager": 12.0}
    figures = tuple(Figure(each, "x", value, (value - 0.2, value + 0.2)) for each, value in factors.items())
    row = MeasuredRow(1, "S1", None, (MeasuredExperiment(BY_NAME["S1"].experiments[0].commands, figures=figures),))
    stated = next(each for each in judge_rows([BY_NAME["S1"]], {"S1": row}).rows[0].stated if "nearly" in each.stated)
    assert stated.verdict == SAME_DIRECTION and "11.8x to 12.2x" in stated.why
    without = MeasuredExperiment(
        BY_NAME["S1"].experiments[0].commands, figures=(Figure("tf/jit faster than tf/eager", "x", 12.0),)
    )
    assert (UNDECIDED, "12x has no interval") in [
        (verdict, why[:19]) for verdict, why in verdicts("S1", MeasuredRow(1, "S1", None, (without,)))
    ]


def test_a_record_of_another_command_is_no_agreement() -> None:
    agreeing = {"kernels of tf/graph": 4, "kernels of tf/jit": 1}
    (found,) = verdicts("S5", measured("S5", agreeing, ("jaxport run add --no-timing",)))
    expected = BY_NAME["S5"].experiments[0].commands[0]
    assert found == (NOT_MEASURED, f"expected a record of `{expected}`, found jaxport run add --no-timing")


def test_a_missing_number_is_no_agreement() -> None:
    (found,) = verdicts("S5", measured("S5", {"kernels of tf/graph": 4}))
    assert found == (NOT_MEASURED, "the record has no kernels of tf/jit")
    (found,) = verdicts("S5", measured("S5", {"kernels of tf/graph": 4, "kernels of tf/jit": None}))
    assert found == (NOT_MEASURED, "kernels of tf/jit: no number")


def test_an_experiment_that_failed_says_why() -> None:
    failed = MeasuredExperiment(BY_NAME["S5"].experiments[0].commands, reason="`jaxport run` ended with 2")
    assert verdicts("S5", MeasuredRow(1, "S5", None, (failed,))) == [(NOT_MEASURED, "`jaxport run` ended with 2")]


def test_what_is_not_measured_or_cannot_be_had_says_so() -> None:
    assert verdicts("S5", None) == [(NOT_MEASURED, "`jaxport lookup figures --run S5` measures it")]
    _, (verdict, why) = verdicts("S29", None)
    assert verdict == NOT_HERE and "two logical devices of a CPU are two devices" in why


def test_a_row_is_named_in_any_case_and_a_wrong_one_is_refused() -> None:
    assert [row.name for row in choose(["s3", "S1"])] == ["S1", "S3"]
    with pytest.raises(RequestError, match=r"expected a row, S1 to S29, found 'S30': did you mean S"):
        choose(["S30"])


def test_lessons_say_of_memory_what_was_measured() -> None:
    kept = load_row("S11", ROOT / "docs/results/figures")
    figures = {figure.name: figure for each in kept.experiments for figure in each.figures} if kept else {}
    in_jit, in_graph = (number(figures, f"bytes an example in {mode}") for mode in ("tf/jit", "tf/graph"))
    is_more = in_jit > in_graph
    sentence = f"`jit_compile=True` takes {'more' if is_more else 'fewer'} bytes an example than the graph"
    assert sentence in (ROOT / "docs/guide/lessons.md").read_text()
