"""Watches the shared state of a process: a port that changes it affects later judgements.

Looked at once the framework is there, and again after a workload. Who means to hide a change can: this finds what is
careless, and what would otherwise be somebody else's false verdict. Environment variables that an installed package
sets are not the workload's doing: a file that imports both frameworks makes each side set those of the other.
"""

from __future__ import annotations

import locale
import os
import re
import sys
from collections.abc import Callable, Collection, Iterator, Mapping
from pathlib import Path, PurePath
from types import FrameType

import numpy as np

OURS = ("compare", "workloads", "jaxport", "tf_reference", "numpy")
"""Packages that the worker itself uses: if a port replaces a function of these, none of its results count."""

_LIBRARIES = ("jax", "jax.numpy", "jax.lax", "jax.nn", "jax.random", "tensorflow", "tensorflow.math", "tensorflow.nn")
_NUMPY = ("numpy", "numpy.linalg", "numpy.random", "numpy.testing")
_VARIABLE = "environment variable "
_INSTALLED = {"site-packages", "dist-packages"}
"""Folders of installed packages."""
_OF_ENVIRON = {os.environ.__setitem__.__code__.co_filename, Mapping.get.__code__.co_filename}
"""Files of the standard library through which `os.environ` is changed."""
_STATUS = Path("/proc/self/status")
_UMASK = re.compile(r"^Umask:\s*(\d+)", re.MULTILINE)


class ProcessState:
    """The state of this process as it is now.

    Args:
      settings: by name, what the framework's own configuration holds.
      of_packages: names of environment variables that installed packages set; it may grow.
    """

    def __init__(self, settings: Mapping[str, str], of_packages: Collection[str] = ()) -> None:
        self._of_packages = of_packages
        self._shared = _shared_state() | dict(settings)
        self._functions = dict(_functions())

    def find_changes(self, settings: Mapping[str, str]) -> list[str]:
        """The changes with both values; for the environment, which may hold secrets, only names."""
        now = _shared_state() | dict(settings)
        ours = {f"{_VARIABLE}{name}" for name in self._of_packages}
        names = [name for name in (self._shared.keys() | now.keys()) - ours if self._shared.get(name) != now.get(name)]
        return [
            name if _of_environment(name) else f"{name} (from {self._shared.get(name)} to {now.get(name)})"
            for name in sorted(names, key=lambda name: (_of_environment(name), name))
        ]

    def find_replacements(self) -> list[str]:
        """Functions and classes of libraries, and of jaxport, that are others now, by their full names."""
        now = dict(_functions())
        return sorted(name for name, function in self._functions.items() if name in now and now[name] is not function)


def watch_package_variables() -> Collection[str]:
    """Names of the environment variables that installed packages set in this process from now on."""
    of_packages: set[str] = set()

    def watch(change: Callable[..., None]) -> Callable[..., None]:
        def change_and_note(name: bytes, *value: bytes) -> None:
            change(name, *value)
            if _is_called_by_package(sys._getframe(1)):
                of_packages.add(os.fsdecode(name))
            else:
                of_packages.discard(os.fsdecode(name))

        return change_and_note

    # `os.environ` calls these two by their names in `os`.
    os.putenv, os.unsetenv = watch(os.putenv), watch(os.unsetenv)
    return of_packages


def _is_called_by_package(frame: FrameType | None) -> bool:
    """Whether the code that changes `os.environ` is that of an installed package."""
    while frame is not None and frame.f_code.co_filename in _OF_ENVIRON:
        frame = frame.f_back
    return frame is not None and not _INSTALLED.isdisjoint(PurePath(frame.f_code.co_filename).parts)


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
