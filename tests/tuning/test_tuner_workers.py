"""A worker that dies while compiler options are searched ends the search with its reason, and no process is left."""

from __future__ import annotations

from pathlib import Path

import pytest
from mortals import KILLED, Mortals

from compare.inputs.at_size import prepare_both
from compare.measure.phase_processes import Workers
from compare.progress import Silent
from compare.sides._side import SIDES, SideError
from compare.sides.pool import Pool, Source
from compare.tuning import tuner
from workloads.core import registry

pytestmark = pytest.mark.process


@pytest.mark.parametrize("moment", ["import", "load", "after load", "offer"])
def test_the_default_cannot_be_compiled_or_timed_by_a_worker_that_dies(
    mortals: Mortals, tmp_path: Path, moment: str
) -> None:
    small, large = prepare_both(registry.get("add"), "smoke", None, tmp_path)
    sources = dict.fromkeys(SIDES, Source(mortals.dying(moment)))
    workers, pool = Workers(sources, tmp_path, 60), Pool(sources, tmp_path, 60)
    with tuner.Live(small, large, workers, pool, tuner.Plan(), Silent()) as live:
        for ask in (lambda: live.digest({}), lambda: live.race({"default": {}}, 0)):
            with pytest.raises(SideError, match=KILLED) as caught:
                ask()
            assert "\n" not in str(caught.value)
