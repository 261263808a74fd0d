"""Judges a distributed step by its findings."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from compare.record.distribution_part import Resumed, StepDeparture, Transfer
from compare.record.vocabulary import FAIL, PASS
from workloads.protocol.distributing import IN_TURN, Unlike


@dataclass(frozen=True)
class Found:
    """The findings on one strategy.

    Attributes:
      means: the reference that it has to equal.
      held: the verdict against that one; None where it was not run.
      untold: why it was not run.
      across: against the other framework.
      unlike: arrays whose copies differ.
      transfers: of a step.
      resumed: a run that was interrupted.
      equal_parts: what replicas of equal parts compute, against one device; None where it was not run.
    """

    means: str
    held: str | None
    untold: str
    across: StepDeparture | None
    unlike: Sequence[Unlike]
    transfers: Sequence[Transfer]
    resumed: Resumed | None
    equal_parts: StepDeparture | None


def verdict(findings: Found) -> tuple[str, str]:
    """Pass or fail, and all reasons of a failure."""
    if findings.held is None:
        return FAIL, f"nothing to hold it against: {findings.untold}"
    problems = {
        "devices hold different values of one array": bool(findings.unlike),
        "it does not compute what it should": findings.held == FAIL,
        "replicas of equal parts take another step than one device: the loss adds up over examples, or draws come from "
        "what every device is given whole": findings.means == IN_TURN
        and findings.held == PASS
        and _fails(findings.equal_parts),
        "the frameworks differ": _fails(findings.across),
        "nothing is exchanged: the step is not distributed": not findings.transfers,
        "resumed from a checkpoint it goes on otherwise": findings.resumed is not None
        and (findings.resumed.departure is None or _fails(findings.resumed.departure)),
    }
    reasons = [problem for problem, occurs in problems.items() if occurs]
    return (FAIL, "; ".join(reasons)) if reasons else (PASS, "")


def _fails(departure: StepDeparture | None) -> bool:
    return departure is not None and departure.verdict == FAIL
