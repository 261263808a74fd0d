"""The result of a sweep: an outcome per call, the range of each pattern of inputs, and the break that decides."""

from __future__ import annotations

from dataclasses import dataclass

from compare.record.parity_part import Break, Call, Disagreement, Reach, Span
from compare.record.vocabulary import Judgement


@dataclass(frozen=True)
class Outcome:
    """The judgement of one call, by its worst element. `error` and `bound` are relative to `exact`'s scale."""

    status: str
    leaf: str = ""
    index: tuple[int, ...] = ()
    found: float = 0.0
    original: float = 0.0
    exact: float = 0.0
    error: float = 0.0
    bound: float = 0.0


@dataclass(frozen=True)
class Broken:
    """A call that the port breaks in.

    Attributes:
      pattern: how its inputs were drawn.
      magnitude: of the inputs.
      outcome: the judgement of the call.
      operation: the first that breaks in the port's program, at `line`; empty where it is not known.
      original_line: where TensorFlow computes the leaf.
    """

    pattern: str
    magnitude: float
    outcome: Outcome
    operation: str = ""
    line: str = ""
    original_line: str = ""

    def to_record(self) -> Break:
        """The record of it."""
        return Break(
            pattern=self.pattern,
            magnitude=self.magnitude,
            leaf=self.outcome.leaf,
            index=self.outcome.index,
            found=self.outcome.found,
            original=self.outcome.original,
            exact=self.outcome.exact,
            error=self.outcome.error,
            bound=self.outcome.bound,
            operation=self.operation,
            line=self.line,
            original_line=self.original_line,
        )


@dataclass(frozen=True)
class Extent:
    """Between which magnitudes the port holds where the original does, in one pattern of inputs.

    `low` and `high` are None where it breaks at the magnitude nearest to 1 already, or there is nothing to judge.
    """

    pattern: str
    low: float | None
    high: float | None
    calls: tuple[Call, ...] = ()
    breaks: tuple[Broken, ...] = ()

    def to_record(self) -> Span:
        """The record of it."""
        return Span(self.pattern, self.low, self.high, self.calls, tuple(broken.to_record() for broken in self.breaks))


@dataclass(frozen=True)
class Reached:
    """The result of sweeping one input in one pass.

    Attributes:
      input: its name.
      pass_: forward or gradients.
      verdict: fail where the port breaks at a magnitude that counts.
      extents: by pattern.
      worst: the break at the most ordinary magnitude, which decides where the gate fails.
      error: the largest of any break that counts, relative; 0 where none does.
      message: one line where it breaks.
      mode: of the port: `jax/tuned` where it was compiled with the options that it declares.
    """

    input: str
    pass_: str
    verdict: Judgement
    extents: tuple[Extent, ...]
    worst: Broken | None = None
    error: float = 0.0
    message: str = ""
    mode: str = "jax/jit"

    def to_record(self) -> Reach:
        """The record of it."""
        return Reach(
            input=self.input,
            pass_=self.pass_,
            verdict=self.verdict,
            spans=tuple(extent.to_record() for extent in self.extents),
            worst=self.worst.to_record() if self.worst else None,
            error=self.error,
            message=self.message,
            mode=self.mode,
        )


@dataclass(frozen=True)
class Swept:
    """The result of a sweep in one type. `reason` says why it skipped inputs; `lost` where it did not end."""

    reached: tuple[Reached, ...] = ()
    dtype: str = ""
    reason: str = ""
    lost: bool = False
    findings: tuple[Disagreement, ...] = ()
    """Where TensorFlow's own modes disagree, and the port follows the other one."""
