"""Files of Keras, and the classes of a user's that they name."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from compare.errors import RequestError
from compare.inputs.functions import check_reference

KERAS_FILES = (".keras", ".h5", ".hdf5")


def check_custom(custom: Sequence[str], target: str, argument: str) -> None:
    """Raise RequestError where classes are named that are none, or for what is no file of Keras.

    Args:
      custom: FILE.py:NAME of each.
      argument: that they are given by.
    """
    for reference in custom:
        if Path(target).suffix.lower() not in KERAS_FILES:
            raise RequestError(
                f"expected {argument} with a .keras or .h5 file, found it with {target}: drop {argument}"
            )
        check_reference(argument, reference)
