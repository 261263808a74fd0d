"""Compares the measurements of each row with the documents' figures."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from compare.figures.gpu_runs import TASKS, describe_device
from compare.figures.row import DOCUMENTS, Claim, Row, Unread, beside
from compare.record.envelope import SCHEMA
from compare.record.figure_part import (
    AGREES,
    DIFFERS,
    NO_FIGURE,
    NOT_HERE,
    NOT_MEASURED,
    SAME_DIRECTION,
    SMALL,
    UNDECIDED,
    Figure,
    FigureRow,
    Figures,
    MeasuredExperiment,
    MeasuredRow,
    StatedFigure,
)

_AT_THAT_SIZE = {
    AGREES: "agrees",
    SAME_DIRECTION: "has the same direction",
    DIFFERS: "differs",
    UNDECIDED: "is undecided",
}
"""Verdicts in words for a figure at a small size."""


def judge_rows(
    rows: Sequence[Row], measurements: Mapping[str, MeasuredRow | None], on_gpu: MeasuredRow | None = None
) -> Figures:
    """Every row with its verdicts.

    Args:
      measurements: by row, what is kept of it; None, or nothing, where nothing is.
      on_gpu: the kept figures of `jaxport bench gpu-suite`; None where there are none.
    """
    return Figures(SCHEMA, DOCUMENTS, tuple(_row(row, measurements.get(row.name), on_gpu) for row in rows))


def _row(row: Row, measurement: MeasuredRow | None, on_gpu: MeasuredRow | None) -> FigureRow:
    figures, reasons = _figures(row, measurement)
    claims_stated = (
        *(_state(claim, row, figures, reasons) for claim in row.claims),
        *(_state_gpu_figures(row, on_gpu) if on_gpu else ()),
    )
    return FigureRow(
        row.name, row.what, claims_stated, tuple(experiment.commands for experiment in row.experiments), measurement
    )


def _state_gpu_figures(row: Row, on_gpu: MeasuredRow) -> Iterator[StatedFigure]:
    """The figures that a GPU gave for a row: the documents time TensorFlow there, so that ours stand alone."""
    by_task = {experiment.task: experiment for experiment in on_gpu.experiments if not experiment.reason}
    for task in TASKS:
        experiment = by_task.get(task.name)
        if row.name in task.rows and experiment is not None:
            figures = tuple(figure for figure in experiment.figures if figure.value is not None)
            missing = [f"{figure.name}: {figure.reason}" for figure in experiment.figures if figure.value is None]
            why = (
                f"{task.workload} at size {task.size} on {describe_device(on_gpu.environment)}, {experiment.date[:10]}"
            )
            yield StatedFigure((), "", "", figures, NO_FIGURE, "; ".join([why, *missing]))


def _figures(row: Row, measurement: MeasuredRow | None) -> tuple[dict[str, Figure], list[str]]:
    """Our figures by name, of the experiments that are declared today; and why others are missing."""
    if measurement is None:
        return {}, [f"`jaxport lookup figures --run {row.name}` measures it"] if row.experiments else []
    by_commands = {experiment.commands: experiment for experiment in measurement.experiments}
    figures: dict[str, Figure] = {}
    reasons = []
    for declared_experiment in row.experiments:
        experiment = by_commands.get(
            declared_experiment.commands, MeasuredExperiment(reason=_not_run(declared_experiment.commands, measurement))
        )
        figures |= {figure.name: figure for figure in experiment.figures}
        reasons += [experiment.reason] if experiment.reason else []
    return figures, reasons


def _not_run(commands: tuple[str, ...], measurement: MeasuredRow) -> str:
    others = (
        "; ".join(experiment.commands[-1] for experiment in measurement.experiments if experiment.commands) or "nothing"
    )
    return f"expected a record of `{commands[-1]}`, found {others}"


def _state(claim: Claim, row: Row, figures: Mapping[str, Figure], reasons: Sequence[str]) -> StatedFigure:
    if claim.absent:
        return beside(claim, (), NOT_HERE, claim.absent)
    figures_shown = tuple(figures[name] for name in claim.shown if name in figures)
    verdict, why = _judge(claim, row, figures, reasons)
    remark = "" if verdict == NOT_MEASURED else claim.remark
    return beside(claim, figures_shown, verdict, "; ".join(part for part in (why, remark) if part))


def _judge(claim: Claim, row: Row, figures: Mapping[str, Figure], reasons: Sequence[str]) -> tuple[str, str]:
    if not figures or (claim.shown and not set(claim.shown) & set(figures)):
        return NOT_MEASURED, "; ".join(reasons) or f"the record has no {', '.join(claim.shown)}"
    if claim.rule is None:
        missing = [
            f"{name}: {figures[name].reason}" for name in claim.shown if name in figures and figures[name].reason
        ]
        return NO_FIGURE, "; ".join([*missing, *(name for name in claim.shown if name not in figures)])
    try:
        verdict, why = claim.rule.judge(figures)
    except Unread as error:
        return NOT_MEASURED, str(error)
    size = _small_size(claim, row)
    return (SMALL, f"{why}; at size {size}, where this {_AT_THAT_SIZE[verdict]}") if size else (verdict, why)


def _small_size(claim: Claim, row: Row) -> str:
    """The small size that a figure beside a claim was measured at; "" where all are of larger ones."""
    sizes = (
        experiment.small_size
        for experiment in row.experiments
        if {reading.name for reading in experiment.readings} & set(claim.shown)
    )
    return next(filter(None, sizes), "")
