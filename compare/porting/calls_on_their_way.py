"""One call of a layer before it is an expression: what it is given."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from compare.porting.safe_expressions import UnwritableError, argument
from compare.weights.rule import Counterpart
from workloads.protocol.architecture import Call, Tensor
from workloads.protocol.inspection import Plain
from workloads.protocol.transfer import SourceLayer

TRAINING = "training"
ALWAYS: Mapping[str, bool] = {"training=True": True, "training=False": False}
"""Arguments of a call that fix training whatever the model does -> whether it is in training."""

_BY_RATES = ("dropout", "recurrent_dropout")
"""Attributes of layers that do nothing else in training."""


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
        """Its positional arguments; lists of one tensor are unpacked."""
        return [argument(value, self.variables) for value in self.call.arguments]

    def keyword(self, name: str) -> str | None:
        """An argument that is given by name."""
        value = self.call.keywords.get(name)
        return None if value is None else argument(value, self.variables)

    def refuse_keywords(self, *allowed_names: str) -> None:
        """Raise where it is given what is not known here."""
        for name, value in self.call.keywords.items():
            if name == TRAINING or name in ALWAYS:
                self._refuse_mode(name, value, allowed_names)
            elif name not in allowed_names and value is not False:
                raise UnwritableError(f"its call has {name}={str(value)[:40]}")

    def _refuse_mode(self, name: str, value: Plain, allowed_names: Sequence[str]) -> None:
        """Raise where the call of a layer that does something else in training says whether it is."""
        if not self.reacts_to_training or name in allowed_names:
            return
        if name in ALWAYS:
            raise UnwritableError(f"its call has {name}")
        # A module without a call of train() does what `training=False` says.
        if value not in (False, None):
            raise UnwritableError(
                "its call has training=True, which model(x) obeys, and which predict(), fit() and "
                "model(x, training=False) of this Keras override: write which of them the port is to do"
            )

    @property
    def reacts_to_training(self) -> bool:
        """Whether it may do something else in training."""
        rates = [self.layer.config.get(name) for name in _BY_RATES if name in self.layer.config]
        return self.layer.container or not rates or any(rates)
