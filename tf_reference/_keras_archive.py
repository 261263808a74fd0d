"""A .keras file, or one in HDF5: its config read as data, and the model built as Keras does in its safe mode.

Weights are not read here: what a model computes does not depend on them.
"""

from __future__ import annotations

import copy
import json
import resource
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path, PurePosixPath
from typing import Any

import keras

from tf_reference import _keras_2_config, _keras_config, _keras_h5
from tf_reference._unbuilt_layers import IN_CODE, UNBUILT, reason_not_built
from workloads.core import foreign
from workloads.core.foreign import MEBIBYTE, Unusable
from workloads.core.target import resolve
from workloads.protocol.framework import Unsupported
from workloads.protocol.inspection import Config, Inspection

CONFIG, METADATA = "config.json", "metadata.json"
_COMPILED, _VERSION = "compile_config", "keras_version"

MOST_CONFIG_BYTES = 64 * MEBIBYTE
"""The config of a model of a thousand layers has 1 MiB."""

MOST_NESTING = 200
"""Deepest config: a model in a model adds four levels. What reads it calls itself once a level."""

MOST_SIZE = 1 << 25
"""Largest number of units, filters or rows of a layer that is built: that of a vocabulary of millions."""

MOST_BYTES_BUILT = 16 << 30
"""Memory that building a model may take here, weights included."""

MOST_BYTES_READ = 1 << 30
"""Memory that reading a file of HDF5 may take here: HDF5 takes as much as the file says before it reads."""

_STATM = Path("/proc/self/statm")


_PARTS_OF_MODELS = ("activations", "constraints", "dtype_policies", "initializers", "layers", "losses", "metrics",
                    "models", "ops", "optimizers", "regularizers", "src")  # fmt: skip
"""Modules of Keras that have what a model is made of; Keras builds from a config whatever it exports, plots too."""
_LATER_KERAS = "3."
_NARROW = frozenset({"float16", "bfloat16", "mixed_float16", "mixed_bfloat16"})
_FLOATS = _NARROW | {"float32", "float64"}
_SIZES = ("units", "filters", "input_dim", "output_dim", "num_heads", "key_dim", "value_dim", "num_tokens",
          "intermediate_dim")  # fmt: skip


def inspect(path: Path) -> Inspection:
    """Read a .keras file, without building anything.

    Raises:
      Unsupported: it is no .keras file, or a name in it leads out of it.
    """
    config, metadata = _read(path)
    hazard = next(_hazards(_without_compilation(config)), "")
    version = metadata.get(_VERSION)
    return Inspection(
        kind="keras archive",
        layers=tuple(_keras_config.layers(config)),
        training=_keras_config.training(config.get(_COMPILED)),
        versions={"keras": version} if isinstance(version, str) else {},
        not_traced=f"it is not built, since its config has {hazard}" if hazard else "",
    )


def build(path: Path, dtype: str = "", custom: Sequence[str] = ()) -> Any:
    """The model of a .keras file, with new weights.

    Args:
      dtype: of the floats of every layer; "" for what the file says.
      custom: FILE.py:NAME of every class and function that the config names and Keras does not have.

    Raises:
      Unsupported: Keras does not build it in its safe mode, or it would take more memory than it may.
    """
    config = _without_compilation(_read(path)[0])
    hazard = next(_hazards(config), "")
    if hazard:
        raise Unsupported(f"expected a model that Keras can build at {path.name}, found {hazard}: {IN_CODE}")
    with bounded_memory(MOST_BYTES_BUILT), register_classes(custom):
        try:
            # A copy: Keras takes apart what it builds of.
            config_typed = _retype(config, dtype) if dtype else config
            return keras.saving.deserialize_keras_object(copy.deepcopy(config_typed), safe_mode=True)
        except UNBUILT as error:
            raise Unsupported(
                f"expected a model that Keras can build at {path.name}, found {reason_not_built(config, error)}"
            ) from error


def compile_as_saved(model: Any, path: Path, custom: Sequence[str] = ()) -> None:
    """Compile a model as its file says, but for metrics that Keras cannot build; its loss and optimizer must exist."""
    compiled = _read(path)[0].get(_COMPILED)
    if not isinstance(compiled, Mapping) or any(_hazards(compiled)):
        return
    without_metrics = {name: item for name, item in compiled.items() if "metrics" not in name}
    with bounded_memory(MOST_BYTES_BUILT), register_classes(custom):
        for config in (compiled, without_metrics):
            with suppress(*UNBUILT):
                model.compile_from_config(copy.deepcopy(dict(config)))
                return


def _retype(value: Any, dtype: str) -> Any:
    """A config with another type for floats; integers and texts keep theirs, and in float32 what is narrower does."""
    if isinstance(value, list):
        return [_retype(item, dtype) for item in value]
    if not isinstance(value, Mapping):
        return value
    if value.get("class_name") == "DTypePolicy":
        config = value.get("config")
        return {**value, "config": {"name": _type(config.get("name") if isinstance(config, Mapping) else "", dtype)}}
    return {
        key: _type(item, dtype) if key == "dtype" and str(item) in _FLOATS else _retype(item, dtype)
        for key, item in value.items()
    }


def _type(own_dtype: Any, dtype: str) -> str:
    return str(own_dtype) if dtype == "float32" and str(own_dtype) in _NARROW else dtype


def _without_compilation(config: Config) -> Config:
    """A config without the arguments of `compile`, which may name functions: these are returned as data."""
    return {key: value for key, value in config.items() if key != _COMPILED}


@contextmanager
def bounded_memory(most: int) -> Iterator[None]:
    """Limits the further memory of this process inside the block: a failed allocation is reported."""
    before = resource.getrlimit(resource.RLIMIT_AS)
    pages = int(_STATM.read_text().split()[0]) if _STATM.exists() else 0
    limit = pages * resource.getpagesize() + most
    may_limit = before[0] == resource.RLIM_INFINITY or limit < before[0]
    if pages and may_limit:
        resource.setrlimit(resource.RLIMIT_AS, (limit, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_AS, before)


def _read(path: Path) -> tuple[Config, Config]:
    try:
        if path.suffix.lower() in _keras_h5.SUFFIXES:
            with bounded_memory(MOST_BYTES_READ):
                return _keras_h5.read(path, _json, MOST_CONFIG_BYTES)
        with foreign.zip_opened(path) as archive:
            for name in archive.namelist():
                if name.startswith("/") or "\\" in name or ".." in PurePosixPath(name).parts:
                    raise Unusable(f"a zip with the path {name[:80]!r}, which leads out of it")
            config = _json(foreign.member_bytes(archive, CONFIG, MOST_CONFIG_BYTES), CONFIG)
            has_metadata = METADATA in archive.namelist()
            metadata = _json(foreign.member_bytes(archive, METADATA, MEBIBYTE), METADATA) if has_metadata else {}
    except Unusable as error:
        raise Unsupported(
            f"expected a model of Keras at {path}, found {error}: save the model with model.save('NAME.keras')"
        ) from error
    older = not str(metadata.get(_VERSION, _LATER_KERAS)).startswith(_LATER_KERAS)
    return _keras_2_config.complete(config) if older else config, metadata


def _json(data: bytes, name: str) -> Config:
    try:
        content = json.loads(data)
    except MemoryError as error:
        raise Unusable(f"{name} that takes more memory than it may") from error
    except (ValueError, RecursionError) as error:
        raise Unusable(f"{name} that is no JSON ({foreign.error_line(error)})") from error
    if not isinstance(content, Mapping) or (name == CONFIG and not isinstance(content.get("class_name"), str)):
        raise Unusable(f"{name} that describes no object")
    if foreign.is_deeper(content, MOST_NESTING):
        raise Unusable(f"{name} that is nested more than {MOST_NESTING} levels deep")
    return content


def _hazards(value: Any) -> Iterator[str]:
    """Parts of a config that are refused though Keras' safe mode would build them: code that writes, and sizes."""
    if isinstance(value, list):
        for item in value:
            yield from _hazards(item)
    if not isinstance(value, Mapping):
        return
    if "class_name" in value:
        yield from _of_object(value)
    for item in value.values():
        yield from _hazards(item)


def _of_object(value: Config) -> Iterator[str]:
    kind, module, config = value.get("class_name"), value.get("module"), value.get("config")
    if not isinstance(kind, str) or not (module is None or isinstance(module, str)):
        yield "an object without a class"
        return
    package, _, part = (module or "").partition(".")
    if package == "keras" and part and part.partition(".")[0] not in _PARTS_OF_MODELS:
        object_name = config if kind == "function" else kind
        yield f"{str(object_name)[:80]} of {module}, which is no part of a model"
    arguments: Config = config if isinstance(config, Mapping) else {}
    for name in _SIZES:
        size = arguments.get(name)
        if isinstance(size, int) and size > MOST_SIZE:
            yield f"a {kind} with {name}={size:,}, more than {MOST_SIZE:,}"


@contextmanager
def register_classes(references: Sequence[str]) -> Iterator[None]:
    """Register classes in the block, so that Keras builds configs that name them, also by their registered names.

    Args:
      references: FILE.py:NAME of each; every file is run.
    """
    objects: dict[str, Any] = {}
    for reference in references:
        custom_object = resolve(reference)
        objects |= {
            custom_object.__name__: custom_object,
            keras.saving.get_registered_name(custom_object): custom_object,
        }
    with keras.saving.custom_object_scope(objects):
        yield
