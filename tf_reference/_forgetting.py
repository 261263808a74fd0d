"""What TensorFlow keeps of the functions that were traced, emptied before the next twin is loaded."""

from __future__ import annotations

import sys
from contextlib import suppress
from pathlib import Path

import tensorflow as tf

GENERATED = "__autograph_generated_file"
"""What AutoGraph names the module, and the file, that it writes for each function that it converts."""


def forget() -> None:
    """Empty Keras' session, and remove the files that AutoGraph has written.

    It would remove them when the process ends; their modules are loaded, and errors are mapped without them.
    """
    tf.keras.backend.clear_session()
    for name, module in list(sys.modules.items()):
        if name.startswith(GENERATED) and module.__file__:
            with suppress(OSError):
                Path(module.__file__).unlink(missing_ok=True)
