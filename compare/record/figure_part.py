"""The documents' figures beside ours: the measurements of a row, and how they compare with the document."""

from __future__ import annotations

from compare.record.base import Count, Interval, Many, Named, Number, Part, Text, Texts
from compare.record.envelope import Environment

AGREES, SAME_DIRECTION, DIFFERS = "agrees", "same direction", "differs"
UNDECIDED, NOT_MEASURED, SMALL = "undecided", "not measured", "small size"
NOT_HERE, NO_FIGURE = "not measurable here", "no figure stated"

VERDICTS = {
    AGREES: "our figure is the document's, or our interval holds it",
    SAME_DIRECTION: "our figure is another one, and lies on the same side: fewer, or faster, as the document has it",
    DIFFERS: "our figure says otherwise",
    UNDECIDED: "our interval is too wide to tell, or there is none",
    SMALL: "ours is of a small size and is not compared with the document's: at a larger size it may differ",
    NOT_MEASURED: "nothing was measured, or not what the row asks for",
    NOT_HERE: "it cannot be had on this machine, and the reason is given",
    NO_FIGURE: "the document states none, ours stands alone",
}
"""How our figure stands to that of a document, and what each word means."""


class Figure(Part, frozen=True):
    """One number that was measured."""

    name: Text = ""
    """The counted or measured quantity."""
    unit: Text = ""
    """`s`, `bytes`, `x` of a factor, or empty of a count."""
    value: Number = None
    ci95: Interval = None
    """Its 95 % interval, where it has one."""
    reason: Text = ""
    """Why there is no number."""


class MeasuredExperiment(Part, frozen=True):
    """One experiment as it was run."""

    commands: Texts = ()
    """One after the other, in one folder."""
    date: Text = ""
    """UTC time, ISO 8601."""
    seconds: Number = None
    """Seconds of the whole experiment."""
    load: Number = None
    """Average of processes that wanted to run in the minute before it began, of all programs on the machine."""
    figures: Many[Figure] = ()
    reason: Text = ""
    """Why there are no figures."""
    task: Text = ""
    """The task of `jaxport bench gpu-suite`; empty in the file of a row."""


class MeasuredRow(Part, frozen=True):
    """ROW.json: what was measured of one row."""

    schema: Count = None
    row: Text = ""
    environment: Environment | None = None
    """Versions and machine."""
    experiments: Many[MeasuredExperiment] = ()


class StatedFigure(Part, frozen=True):
    """One figure of a document beside ours."""

    documents: Texts = ()
    """Their letters."""
    hardware: Text = ""
    """The hardware of the document."""
    stated: Text = ""
    """The document's figure; empty where it states none."""
    ours: Many[Figure] = ()
    verdict: Text = ""
    """One of VERDICTS."""
    why: Text = ""
    """In one sentence."""


class FigureRow(Part, frozen=True):
    """One row: what is asked for, and each of its figures."""

    row: Text = ""
    what: Text = ""
    stated: Many[StatedFigure] = ()
    commands: Many[Texts] = ()
    """By experiment, its command lines."""
    measured: MeasuredRow | None = None
    """Null where nothing was measured."""


class Figures(Part, frozen=True):
    """All rows that were asked for."""

    schema: Count = None
    documents: Named[Text] = {}
    """By letter."""
    rows: Many[FigureRow] = ()
