"""A node of a Ray cluster that is another machine by all that a program sees: host, processor, kernel's boot, files."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

NAME, PROCESSOR, BOOT = "apart", "Another 9000", "11111111-2222-3333-4444-555555555555"

_APART = ("--mount", "--uts", "--pid", "--fork", "--kill-child", "--mount-proc")
"""Namespaces of its own; whoever kills `unshare` kills all that runs in them."""

_SCRIPT = """
set -e
mount --bind "$FOLDER/boot" /proc/sys/kernel/random/boot_id
mount --bind "$FOLDER/processor" /proc/cpuinfo
mount -t tmpfs tmpfs "$HIDDEN"
hostname "$NAME"
cd "$FOLDER/work"
exec "$@"
"""
"""What it mounts, and the name of its host, nobody else sees."""


def run(folder: Path, hidden: Path, *command: str) -> subprocess.Popen[str]:
    """Start a command on a machine of its own.

    Args:
      folder: for its home, its temporary files and its working folder.
      hidden: a folder that it sees empty.
      command: what is started.
    """
    for name in ("home", "tmp", "work"):
        (folder / name).mkdir(parents=True, exist_ok=True)
    (folder / "boot").write_text(f"{BOOT}\n")
    lines = Path("/proc/cpuinfo").read_text().splitlines()
    renamed = (f"model name\t: {PROCESSOR}" if line.startswith("model name") else line for line in lines)
    (folder / "processor").write_text("\n".join([*renamed, ""]))
    told = {"FOLDER": str(folder), "HIDDEN": str(hidden), "NAME": NAME}
    homes = {"HOME": str(folder / "home"), "TMPDIR": str(folder / "tmp")}
    return subprocess.Popen(
        ["unshare", *_APART, "bash", "-c", _SCRIPT, "bash", *command],
        env=os.environ | told | homes, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, text=True,
    )  # fmt: skip


def allowed(folder: Path) -> bool:
    """Whether this user may make such a machine."""
    (folder / "hidden").mkdir(parents=True)
    try:
        return run(folder / "probe", folder / "hidden", "true").wait() == 0
    except OSError:
        return False


def node(folder: Path, hidden: Path, address: str, store_bytes: int) -> subprocess.Popen[str]:
    """A node on a machine of its own.

    Args:
      folder: for what it keeps.
      hidden: a folder that it sees empty.
      address: of the cluster.
      store_bytes: of its objects.
    """
    line = (f"--address={address}", "--num-cpus=2", f"--object-store-memory={store_bytes}", "--block")
    return run(folder, hidden, sys.executable, "-m", "ray.scripts.scripts", "start", *line)


def end(machine: subprocess.Popen[str]) -> None:
    """Take it away, with all that runs there."""
    machine.kill()
    machine.wait()
