"""The worker that reads models: which way each kind of target is read, and what comes back as declared data."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import msgspec

from compare import files
from compare.errors import RequestError
from compare.sides._side import SideError, unread
from compare.sides.replaceable import Replaceable
from compare.sides.weight_workers import KerasModel
from workloads._architecture import Architecture
from workloads._function_graph import FunctionGraph
from workloads._inspection import Inspection
from workloads._spec import Arrays

ARCHIVES = (".keras", ".h5", ".hdf5")
_FOLDER_FILE = "saved_model.pb"
_LONGEST_REASON = 300
"""Of what Keras says where it cannot build a model: it repeats the whole config."""

Input = tuple[str, tuple[int | None, ...], str]
"""Name, shape and dtype; None is a size that is not fixed."""


class ModelWorker:
    """One worker, started when it is first asked.

    Args:
      python: its interpreter; None is this one.
      timeout_s: how long a request may take.
      stack: closes the worker.
    """

    def __init__(self, python: str | None, timeout_s: float, stack: ExitStack) -> None:
        self._worker = Replaceable("models", timeout_s, stack, python)

    def inspect(self, target: str, inputs: Sequence[Input], custom: Sequence[str] = ()) -> Inspection:
        """What is in a model.

        Args:
          target: the folder of a SavedModel, a .keras or .h5 file, or FILE.py:NAME.
          inputs: of one call, for code.
          custom: FILE.py:NAME of every class that a .keras or .h5 file names and Keras does not have.

        Raises:
          RequestError: there is no such model, or it cannot be read.
        """
        path = Path(target)
        if path.is_dir():
            return self._asked(target, "saved_model", {"path": str(path)})
        if path.name == _FOLDER_FILE and path.exists():
            return self._asked(target, "saved_model", {"path": str(path.parent)})
        if path.suffix.lower() in ARCHIVES:
            return self._archive(target, custom)
        where, _, name = target.rpartition(":")
        if not where.endswith(".py") or not name.isidentifier():
            raise RequestError(
                f"expected the folder of a SavedModel, a {' or '.join(ARCHIVES[:2])} file or FILE.py:NAME, found "
                f"{target!r}: {_advice(path, where)}"
            )
        given = {"reference": target, "folder": str(Path.cwd()), "inputs": [list(argument) for argument in inputs]}
        return self._asked(target, "code", given)

    def architecture(self, model: KerasModel) -> Architecture:
        """The calls of the layers of a Keras model, and what it was compiled with.

        Raises:
          RequestError: there is no such model, or it cannot be read.
        """
        try:
            with self._worker.asking:
                reply = self._worker.call(self._worker.started(), "architecture", model.parameters)
            return files.converted(reply.value, Architecture)
        except SideError as error:
            raise unread(model.reference, error) from error
        except msgspec.ValidationError as error:
            raise RequestError(f"expected data of the declared types of {model.reference}, found: {error}") from error

    def function_graph(self, target: str, inputs: Sequence[Input]) -> tuple[FunctionGraph, Arrays]:
        """The graph of a function, and its constants.

        Args:
          target: FILE.py:NAME.
          inputs: of one call.

        Raises:
          RequestError: there is no such function, or it cannot be traced.
        """
        given = {"reference": target, "folder": str(Path.cwd()), "inputs": [list(argument) for argument in inputs]}
        try:
            with self._worker.asking:
                reply = self._worker.call(self._worker.started(), "function_graph", given)
            return files.converted(reply.value, FunctionGraph), reply.arrays
        except SideError as error:
            raise unread(target, error) from error
        except msgspec.ValidationError as error:
            raise RequestError(f"expected data of the declared types of {target}, found: {error}") from error

    def _archive(self, target: str, custom: Sequence[str]) -> Inspection:
        """What the archive says; built too where that is safe, in a request of its own, which may end the worker."""
        said = self._asked(target, "keras_archive", {"path": target})
        if said.not_traced:
            return said
        try:
            given = {"path": target, "folder": str(Path.cwd()), "custom": list(custom)}
            return self._inspected(target, "keras_archive_built", given)
        except SideError as error:
            reason = f"Keras could not build it: {error.reason[:_LONGEST_REASON]}"
            return dataclasses.replace(said, not_traced=reason)

    def _asked(self, target: str, method: str, parameters: Mapping[str, Any]) -> Inspection:
        try:
            return self._inspected(target, method, parameters)
        except SideError as error:
            raise unread(target, error) from error

    def _inspected(self, target: str, method: str, parameters: Mapping[str, Any]) -> Inspection:
        with self._worker.asking:
            value = self._worker.call(self._worker.started(), method, parameters).value
        try:
            return files.converted(value, Inspection)
        except msgspec.ValidationError as error:
            raise RequestError(f"expected data of the declared types of {target}, found: {error}") from error


def _advice(path: Path, where: str) -> str:
    if path.suffix == ".py" and path.exists():
        return f"name what in it: {path}:model"
    if path.suffix in (".tflite", ".onnx", ".pb", ".pbtxt"):
        return "save the model it was made of as a SavedModel"
    return "check the path" if where or not path.exists() else "save the model as one of these"
