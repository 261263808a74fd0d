"""A bug report on disk: which file holds what, written by `jaxport bugreport`, read by `jaxport replay`."""

from __future__ import annotations

import json
import re
import zipfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from safetensors import SafetensorError

from compare import records
from compare.hlo import replaying
from compare.hlo.bindings import UnreadableProgram
from compare.run.inputs import RequestError
from compare.sides import wire

SCHEMA = 1
INDEX = "bundle.json"
PROGRAM, OPTIMIZED = "program", "optimized"

_ABSOLUTE = re.compile(r"(?<![\w.])/(?:[^\s/:'\",;]+/)+([^\s/:'\",;]*)")


@dataclass(frozen=True)
class Module:
    """One module that can be run on its own.

    `inputs` are its arguments by position, None where nothing was recorded; `recorded` holds its
    results by position, by the cell that gave them, the program's own compiler first.
    """

    name: str
    artifact: bytes
    parameters: tuple[str, ...] = ()
    results: tuple[str, ...] = ()
    inputs: Sequence[np.ndarray] | None = None
    recorded: Mapping[str, Sequence[np.ndarray]] = field(default_factory=dict)


def save_arrays(arrays: Sequence[np.ndarray], path: Path) -> None:
    """Arrays by position: "0", "1" and so on."""
    wire.save_arrays({str(position): array for position, array in enumerate(arrays)}, path)


def save_index(index: Mapping[str, Any], folder: Path) -> None:
    """Write bundle.json, files without the folders that they lie in on this machine."""
    records.write_atomically(folder / INDEX, json.dumps(without_folders(records.to_json(index)), indent=1) + "\n")


def without_folders(value: Any) -> Any:
    """JSON data, or text, with each absolute path cut to its last part."""
    if isinstance(value, Mapping):
        return {key: without_folders(item) for key, item in value.items()}
    if isinstance(value, list):
        return [without_folders(item) for item in value]
    return _ABSOLUTE.sub(r"\1", value) if isinstance(value, str) else value


def modules(path: Path, scratch: Path) -> list[Module]:
    """What a path holds: the programs of a bundle, or the one module of a file.

    A file inside a bundle comes with its recorded inputs and results.

    Args:
      scratch: a folder to unpack into.

    Raises:
      RequestError: nothing is there, or it is no module and no bundle.
    """
    if path.is_file() and zipfile.is_zipfile(path):
        return _programs(_unpacked(path, scratch))
    if path.is_dir():
        return _programs(path)
    if not path.is_file():
        raise RequestError(f"expected a module or a bug report at {path}, found nothing: check the path")
    folder = path.resolve().parent.parent
    entries = _index(folder)["modules"] if (folder / INDEX).is_file() else []
    name = path.resolve().relative_to(folder).as_posix()
    return [next((_module(folder, entry) for entry in entries if entry["file"] == name), None) or _alone(path)]


def _unpacked(path: Path, scratch: Path) -> Path:
    folder = scratch / "bundle"
    try:
        with zipfile.ZipFile(path) as archive:
            archive.extractall(folder)
    except (zipfile.BadZipFile, OSError) as error:
        raise RequestError(f"expected a bug report in {path}, found a broken zip ({error}): copy it again") from error
    # Zipping a folder by hand puts the folder itself in the archive.
    inner = [each for each in folder.iterdir() if (each / INDEX).is_file()]
    return inner[0] if len(inner) == 1 else folder


def _programs(folder: Path) -> list[Module]:
    entries = _index(folder)["modules"]
    found = [_module(folder, entry) for entry in entries if entry["kind"] == PROGRAM]
    if not found:
        raise RequestError(f"expected a program in {folder}, found none: its README says what failed")
    return found


def _index(folder: Path) -> dict[str, Any]:
    try:
        index = json.loads((folder / INDEX).read_text())
        schema = index["schema"]
    except FileNotFoundError as error:
        raise RequestError(
            f"expected {INDEX} in {folder}, found none: name a module, or what `jaxport bugreport` wrote"
        ) from error
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise RequestError(f"expected {INDEX} of a bug report in {folder}, found other data: write it again") from error
    if schema > SCHEMA:
        raise RequestError(f"expected a bug report of schema {SCHEMA} or older, found {schema}: upgrade jaxport")
    return index


def _module(folder: Path, entry: Mapping[str, Any]) -> Module:
    recorded = {cell: load_arrays(folder / file) for cell, file in entry["outputs"].items()}
    return Module(
        name=entry["name"],
        artifact=_artifact(folder / entry["file"]),
        parameters=tuple(each["name"] for each in entry["parameters"]),
        results=tuple(each["name"] for each in entry["results"]),
        inputs=load_arrays(folder / entry["inputs"]),
        recorded=recorded,
    )


def _alone(path: Path) -> Module:
    return Module(path.name, _artifact(path))


def _artifact(path: Path) -> bytes:
    try:
        return replaying.artifact_of_file(path.read_bytes())
    except FileNotFoundError as error:
        raise RequestError(f"expected {path}, as the bug report lists it, found nothing: copy it whole") from error
    except UnreadableProgram as error:
        raise RequestError(f"{error}, in {path}") from error


def load_arrays(path: Path, names: Sequence[str] = ()) -> list[np.ndarray]:
    """The arrays of a file by position: named "0", "1" and so on, or by all of `names`.

    Raises:
      RequestError: it is absent, broken, or names its arrays otherwise.
    """
    try:
        found, _ = wire.load_arrays(path)
    except (OSError, SafetensorError) as error:
        reason = next(iter(str(error).splitlines()), type(error).__name__)
        raise RequestError(f"expected a safetensors file at {path}, found {reason}: write it again") from error
    order = list(names) if names and set(names) == set(found) else [str(position) for position in range(len(found))]
    if set(order) != set(found):
        raise RequestError(
            f"expected arrays named by position, 0 to {len(found) - 1}, in {path}, found {', '.join(sorted(found))}: "
            "rename them"
        )
    return [found[name] for name in order]
