"""How much memory there is for arrays that are kept for a while."""

from __future__ import annotations

import re
from pathlib import Path

LEAST, MOST = 512 * 2**20, 16 * 2**30
"""Bytes. All that is kept or reported is computed in one request, which has a time limit."""
_SHARE = 3
"""The share of free memory for arrays; the frameworks, and the computation of the arrays, need the rest."""

_FREE = re.compile(r"^MemAvailable: +(\d+) kB$", re.MULTILINE)
_LIMITS = (("memory.max", "memory.current"), ("memory/memory.limit_in_bytes", "memory/memory.usage_in_bytes"))
"""Files with a container's limit and use, by cgroup v2 and v1. https://docs.kernel.org/admin-guide/cgroup-v2.html"""


def budget(reserve: int = 0, memory: Path = Path("/proc/meminfo"), group: Path = Path("/sys/fs/cgroup")) -> int:
    """Bytes to keep at a time: a third of what the machine and the container have left, within `LEAST` and `MOST`.

    Where the platform tells nothing, it is the least.

    Args:
      reserve: bytes of what is left that are needed for something else.
    """
    free = _FREE.search(memory.read_text()) if memory.exists() else None
    free_bytes = [int(free[1]) * 1024] if free else []
    free_bytes += [
        limit - usage for limit, usage in (_limit(group / most, group / now) for most, now in _LIMITS) if limit
    ]
    return min(MOST, max(LEAST, (min(free_bytes, default=0) - reserve) // _SHARE))


def _limit(most: Path, now: Path) -> tuple[int, int]:
    """A container's limit and what it takes; (0, 0) where it has none."""
    if not most.exists() or not now.exists():
        return 0, 0
    limit = most.read_text().strip()
    return (int(limit), int(now.read_text())) if limit.isdigit() else (0, 0)
