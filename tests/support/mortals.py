"""Interpreters whose workers die at a planted moment, and answer without computing anything until then."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path

_SCRIPT = """#!{python} -S
import json, os, signal, sys

with open({pids!r}, "a") as file:
    print(os.getpid(), file=file)

def dies(at):
    if at == {moment!r}:
        os.kill(os.getpid(), signal.SIGKILL)

COSTS = {{name: 1.0 for name in ("import_s", "load_s", "run_s", "steady_s", "first_call_s")}}
COSTS |= {{name: None for name in ("trace_s", "lower_s", "compile_s", "baseline_rss_bytes", "peak_rss_bytes")}}
VALUES = {{
    "load": {{"modes": {{"forward": ["jit"]}}}}, "environment": {{"device": "cpu", "version": "1"}},
    "compile": {{"handle": 0, "compile_s": 1.0}}, "prepare": COSTS, "round": [1e-3] * 5, "digest": "code",
}}

def says(value, number=None):
    print(json.dumps({{"ok": True, "value": value, "arrays": False, "number": number}}), flush=True)

dies("import")
says({{}})
for line in sys.stdin:
    request = json.loads(line)
    method = request["method"]
    dies(method)
    says(VALUES.get(method), request["number"])
    dies("after " + method)
"""

KILLED = "the worker ended by signal SIGKILL"


@dataclass(frozen=True)
class Mortals:
    """Makes such interpreters in a folder, and knows the processes that they ran."""

    folder: Path

    def dying(self, moment: str) -> str:
        """The path of an interpreter whose worker dies at "import", when asked for a method, or "after METHOD"."""
        path = self.folder / "mortal"
        path.write_text(_SCRIPT.format(python=sys.executable, pids=str(self.folder / "pids"), moment=moment))
        path.chmod(0o755)
        return str(path)

    @property
    def pids(self) -> list[int]:
        """Of every worker that was started."""
        path = self.folder / "pids"
        return [int(line) for line in path.read_text().split()] if path.exists() else []
