"""Python that is written, formatted by ruff under no settings but these: the same input gives the same text."""

from __future__ import annotations

import ast
import shutil
import subprocess
import sysconfig
from pathlib import Path

from compare.errors import RequestError

_LINE = "120"
_SECONDS = 60


def format_source(text: str, name: str) -> str:
    """Python as ruff formats it, its imports sorted and those that are not used left out.

    Raises:
      RequestError: there is no ruff.
    """
    ast.parse(text, name)
    ruff = _ruff()
    options = ("--isolated", "--no-cache", "--line-length", _LINE, "--stdin-filename", name)
    sorted_text = _run_ruff(
        (ruff, "check", "--fix-only", "--quiet", "--select", "I,F401", *_SORTED, *options, "-"), text
    )
    # Its own commas are no wish to have one argument a line.
    return _run_ruff((ruff, "format", "--config", "format.skip-magic-trailing-comma=true", *options, "-"), sorted_text)


_SORTED = (
    *("--config", 'lint.isort.known-first-party=["function_jax", "model_jax", "training_jax"]'),
    *(
        "--config",
        'lint.isort.known-third-party=["flax", "jax", "jaxport", "numpy", "optax", "orbax", "rich", "safetensors", '
        '"tf_reference", "workloads"]',
    ),
)
"""Where each import stands: else ruff asks which folders are there where it is called."""


def _ruff() -> str:
    beside = Path(sysconfig.get_path("scripts")) / "ruff"
    ruff = str(beside) if beside.exists() else shutil.which("ruff")
    if ruff is None:
        raise RequestError("expected ruff, which formats what is written, found none: pip install ruff")
    return ruff


def _run_ruff(command: tuple[str, ...], text: str) -> str:
    process = subprocess.run(command, input=text, capture_output=True, text=True, timeout=_SECONDS, check=False)
    if process.returncode:
        reason = process.stderr.strip().splitlines()
        raise RequestError(
            f"expected ruff to format what is written, found {reason[-1] if reason else process.returncode}"
        )
    return process.stdout
