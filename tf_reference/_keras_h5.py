"""A model in an HDF5 file of Keras: the attribute with its config, read as text. No group, link or weight is read."""

from __future__ import annotations

import io
import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, BinaryIO

import h5py
import keras

from tf_reference import _keras_config
from workloads import _foreign
from workloads._foreign import MEBIBYTE, Unusable

SUFFIXES = (".h5", ".hdf5")

_CONFIG, _TRAINING, _VERSION = "model_config", "training_config", "keras_version"
_OPTIMIZER = "optimizer_config"
_CONTAINERS: Mapping[str, str] = {
    "Functional": "keras.src.models.functional",
    "Model": "keras.src.models.functional",
    "Sequential": "keras",
}
_MODULES = ("keras.layers", "keras.initializers", "keras.regularizers", "keras.constraints")
_POLICIES, _MIXED = frozenset({"Policy", "PolicyV1"}), "keras.mixed_precision"
"""The classes of dtype policies of Keras 2: in Keras 3 it is DTypePolicy, by the same name."""

_BROKEN = (OSError, RuntimeError, ValueError, KeyError, TypeError, UnicodeDecodeError, MemoryError)
"""What h5py raises of a file that is damaged."""

_MARGIN = 16 * MEBIBYTE
"""That is read of a file beside the text: its tables, and a text whole with the others of its heap."""


class _Limited(io.RawIOBase):
    """A file of which no more than so many bytes are read: HDF5 reads a text whole before it says how long it is."""

    def __init__(self, file: BinaryIO, most: int) -> None:
        self._file, self._most, self._left = file, most, most

    def readable(self) -> bool:
        return True

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        return self._file.seek(offset, whence)

    def tell(self) -> int:
        return self._file.tell()

    def readinto(self, buffer: Any) -> int:
        self._left -= len(buffer)
        if self._left < 0:
            raise Unusable(f"an HDF5 file of which more than {self._most >> 20} MiB had to be read for its config")
        return self._file.readinto(buffer)  # type: ignore[attr-defined]


def read(
    path: Path, parse: Callable[[bytes, str], Mapping[str, Any]], most: int
) -> tuple[Mapping[str, Any], Mapping[str, Any]]:
    """The config as a .keras file has it, and its metadata.

    Args:
      path: of the file.
      parse: text of an attribute and its name -> what it describes; raises Unusable.
      most: bytes of an attribute; of the file, some more are read for all of them.

    Raises:
      Unusable: it is no HDF5 file, or holds no model.
    """
    with _foreign.opened(path) as opened:
        try:
            # The file as it was opened: by its name HDF5 could be led to others.
            with h5py.File(_Limited(opened, most + _MARGIN), "r") as file:
                texts = {name: _text(file.attrs, name, most) for name in (_CONFIG, _TRAINING, _VERSION)}
        except _BROKEN as error:
            raise Unusable(f"no HDF5 file, or a damaged one ({_foreign.said(error)})") from error
    if not texts[_CONFIG]:
        raise Unusable("an HDF5 file without a model: it holds weights alone")
    config = dict(with_modules(parse(texts[_CONFIG], "config.json")))
    if texts[_TRAINING]:
        trained = parse(texts[_TRAINING], _TRAINING)
        config["compile_config"] = {"optimizer": trained.get(_OPTIMIZER), **trained}
    version = texts[_VERSION].decode(errors="replace")
    return config, {"keras_version": version} if version else {}


def _text(attributes: Any, name: str, most: int) -> bytes:
    """One attribute that is a single text; empty where there is none."""
    if name not in attributes:
        return b""
    described = attributes.get_id(name)
    if described.shape != () or h5py.check_string_dtype(described.dtype) is None:
        raise Unusable(f"an attribute {name} that is no text")
    if described.get_storage_size() > most:
        raise Unusable(f"an attribute {name} of more than {most >> 20} MiB")
    value = attributes[name]
    data = value.encode() if isinstance(value, str) else bytes(value)
    if len(data) > most:
        raise Unusable(f"an attribute {name} of more than {most >> 20} MiB")
    return data


def with_modules(value: Any, key: str = "") -> Any:
    """An object with the modules that HDF5 files leave out, where its class is Keras' own by its name.

    Args:
      value: of a config.
      key: that it stands under, which says what it is where layers and others have classes of one name.
    """
    if isinstance(value, list):
        return [with_modules(item, key) for item in value]
    if not isinstance(value, Mapping):
        return value
    completed = {name: with_modules(item, str(name)) for name, item in value.items()}
    kind = completed.get("class_name")
    under = _keras_config.module_under(key)
    if (
        under
        and kind in _POLICIES
        and completed.get("module") in (None, _MIXED)
        and isinstance(completed.get("config"), Mapping)
    ):
        return {**completed, **_policy(completed["config"])}
    if isinstance(kind, str) and "config" in completed and completed.get("module") is None:
        module = _module(kind, (under,) if under else _MODULES)
        return {"registered_name": None, **completed, "module": module} if module else completed
    return completed


def _policy(config: Mapping[str, Any]) -> Mapping[str, Any]:
    named = {"name": config.get("name")}
    return {"module": "keras", "class_name": "DTypePolicy", "config": named, "registered_name": None}


def _module(kind: str, modules: Sequence[str]) -> str:
    if kind in _CONTAINERS:
        return _CONTAINERS[kind]
    for module in modules:
        attribute = getattr(getattr(keras, module.partition(".")[2]), kind, None)
        if isinstance(attribute, type):
            return module
    return ""
