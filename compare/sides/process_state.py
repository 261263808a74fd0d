"""What all code of a process shares: a port that changes it changes what is judged after it, or how it is judged.

Looked at once the framework is there, and again after a workload. Who means to hide a change can: this finds what is
careless, and what would otherwise be somebody else's false verdict.
"""

from __future__ import annotations

import locale
import os
import re
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

import numpy as np

OURS = ("compare", "workloads", "jaxport", "tf_reference", "numpy")
"""What the worker itself works with: where a port replaces a function of these, nothing that it hands over counts."""

_LIBRARIES = ("jax", "jax.numpy", "jax.lax", "jax.nn", "jax.random", "tensorflow", "tensorflow.math", "tensorflow.nn")
_NUMPY = ("numpy", "numpy.linalg", "numpy.random", "numpy.testing")
_VARIABLE = "environment variable "
_STATUS = Path("/proc/self/status")
_UMASK = re.compile(r"^Umask:\s*(\d+)", re.MULTILINE)


class ProcessState:
    """The state of this process as it is now.

    Args:
      settings: by name, what the framework's own configuration holds.
    """

    def __init__(self, settings: Mapping[str, str]) -> None:
        self._shared = _shared_state() | dict(settings)
        self._functions = dict(_functions())

    def find_changes(self, settings: Mapping[str, str]) -> list[str]:
        """What is another one now, each with both values; of the environment, which may hold secrets, names alone."""
        now = _shared_state() | dict(settings)
        names = [name for name in self._shared.keys() | now.keys() if self._shared.get(name) != now.get(name)]
        return [
            name if _of_environment(name) else f"{name} (from {self._shared.get(name)} to {now.get(name)})"
            for name in sorted(names, key=lambda name: (_of_environment(name), name))
        ]

    def find_replacements(self) -> list[str]:
        """Functions and classes of libraries, and of jaxport, that are others now, by their full names."""
        now = dict(_functions())
        return sorted(name for name, function in self._functions.items() if name in now and now[name] is not function)


def is_ours(function: str) -> bool:
    """Whether a function that was replaced is one that the worker itself works with."""
    return function.partition(".")[0] in OURS and not function.startswith("numpy.testing.")


def _of_environment(name: str) -> bool:
    return name.startswith(_VARIABLE)


def _shared_state() -> dict[str, str]:
    state = {f"{_VARIABLE}{name}": value for name, value in os.environ.items()}
    state["the current folder"] = _folder()
    state["the locale"] = locale.setlocale(locale.LC_ALL)
    state["NumPy's handling of errors"] = str(np.geterr())
    if _STATUS.exists() and (umask := _UMASK.search(_STATUS.read_text())):
        state["the umask"] = umask[1]
    return state


def _folder() -> str:
    try:
        return os.getcwd()
    except FileNotFoundError:
        return "a folder that is no more"


def _functions() -> Iterator[tuple[str, object]]:
    for name, module in list(sys.modules.items()):
        if name in _LIBRARIES or name in _NUMPY or name.partition(".")[0] in OURS[:-1]:
            for attribute, value in list(getattr(module, "__dict__", {}).items()):
                if callable(value) and not attribute.startswith("__"):
                    yield f"{name}.{attribute}", value
