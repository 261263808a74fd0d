"""How long it takes to judge a model's port: `pytest --benchmark-only tests/run/test_parity_speed.py`."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest


@pytest.mark.parametrize("model", ["conv_mnist", "lstm", "bert", "resnet50"])
def test_speed(benchmark: Any, model: str, tmp_path: Path) -> None:
    command = [sys.executable, "-m", "compare", "run", model, "--size", "smoke", "--parity-only", "-o", str(tmp_path)]
    benchmark.pedantic(subprocess.run, (command,), {"check": True, "capture_output": True}, rounds=1)
    assert (tmp_path / "report.html").exists()
