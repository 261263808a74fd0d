"""A .keras file: its config read as data, and the model built of it only where nothing but Keras' own is named in it.

Weights are never read: what a model computes does not depend on them.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path, PurePosixPath
from typing import Any

import keras

from tf_reference import _keras_config
from workloads import _foreign
from workloads._foreign import MEBIBYTE, Unusable
from workloads._framework import Unsupported
from workloads._inspection import Inspection

CONFIG, METADATA = "config.json", "metadata.json"

MOST_CONFIG_BYTES = 64 * MEBIBYTE
"""The config of a model of a thousand layers has 1 MiB."""

MOST_WEIGHTS = 1 << 31
"""Numbers that a layer may hold to be built here: one of 8 GiB is told, and not built."""

_SAFE_MODULES = ("keras", "keras.layers", "keras.initializers", "keras.regularizers", "keras.constraints",
                 "keras.activations", "keras.models", "keras.dtype_policies",
                 "keras.src.ops", "keras.src.models.functional", "keras.src.models.sequential")  # fmt: skip
_SAFE_OF_KERAS = frozenset({"DTypePolicy", "Functional", "Sequential", "Model"})
_OPENS_FILES = frozenset({"TFSMLayer", "TorchModuleWrapper", "JaxLayer", "FlaxLayer", "Lambda"})
_MARKERS = frozenset({"__keras_tensor__", "__ellipsis__", "__tuple__", "slice"})
_SIZES = ("units", "filters", "input_dim", "output_dim", "num_heads", "key_dim", "value_dim", "num_tokens",
          "intermediate_dim")  # fmt: skip


def inspect(path: Path) -> Inspection:
    """What a .keras file says, without building anything.

    Raises:
      Unsupported: it is no .keras file, or a name in it leads out of it.
    """
    config, metadata = _read(path)
    hazard = next(_hazards(config), "")
    compiled = config.get("compile_config")
    version = metadata.get("keras_version")
    return Inspection(
        kind="keras archive",
        layers=tuple(_keras_config.layers(config)),
        training=_keras_config.training(compiled),
        versions={"keras": version} if isinstance(version, str) else {},
        not_traced=f"it is not built, since its config has {hazard}" if hazard else "",
    )


def build(path: Path) -> Any:
    """The model of a .keras file, with new weights.

    Raises:
      Unsupported: its config names what is not Keras' own, or Keras cannot build it.
    """
    config, _ = _read(path)
    hazard = next(_hazards(config), "")
    if hazard:
        raise Unsupported(f"it is not built, since its config has {hazard}")
    # What it was compiled with is told from the config, and may name functions.
    plain = {key: value for key, value in config.items() if key != "compile_config"}
    return keras.saving.deserialize_keras_object(plain, safe_mode=True)


def _read(path: Path) -> tuple[Mapping[str, Any], Mapping[str, Any]]:
    try:
        with _foreign.zip_opened(path) as archive:
            for name in archive.namelist():
                if name.startswith("/") or "\\" in name or ".." in PurePosixPath(name).parts:
                    raise Unusable(f"a zip with the path {name[:80]!r}, which leads out of it")
            config = _json(_foreign.member_bytes(archive, CONFIG, MOST_CONFIG_BYTES), CONFIG)
            has_metadata = METADATA in archive.namelist()
            metadata = _json(_foreign.member_bytes(archive, METADATA, MEBIBYTE), METADATA) if has_metadata else {}
    except Unusable as error:
        raise Unsupported(
            f"expected a .keras file at {path}, found {error}: save the model with model.save('NAME.keras')"
        ) from error
    return config, metadata


def _json(data: bytes, name: str) -> Mapping[str, Any]:
    try:
        found = json.loads(data)
    except (ValueError, RecursionError) as error:
        raise Unusable(f"{name} that is no JSON ({_foreign.said(error)})") from error
    if not isinstance(found, Mapping):
        raise Unusable(f"{name} that holds no object")
    return found


def _hazards(value: Any) -> Iterator[str]:
    """What in a config could run other code than Keras' layers, or open a file."""
    if isinstance(value, list):
        for item in value:
            yield from _hazards(item)
    if not isinstance(value, Mapping):
        return
    if "class_name" in value:
        yield from _of_object(value)
    for key, item in value.items():
        if key != "compile_config":
            yield from _hazards(item)


def _of_object(value: Mapping[str, Any]) -> Iterator[str]:
    kind, module = value.get("class_name"), value.get("module")
    config = value.get("config")
    if not isinstance(kind, str) or not (module is None or isinstance(module, str)):
        yield "an object without a class"
    elif kind == "__lambda__":
        yield "a function as bytecode (a Lambda layer)"
    elif kind in _MARKERS:
        return
    elif kind == "function" or kind in _OPENS_FILES:
        yield f"a {kind}" if kind in _OPENS_FILES else f"the function {str(config)[:80]}"
    elif module not in _SAFE_MODULES and not (module or "").startswith("keras.src.ops."):
        yield f"{kind}, a class of {module or value.get('registered_name') or 'an unknown module'}"
    elif module == "keras" and kind not in _SAFE_OF_KERAS:
        yield f"keras.{kind}"
    elif isinstance(config, Mapping):
        yield from _of_config(kind, config)


def _of_config(kind: str, config: Mapping[str, Any]) -> Iterator[str]:
    if isinstance(config.get("vocabulary"), str):
        yield f"a {kind} that reads its vocabulary from a file"
    sizes = [config[name] for name in _SIZES if isinstance(config.get(name), int)]
    product = 1
    for size in sizes:
        product *= max(1, abs(size))
    if product > MOST_WEIGHTS or any(size > MOST_WEIGHTS // 64 for size in sizes):
        yield f"a {kind} of {product:,} weights and more"
