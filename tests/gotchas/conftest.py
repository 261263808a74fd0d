"""What the two files that try the catalogue share."""

from __future__ import annotations

import pytest


@pytest.fixture(scope="module")
def chosen_themes(request: pytest.FixtureRequest) -> tuple[str, ...]:
    """The themes that this session tries in the file at hand: `-k THEME` leaves the others out."""
    items = (item for item in request.session.items if isinstance(item, pytest.Function))
    return tuple(item.callspec.params["theme"] for item in items if item.path == request.path)
