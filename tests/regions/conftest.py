"""Regions are given programs that their specifications wrote: these run in this process."""

import pytest


@pytest.fixture(scope="module", autouse=True)
def run_here(programs_here: None) -> None:
    """Every program of this folder."""
