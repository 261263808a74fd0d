"""A call of a sweep that breaks by TensorFlow's program holds where the port follows eager mode in the whole leaf."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from compare.parity import stability
from compare.parity.breaks import Outcome
from compare.parity.stability import BREAKS, HOLDS, Rounding, Values
from compare.prove.following import MOST_IN_VAIN, Following
from compare.prove.original_modes import Eager
from workloads.core.spec import Arrays
from workloads.core.sweeps import Probe

ROUNDING = Rounding(2.0**-24, 1e-38, 3e38, 4.0)
XLA, EAGER = np.array([4, 1, 2]), np.array([3, 1, 2])
PLAIN, KINK = np.array([0.5, -1.25, 3.0]), np.array([0.5, 0.25, 3.0])


def leaf(array: np.ndarray) -> Arrays:
    return {"output": array.astype(np.float32) if array.dtype.kind == "f" else array}


class Asked:
    """Eager mode, which gives the same in every call."""

    def __init__(self, exact: np.ndarray) -> None:
        self.exact, self.calls = exact, 0

    def __call__(self, pass_: str, calls: Sequence[Arrays]) -> list[Eager]:
        self.calls += len(calls)
        return [Eager(leaf(self.exact), {"output": self.exact})] * len(calls)


def said(port: np.ndarray, xla: np.ndarray, eager: np.ndarray, calls: int = 1) -> tuple[list[Outcome], Following, int]:
    values = Values(leaf(port), leaf(xla), {"output": xla})
    before = stability.worst(stability.by_leaf(values, ROUNDING).values())
    asked = Asked(eager)
    following = Following(asked, "forward", "my_port", "jax/jit")
    probes = [Probe("x", "of both signs, up to ", 1.0)] * calls
    judged = following.follow([({}, values, before)] * calls, probes, ROUNDING)
    return [outcome for _, _, outcome in judged], following, asked.calls


@pytest.mark.parametrize(("xla", "eager"), [(XLA, EAGER), (PLAIN, KINK)])
def test_a_port_that_follows_eager_mode_holds(xla: np.ndarray, eager: np.ndarray) -> None:
    (outcome,), following, _ = said(eager, xla, eager)
    assert outcome.status == HOLDS
    (finding,) = following.findings
    assert (finding.modes, finding.follows) == (("tf/jit", "tf/eager"), "tf/eager")


@pytest.mark.parametrize(
    ("port", "xla", "eager"),
    [
        (np.array([0, 1, 2]), XLA, EAGER),  # neither
        (np.array([3, 7, 2]), XLA, EAGER),  # eager mode's, and wrong elsewhere
        (np.array([4, 0, 9]), np.array([4, 1, 9]), np.array([3, 0, 2])),  # one element of each
        (np.array([0.5, 0.25, 3.1]), PLAIN, KINK),
        (np.array([0.5, 0.5, 3.0]), PLAIN, KINK),
        (KINK, PLAIN, PLAIN),  # the modes agree
    ],
)
def test_a_port_that_follows_no_mode_breaks(port: np.ndarray, xla: np.ndarray, eager: np.ndarray) -> None:
    (outcome,), following, _ = said(port, xla, eager)
    assert outcome.status == BREAKS and not following.findings


def test_a_port_that_follows_no_mode_is_asked_of_few_calls() -> None:
    outcomes, _, calls = said(np.array([0, 1, 2]), XLA, EAGER, calls=50)
    assert {outcome.status for outcome in outcomes} == {BREAKS} and calls == MOST_IN_VAIN
    _, following, calls = said(EAGER, XLA, EAGER, calls=50)
    assert len(following.findings) == calls == 50
