"""Every gotcha of the first half of the themes: the naive port fails where it says, the right one passes."""

from __future__ import annotations

import pytest
from gotcha_themes import not_as_said, themes

pytestmark = pytest.mark.usefixtures("programs_here", "fewer_sweeps")


@pytest.mark.parametrize("theme", themes(0))
def test_every_entry_comes_out_as_it_says(theme: str, chosen_themes: tuple[str, ...]) -> None:
    assert not_as_said(theme, chosen_themes) == []
