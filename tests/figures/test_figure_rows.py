"""The rows as they are declared, held against what was measured: verdicts, and what is missing."""

import shlex
from typing import Any

import pytest

from compare import cli
from compare.errors import RequestError
from compare.figures.all_rows import ROWS, choose
from compare.figures.holding_figures import judge_rows
from compare.figures.running_rows import PROGRAMS
from compare.record.figure_part import (
    AGREES,
    DIFFERS,
    NOT_HERE,
    NOT_MEASURED,
    SAME_DIRECTION,
    Figure,
    MeasuredExperiment,
    MeasuredRow,
)

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
    assert verdict == NOT_HERE and "one device" in why


def test_a_row_is_named_in_any_case_and_a_wrong_one_is_refused() -> None:
    assert [row.name for row in choose(["s3", "S1"])] == ["S1", "S3"]
    with pytest.raises(RequestError, match=r"expected a row, S1 to S29, found 'S30': did you mean S"):
        choose(["S30"])
