"""A worker that dies while a side is recorded is one line; what was recorded is written whole, or nothing is."""

from __future__ import annotations

from pathlib import Path

import pytest
from mortals import KILLED, Mortals

from compare.cli import main
from compare.sides.recorded import RecordedSide
from compare.sides.workers import GIVES_UP

pytestmark = pytest.mark.process


@pytest.mark.parametrize(
    ("moment", "code"),
    [("import", 2), ("environment", 2), ("load", 1), ("after load", 1), ("outputs", 1)],
)
def test_a_recording_whose_worker_dies_says_so_once(
    mortals: Mortals, tmp_path: Path, capsys: pytest.CaptureFixture[str], moment: str, code: int
) -> None:
    asked = ["record", "add", "--side", "jax", "--size", "smoke", "--python", mortals.dying(moment)]
    assert main([*asked, "-o", str(tmp_path / "jax.side")]) == code
    lines = [line for line in capsys.readouterr().err.splitlines() if line.startswith("jaxport: ")]
    assert len(lines) == 1 and KILLED in lines[0]
    assert [path.name for path in tmp_path.iterdir()] == (["jax.side"] if code == 1 else [])
    if code == 1:
        RecordedSide("jax", tmp_path / "jax.side")


def test_every_workload_gets_a_worker_of_its_own_where_each_loses_one(
    mortals: Mortals, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    names = ["add", "scale_and_add", "sum_of_products", "running_example"]
    assert len(names) > GIVES_UP
    asked = ["record", *names, "--side", "jax", "--size", "smoke", "--python", mortals.dying("load")]
    assert main([*asked, "-o", str(tmp_path / "jax.side")]) == 1
    # They came up, and were lost to a request: that is no reason to give up.
    assert len(mortals.pids) == len(names)
    lines = [line for line in capsys.readouterr().err.splitlines() if line.startswith("jaxport: ")]
    assert len(lines) == len(names)
