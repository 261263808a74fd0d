"""Interpreters that stand for a side's: ones that fail in one way each, and one that is quick."""

from __future__ import annotations

import os
import sys
from pathlib import Path

_WORKER = "from compare.sides import worker; worker.main()"

ABSENT = (
    f"""exec {sys.executable} -P -c "import sys; sys.modules['tensorflow'] = None; sys.argv = ['', 'tf']; {_WORKER}" """
)

JAX_AS_TF = f"""exec {sys.executable} -P -c "import sys; sys.argv = ['', 'tf']
from compare.sides import worker
worker.HOSTED['tf'] = 'jaxport._framework'
worker.main()" """
"""JAX in TensorFlow's place: starts in a second, and ports need JAX functions only."""

STARTED = """echo '{"ok": true, "value": {}, "arrays": false}'; """


def interpreter(folder: Path, script: str) -> str:
    """The path of a shell script that is started in the place of Python."""
    path = folder / f"python{len(list(folder.glob('python*')))}"
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)
    return str(path)


def failing_first(script: str, folder: Path, times: int, otherwise: str) -> str:
    """A script that ends in one way for so many starts, and comes up after them."""
    starts = folder / "starts"
    return f"echo >> {starts}\nif [ $(wc -l < {starts}) -le {times} ]; then {script}; fi\n{otherwise}"


def is_running(process_id: int) -> bool:
    """Whether there is such a process."""
    try:
        os.kill(process_id, 0)
    except ProcessLookupError:
        return False
    return True
