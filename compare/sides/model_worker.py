"""The worker that reads models: which way each kind of target is read, and what comes back as declared data."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path

from compare.errors import RequestError
from compare.sides._side import SideError, reading
from compare.sides.methods import request
from compare.sides.model_host import Models
from compare.sides.replaceable import Replaceable
from compare.sides.replies import KerasModel
from workloads.core.spec import Arrays
from workloads.protocol.architecture import Architecture
from workloads.protocol.function_graph import FunctionGraph
from workloads.protocol.inspection import Inspection
from workloads.protocol.saved_graph import SavedGraph

ARCHIVES = (".keras", ".h5", ".hdf5")
_FOLDER_FILE = "saved_model.pb"
_LONGEST_REASON = 300
"""The most characters of an error of Keras, which repeats the whole config of the model."""

Input = tuple[str, tuple[int | None, ...], str]
"""Name, shape and dtype; None is a size that is not fixed."""


class ModelWorker:
    """One worker, started when it is first asked.

    Args:
      python: its interpreter; None is this one.
      timeout_s: how long a request may take.
    """

    def __init__(self, python: str | None, timeout_s: float, stack: ExitStack) -> None:
        self._worker = Replaceable("models", timeout_s, stack, python)

    def inspect(self, target: str, inputs: Sequence[Input], custom: Sequence[str] = ()) -> Inspection:
        """The contents of a model.

        Args:
          target: the folder of a SavedModel, a .keras or .h5 file, or FILE.py:NAME.
          inputs: of one call, for code.
          custom: FILE.py:NAME of every class that a .keras or .h5 file names and Keras does not have.

        Raises:
          RequestError: there is no such model, or it cannot be read.
        """
        path = Path(target)
        if path.is_dir():
            return self._saved_model(target, path)
        if path.name == _FOLDER_FILE and path.exists():
            return self._saved_model(target, path.parent)
        if path.suffix.lower() in ARCHIVES:
            return self._archive(target, custom)
        where, _, name = target.rpartition(":")
        if not where.endswith(".py") or not name.isidentifier():
            raise RequestError(
                f"expected the folder of a SavedModel, a {' or '.join(ARCHIVES[:2])} file or FILE.py:NAME, found "
                f"{target!r}: {_advice(path, where)}"
            )
        with reading(target):
            return request(Models.code)(self._worker, target, Path.cwd(), tuple(inputs))

    def architecture(self, model: KerasModel) -> Architecture:
        """The calls of the layers of a Keras model, and what it was compiled with.

        Raises:
          RequestError: there is no such model, or it cannot be read.
        """
        with reading(model.reference):
            return request(Models.architecture)(self._worker, model)

    def function_graph(self, target: str, inputs: Sequence[Input]) -> tuple[FunctionGraph, Arrays]:
        """The graph of a function, and its constants.

        Args:
          target: FILE.py:NAME.

        Raises:
          RequestError: there is no such function, or it cannot be traced.
        """
        with reading(target):
            return request(Models.function_graph)(self._worker, target, Path.cwd(), tuple(inputs))

    def saved_graph(self, selection: SavedGraph, inputs: Sequence[Input]) -> tuple[FunctionGraph, Arrays]:
        """A part of a saved graph, its constants, and what its variables hold.

        Raises:
          RequestError: there is no such file, or it cannot be read.
        """
        with reading(selection.path):
            return request(Models.saved_graph)(self._worker, selection, Path.cwd(), tuple(inputs))

    def _saved_model(self, target: str, folder: Path) -> Inspection:
        with reading(target):
            return request(Models.saved_model)(self._worker, folder)

    def _archive(self, target: str, custom: Sequence[str]) -> Inspection:
        """The contents of the archive, and of the built model if that is safe, by a request that may end the worker."""
        with reading(target):
            archive = request(Models.keras_archive)(self._worker, Path(target))
        if archive.not_traced:
            return archive
        try:
            return request(Models.keras_archive_built)(self._worker, Path(target), Path.cwd(), tuple(custom))
        except SideError as error:
            reason = f"Keras could not build it: {error.reason[:_LONGEST_REASON]}"
            return dataclasses.replace(archive, not_traced=reason)


def _advice(path: Path, where: str) -> str:
    if path.suffix == ".py" and path.exists():
        return f"name what in it: {path}:model"
    if path.suffix in (".tflite", ".onnx", ".pb", ".pbtxt"):
        return "save the model it was made of as a SavedModel"
    return "check the path" if where or not path.exists() else "save the model as one of these"
