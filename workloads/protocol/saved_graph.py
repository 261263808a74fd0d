"""A graph in a file of TensorFlow's, a SavedModel or a frozen one, and which part of it is computed."""

from __future__ import annotations

import re
from dataclasses import dataclass

_NOT_PLAIN = re.compile(r"\W")


@dataclass(frozen=True)
class SavedGraph:
    """The selection of a graph in a file.

    Attributes:
      path: the folder of a SavedModel, or a file with a GraphDef (.pb).
      signature: of a SavedModel; "" is its default.
      outputs: names of tensors that are returned; none are those of the signature, or what nothing else takes.
    """

    path: str
    signature: str = ""
    outputs: tuple[str, ...] = ()


def plain(key: str) -> str:
    """The name of an input where only letters, digits and underscores may stand."""
    return _NOT_PLAIN.sub("_", key)
