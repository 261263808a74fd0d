"""Parity: verdicts of gates and all that they rest on."""

from __future__ import annotations

from compare.record.base import Indices, Many, Named, Number, Part, Text, Verdict


class Deviation(Part, frozen=True, rename={"pass_": "pass"}):
    gate: Text = ""
    kind: Text = ""
    pass_: Text = ""
    leaf: Text = ""
    bound: Number = None
    observed: Number = None
    reason: Text = ""


class Comparison(Part, frozen=True, rename={"pass_": "pass"}):
    gate: Text = ""
    pass_: Text = ""
    case: Text = ""
    leaf: Text = ""
    dtype: Text = ""
    found_from: Text = ""
    expected_from: Text = ""
    error: Number = None
    bound: Number = None
    noise: Number = None
    verdict: Verdict = None
    worst_index: Indices = ()
    expected: Number = None
    found: Number = None
    message: Text = ""


class Gate(Part, frozen=True):
    verdict: Verdict = None
    comparisons: Many[Comparison] = ()
    reason: Text = ""


class Break(Part, frozen=True):
    pattern: Text = ""
    magnitude: Number = None
    leaf: Text = ""
    index: Indices = ()
    found: Number = None
    original: Number = None
    exact: Number = None
    error: Number = None
    bound: Number = None
    operation: Text = ""
    line: Text = ""
    original_line: Text = ""


class Call(Part, frozen=True):
    magnitude: Number = None
    said: Text = ""


class Span(Part, frozen=True):
    pattern: Text = ""
    low: Number = None
    high: Number = None
    calls: Many[Call] = ()
    breaks: Many[Break] = ()


class Reach(Part, frozen=True, rename={"pass_": "pass"}):
    input: Text = ""
    pass_: Text = ""
    verdict: Verdict = None
    spans: Many[Span] = ()
    worst: Break | None = None
    error: Number = None
    message: Text = ""
    mode: Text = "jax/jit"


class AtSize(Part, frozen=True):
    dimensions: Named[int] = {}
    verdict: Verdict = None
    reason: Text = ""


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
