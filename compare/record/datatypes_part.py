"""Functions in each data type: by mode the result's type, its error, or the refusal."""

from __future__ import annotations

from compare.record.base import Count, Many, Named, Number, Part, Text, Texts

HOLDS, DIFFERS, OTHER_TYPE, REFUSED, UNJUDGED = "holds", "differs", "other type", "refused", "not judged"
LOST = "lost"
"""The worker crashed, did not answer in time or did not come up: what the framework makes of the type is not known."""

REFERENCE = "reference"
"""TensorFlow's eager mode, whose own error is what the other modes are measured by."""

WITHOUT_X64 = "without x64"
"""The label of JAX at its defaults, which narrow 64 bits."""


class TypedMode(Part, frozen=True):
    """One mode. `error` is the largest, relative to the largest value; `bound` is what the gates allow."""

    mode: Text = ""
    """Such as "jax/jit"."""
    status: Text = ""
    """One of REFERENCE, HOLDS, DIFFERS, OTHER_TYPE, REFUSED, UNJUDGED, LOST."""
    dtypes: Texts = ()
    """The dtypes of its results, each once."""
    error: Number = None
    bound: Number = None
    reason: Text = ""
    """The framework's refusal, what differs, why nothing is judged, or how the worker was lost."""
    without_x64: bool = False
    """Whether JAX kept no 64 bits, as it does by default."""

    @property
    def title(self) -> str:
        """The mode, and that it ran without x64."""
        return f"{self.mode} {WITHOUT_X64}" if self.without_x64 else self.mode


class TypedProgram(Part, frozen=True):
    """A side's compiled program: types of its parameters, and those that the optimized module computes in."""

    side: Text = ""
    parameters: Texts = ()
    computes: Named[int] = {}
    """By type as HLO writes it, instructions that compute."""
    asks: Named[int] = {}
    """The types of the program as its frontend wrote it."""
    converts: Named[int] = {}
    """By "bf16 to f32", instructions that convert."""
    calls: Texts = ()
    """Calls of libraries, whose types of computation are unknown."""
    reason: Text = ""
    """Why there is none."""
    without_x64: bool = False

    @property
    def title(self) -> str:
        """The side, and that it compiled without x64."""
        return f"{self.side} {WITHOUT_X64}" if self.without_x64 else self.side


class TypedRow(Part, frozen=True):
    """A function whose inputs have one type."""

    dtype: Text = ""
    reference: Text = ""
    """The mode or type that the others are compared with."""
    stand_in: Text = ""
    """The mode that replaces TensorFlow's eager mode, which refuses the type; other results are not judged."""
    modes: Many[TypedMode] = ()
    programs: Many[TypedProgram] = ()


class TypedFunction(Part, frozen=True):
    """A function in every type that was asked for."""

    name: Text = ""
    inputs: Texts = ()
    """The inputs that were cast."""
    elements: Count = None
    rows: Many[TypedRow] = ()


class TypedFunctions(Part, frozen=True):
    """All functions, and the versions that they ran by."""

    schema: Count = None
    functions: Many[TypedFunction] = ()
    environments: Named[Text] = {}
