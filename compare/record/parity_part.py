"""Parity: verdicts of gates and all that they rest on."""

from __future__ import annotations

from compare.record.base import Indices, Many, Named, Number, Part, Text, Verdict
from compare.record.vocabulary import FAIL, NOT_JUDGED, PASS


class Deviation(Part, frozen=True, rename={"pass_": "pass"}):
    """A bound that is wider than its rule has it, declared by the workload or derived from its programs."""

    gate: Text = ""
    """The gate that it widens."""
    kind: Text = ""
    """Declared or derived."""
    pass_: Text = ""
    """The pass of a derived leaf."""
    leaf: Text = ""
    """The array of a derived leaf."""
    bound: Number = None
    """Relative to the largest value."""
    observed: Number = None
    """The largest error, relative to the largest value; null where nothing was measured."""
    reason: Text = ""
    """Why it is allowed."""


class Disagreement(Part, frozen=True, rename={"pass_": "pass"}):
    """Two modes of TensorFlow that disagree: no fault of the port, which cannot agree with both."""

    gate: Text = ""
    """The gate that came upon it."""
    pass_: Text = ""
    """The pass: forward or gradients."""
    case: Text = ""
    """The case that was run."""
    leaf: Text = ""
    """The array's name."""
    index: Indices = ()
    """The first element at which they disagree."""
    modes: Many[Text] = ()
    """The two modes."""
    values: Many[Number] = ()
    """The values of each."""
    elements: Number = None
    """How many elements of the leaf they disagree at."""
    follows: Text = ""
    """The mode that the port agrees with, in the whole leaf."""
    message: Text = ""
    """The comparison in one line."""


class Comparison(Part, frozen=True, rename={"pass_": "pass"}):
    """One leaf held against one bound. Errors are max|found - expected| / max|expected|."""

    gate: Text = ""
    """The gate that it belongs to."""
    pass_: Text = ""
    """The pass: forward, gradients or step."""
    case: Text = ""
    """The case that was run."""
    leaf: Text = ""
    """The array's name; empty where runs were not comparable."""
    dtype: Text = ""
    """The dtype of the found array."""
    found_from: Text = ""
    """Whose array is judged: a mode of the port, or jax for its float64 arrays."""
    expected_from: Text = ""
    """The source of the expected values."""
    error: Number = None
    """Relative to the largest value; inf where arrays are not comparable, null where nothing was judged."""
    bound: Number = None
    """The largest error that passes."""
    noise: Number = None
    """TensorFlow eager against TensorFlow XLA, in the same measure; null where not run."""
    verdict: Verdict = None
    """Pass, fail, or not_judged where one of the two is missing."""
    worst_index: Indices = ()
    """Where the error is largest."""
    expected: Number = None
    """The value expected there."""
    found: Number = None
    """The value found there."""
    message: Text = ""
    """One line where it fails, is not judged, or its bound was widened, else empty."""


class Gate(Part, frozen=True):
    """The verdict of one gate."""

    verdict: Verdict = None
    """Pass, fail, not_applicable, or not_judged where evidence is missing."""
    comparisons: Many[Comparison] = ()
    """One a leaf, case and mode."""
    reason: Text = ""
    """Why there is nothing to compare, or what qualifies the verdict; empty where nothing does."""


class Break(Part, frozen=True):
    """Where the port breaks and the original does not, by its worst element."""

    pattern: Text = ""
    """How inputs were drawn."""
    magnitude: Number = None
    """The magnitude of the inputs."""
    leaf: Text = ""
    """The array that breaks."""
    index: Indices = ()
    """Its worst element."""
    found: Number = None
    """The port's value there."""
    original: Number = None
    """TensorFlow's value there."""
    exact: Number = None
    """TensorFlow's value there in float64."""
    error: Number = None
    """Relative to the largest value of the leaf."""
    bound: Number = None
    """The largest error that holds, in the same measure."""
    operation: Text = ""
    """The first opcode that breaks in the port's program; empty where nothing tells it."""
    line: Text = ""
    """FILE:LINE of that operation."""
    original_line: Text = ""
    """FILE:LINE where TensorFlow computes the leaf."""


class Call(Part, frozen=True):
    """One call of a sweep."""

    magnitude: Number = None
    """The magnitude of the inputs."""
    said: Text = ""
    """Holds, port breaks, port is better, both break, or nothing to judge."""


class Span(Part, frozen=True):
    """Between which magnitudes the port holds where the original does, in one pattern of inputs."""

    pattern: Text = ""
    """How inputs were drawn."""
    low: Number = None
    """The least magnitude that holds; null where it breaks at ordinary magnitudes, or nothing can be judged."""
    high: Number = None
    """The largest magnitude that holds; null as `low`."""
    calls: Many[Call] = ()
    """From the least magnitude to the largest."""
    breaks: Many[Break] = ()
    """The first call beyond each end that does not hold."""


class Reach(Part, frozen=True, rename={"pass_": "pass"}):
    """The result of one input's sweep in one pass."""

    input: Text = ""
    """The input that was swept, or all of them."""
    pass_: Text = ""
    """The pass: forward or gradients."""
    verdict: Verdict = None
    """Fail where the port breaks at a magnitude that counts."""
    spans: Many[Span] = ()
    """By pattern."""
    worst: Break | None = None
    """The break that decides: the one at the most ordinary magnitude."""
    error: Number = None
    """The largest error of any break that counts."""
    message: Text = ""
    """One line where it breaks, else empty."""
    mode: Text = ""
    """The mode of the port: jax/tuned if it was compiled with the options that it declares."""


class Place(Part, frozen=True, rename={"pass_": "pass"}):
    """Where a pass fails: an operation whose value departs from TensorFlow's, though all that it reads agrees."""

    pass_: Text = ""
    """The pass: forward, gradients or step."""
    operation: Text = ""
    """How it departs (changed, missing or extra) and its opcode; empty where no operation is located."""
    tf_line: Text = ""
    """FILE:LINE in the original; empty where nothing tells it."""
    jax_line: Text = ""
    """FILE:LINE in the port; empty likewise."""
    difference: Text = ""
    """The difference between both operations, or why none is located."""
    cause: Text = ""
    """The likely error; empty if no known one fits."""
    remedy: Text = ""
    """The advice to the user; may be empty."""
    gotchas: Text = ""
    """The argument for `jaxport lookup gotchas`; may be empty."""
    proof: Text = ""
    """Why this operation is to blame."""


class AtSize(Part, frozen=True):
    """The port at other sizes of its named dimensions."""

    dimensions: Named[int] = {}
    """The sizes."""
    verdict: Verdict = None
    """Not applicable where the original does not take them, not judged where evidence is missing."""
    reason: Text = ""
    """Why it fails, or is not judged there; else empty."""


class Parity(Part, frozen=True):
    """The six gates: fails where any fails, else is not judged where any is not, else passes."""

    verdict: Verdict = None
    """Pass, fail or not_judged."""
    gates: Named[Gate] = {}
    """By gate."""
    oracle: Named[str] = {}
    """By pass: where each side's float64 arrays came from, and why."""
    deviations: Many[Deviation] = ()
    """Declared and derived."""
    findings: Many[Disagreement] = ()
    """Where TensorFlow's own modes disagree, and which one the port follows; one a gate, pass and leaf."""
    reach: Many[Reach] = ()
    """The evidence of the stability gate, by input and pass."""
    sizes: Many[AtSize] = ()
    """Other sizes of named dimensions."""
    places: Many[Place] = ()
    """With --fail-fast: the operations to blame in the pass that fails."""
    bit_equal: Many[Text] = ()
    """Modes of TensorFlow whose forward pass and gradients jax/jit has bit for bit, in every case."""

    def __post_init__(self) -> None:
        """Refuse a verdict that the gates contradict: the exit code rests on it.

        Raises:
          ValueError: a gate fails or is not judged, and the verdict is pass.
        """
        super().__post_init__()
        for name, gate in self.gates.items():
            if self.verdict == PASS and gate.verdict in (FAIL, NOT_JUDGED):
                raise ValueError(f"verdict pass beside the gate {name}, which says {gate.verdict}")
