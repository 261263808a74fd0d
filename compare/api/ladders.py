"""Climbs the rungs of a port in workers, up to the first that fails, as `jaxport next` does."""

from __future__ import annotations

import tempfile
from pathlib import Path

from compare.errors import RequestError
from compare.inputs import port_files
from compare.inputs.request import Request
from compare.ladder import climbing
from compare.porting.port_folders import PORT
from compare.progress import Reporter
from compare.record.rung_part import Ladder
from compare.record.vocabulary import FAIL, NOT_JUDGED, PASS
from compare.sides.pool import Pool


def climb(pool: Pool, port: str, timeout_s: float, progress: Reporter) -> Ladder:
    """The rungs of a port up to the first that fails, without the last, which is of times.

    Args:
      pool: of workers.
      port: a port file, or a folder that `jaxport init` wrote.
      timeout_s: how long a worker may take for one request.
      progress: shows each step.

    Raises:
      RequestError, RegistryError, SideError: there is no such port, or it cannot be loaded.
    """
    reference = port_of(port)
    request = Request([port_files.get(reference)], timeout_s=timeout_s, plans=(), modes=climbing.MODES)
    with tempfile.TemporaryDirectory(prefix="jaxport-") as folder:
        return climbing.climb(pool, climbing.Choice(request, reference, True, 0), Path(folder), progress)


def conclude(ladder: Ladder) -> tuple[str, str]:
    """The verdict on a port and its sentence: which rung fails, or is not judged."""
    if ladder.fails:
        return FAIL, f"{ladder.name}: rung {ladder.fails} fails"
    missing = [rung.name for rung in ladder.rungs if rung.verdict == NOT_JUDGED]
    if missing:
        return NOT_JUDGED, f"{ladder.name}: {', '.join(missing)}: evidence is missing"
    return PASS, f"{ladder.name}: every rung holds"


def port_of(name: str) -> str:
    """The port file of a folder; anything else is itself.

    Raises:
      RequestError: the folder has none.
    """
    folder = Path(name)
    if not folder.is_dir():
        return name
    file = folder / PORT
    if not file.is_file():
        raise RequestError(
            f"expected {PORT} in {folder}, as `jaxport init -o {folder}` writes it, found none: name a port file"
        )
    return str(file)
