"""How much is kept at a time follows from what the machine, and the container, have left."""

from __future__ import annotations

from pathlib import Path

import pytest

from compare.hlo.arrays.room import LEAST, MOST, budget

GIB = 2**30


def budget_of(folder: Path, available: int | None, files: dict[str, str], reserved: int = 0) -> int:
    memory = folder / "meminfo"
    if available is not None:
        memory.write_text(f"MemTotal:       99999999 kB\nMemAvailable:   {available // 1024} kB\n")
    for name, text in files.items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(text)
    return budget(reserved, memory, folder)


@pytest.mark.parametrize(
    ("available", "expected"), [(12 * GIB, 4 * GIB), (GIB, LEAST), (500 * GIB, MOST), (None, LEAST)]
)
def test_a_third_of_the_free_memory_within_bounds(tmp_path: Path, available: int | None, expected: int) -> None:
    assert budget_of(tmp_path, available, {}) == expected


@pytest.mark.parametrize(
    "files",
    [
        {"memory.max": f"{8 * GIB}\n", "memory.current": f"{2 * GIB}\n"},
        {"memory/memory.limit_in_bytes": f"{8 * GIB}", "memory/memory.usage_in_bytes": f"{2 * GIB}"},
    ],
    ids=["v2", "v1"],
)
def test_a_container_has_less_than_its_machine(tmp_path: Path, files: dict[str, str]) -> None:
    assert budget_of(tmp_path, 240 * GIB, files) == 2 * GIB


def test_a_container_without_a_limit_has_what_its_machine_has(tmp_path: Path) -> None:
    assert budget_of(tmp_path, 12 * GIB, {"memory.max": "max\n", "memory.current": "1\n"}) == 4 * GIB


def test_what_is_needed_for_something_else_is_not_free(tmp_path: Path) -> None:
    assert budget_of(tmp_path, 12 * GIB, {}, reserved=6 * GIB) == 2 * GIB
    assert budget_of(tmp_path, 12 * GIB, {}, reserved=20 * GIB) == LEAST


def test_this_machine_has_a_budget() -> None:
    assert LEAST <= budget() <= MOST
