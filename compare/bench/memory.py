"""Memory of this process: its peak, its page faults where the platform counts them, and its allocator's settings."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

STATUS = Path("/proc/self/status")
CLEAR_REFS = Path("/proc/self/clear_refs")
STAT = Path("/proc/self/stat")

RESET_PEAK = "5"
"""Sets VmHWM back to the memory resident now: https://docs.kernel.org/filesystems/proc.html."""


ALLOCATOR = re.compile(r"MALLOC_\w+|GLIBC_TUNABLES|LD_PRELOAD")
"""Variables that change which memory is given back between calls: asking for it anew costs a page fault a page."""


def settings(environment: Mapping[str, str]) -> dict[str, str]:
    """{"allocator": "NAME=value ..."} of the environment's variables for it; empty where there are none."""
    assignments = [f"{name}={environment[name]}" for name in sorted(environment) if ALLOCATOR.fullmatch(name)]
    return {"allocator": " ".join(assignments)} if assignments else {}


def counters() -> dict[str, int]:
    """The counters of this process since its start, by the field of a mode's times in the record.

    A counter that is added here, and as a field there, is in every record.
    """
    counts = {"page_faults": page_faults()}
    return {name: count for name, count in counts.items() if count is not None}


def page_faults(stat: Path = STAT) -> int | None:
    """Pages that the kernel handed to this process since its start without reading a disk; None where not counted."""
    try:
        text = stat.read_text()
    except OSError:
        return None
    # Field 10, minflt, of https://man7.org/linux/man-pages/man5/proc_pid_stat.5.html; the second, a name in
    # parentheses, may hold spaces and parentheses of its own.
    return int(text.rpartition(")")[2].split()[7])


def peak_rss_bytes(status: Path = STATUS) -> int | None:
    """Bytes of physical memory that this process held at most since the last reset; None where not counted."""
    return _status_bytes(status, "VmHWM")


def own_bytes(status: Path = STATUS) -> int | None:
    """Bytes of physical memory that a process holds and no file backs: what it mapped to read is not among them."""
    return _status_bytes(status, "RssAnon")


def _status_bytes(status: Path, field: str) -> int | None:
    try:
        text = status.read_text()
    except OSError:
        return None
    line = re.search(rf"^{field}:\s+(\d+) kB$", text, re.MULTILINE)
    return int(line[1]) * 1024 if line else None


def reset_peak_rss(clear_refs: Path = CLEAR_REFS, status: Path = STATUS) -> int | None:
    """Start the peak anew from the memory held now, and return that in bytes.

    None where the platform cannot: a later peak then counts from the start of the process.
    """
    try:
        clear_refs.write_text(RESET_PEAK)
    except OSError:
        return None
    return peak_rss_bytes(status)
