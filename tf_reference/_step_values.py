"""The values of variables in a train_step, where its source is followed."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum, auto

from workloads.protocol.architecture import Clip, Described, LossTerm


class Is(Enum):
    """The meaning of a variable in a train_step."""

    DATA = auto()
    INPUTS = auto()
    TARGETS = auto()
    WEIGHTS = auto()
    PREDICTIONS = auto()
    TAPE = auto()
    VARIABLES = auto()
    PENALTIES = auto()
    LOGS = auto()


@dataclass(frozen=True)
class Loss:
    """A scalar: a sum of terms."""

    terms: tuple[LossTerm, ...]


@dataclass(frozen=True)
class Examples:
    """The losses of single examples."""

    loss: Described


@dataclass(frozen=True)
class Gradients:
    """The gradients of a loss, and their processed values."""

    loss: Loss
    clips: tuple[Clip, ...] = ()
