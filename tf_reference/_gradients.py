"""Gradients as an optimizer is to have them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import tensorflow as tf


def densify(gradients: Iterable[Any]) -> list[Any]:
    """Each gradient as one array of its variable's shape; None of one that the loss does not depend on.

    The gradient of a table that rows are gathered from is sparse. Of such a one Keras's Adam squares the rows, and its
    clipping takes their norm, one by one, before rows of one token are added up.
    """
    return [None if gradient is None else tf.convert_to_tensor(gradient) for gradient in gradients]
