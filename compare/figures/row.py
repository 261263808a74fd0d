"""A row of the documents: its statements, the experiments for our figures, and the readings of their records."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from compare.record.base import Interval
from compare.record.figure_part import Figure, StatedFigure

DOCUMENTS = {
    "A": 'the lecture "TensorFlow XLA", with slides',
    "B": "notes on reading XLA dumps",
    "C": "an XLA engineer's talk on making TensorFlow faster on GPUs",
    "D": 'the talk "TensorFlow Compiled", 2017',
    "E": "TensorFlow's user documentation of XLA",
}
"""By letter."""

GPU, ANY, UNKNOWN = "a GPU", "any", "not known to us"
"""Hardware of a document's figure."""


SMALL_SIZES = ("smoke", "mixed_bfloat16", "mixed_float16")
"""Sizes of workloads that run within seconds: no document's model is as small."""


class Unread(Exception):
    """A record that has no such number: why, in one line."""


@dataclass(frozen=True)
class Answer:
    """The results of an experiment.

    Attributes:
      printed: the JSON that its last command printed; None where that is no command of jaxport.
      text: what it printed.
      folder: in which its commands ran.
    """

    printed: Any
    text: str
    folder: Path


@dataclass(frozen=True)
class Reading:
    """Finds a figure of ours in the results of an experiment.

    Attributes:
      name: what it counts or measures.
      unit: as in `Figure`.
      read: gives the number and its 95 % interval, None where it has none.
    """

    name: str
    unit: str
    read: Callable[[Answer], tuple[float, Interval]]


@dataclass(frozen=True)
class Experiment:
    """Commands that run one after the other in one folder, and what is read of what they leave."""

    commands: tuple[str, ...]
    readings: tuple[Reading, ...]

    @property
    def small_size(self) -> str:
        """The size that its workload is run at, where that is a small one; else ""."""
        sizes = re.findall(r"--size (\S+)", " ".join(self.commands))
        return next((size for size in sizes if size in SMALL_SIZES), "")


class Rule(Protocol):
    """How our figures are compared with that of a document."""

    def judge(self, ours: Mapping[str, Figure]) -> tuple[str, str]:
        """The verdict, one of VERDICTS, and why, in one sentence.

        Raises:
          Unread: a figure that it needs is missing.
        """
        ...


@dataclass(frozen=True)
class Claim:
    """One figure that documents state, or that they state none.

    Attributes:
      documents: their letters.
      stated: the figure in short; "" where there is none.
      shown: names of our figures that stand beside it.
      hardware: that it was measured on.
      rule: holds ours against it; None where nothing is stated, or nothing can be had.
      remark: one sentence that is added to the verdict's reason.
      absent: the sentence why it cannot be had here; "" where it can.
    """

    documents: str
    stated: str = ""
    shown: tuple[str, ...] = ()
    hardware: str = ANY
    rule: Rule | None = None
    remark: str = ""
    absent: str = ""


@dataclass(frozen=True)
class Row:
    """One row of what the documents show.

    Attributes:
      name: S1, S2, ...
      what: what the documents show.
      claims: their figures.
      experiments: behind ours; none where none can be had.
    """

    name: str
    what: str
    claims: tuple[Claim, ...]
    experiments: tuple[Experiment, ...] = ()


def beside(claim: Claim, ours: tuple[Figure, ...], verdict: str, why: str) -> StatedFigure:
    """A claim beside our figures, for the record."""
    return StatedFigure(tuple(claim.documents.split()), claim.hardware, claim.stated, ours, verdict, why)
