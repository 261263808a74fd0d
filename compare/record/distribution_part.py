"""A training step on several devices: by strategy parity, programs, transfers and times."""

from __future__ import annotations

from compare.record.base import Count, Indices, Many, Named, Number, Part, Text, Texts, Verdict
from compare.record.workload_part import Failure


class StepDeparture(Part, frozen=True):
    """How far a run of training steps is from a reference; of several arrays that depart, the first one to do so."""

    against: Text = ""
    """The reference: "tf/single", "jax/in-turn"."""
    verdict: Verdict = None
    leaf: Text = ""
    """The array that departs, or the one that is the farthest within its bound."""
    step: Count = None
    """The training step after which it does, from 1."""
    dtype: Text = ""
    """The float type of that run."""
    index: Indices = ()
    """Its farthest element."""
    found: Number = None
    expected: Number = None
    error: Number = None
    """Relative to the largest value."""
    bound: Number = None
    """The largest error that passes."""
    message: Text = ""
    """Why nothing could be compared; else empty."""


class UnlikeCopies(Part, frozen=True):
    """An array that several devices hold, and hold differently."""

    leaf: Text = ""
    step: Count = None
    index: Indices = ()
    devices: Texts = ()
    found: Number = None
    """On the first of the devices."""
    other: Number = None
    """On the second of them."""


class Transfer(Part, frozen=True):
    """Collectives of one step that are alike: kind, groups and line."""

    kind: Text = ""
    count: Count = None
    arrays: Count = None
    """The number of arrays that all of them take."""
    bytes: Count = None
    """Bytes that one device sends in all of them."""
    groups: Many[Indices] = ()
    """Devices that exchange with each other; empty where a program does not say them."""
    source: Text = ""
    """FILE:LINE; empty where that is not known."""


class Resumed(Part, frozen=True):
    """A run that was interrupted: a process was killed in the middle of its steps, and another one went on."""

    after: Count = None
    """The step whose checkpoint was read."""
    killed: Text = ""
    """The message about the killed process."""
    identical: bool | None = None
    """Whether every loss and array after it is that of the run without an interruption, to the last bit."""
    departure: StepDeparture | None = None
    """By the training gate; null where it did not go on."""
    reason: Text = ""
    """Why it did not; else empty."""


class DistributedStep(Part, frozen=True):
    """The training step by one strategy."""

    means: Text = ""
    """The meaning: the step on the whole batch ("single"), or the computation of replicas ("in-turn")."""
    devices: Count = None
    """In all processes together."""
    processes: Count = None
    verdict: Verdict = None
    """Not applicable where the framework refuses it."""
    reason: Text = ""
    """Why it is refused, or fails; else empty."""
    lost_first: Text = ""
    """Where a worker was lost in a first run, and all of it was run again: how it ended."""
    parity: Many[StepDeparture] = ()
    """Against the references of its own side."""
    across: StepDeparture | None = None
    """Against the other framework; null where it has no such reference."""
    unlike: Many[UnlikeCopies] = ()
    compilations: Count = None
    """Programs that XLA compiled for the first step, in all processes together."""
    transfers: Many[Transfer] = ()
    seconds: Number = None
    """Seconds of a step, the median over rounds of their medians."""
    resumed: Resumed | None = None
    """Null where no fault was asked for."""


class Blind(Part, frozen=True):
    """A difference that the arrays of a run cannot show."""

    mistake: Text = ""
    """The mistake that was planted in the reference."""
    seen: Count = None
    """Arrays that show it."""
    arrays: Count = None
    """Arrays in all."""


class Distribution(Part, frozen=True):
    """The training step of one workload by several strategies."""

    name: Text = ""
    size: Text = ""
    batch: Count = None
    """Examples of all devices together."""
    devices: Count = None
    """Logical devices of one process."""
    steps: Count = None
    """Training steps that are compared."""
    axes: Named[Count] = {}
    """By input, the axis that is divided; inputs that are not among them are given whole to every device."""
    strategies: Named[DistributedStep] = {}
    """By "side/strategy"."""
    references: Named[Number] = {}
    """By "side/single", seconds of a step on one device; null where it was not timed."""
    blind: Named[Blind] = {}
    """By "side: mistake", whether the run could tell it."""
    equal_parts: Named[StepDeparture] = {}
    """By side, what replicas compute of a batch whose parts are equal, against one device."""
    alike: Texts = ()
    """Inputs whose parts are equal in every batch: a device that takes another one's part of them is not seen."""
    verdict: Verdict = None
    failures: Many[Failure] = ()


class Distributions(Part, frozen=True):
    """Several workloads."""

    schema: Count = None
    workloads: Many[Distribution] = ()
    cores: Count = None
    """Processors that all logical devices share."""
    environments: Named[Text] = {}
    """By package its version."""
