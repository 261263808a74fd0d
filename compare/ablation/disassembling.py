"""Machine code as text, by the system's disassembler where there is one."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterable, Mapping
from pathlib import Path

_MOST_S = 60
"""Seconds for one file, of which most take a hundredth."""

_PROGRAMS = ("objdump", "llvm-objdump")


def disassembler() -> str:
    """Where the disassembler is; empty where there is none."""
    return next(filter(None, map(shutil.which, _PROGRAMS)), "")


def disassemble(program: str, files: Iterable[Path]) -> Mapping[str, str]:
    """By name, what the disassembler says of each object file; without those that it does not read.

    Args:
      program: as `disassembler` finds it; empty reads none.
      files: that XLA dumped.
    """
    return {path.name: text for path in files if program and (text := _text(program, path))}


def _text(program: str, path: Path) -> str:
    try:
        ran = subprocess.run(
            [program, "-d", "--no-show-raw-insn", "--", str(path.resolve())],
            capture_output=True, text=True, errors="replace", timeout=_MOST_S, check=False,
        )  # fmt: skip
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return "" if ran.returncode else ran.stdout
