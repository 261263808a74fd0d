"""Runs on a node of a cluster: describes the node, and runs one task as a command."""

from __future__ import annotations

import contextlib
import hashlib
import io
import os
import platform
import socket
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from compare import versions
from compare.plain_json import to_json
from compare.run import record_parts
from compare.sides import processes

ROOT = Path(__file__).resolve().parents[2]
SOURCES = ("workloads", "tf_reference", "jaxport", "compare")
BOOT = Path("/proc/sys/kernel/random/boot_id")
FILES = {"results": "results.json", "programs": "programs/hlo.json"}
"""By name, what a task leaves in its output folder that travels back."""

_COMMAND = (
    "import sys; from compare.cli import main; from compare.sides.processes import end_with_parent; "
    "end_with_parent(0); sys.exit(main(sys.argv[1:]))"
)
"""A command that ends with the process which started it: no node goes on with a task that was given to another."""

_MOST_SAID = 4000


def facts() -> dict[str, Any]:
    """The machine, and the versions of all that a result depends on."""
    packages = {name: version for side in versions.of_sides().values() for name, version in side.items()}
    return {
        "host": socket.gethostname(),
        "machine": BOOT.read_text().strip() if BOOT.exists() else socket.gethostname(),
        "versions": {
            **own(),
            "python": platform.python_version(),
            "numpy": versions.find_version("numpy"),
            **packages,
        },
        "environment": to_json(record_parts.environment({})),
        "load": os.getloadavg()[0],
    }


def own() -> dict[str, str]:
    """The version of jaxport, and a digest of its sources."""
    return {"jaxport": versions.own(), "jaxport's sources": sources()}


def sources(root: Path = ROOT) -> str:
    """A digest of jaxport's own code: two checkouts may have one version.

    Args:
      root: the folder of its packages.
    """
    digest = hashlib.sha256()
    for package in SOURCES:
        for path in sorted((root / package).rglob("*.py")):
            digest.update(f"{path.relative_to(root)}\0".encode() + path.read_bytes() + b"\0")
    return digest.hexdigest()[:12]


def carried_out(files: bytes, arguments: Sequence[str]) -> dict[str, Any]:
    """Run one task in a fresh process and a fresh folder.

    Args:
      files: a zip of what the task needs, which becomes its working folder.
      arguments: of `jaxport`, without an output folder.

    Returns:
      The exit code; the end of its standard error; the load of the machine before it; how far it gave way to others;
      the files that it wrote.
    """
    load = os.getloadavg()[0]
    with tempfile.TemporaryDirectory(prefix=processes.PREFIX) as folder:
        here, out, log = (Path(folder) / name for name in ("carried", "out", "log"))
        here.mkdir()
        with zipfile.ZipFile(io.BytesIO(files)) as archive:
            archive.extractall(here)
        with log.open("wb") as output:
            code, niceness = _wait_for_end(_command(arguments, out), here, output, environment(os.environ, folder))
        wrote = {name: (out / path).read_bytes() for name, path in FILES.items() if (out / path).is_file()}
        output_text = log.read_text(errors="replace")[-_MOST_SAID:]
        return {"code": code, "said": output_text, "load": load, "niceness": niceness, "wrote": wrote}


def _command(arguments: Sequence[str], out: Path) -> list[str]:
    return [sys.executable, "-P", "-c", _COMMAND, *arguments, "--out", str(out)]


def _wait_for_end(command: Sequence[str], here: Path, output: Any, variables: Mapping[str, str]) -> tuple[int, int]:
    """The exit code and the niceness of a process; where this one is interrupted, it is killed."""
    pipe, nothing = subprocess.PIPE, subprocess.DEVNULL
    with subprocess.Popen(command, cwd=here, stdin=pipe, stdout=nothing, stderr=output, env=variables) as process:
        try:
            niceness = as_nice_as(os.getppid(), process.pid)
            return process.wait(), niceness
        finally:
            process.kill()


def as_nice_as(other: int, process: int) -> int:
    """Let a process give way to others no more than another one does; the niceness that it has then.

    Args:
      other: the number of that one, which started us: Ray lets what it runs give way to everything (15).
      process: the number of the first.
    """
    # Without the right to lower a niceness it stays, as the result shows.
    with contextlib.suppress(PermissionError):
        os.setpriority(
            os.PRIO_PROCESS, process, min(os.getpriority(os.PRIO_PROCESS, number) for number in (other, process))
        )
    return os.getpriority(os.PRIO_PROCESS, process)


def environment(variables: Mapping[str, str], scratch: str) -> dict[str, str]:
    """The environment of a task: without the number of threads that Ray gives to libraries."""
    rest = {name: value for name, value in variables.items() if name != "OMP_NUM_THREADS"}
    return rest | {processes.SCRATCH: scratch}
