"""Describes a written module besides its text."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from compare.porting.linen_classes import LinenCall
from compare.porting.unwritten_places import Place


@dataclass(frozen=True)
class Written:
    """The text of a module, and what is to be known of it.

    Attributes:
      class_name: of the whole.
      text: of all classes.
      parameters: of its call, by the name of the input.
      names: path of a layer -> path of its module, for `jaxport weights`.
      places: that were not written.
      remarks: what a reader should know.
      logits: "softmax" or "sigmoid" by the place of an output that is that of what `logits` gives there: "", "[0]".
      constants: that it reads from a file, by name.
      uncalled: the paths of layers whose weights its call does not use: it has no modules of them.
      unstarted: weights whose first value is not written, each with the reason: no training starts as Keras' does.
      penalized: the paths of layers with penalties of what they return, all of which its call sums.
      inner_logits: likewise by the path of a model in it that the training step calls, if that returns one array.
      stream: the attribute of the whole from which its training step draws; "" where that draws nothing.
      linen: how it is called, if it is of Linen; None of NNX.
    """

    class_name: str
    text: str
    parameters: Mapping[str, str]
    names: Mapping[str, str]
    places: tuple[Place, ...]
    remarks: tuple[str, ...]
    logits: Mapping[str, str] = field(default_factory=dict)
    constants: Mapping[str, np.ndarray[Any, Any]] = field(default_factory=dict)
    uncalled: tuple[str, ...] = ()
    unstarted: tuple[str, ...] = ()
    penalized: tuple[str, ...] = ()
    inner_logits: Mapping[str, str] = field(default_factory=dict)
    stream: str = ""
    linen: LinenCall | None = None
