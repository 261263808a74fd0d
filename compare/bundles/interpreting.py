"""Runs StableHLO's reference interpreter in a process of its own: what it does not know ends that process.

Started as `python -m compare.bundles.interpreting FOLDER`.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from compare.hlo import standalone
from compare.hlo.bindings import UnreadableProgram
from compare.sides import processes, wire
from compare.sides.last_words import describe_end, last_words
from compare.sides.settings import python_path

_PROGRAM, _ARGUMENTS, _RESULTS, _SAID = "program", "arguments", "results", "said"
_REFUSED = 3
_ROOT = Path(__file__).parents[2]


def interpret(artifact: bytes, arrays: Sequence[np.ndarray], timeout_s: float) -> list[np.ndarray]:
    """Run a program in the reference interpreter.

    Args:
      arrays: arguments by position, of the program's shapes and dtypes.
      timeout_s: seconds that it may take.

    Returns:
      The results by position.

    Raises:
      UnreadableProgram: it cannot run the program, or not in that time.
    """
    with tempfile.TemporaryDirectory(prefix="jaxport-") as name:
        folder = Path(name)
        (folder / _PROGRAM).write_bytes(artifact)
        _save(arrays, folder / _ARGUMENTS)
        command = [sys.executable, "-P", "-m", "compare.bundles.interpreting", name]
        code = _run(command, folder, timeout_s)
        if code:
            raise UnreadableProgram(_reason((folder / _SAID).read_text(errors="replace"), code))
        return _load(folder / _RESULTS)


def _run(command: Sequence[str], folder: Path, timeout_s: float) -> int:
    environment = os.environ | {"PYTHONPATH": python_path(_ROOT, os.environ)}
    try:
        with (folder / _SAID).open("wb") as output:
            process = processes.start(command, output, environment, folder)
    except processes.Ending as error:
        raise UnreadableProgram(f"the interpreter was not started: {error}") from error
    try:
        return process.wait(timeout_s)
    except subprocess.TimeoutExpired:
        raise UnreadableProgram(f"expected a result within {timeout_s:g} s, found none: raise --timeout") from None
    finally:
        with process:
            process.kill()
        processes.forget(process)


def _reason(output: str, code: int) -> str:
    lines = [line.strip() for line in output.splitlines() if line.strip()]
    if code == _REFUSED and lines:
        return lines[-1]
    return f"the interpreter ended its process {describe_end(code)}{last_words(output, code)}"


def _save(arrays: Sequence[np.ndarray], path: Path) -> None:
    wire.save_arrays({str(position): array for position, array in enumerate(arrays)}, path)


def _load(path: Path) -> list[np.ndarray]:
    results, _ = wire.load_arrays(path)
    return [results[str(position)] for position in range(len(results))]


def main() -> int:
    """Interpret what lies in a folder; the exit code says whether results lie beside it."""
    folder = Path(sys.argv[1])
    processes.end_with_parent(0)
    # The output of a program is discarded.
    os.dup2(2, 1)
    try:
        results = standalone.interpret((folder / _PROGRAM).read_bytes(), _load(folder / _ARGUMENTS))
    except UnreadableProgram as error:
        print(" ".join(str(error).split()), file=sys.stderr)
        return _REFUSED
    _save(results, folder / _RESULTS)
    return 0


if __name__ == "__main__":
    sys.exit(main())
