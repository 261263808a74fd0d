"""Classes and functions of a user's files that a saved model names, and Keras does not have."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import keras

from workloads._target import resolve


@contextmanager
def known(references: Sequence[str]) -> Iterator[None]:
    """Inside, Keras builds what a config names by these, by the name of each and by the one that it is registered by.

    Args:
      references: FILE.py:NAME of each; every file is run.
    """
    objects: dict[str, Any] = {}
    for reference in references:
        named = resolve(reference)
        objects |= {named.__name__: named, keras.saving.get_registered_name(named): named}
    with keras.saving.custom_object_scope(objects):
        yield
