"""What is known of every type of operation: whether it compiles, its counterparts, the entries that concern it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Known:
    """What is known of a type of operation.

    Attributes:
      compiles: by TensorFlow's XLA on a CPU; None is not known.
      counterparts: TensorFlow's public name with the expression in JAX.
      gotchas: identifiers of entries that concern one of these names.
      version: of the TensorFlow that was asked.
    """

    compiles: bool | None = None
    counterparts: tuple[str, ...] = ()
    gotchas: tuple[str, ...] = ()
    version: str = ""


def lookup(kind: str) -> Known:
    """What is known of a type of operation."""
    return Known()
