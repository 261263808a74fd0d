"""Digests of what a judgement depends on: sources, arrays, versions, machine and request."""

from __future__ import annotations

import functools
import glob
import hashlib
import json
import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from compare.inputs.at_size import Prepared
from compare.inputs.request import Request
from compare.plain_json import to_json
from compare.record.envelope import Environment
from compare.run import surroundings
from compare.sides._side import SideError
from compare.sides.device_worker import Targets
from compare.sides.sources import interpreter_of
from workloads.core.declared import Declared, declare
from workloads.core.spec import Workload

OWN = ("workloads", "tf_reference", "jaxport", "compare")

MOST_FILES = 20_000
"""In the folder of a port, and in each that it names. A port among more, in a home folder say, is judged again."""

READ_BYTES = 1 << 20
"""Up to this size files are compared by their bytes; larger ones, weights and data, by size and time of change."""


_QUOTED = re.compile(r"""(?=["']([^"'\n]{2,500})["'])""")
"""Between any two quotes of a line, whichever of them begins a string."""


_OF_THE_KERNEL = ("/proc/", "/sys/", "/dev/")
"""Folders whose files change at each read, or have no bytes."""


class Unknown(Exception):
    """Something that a judgement depends on cannot be known; the message says why."""


def of_run(request: Request, environment: Environment) -> str:
    """A digest of what all workloads of a run rest on. Times and what steers them alone are left out.

    Raises:
      Unknown: a side is missing, or a file cannot be read.
    """
    absent = [name for name, facts in environment.sides.items() if "missing" in facts]
    if absent:
        raise Unknown(f"the {absent[0]} side is missing")
    targets = request.targets
    return _digest(
        {
            "jaxport": own_sources(),
            "environment": to_json(environment),
            "variables": surroundings.look().variables,
            "asked": [
                *(request.main_pass, request.unrolled, request.alignment, request.parity_only, request.extras.peers),
                request.fail_fast,
                sorted(map(str, request.modes)),
                file_stamp(request.data) if request.data else None,
                _targets(targets) if targets else None,
            ],
            "sides": {
                side: [
                    interpreter_of(source.python),
                    source.recorded and file_stamp(source.recorded),
                    asdict(source.device),
                ]
                for side, source in request.sources.items()
            },
        }
    )


def of_workload(both: tuple[Prepared, Prepared], without: Path) -> str:
    """A digest of what one workload is: what it declares, its arrays, and the files in the folder of its port.

    Raises:
      Unknown: not all that it is made of can be found.
    """
    folders = {folder.resolve() for instance in both for folder in _folders(instance)}
    return _digest(
        {
            "prepared": [_describe(instance) for instance in both],
            "folders": {str(folder): folder_digest(folder, without) for folder in sorted(folders)},
            "named": {str(folder): named_in(folder, without) for folder in sorted(folders)},
        }
    )


@functools.cache
def own_sources() -> str:
    """A digest of jaxport's own packages, which changes with each edit of them."""
    root = Path(__file__).resolve().parents[2]
    candidates = (path for name in OWN for path in sorted((root / name).rglob("*")))
    names = [
        path for path in candidates if path.suffix in (".py", ".toml", ".json") and "documentation" not in path.parts
    ]
    return _digest({str(path.relative_to(root)): file_stamp(path) for path in names})


def folder_digest(folder: Path, without: Path) -> str:
    """A digest of the files below a folder and the folders that it links to, hidden ones and Python's caches left out.

    Args:
      folder: whose files are looked at.
      without: a folder in it that is left out.

    Raises:
      Unknown: there are more than MOST_FILES, or one cannot be read.
    """
    stamps: dict[str, str] = {}
    for path in _files(folder, without.resolve()):
        if len(stamps) == MOST_FILES:
            raise Unknown(f"more than {MOST_FILES} files lie in {folder}")
        stamps[str(path.relative_to(folder))] = file_stamp(path)
    return _digest(stamps)


def named_in(folder: Path, without: Path) -> dict[str, str]:
    """The paths that the sources below a folder name in quotes, and may read.

    Files and folders that lie elsewhere, what begins like a checkpoint of TensorFlow, and environment variables.

    Args:
      without: a folder in it that is left out.

    Raises:
      Unknown: a file cannot be read, or a folder holds too many.
    """
    sources = (path for path in _files(folder, without.resolve()) if path.suffix == ".py")
    words = {word for path in sources for word in _QUOTED.findall(path.read_text(errors="replace"))}
    places = {os.path.join(base, os.path.expanduser(word)) for base in (folder, Path.cwd()) for word in words}
    outside = [place for place in places if not place.startswith(_OF_THE_KERNEL)]
    files = {place: file_stamp(Path(place)) for candidate in outside for place in _files_of(candidate)}
    folders = {
        place: folder_digest(Path(place), without) for place in outside if _is_apart(Path(place), folder, without)
    }
    return files | folders | {f"${word}": os.environ[word] for word in words if word in os.environ}


def _files_of(path: str) -> list[str]:
    """The file of a name, or those of a checkpoint whose names begin so."""
    if os.path.isfile(path):
        return [path]
    return sorted(glob.glob(f"{glob.escape(path)}.*")) if os.path.isfile(f"{path}.index") else []


def _is_apart(place: Path, folder: Path, without: Path) -> bool:
    """Whether a place is a folder that is not hidden, outside of the folder of the port and of the outputs.

    One that the port or the working folder lies in is looked at as little: it holds all sorts of things.
    """
    if not place.is_dir() or place.name.startswith("."):
        return False
    real_place, own = place.resolve(), folder.resolve()
    is_inside = real_place.is_relative_to(own) or real_place.is_relative_to(without.resolve())
    return not is_inside and not any(
        path.is_relative_to(real_place) for path in (own, Path.cwd(), Path.home().resolve())
    )


def file_stamp(path: Path) -> str:
    """A stamp that changes when a file changes.

    Raises:
      Unknown: it cannot be read.
    """
    try:
        status = path.stat()
        if status.st_size > READ_BYTES:
            # A copy may keep the time of change of a file, but not that of its inode.
            return f"{status.st_size} bytes of {status.st_mtime_ns}, {status.st_ctime_ns}"
        return hashlib.sha256(path.read_bytes()).hexdigest()
    except OSError as error:
        raise Unknown(f"{path} cannot be read") from error


def _files(folder: Path, without: Path) -> Iterator[Path]:
    # A link may lead to a folder above it.
    seen_folders = {folder.resolve(), without}
    for place, inner, names in os.walk(folder, followlinks=True):
        base_path = Path(place)
        visible = {
            name: (base_path / name).resolve() for name in inner if not name.startswith(".") and name != "__pycache__"
        }
        inner[:] = sorted(name for name, where in visible.items() if where not in seen_folders)
        seen_folders.update(visible[name] for name in inner)
        yield from (
            base_path / name for name in sorted(names) if not name.startswith(".") and (base_path / name).is_file()
        )


def _targets(targets: Targets) -> list[Any]:
    """Devices, and what compiles for them."""
    try:
        packages = targets.worker.platforms()
    except SideError as error:
        raise Unknown(f"what compiles for other devices cannot be asked: {error.reason}") from error
    return [
        to_json(list(targets.devices)),
        {platform: dict(package.versions) for platform, package in packages.items()},
    ]


def _folders(instance: Prepared) -> Iterator[Path]:
    workload = instance.workload
    if isinstance(workload, Declared):
        if not workload.reference.endswith(".py"):
            raise Unknown("what a package brings may read any of its files")
        yield Path(workload.reference).parent
    for target in instance.loading.targets.values():
        where = target.rpartition(":")[0]
        if where.endswith(".py"):
            yield Path(where).parent


def _describe(instance: Prepared) -> dict[str, Any]:
    workload = instance.workload
    declaration = declare(workload) if isinstance(workload, Workload) else workload
    plain = {name: value for name, value in vars(instance).items() if name not in ("loading", "workload")}
    loading = {name: value for name, value in asdict(instance.loading).items() if name != "arrays"}
    return {"declared": to_json(declaration), "drawn": to_json(plain), "loading": to_json(loading)}


def _digest(value: Mapping[str, Any]) -> str:
    return hashlib.sha256(json.dumps(value, sort_keys=True, default=str).encode()).hexdigest()
