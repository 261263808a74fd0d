"""Libraries that TensorFlow and Keras import where they find them, for what no worker is asked."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

OPTIONAL = {
    "tf_reference._framework": ("sklearn", "jax"),
    "tf_reference._strategies": ("sklearn", "jax"),
    "compare.sides.model_host": ("sklearn", "jax"),
}
"""By the module that hosts a framework.

Keras's wrappers for scikit-learn and TensorFlow Lite's converter take a quarter of the time of importing TensorFlow
2.21, and 160 MiB.
"""

WHOLE = "JAXPORT_WHOLE_IMPORTS"
"""Set in the environment of a worker whose import, or whose memory, is measured."""


@contextmanager
def left_out(host: str, environment: Mapping[str, str] = os.environ) -> Iterator[None]:
    """Let a framework be imported without them meanwhile; afterwards they can be imported like any other.

    Args:
      host: the module that is imported meanwhile, such as "tf_reference._framework".
    """
    keeps_all = WHOLE in environment or environment.get("KERAS_BACKEND", "tensorflow") != "tensorflow"
    absent = [name for name in OPTIONAL.get(host, ()) if name not in sys.modules and not keeps_all]
    # None in the place of a module makes its import fail.
    sys.modules.update(dict.fromkeys(absent))  # pyright: ignore[reportArgumentType, reportCallIssue]
    try:
        yield
    finally:
        for name in absent:
            del sys.modules[name]
