"""What the two files that try the catalogue share."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from runs import ZOO

from workloads import _sweeps

FEWER = (4, 32, 96)
"""Binary orders between two magnitudes of a sweep: half of the time of 500 right ports goes with sweeps."""


@pytest.fixture(scope="module")
def chosen_themes(request: pytest.FixtureRequest) -> tuple[str, ...]:
    """The themes that this session tries in the file at hand: `-k THEME` leaves the others out."""
    items = (item for item in request.session.items if isinstance(item, pytest.Function))
    return tuple(item.callspec.params["theme"] for item in items if item.path == request.path)


@pytest.fixture(scope="module")
def sweeps_in_larger_steps() -> Iterator[None]:
    """Right ports are swept in larger steps; as users' are in `make zoo`."""
    with pytest.MonkeyPatch.context() as patch:
        if not ZOO:
            patch.setattr(_sweeps, "STEPS", FEWER)
        yield
