"""A model that is to be read by a worker: by the name of a file, or one of this process, which is saved to a file."""

from __future__ import annotations

import importlib
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from compare.api.live_weights import MODELS, is_model
from compare.errors import RequestError
from compare.inputs.keras_files import check_custom
from workloads.protocol.framework import Unsupported


@dataclass(frozen=True)
class NamedModel:
    """A model by its name in a file, for a worker to read.

    Attributes:
      target: the folder of a SavedModel, a .keras or .h5 file, or FILE.py:NAME.
      inputs: NAME=TYPE[SHAPE] of each argument of code, in order.
      custom: FILE.py:NAME of every class that a file of Keras names and Keras does not have.
      python: the interpreter with TensorFlow; None is this one.
      timeout_s: how long a request may take.
      shown: what messages call it, where that is another file; "" where it is `target`.
      signature: of a SavedModel that is ported; "" is its default.
      outputs: names of tensors of a saved graph that is ported, in the place of a signature.
    """

    target: str
    inputs: tuple[str, ...] = ()
    custom: tuple[str, ...] = ()
    python: str | None = None
    timeout_s: float = 300
    shown: str = ""
    signature: str = ""
    outputs: tuple[str, ...] = ()


@contextmanager
def readable_by_worker(
    model: Any, inputs: Mapping[str, str] | None, custom: Sequence[str], timeout_s: float
) -> Iterator[NamedModel]:
    """A model as a worker finds it; one of this process is a file inside the block.

    Args:
      model: as of `jaxport.doctor`.
      inputs: of code, by name.
      custom: as of `NamedModel`.
      timeout_s: likewise.

    Raises:
      RequestError: it is no model, or it cannot be saved.
    """
    texts = tuple(f"{name}={spec}" for name, spec in (inputs or {}).items())
    if isinstance(model, str | os.PathLike):
        target = str(model)
        check_custom(custom, target, "custom")
        if texts and ".py:" not in target:
            raise RequestError(f"expected inputs with FILE.py:NAME, found them with {target}: drop inputs")
        yield NamedModel(target, texts, tuple(custom), timeout_s=timeout_s)
        return
    if not is_model(model):
        raise RequestError(
            f"expected a Keras model, a file of one, a SavedModel or FILE.py:NAME, found {type(model).__name__}: "
            "hand over a model, or name the function in its file"
        )
    if texts:
        raise RequestError("expected inputs with FILE.py:NAME, found them with a Keras model: drop inputs")
    with TemporaryDirectory(prefix="jaxport-") as folder:
        path = Path(folder) / "model.keras"
        try:
            importlib.import_module(MODELS).save(model, path)
        except Unsupported as error:
            raise RequestError(str(error)) from error
        saved_model = NamedModel(str(path), custom=tuple(custom), timeout_s=timeout_s)
        yield replace(saved_model, shown=f"the {type(model).__name__} {model.name!r}")
