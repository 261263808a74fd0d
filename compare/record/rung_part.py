"""The ladder of a port: its rungs from the first to the last, and the differences on the one that fails."""

from __future__ import annotations

from compare.record.base import Count, Indices, Many, Number, Part, Text, Texts

STRUCTURE, WEIGHTS, FORWARD = "structure", "weights", "forward"
GRADIENTS, OPTIMIZER, TRAJECTORY, SPEED = "gradients", "optimizer", "trajectory", "speed"
RUNGS = (STRUCTURE, WEIGHTS, FORWARD, GRADIENTS, OPTIMIZER, TRAJECTORY, SPEED)

NOT_REACHED = "not_reached"
"""The verdict on a rung above one that fails, besides pass, fail, not_applicable and not_judged."""

AGREES, DEPARTS, INHERITS, DIFFERS = "agrees", "departs", "inherits", "differs"
NOT_COMPARED = "not_compared"


class LayerVerdict(Part, frozen=True):
    """One call of a layer of the original, and the module of its name in the port."""

    path: Text = ""
    """Of the layer."""
    number: Count = None
    """The number of the call among those of the layer, from 0."""
    class_name: Text = ""
    """Of the layer."""
    module: Text = ""
    """Path of the module in the port; empty where there is none of that name."""
    state: Text = ""
    """`agrees`; `departs`: from what agrees, or from TensorFlow's own input, it makes something else; `inherits`: given
    TensorFlow's own input, it agrees; `differs`: which of both is not known; `not_compared`."""
    error: Number = None
    """The error of its output, relative to the largest value."""
    own_error: Number = None
    """The error for TensorFlow's own input; null without one."""
    index: Indices = ()
    """Where the error is largest."""
    expected: Number = None
    """TensorFlow's value there."""
    found: Number = None
    """The port's value there."""
    seen_as: Text = ""
    """The part of the layer's output, if not the whole: "before its activation", "at the last step"."""
    reason: Text = ""
    """Why it was not compared, or not with TensorFlow's own input."""


class Layers(Part, frozen=True):
    """Layers of the original by name against modules of the port, in one pass on the arrays of one case."""

    pass_: Text = ""
    """`forward`, or `gradients`: then as the loss calls the model, in training."""
    case: Text = ""
    """Whose inputs and weights were used."""
    dtype: Text = ""
    """The dtype that both computed in."""
    calls: Many[LayerVerdict] = ()
    """In the order in which TensorFlow's calls end."""
    first: Text = ""
    """The layer that is the first to depart, or the one before which something departs; empty where none does."""
    between: Texts = ()
    """Layers without a module of their name, one of which departs; with `first` empty, before the result."""
    after: Texts = ()
    """The layers before these, whose output agrees."""
    told: Text = ""
    """One line of it; empty where all that was compared agrees."""
    reason: Text = ""
    """Why no layer was compared."""


class LocatedOperation(Part, frozen=True):
    """An operation that departs, as `jaxport locate` finds it."""

    operation: Text = ""
    """Its change, and its opcode."""
    jax: Text = ""
    """FILE:LINE in the port; empty where there is none."""
    tf: Text = ""
    """FILE:LINE in the original; empty likewise."""
    difference: Text = ""
    """The difference."""
    cause: Text = ""
    """Proved; empty where no known cause could be."""
    remedy: Text = ""
    """The advice to the user; may be empty."""
    gotchas: Text = ""
    """The argument for `jaxport lookup gotchas`."""
    proof: Text = ""
    """The proof: `cause`, `place` or empty."""


class Rung(Part, frozen=True):
    """One rung."""

    name: Text = ""
    verdict: Text = ""
    """`pass`, `fail`, `not_applicable`, `not_judged` or `not_reached`."""
    told: Texts = ()
    """The failures, the first of each kind; for a rung that holds, its evidence."""
    case: Text = ""
    """The case of the first failure."""
    layers: Layers | None = None
    """Null where none were asked for."""
    located: Many[LocatedOperation] = ()
    """Where the programs part; of a rung that fails."""
    remarks: Texts = ()
    """Parts that were not examined, each with its reason."""
    next: Texts = ()
    """The next things to examine, in order."""


class Ladder(Part, frozen=True):
    """All rungs of a port."""

    name: Text = ""
    """The name of the workload."""
    fails: Text = ""
    """The first rung that fails; empty where none does."""
    rungs: Many[Rung] = ()
    """From the first to the last."""
