"""`jaxport bench gpu-suite` in real processes, on the CPU: recorded, killed in the middle, and continued."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.process

SUITE = """
import sys
from compare import cli
from compare.commands import gpu_suite as command
from compare.figures.gpu_runs import Task
command.TASKS = (Task("add", "smoke", ("S4",)), Task("softmax", "smoke"))
sys.exit(cli.main(["bench", "gpu-suite", "--device", "cpu", *sys.argv[1:]]))
"""


def suite(folder: Path, *words: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", SUITE, *words], cwd=folder, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )


def test_a_killed_suite_is_continued(tmp_path: Path) -> None:
    output, log_text = suite(tmp_path, "--record").communicate()
    assert "pass 2 recordings are there" in output, log_text
    killed = suite(tmp_path)
    assert killed.stderr is not None
    assert any("add-smoke: 7 figures" in line for line in killed.stderr)
    killed.kill()
    killed.communicate()
    before = json.loads((tmp_path / "jaxport-gpu/gpu.json").read_text())
    assert [one["task"] for one in before["experiments"]] == ["add-smoke"]
    output, log_text = suite(tmp_path, "--records", "figures").communicate()
    assert "pass 2 runs are kept, and parity holds in each" in output, log_text
    after = json.loads((tmp_path / "figures/gpu.json").read_text())
    assert after["experiments"][0] == before["experiments"][0]
    figures = {figure["name"]: figure.get("value") for figure in after["experiments"][1]["figures"]}
    assert figures["gates of parity that hold"] == 5 and figures["time of jax@jax over that of tf@jax"] > 0
    assert "softmax" in (tmp_path / "jaxport-gpu/gpu.md").read_text()
