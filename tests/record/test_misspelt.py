"""A misspelt field of the record fails pyright, where it is read and where it is given."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from places import ROOT

RIGHT = """
from compare.measure.measurements import Measurements
from compare.record.timing_part import Attribution, Timing

timing = Timing(margin=0.05)
print(timing.margin)
Measurements().attribution = Attribution(1.0, 1.0, 1.0)
"""

MISSPELT = {"Timing(margin=": "Timing(margins=", "timing.margin)": "timing.margins)", "().attribution": "().atribution"}


@pytest.mark.process
def test_a_misspelt_field_fails_pyright(tmp_path: Path) -> None:
    (tmp_path / "right.py").write_text(RIGHT)
    for number, (right, wrong) in enumerate(MISSPELT.items()):
        (tmp_path / f"wrong_{number}.py").write_text(RIGHT.replace(right, wrong))
    command = [sys.executable, "-m", "pyright", "--outputjson", "--pythonpath", sys.executable, *tmp_path.glob("*.py")]
    ran = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=120)
    refused = {Path(said["file"]).stem: said["message"] for said in json.loads(ran.stdout)["generalDiagnostics"]}
    assert set(refused) == {"wrong_0", "wrong_1", "wrong_2"}, refused
    assert "margins" in refused["wrong_0"] and "margins" in refused["wrong_1"] and "atribution" in refused["wrong_2"]
