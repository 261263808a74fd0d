"""A worker that dies while ports of a test session are proved or timed is one line, and no process is left."""

from __future__ import annotations

from pathlib import Path

import pytest
from mortals import KILLED, Mortals

from compare.run.prover import Port, Prover
from compare.sides._side import SIDES, SideError
from compare.sides.pool import Source
from workloads.core.modes import JAX_JIT

pytestmark = pytest.mark.process


@pytest.mark.parametrize("moment", ["import", "load", "after load", "prepare", "after prepare", "round"])
def test_rounds_whose_worker_dies_say_so_each_time(mortals: Mortals, tmp_path: Path, moment: str) -> None:
    with Prover({side: Source(mortals.dying(moment)) for side in SIDES}, 60) as prover:
        for _ in range(2):
            with pytest.raises(SideError, match=KILLED) as caught:
                prover.rounds(Port(tmp_path, "add"), "smoke", JAX_JIT)()
            assert "\n" not in str(caught.value)


def test_rounds_after_a_death_run_on_a_fresh_worker(mortals: Mortals, tmp_path: Path) -> None:
    python = mortals.dying("after round")
    with Prover({side: Source(python) for side in SIDES}, 60) as prover:
        once = prover.rounds(Port(tmp_path, "add"), "smoke", JAX_JIT)
        assert once() > 0
        with pytest.raises(SideError, match=KILLED):
            once()
        assert prover.rounds(Port(tmp_path, "add"), "smoke", JAX_JIT)() > 0
    assert len(mortals.pids) == 2


@pytest.mark.parametrize("moment", ["import", "load", "after load", "outputs"])
def test_a_port_whose_workers_die_is_not_judged(mortals: Mortals, tmp_path: Path, moment: str) -> None:
    with Prover({side: Source(mortals.dying(moment)) for side in SIDES}, 60) as prover:
        (judged,) = prover.judge([Port(tmp_path, "add")], "smoke", 0, parity_only=True)
    assert judged.part.parity is not None and judged.part.parity.verdict == "not_judged"
    assert sorted(failure.side for failure in judged.part.failures) == ["jax", "tf"]
    assert all(failure.reason.startswith(KILLED) for failure in judged.part.failures)
