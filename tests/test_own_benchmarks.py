"""The project's own benchmarks measure what they say, though its tests run in several processes."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from places import ROOT

ONE = "tests/hlo/test_scale.py::test_speed[1000]"


@pytest.mark.process
def test_a_benchmark_runs_in_the_process_that_reports_it(tmp_path: Path) -> None:
    written_to = tmp_path / "measured.json"
    command = [sys.executable, "-m", "pytest", "--benchmark-only", f"--benchmark-json={written_to}", ONE]
    ended = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False, timeout=120)
    assert ended.returncode == 0, ended.stdout + ended.stderr
    (measured,) = json.loads(written_to.read_text())["benchmarks"]
    assert measured["stats"]["median"] > 0
