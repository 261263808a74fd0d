"""Functions that a worker can import too, since a module has them under their own names."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import CodeType, ModuleType
from typing import Any

from compare.api.call_inputs import check_arguments
from compare.errors import RequestError

_OF_THIS_PROGRAM = ("__main__", "__mp_main__")
"""A script, or the cells of a notebook: to import it would run it again."""


def importable(tf_fn: Any, jax_fn: Any | None, inputs: Mapping[str, Any] | None) -> tuple[Any, Any]:
    """The names under which a worker finds both functions; a name, or None, stays as it is.

    Args:
      tf_fn: the original, or its name.
      jax_fn: its port, or its name; None beside a port file.
      inputs: by name, in the order of the arguments; None beside a port file.

    Raises:
      RequestError: this process alone has a function, or it takes other inputs.
    """
    if jax_fn is None or not isinstance(inputs, Mapping):
        return tf_fn, jax_fn
    return _name("tf_fn", tf_fn, inputs), _name("jax_fn", jax_fn, inputs)


def _name(argument: str, function: Any, inputs: Mapping[str, Any]) -> Any:
    """FILE.py:NAME or MODULE:NAME of a function."""
    if isinstance(function, str | Path):
        return function
    module, name = _module_of(function), getattr(function, "__qualname__", None)
    if module is None or not isinstance(name, str) or getattr(module, name, None) is not function:
        raise RequestError(
            f"expected a function that a worker can import as {argument}, found {_kind(function)}, which this process "
            "alone has: write it to a file and name it FILE.py:NAME"
        )
    check_arguments(argument, function, inputs)
    if "." in module.__name__ or hasattr(module, "__path__"):
        return f"{module.__name__}:{name}"
    _check_unchanged(argument, function, Path(str(module.__file__)))
    return f"{module.__file__}:{name}"


def _module_of(function: Any) -> ModuleType | None:
    """The module that says that it has the function; None where no worker finds that module in a file."""
    name = getattr(function, "__module__", None)
    module = sys.modules.get(name) if isinstance(name, str) and name not in _OF_THIS_PROGRAM else None
    return module if str(getattr(module, "__file__", "")).endswith(".py") else None


def _kind(function: Any) -> str:
    name = getattr(function, "__name__", None)
    if name == "<lambda>":
        return "a lambda"
    if not isinstance(name, str):
        return f"an object of {type(function).__name__}"
    if getattr(function, "__module__", None) in _OF_THIS_PROGRAM:
        return f"{name} of this script or notebook"
    return f"{name}, which its module does not have under this name"


def _check_unchanged(argument: str, function: Any, file: Path) -> None:
    """Raise RequestError where a file has changed since it was imported: a worker would judge another function."""
    code = getattr(inspect.unwrap(function), "__code__", None)
    if code is not None and code not in _codes_in(file):
        raise RequestError(
            f"expected {function.__name__} of {file} as it was imported as {argument}, found another text there: "
            "import it again"
        )


def _codes_in(file: Path) -> Iterator[CodeType]:
    """The code of each function at the top of a file; none where it is no Python."""
    try:
        constants = compile(file.read_bytes(), str(file), "exec", dont_inherit=True).co_consts
    except (OSError, SyntaxError, ValueError):
        return
    yield from (constant for constant in constants if isinstance(constant, CodeType))
