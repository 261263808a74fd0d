"""The parts of the slow tests: together they are all, and no file is in two."""

from __future__ import annotations

import pytest
from slow_files import LONGEST, SLOW, files_of_part


@pytest.mark.parametrize("count", [2, 3])
def test_parts_are_disjoint_and_cover_all(count: int) -> None:
    parts = [files_of_part(f"{number}/{count}") for number in range(count)]
    assert sum(map(len, parts)) == len(SLOW) and frozenset().union(*parts) == frozenset(SLOW)
    longest = [len(part & set(LONGEST)) for part in parts]
    assert max(longest) - min(longest) <= 1


def test_without_a_part_all_files_run() -> None:
    assert files_of_part("") == frozenset(SLOW)
