"""Why a process ended, in one line, from its standard error: fatal lines, and no warnings printed before them."""

from __future__ import annotations

import re
import signal
from collections.abc import Iterator, Sequence
from itertools import pairwise

from compare.sides.explained import in_library, without_colours

MOST_CHARACTERS = 300
"""The most characters of a line that is quoted."""

_QUOTED = 2
"""Fatal lines that are quoted: `terminate called ...` is followed by what was thrown."""

_NATIVE_LOG = re.compile(
    r"^[DIWEF]\d{4} |^WARNING: All log messages|^\d{4}-\d\d-\d\d [\d:.]+: [IWE] |^To enable the following instr"
)
_WARNING = re.compile(r"\bwarn(ing|ings)?\b|Warning\b", re.IGNORECASE)

_DUMP = re.compile(r"^Fatal Python error: ")
"""Where faulthandler begins: stacks, and the names of extension modules, follow to the end."""
_SIGNALS = re.compile(
    r"^Fatal Python error: (Segmentation fault|Aborted|Bus error|Illegal instruction|Floating[- ]point)"
)
_THREAD = re.compile(r"^(Current thread|Thread) .*\(most recent call first\):$")
_FRAME = re.compile(r'^File "(?P<file>[^"]*)", line \d+ in ')

_FATAL = re.compile(
    "|".join(
        [
            r"^F\d{4} ", r"^\d{4}-\d\d-\d\d [\d:.]+: F ", r"^(LLVM|JIT) ERROR\b", r"\bCheck failed\b",
            r"^terminate called\b", r"^what\(\):", r"^Assertion\b", r"\bAssertion .* failed\b", r"^MemoryError\b",
            r"\bstd::bad_alloc\b", r"\bout of memory\b", r"\bRESOURCE_EXHAUSTED\b", r"\bCannot allocate memory\b",
            r"^(free|malloc|realloc|munmap_chunk|corrupted|double free)\b.*", r"^\*\*\* ", r"^Killed$",
            r"\bUNREACHABLE\b", r"\bstack overflow\b", r"^Fatal Python error: ", r"\bsymbol lookup error\b",
            r"\berror while loading shared libraries\b", r"^PLEASE submit a bug report", r"^fatal error\b",
        ]
    ),
    re.IGNORECASE,
)  # fmt: skip
"""Lines that a library prints when it ends the process that it runs in."""

_FROM_OUTSIDE = {
    signal.SIGKILL: "killed from outside, as the system does when memory runs out",
    signal.SIGTERM: "ended from outside",
    signal.SIGINT: "ended from outside",
    signal.SIGHUP: "ended from outside",
}
"""Signals that no library raises against itself: the lines printed before are not the reason."""


def describe_end(code: int) -> str:
    """How a process ended: "by signal SIGKILL", "with exit code 3"."""
    if code >= 0:
        return f"with exit code {code}"
    names = {number.value: number.name for number in signal.Signals}
    return f"by signal {names.get(-code, -code)}"


def last_words(log: str, code: int) -> str:
    """The explanation of a worker's end, as text to append: fatal lines, and the last Python line.

    Args:
      code: that of the process; below 0 the signal that ended it.
    """
    lines = [line for line in (text.strip() for text in without_colours(log).splitlines()) if line]
    dump_start = next((index for index, line in enumerate(lines) if _DUMP.match(line)), len(lines))
    fatal = [line for line in lines[: dump_start + 1] if _FATAL.search(line) and not _SIGNALS.match(line)]
    quotes = fatal[-_QUOTED:] or _otherwise(lines[:dump_start], code, dump_start < len(lines))
    place = _where(lines[dump_start:])
    where = f" at {_clip(place)}" if place else ""
    return "".join([where, ": " if quotes else "", "; ".join(map(_clip, quotes))])


def _otherwise(lines: Sequence[str], code: int, has_dump: bool) -> list[str]:
    """The last line that is no log line; of a crash or a signal no warning either, since that was not the reason."""
    hint = next((reason for number, reason in _FROM_OUTSIDE.items() if code == -number), "")
    if hint or has_dump:
        return [hint] if hint else []
    words = [line for line in lines if not _NATIVE_LOG.match(line) and not (code < 0 and _WARNING.search(line))]
    return words[-1:]


def _where(dump: Sequence[str]) -> str:
    """The line that the thread which crashed was at, the user's own before a library's; else the main thread's."""
    threads = list(_threads(dump))
    current = next((frames for heading, frames in threads if heading.startswith("Current")), None)
    frames = current if current is not None else threads[-1][1] if threads else []
    files = [(frame, match["file"]) for frame in frames if (match := _FRAME.match(frame))]
    own = [frame for frame, file in files if not in_library(file)]
    with_file = [frame for frame, file in files if not file.startswith("<")]
    return next(iter([*own, *with_file, *(frame for frame, _ in files)]), "")


def _threads(dump: Sequence[str]) -> Iterator[tuple[str, list[str]]]:
    """Every thread of a dump, by its heading: its frames, the innermost first."""
    starts = [number for number, line in enumerate(dump) if _THREAD.match(line)]
    for start, end in pairwise([*starts, len(dump)]):
        yield dump[start], [line for line in dump[start + 1 : end] if _FRAME.match(line)]


def _clip(line: str) -> str:
    return line if len(line) <= MOST_CHARACTERS else f"{line[: MOST_CHARACTERS - 3]}..."
