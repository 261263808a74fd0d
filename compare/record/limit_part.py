"""Statements of documents about compilation, beside the observations."""

from __future__ import annotations

from compare.record.base import Count, Many, Named, Number, Part, Text, Texts

STATEMENT, STREAM, PAIR = "statement", "stream", "pair"
"""Kinds: a function in every mode; calls whose compilations are counted; two functions one line apart, clustered."""

PROGRAMS = {
    STATEMENT: "jaxport lookup limits",
    STREAM: "jaxport compilation recompiles",
    PAIR: "jaxport compilation clusters",
}
"""By kind, the command that runs one of its name."""


class LimitWay(Part, frozen=True):
    """A function as it came out in one way to run it."""

    outcome: Text = ""
    """Of a statement `runs`, `same`, `other` or `raises`; of a stream its counts; of a pair `cut` or `whole`; empty
    where it is not known."""
    told: Text = ""
    """The error, in what the results are other, or numbers; why the outcome is not known."""
    lost: bool = False
    """Whether the worker died or did not answer."""
    place: Text = ""
    """FILE:LINE of an error, in the function's own code."""
    code: Text = ""
    """The text of the line."""
    counts: Texts = ()
    """The traces and the compilations of a stream: "3 traces"."""
    bit_equal: bool | None = None
    """Whether the results are those of TensorFlow eager, bit for bit."""
    error: Number = None
    """The largest, in parts of the largest value of TensorFlow eager."""
    clusters: Count = None
    """The clusters that ran, with autoclustering."""
    outside: Texts = ()
    """Types of the operations that ran outside of them."""


def is_as_stated(way: LimitWay, statement: str) -> bool:
    """Whether an outcome is the one that is stated; of a stream its traces or its compilations may be stated alone."""
    return statement in (way.outcome, *way.counts)


class Limit(Part, frozen=True):
    """One statement, and what came of it."""

    name: Text = ""
    theme: Text = ""
    kind: Text = ""
    summary: Text = ""
    """The function in words."""
    statement: Text = ""
    """The document's statement, in other words."""
    source: Text = ""
    port: Text = ""
    note: Text = ""
    says: Named[Text] = {}
    """By way, the outcome that follows from the statement; of a stream its traces or its compilations alone."""
    expected: Named[Text] = {}
    """By way, the outcome that these versions are known to have."""
    ways: Named[LimitWay] = {}
    agrees: bool | None = None
    """Whether everything that follows from the statement was seen; None where nothing does, or
    that is not known."""
    unexpected: Text = ""
    """Where something came out otherwise than it is known to."""
    command: Text = ""


class TriedLimits(Part, frozen=True):
    """Limits, listed or run."""

    schema: Count = None
    limits: Many[Limit] = ()
    versions: Named[Text] = {}
    """By package, of what they were run with."""
