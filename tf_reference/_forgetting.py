"""Clears TensorFlow's caches of traced functions before the next twin is loaded."""

from __future__ import annotations

import sys
from contextlib import suppress
from pathlib import Path

import tensorflow as tf

from tf_reference import _private

GENERATED = "__autograph_generated_file"
"""The prefix of AutoGraph's module and file for each function that it converts."""


def forget() -> None:
    """Empty Keras' session, number functions afresh, and remove the files that AutoGraph has written.

    It would remove them when the process ends; their modules are loaded, and errors are mapped without them.
    """
    tf.keras.backend.clear_session()
    # A release without it compiles anew what another process has compiled.
    with suppress(_private.PrivateModuleMoved):
        _private.number_afresh()
    for name, module in list(sys.modules.items()):
        if name.startswith(GENERATED):
            for file in filter(None, (module.__file__, getattr(module, "__cached__", None))):
                with suppress(OSError):
                    Path(file).unlink(missing_ok=True)
