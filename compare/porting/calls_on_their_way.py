"""One call of a layer before it is an expression: what it is given."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from compare.porting.safe_expressions import UnwritableError, argument
from compare.weights.rule import Counterpart
from workloads._architecture import Call, Tensor
from workloads._transfer import SourceLayer

_TRAINING, _TOLD_ALWAYS = "training", ("training=False", "training=True")


@dataclass(frozen=True)
class Caller:
    """One call on its way to an expression.

    Attributes:
      layer: that is called.
      counterpart: by its rule; None of an operation of keras.ops and of a model.
      attribute: under which its module stands; "" where a function does.
      call: itself.
      variables: of tensors, by their numbers.
      tensors: of the graph that it stands in, by number.
      inner: the layers that stand in it.
    """

    layer: SourceLayer
    counterpart: Counterpart | None
    attribute: str
    call: Call
    variables: Mapping[int, str]
    tensors: Sequence[Tensor]
    inner: Sequence[SourceLayer] = ()

    def arguments(self) -> list[str]:
        """What it is given by position, each list of one tensor taken apart."""
        return [argument(value, self.variables) for value in self.call.arguments]

    def keyword(self, name: str) -> str | None:
        """An argument that is given by name."""
        given = self.call.keywords.get(name)
        return None if given is None else argument(given, self.variables)

    def refuse_keywords(self, *known: str) -> None:
        """Raise where it is given what is not known here."""
        for name, value in self.call.keywords.items():
            # What the outermost call says of training, Keras says to every layer, whatever its own call said.
            if name in _TOLD_ALWAYS:
                raise UnwritableError(f"its call has {name}")
            if name not in (*known, _TRAINING) and value is not False:
                raise UnwritableError(f"its call has {name}={str(value)[:40]}")
