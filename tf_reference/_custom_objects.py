"""Classes and functions of a user's files that a saved model names, and Keras does not have."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import keras

from workloads._target import resolve


@contextmanager
def register_classes(references: Sequence[str]) -> Iterator[None]:
    """Inside, Keras builds what a config names by these, by the name of each and by the one that it is registered by.

    Args:
      references: FILE.py:NAME of each; every file is run.
    """
    objects: dict[str, Any] = {}
    for reference in references:
        custom_object = resolve(reference)
        objects |= {
            custom_object.__name__: custom_object,
            keras.saving.get_registered_name(custom_object): custom_object,
        }
    with keras.saving.custom_object_scope(objects):
        yield
