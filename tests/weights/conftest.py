"""What the files that run `jaxport weights` share: workers that are started once a file, and where a command runs."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from compare.commands import weights
from compare.sides.weight_workers import WeightWorkers


@pytest.fixture(scope="module")
def workers() -> Iterator[WeightWorkers]:
    """Both, started once: each takes seconds to import its framework."""
    with ExitStack() as stack:
        yield WeightWorkers(None, None, 300, stack)


@pytest.fixture
def there(workers: WeightWorkers, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A command runs in the folder of its file, with these workers."""
    monkeypatch.chdir(folder)
    monkeypatch.setattr(weights, "WeightWorkers", lambda *given: workers)
