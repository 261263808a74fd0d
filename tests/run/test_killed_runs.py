"""A run that is killed goes on where it was, and judges anew what changed; tests/support/killed_runs.py kills fifty."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from killed_runs import STAGE, Trial, killed_in_turn


@pytest.mark.process
def test_a_killed_run_goes_on_and_a_changed_port_is_judged_again(tmp_path: Path) -> None:
    trial = Trial(tmp_path, ports=2)
    (tmp_path / "ports" / "functions1.py").write_text("import time\n\ndef port1(x):\n    time.sleep(600)\n")
    found = next(killed_in_turn(trial, 1, random.Random(0), 0.5))
    assert found.wrong == ()
    assert found.kept == 0
    # The second port never ends: whenever the run is killed after the first, that is kept.
    while not (kept := trial.run(40)[0]).kept:
        assert kept.wrong == ()
    assert (kept.kept, kept.wrong) == (1, ())
    (tmp_path / "ports" / "functions1.py").write_text("def port1(x):\n    return x * 2\n")
    functions = tmp_path / "ports" / "functions0.py"
    functions.write_text(functions.read_text() + "\n# a comment\n")
    found, said = trial.run()
    assert f"port0{STAGE}" in said
    assert "port0: judged before, but something changed since: judged again" in said
    assert (found.taken, found.wrong) == (0, ())
