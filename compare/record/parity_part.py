"""Parity: verdicts of gates and all that they rest on."""

from __future__ import annotations

from compare.record.base import Indices, Many, Named, Number, Part, Text, Verdict


class Deviation(Part, frozen=True, rename={"pass_": "pass"}):
    gate: Text = None
    kind: Text = None
    pass_: Text = None
    leaf: Text = None
    bound: Number = None
    observed: Number = None
    reason: Text = None


class Comparison(Part, frozen=True, rename={"pass_": "pass"}):
    gate: Text = None
    pass_: Text = None
    case: Text = None
    leaf: Text = None
    dtype: Text = None
    found_from: Text = None
    expected_from: Text = None
    error: Number = None
    bound: Number = None
    noise: Number = None
    verdict: Verdict = None
    worst_index: Indices = ()
    expected: Number = None
    found: Number = None
    message: Text = None


class Gate(Part, frozen=True):
    verdict: Verdict = None
    reason: Text = None
    comparisons: Many[Comparison] = ()


class Break(Part, frozen=True):
    pattern: Text = None
    magnitude: Number = None
    leaf: Text = None
    index: Indices = ()
    found: Number = None
    original: Number = None
    exact: Number = None
    error: Number = None
    bound: Number = None
    operation: Text = None
    line: Text = None
    original_line: Text = None


class Call(Part, frozen=True):
    magnitude: Number = None
    said: Text = None


class Span(Part, frozen=True):
    pattern: Text = None
    low: Number = None
    high: Number = None
    calls: Many[Call] = ()
    breaks: Many[Break] = ()


class Reach(Part, frozen=True, rename={"pass_": "pass"}):
    input: Text = None
    pass_: Text = None
    verdict: Verdict = None
    spans: Many[Span] = ()
    worst: Break | None = None
    error: Number = None
    message: Text = None
    mode: Text = None


class AtSize(Part, frozen=True):
    dimensions: Named[int] = {}
    verdict: Verdict = None
    reason: Text = None


class Parity(Part, frozen=True):
    verdict: Verdict = None
    gates: Named[Gate] = {}
    oracle: Named[str] = {}
    deviations: Many[Deviation] = ()
    reach: Many[Reach] = ()
    sizes: Many[AtSize] = ()

    def __post_init__(self) -> None:
        """Refuse a verdict that the gates contradict: the exit code rests on it.

        Raises:
          ValueError: a gate fails, and the verdict is pass.
        """
        super().__post_init__()
        failing = [name for name, gate in self.gates.items() if gate.verdict == "fail"]
        if self.verdict == "pass" and failing:
            raise ValueError(f"verdict pass beside the failing gate {failing[0]}")
