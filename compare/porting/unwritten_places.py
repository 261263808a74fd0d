"""A place that is not written: a method that raises, and says which layer it is and what to do."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from compare.porting.identifiers import comment_text

CALL = "__call__"


@dataclass(frozen=True)
class Place:
    """A layer that is not written.

    Attributes:
      layer: its path.
      class_name: of it.
      method: that stands for it.
      line: FILE:LINE of its code, where that is not Keras' own.
      reason: why it is not written.
      weights: whether it has weights, which then are not carried.
      owner: the class that it is a method of.
    """

    layer: str
    class_name: str
    method_name: str
    line: str
    reason: str
    weights: bool = False
    owner: str = ""

    @property
    def description(self) -> str:
        """The layer and the reason why it is a place."""
        where = f", {comment_text(self.line)}" if self.line else ""
        return f"{self.subject} ({comment_text(self.class_name)}{where}): {comment_text(self.reason)}"

    @property
    def is_call(self) -> bool:
        """Whether it is the call of a class of its own, which has the layers inside of it as modules."""
        return self.method_name == CALL

    @property
    def subject(self) -> str:
        """The path of its layer."""
        return comment_text(self.layer) or "the whole model"

    def method(self) -> Sequence[str]:
        """The lines of its method."""
        return (
            "",
            f"    def {self.method_name}(self, *inputs: jax.Array) -> Any:",
            f'        """To be written: {self.subject} ({comment_text(self.class_name)})."""',
            f"        raise NotImplementedError({f'{self.description}: write it here'!r})",
        )
