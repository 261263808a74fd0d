"""Reads the object graph of a tf.train.Checkpoint: saved objects with their variables, by names."""

from __future__ import annotations

import glob
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import tensorflow as tf
from google.protobuf.message import DecodeError

from tf_reference import _private
from workloads.core import foreign
from workloads.protocol.framework import Unsupported

_VALUE = "/.ATTRIBUTES/VARIABLE_VALUE"
_OF_OPTIMIZERS = frozenset({"_iterations", "iter", "_learning_rate"})
"""Attributes that identify an optimizer of Keras 3 or Keras 2."""

SAVES = "save_counter"
COUNTER = "it counts how often was saved"
"""Why the variable of that name is not carried."""

_LATEST = "checkpoint"
"""The file that names the latest checkpoint of a folder."""

_GRAPH = "_CHECKPOINTABLE_OBJECT_GRAPH"

DAMAGED = (tf.errors.OpError, DecodeError, ValueError, RuntimeError, LookupError, TypeError, MemoryError)
"""Errors that a damaged checkpoint raises."""


@dataclass(frozen=True)
class SavedVariable:
    """One variable of a checkpoint.

    Attributes:
      number: of its object; -1 if the checkpoint lists no objects.
      path: names of attributes from what was saved to it.
      key: of its array.
      full_name: its name when it was created; "" if unknown.
    """

    number: int
    path: str
    key: str
    full_name: str


@dataclass(frozen=True)
class CheckpointGraph:
    """The objects of a checkpoint.

    Attributes:
      proto: of them; empty of a checkpoint that names variables alone, as TensorFlow 1 wrote.
      reader: of the arrays, by key.
    """

    proto: Any
    reader: Any

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the saved variables."""
        return tuple(sorted(child.local_name for child in self.proto.nodes[0].children)) if self.proto.nodes else ()

    def same(self, one: SavedVariable, other: SavedVariable) -> bool:
        """Whether two variables hold the same bits."""
        left, right = (np.asarray(self.reader.get_tensor(variable.key)) for variable in (one, other))
        return (left.dtype, left.shape, left.tobytes()) == (right.dtype, right.shape, right.tobytes())

    def variables(self) -> Iterator[SavedVariable]:
        """Every variable once."""
        for number, node in enumerate(self.proto.nodes):
            for attribute in node.attributes:
                path = attribute.checkpoint_key.removesuffix(_VALUE)
                yield SavedVariable(number, path, attribute.checkpoint_key, attribute.full_name)
        if not self.proto.nodes:
            yield from (SavedVariable(-1, key, key, key) for key in sorted(self.reader.get_variable_to_shape_map()))

    def of_optimizers(self) -> frozenset[int]:
        """The numbers of objects that stand in an optimizer of Keras 2 or 3, and are no weights."""
        starts = [
            number
            for number, node in enumerate(self.proto.nodes)
            if {child.local_name for child in node.children} & _OF_OPTIMIZERS
        ]
        numbers, queue = set(starts), list(starts)
        while queue:
            for child in self.proto.nodes[queue.pop()].children:
                if child.node_id not in numbers and child.local_name != "_trainable_variables":
                    numbers.add(child.node_id)
                    queue.append(child.node_id)
        slots = (slot.slot_variable_node_id for node in self.proto.nodes for slot in node.slot_variables)
        return frozenset((*numbers, *slots))


def left_with(name: str, leave: Mapping[str, str]) -> str:
    """Why a variable is left by whoever asks; "" where he does not."""
    return next((why for path, why in leave.items() if _is_of(name, path)), "")


def check_left(names: Collection[str], leave: Mapping[str, str], of: str) -> None:
    """Raise Unsupported for a name that is to be left and is of nothing."""
    for path in leave:
        if not any(_is_of(name, path) for name in names):
            raise Unsupported(f"expected a variable for --leave {path} in {of}, found none: drop it")


def _is_of(name: str, path: str) -> bool:
    return f"{name}/".startswith(f"{path}/")


def copy_of(name: str) -> str:
    """Why a variable is not carried whose bits are another's."""
    return f"it is a copy of {name}, bit by bit"


def latest(folder: Path) -> str | None:
    """The prefix of the latest checkpoint of a folder; None where it names none.

    Raises:
      Unusable: what names it is no regular file.
    """
    latest_file = folder / _LATEST
    if latest_file.exists():
        foreign.check(latest_file, foreign.MEBIBYTE)
    return tf.train.latest_checkpoint(folder)


def check_files(prefix: str, most: int) -> None:
    """Let a checkpoint pass whose files are regular ones: TensorFlow would wait for ever at a pipe.

    Args:
      most: bytes that one of them may have.

    Raises:
      Unusable: one is no regular file, or is longer.
    """
    path = Path(prefix)
    for ending in (".index", ".data-*-of-*"):
        for file in sorted(path.parent.glob(f"{glob.escape(path.name)}{ending}")):
            foreign.check(file, most)


def read(prefix: str) -> CheckpointGraph:
    """The graph of a checkpoint.

    Raises:
      Exception: one of DAMAGED: there is none, or it is damaged.
    """
    reader = tf.train.load_checkpoint(prefix)
    graph = _private.protocol("trackable_object_graph_pb2", "TrackableObjectGraph")
    if not reader.has_tensor(_GRAPH):
        return CheckpointGraph(graph(), reader)
    return CheckpointGraph(graph.FromString(reader.get_tensor(_GRAPH)), reader)
