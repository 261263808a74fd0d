"""The comparison of both programs, and why compilers made different code of them."""

from __future__ import annotations

from compare.record.base import Count, Many, Named, Part, Text, Texts


class Explanation(Part, frozen=True):
    """Why values of two programs differ."""

    kind: Text = ""
    """Frontend, rule, formula, or another of `compare.hlo.align`."""
    name: Text = ""
    """Short; places of one name have one reason."""
    meaning: Text = ""
    """The meaning in a sentence."""


class Departure(Part, frozen=True):
    """One entry of an alignment's frontier: a value without a counterpart whose operands all have one."""

    side: Text = ""
    """Whose value it is: tf or jax."""
    op: Text = ""
    """Its opcode."""
    name: Text = ""
    """Its name in the HLO."""
    source: Text = ""
    """FILE:LINE that it comes from."""
    reason: Text = ""
    """The part that the other program lacks."""
    explanation: Explanation | None = None
    """Why; null where no reason is known."""
    node: int | None = None
    """Its number in the program, -1 where it is the whole program."""
    explained: Text = ""
    """The name of the explanation where that is a known habit of a frontend, or a rule."""


class Level(Part, frozen=True):
    """Both programs at one canonical level, in numbers."""

    matched: Count = None
    """Values of either program that have a counterpart."""
    left: Count = None
    """Values of TensorFlow's program."""
    right: Count = None
    """Values of the port's program."""
    equal: bool | None = None
    """Whether all values have a counterpart."""
    assumes: Texts = ()
    """The conditions on inputs under which the programs are equal."""
    results: Count = None
    """Results that both programs have."""
    results_equal: Count = None
    """The number of results with equal values."""
    reason: Text = ""
    """Why there is nothing at this level."""


class Donated(Part, frozen=True):
    """Whether XLA reuses the memory of the arguments that a training step may overwrite."""

    holds: bool | None = None
    """Whether each donated array is overwritten in place."""
    donated: Count = None
    """How many arrays are donated."""
    bytes_in_place: Count = None
    """Bytes of those that are overwritten."""
    bytes_missed: Count = None
    """Bytes of those that are not."""
    missed: Texts = ()
    """Each of those, with its reason."""


class Alignment(Part, frozen=True):
    """The values of both programs that match."""

    level: Text = ""
    """The canonical level that the other fields are of."""
    matched: Count = None
    """Values of either program that have a counterpart."""
    tf_only: Count = None
    """Values of TensorFlow's program alone."""
    jax_only: Count = None
    """Values of the port's program alone."""
    matchers: Named[int] = {}
    """How many values each matcher paired."""
    frontier: Many[Departure] = ()
    """Values without a counterpart whose operands all have one."""
    levels: Named[Level] = {}
    """By canonical level, and of the optimized modules."""
    donation: Named[Donated] = {}
    """By side."""


class Reason(Part, frozen=True):
    """One difference behind the attribution."""

    kind: Text = ""
    """The kind of difference: rule, figure, library, version, ..."""
    text: Text = ""
    """The difference in words."""
    sources: Texts = ()
    """FILE:LINE of what it concerns."""


class Compilers(Part, frozen=True):
    """The differences behind the attribution."""

    frontend: Many[Reason] = ()
    """Between the programs of both frontends."""
    compiler: Many[Reason] = ()
    """Between the modules that both compilers made of one program."""
    partitions: Texts = ()
    """How both compilers cut the programs into fusions, where they differ."""
    reason: Text = ""
    """Why nothing is known."""
