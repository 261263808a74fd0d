"""Peak memory of this process, where the platform keeps count."""

from __future__ import annotations

import re
from pathlib import Path

STATUS = Path("/proc/self/status")
CLEAR_REFS = Path("/proc/self/clear_refs")

RESET_PEAK = "5"
"""Sets VmHWM back to the memory resident now: https://docs.kernel.org/filesystems/proc.html."""


def peak_rss_bytes(status: Path = STATUS) -> int | None:
    """Bytes of physical memory that this process held at most since the last reset; None where not counted."""
    try:
        text = status.read_text()
    except OSError:
        return None
    peak = re.search(r"^VmHWM:\s+(\d+) kB$", text, re.MULTILINE)
    return int(peak[1]) * 1024 if peak else None


def reset_peak_rss(clear_refs: Path = CLEAR_REFS, status: Path = STATUS) -> int | None:
    """Start the peak anew from the memory held now, and return that in bytes.

    None where the platform cannot: a later peak then counts from the start of the process.
    """
    try:
        clear_refs.write_text(RESET_PEAK)
    except OSError:
        return None
    return peak_rss_bytes(status)
