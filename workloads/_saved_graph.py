"""A graph in a file of TensorFlow's, a SavedModel or a frozen one, and which part of it is computed."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class SavedGraph:
    """What is computed of a file.

    Attributes:
      path: the folder of a SavedModel, or a file with a GraphDef (.pb).
      signature: of a SavedModel; "" is its default.
      inputs: names of nodes that stand for the arguments; none are those that the file says.
      outputs: names of tensors that are returned; none are those of the signature, or what nothing else takes.
    """

    path: str
    signature: str = ""
    inputs: tuple[str, ...] = ()
    outputs: tuple[str, ...] = ()
