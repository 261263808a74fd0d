"""A model in an HDF5 file of Keras: the attribute with its config, read as text. No group, link or weight is read."""

from __future__ import annotations

import io
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, BinaryIO

import h5py

from tf_reference import _keras_2_config
from workloads.core import foreign
from workloads.core.foreign import MEBIBYTE, Unusable
from workloads.protocol.inspection import Config

SUFFIXES = (".h5", ".hdf5")

_CONFIG, _TRAINING, _VERSION = "model_config", "training_config", "keras_version"

_BROKEN = (OSError, RuntimeError, ValueError, KeyError, TypeError, UnicodeDecodeError, MemoryError)
"""The exceptions that h5py raises for a damaged file."""

_MARGIN = 16 * MEBIBYTE
"""Bytes that are read beside the text: the tables of the file, and the heap in which HDF5 stores the text."""


class _Limited(io.RawIOBase):
    """A file of which at most so many bytes are read: HDF5 reads the whole text before it says how long that is."""

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


def read(path: Path, parse: Callable[[bytes, str], Config], most: int) -> tuple[Config, Config]:
    """The config as a .keras file has it, and its metadata.

    Args:
      parse: text of an attribute and its name -> what it describes; raises Unusable.
      most: bytes of an attribute; of the file, some more are read for all of them.

    Raises:
      Unusable: it is no HDF5 file, or holds no model.
    """
    with foreign.open_regular(path) as stream:
        try:
            # The file as it was opened: by its name HDF5 could be led to others.
            with h5py.File(_Limited(stream, most + _MARGIN), "r") as file:
                texts = {name: _text(file.attrs, name, most) for name in (_CONFIG, _TRAINING, _VERSION)}
        except _BROKEN as error:
            raise Unusable(f"no HDF5 file, or a damaged one ({foreign.error_line(error)})") from error
    if not texts[_CONFIG]:
        raise Unusable("an HDF5 file without a model: it holds weights alone")
    config = dict(_keras_2_config.complete(parse(texts[_CONFIG], "config.json")))
    if texts[_TRAINING]:
        config["compile_config"] = _keras_2_config.training_config(parse(texts[_TRAINING], _TRAINING))
    version = texts[_VERSION].decode(errors="replace")
    return config, {"keras_version": version} if version else {}


def _text(attributes: Any, name: str, most: int) -> bytes:
    """One attribute that is a single text; empty where there is none."""
    if name not in attributes:
        return b""
    attribute_id = attributes.get_id(name)
    if attribute_id.shape != () or h5py.check_string_dtype(attribute_id.dtype) is None:
        raise Unusable(f"an attribute {name} that is no text")
    if attribute_id.get_storage_size() > most:
        raise Unusable(f"an attribute {name} of more than {most >> 20} MiB")
    value = attributes[name]
    data = value.encode() if isinstance(value, str) else bytes(value)
    if len(data) > most:
        raise Unusable(f"an attribute {name} of more than {most >> 20} MiB")
    return data
