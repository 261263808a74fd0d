"""Runs StableHLO's reference interpreter in a process of its own: what it does not know ends that process.

Started as `python -m compare.run.interpreting FOLDER`.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from compare.hlo import replaying
from compare.hlo.bindings import UnreadableProgram
from compare.sides import wire
from compare.sides.settings import python_path

_PROGRAM, _ARGUMENTS, _RESULTS = "program", "arguments", "results"
_REFUSED = 3
_ROOT = Path(__file__).parents[2]


def interpret(artifact: bytes, arrays: Sequence[np.ndarray], timeout_s: float) -> list[np.ndarray]:
    """The program's results by the interpreter.

    Raises:
      UnreadableProgram: it cannot run the program, or not in that time.
    """
    with tempfile.TemporaryDirectory(prefix="jaxport-") as name:
        folder = Path(name)
        (folder / _PROGRAM).write_bytes(artifact)
        _save(arrays, folder / _ARGUMENTS)
        command = [sys.executable, "-P", "-m", "compare.run.interpreting", name]
        environment = os.environ | {"PYTHONPATH": python_path(_ROOT, os.environ)}
        try:
            done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=timeout_s)
        except subprocess.TimeoutExpired:
            raise UnreadableProgram(f"expected the interpreter to end within {timeout_s:g} s: it did not") from None
        if done.returncode:
            raise UnreadableProgram(_reason(done.stderr, done.returncode))
        return _load(folder / _RESULTS)


def _reason(said: str, code: int) -> str:
    lines = [line.strip() for line in said.splitlines() if line.strip()]
    if code == _REFUSED and lines:
        return lines[-1]
    fatal = [line for line in lines if line.startswith("LLVM ERROR")]
    return f"the interpreter ended its process: {next(iter([*fatal, *lines[-1:]]), f'exit code {code}')}"


def _save(arrays: Sequence[np.ndarray], path: Path) -> None:
    wire.save_arrays({str(position): array for position, array in enumerate(arrays)}, path)


def _load(path: Path) -> list[np.ndarray]:
    found, _ = wire.load_arrays(path)
    return [found[str(position)] for position in range(len(found))]


def main() -> int:
    """Interpret what lies in a folder; the exit code says whether results lie beside it."""
    folder = Path(sys.argv[1])
    try:
        results = replaying.interpret((folder / _PROGRAM).read_bytes(), _load(folder / _ARGUMENTS))
    except UnreadableProgram as error:
        print(" ".join(str(error).split()), file=sys.stderr)
        return _REFUSED
    _save(results, folder / _RESULTS)
    return 0


if __name__ == "__main__":
    sys.exit(main())
