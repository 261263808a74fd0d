"""What the two files that try the catalogue share."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from runs import ZOO

from compare.parity.breaks import Swept
from compare.prove import sweeping
from workloads.core import sweeps
from workloads.core.spec import STABILITY
from workloads.gotchas import _catalogue

FEWER = (4, 32, 96)
"""Binary orders between two magnitudes of a sweep: as many as users' take most of the time of a right port."""

ONE_OF = 4
"""How many right ports there are for each that is swept, of those whose naive port fails elsewhere."""


@pytest.fixture(scope="module")
def chosen_themes(request: pytest.FixtureRequest) -> tuple[str, ...]:
    """The themes that this session tries in the file at hand: `-k THEME` leaves the others out."""
    items = (item for item in request.session.items if isinstance(item, pytest.Function))
    return tuple(item.callspec.params["theme"] for item in items if item.path == request.path)


@pytest.fixture(scope="module")
def fewer_sweeps() -> Iterator[None]:
    """Some right ports are swept, and those in larger steps; all as users' are in `make zoo`."""
    with pytest.MonkeyPatch.context() as patch:
        if not ZOO:
            patch.setattr(sweeps, "STEPS", FEWER)
            patch.setattr(sweeping, "sweep", _sweeping_some(sweeping.sweep))
        yield


def _sweeping_some(sweep: Any) -> Any:
    chosen = {
        entry.workload(naive).name
        for number, entry in enumerate(_catalogue.entries())
        for naive in ((False,) if entry.gotcha.is_control else (False, True))
        if entry.gotcha.fails == STABILITY or number % ONE_OF == 0
    }

    def sweep_some(sides: Any, *rest: Any) -> Any:
        is_chosen = sides.instance.workload.name in chosen
        return sweep(sides, *rest) if is_chosen else Swept(reason="swept by `make zoo`")

    return sweep_some
