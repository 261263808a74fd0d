"""Runs foreign code of any command in workers: port files and programs."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from compare.inputs.port_files import ports_apart
from compare.sides.program_worker import programs_apart


@contextmanager
def foreign_code_apart(timeout_s: float = 300) -> Iterator[None]:
    """Run nothing foreign in this process meanwhile; inside another such block, its workers are asked.

    Args:
      timeout_s: how long one request to a worker may take.
    """
    with ports_apart(timeout_s), programs_apart(timeout_s):
        yield
