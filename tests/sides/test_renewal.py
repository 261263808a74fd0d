"""Workers that have grown are replaced between workloads, and only there."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from interpreters import STARTED, interpreter, is_running

from compare.bench import memory
from compare.sides import renewal
from compare.sides._side import Reply, Side
from compare.sides.client import LiveSide
from compare.sides.pool import Pool, Source
from compare.sides.renewal import GROWTH_BYTES, WORKLOADS
from compare.sides.replies import Changed
from compare.sides.workers import WorkerSet

pytestmark = pytest.mark.process

HELD = 100


class Held:
    """Says what the workers hold, as the test has it."""

    def __init__(self) -> None:
        self.bytes: dict[str, int | None] = {"tf": HELD, "jax": HELD}
        self.changed: dict[str, Changed] = {}

    def __call__(self, side: LiveSide) -> int | None:
        return self.bytes[side.name]


@pytest.fixture
def held(monkeypatch: pytest.MonkeyPatch) -> Held:
    found = Held()
    monkeypatch.setattr(renewal, "held_bytes", found)
    monkeypatch.setattr(renewal, "changed_by", lambda side: found.changed.get(side.name, Changed()))
    return found


@pytest.fixture
def pool(held: Held, tmp_path: Path) -> Iterator[Pool]:
    (tmp_path / "scratch").mkdir()
    python = interpreter(tmp_path, f"{STARTED}exec sleep 60")
    with Pool({name: Source(python) for name in held.bytes}, tmp_path / "scratch", 10) as pool:
        yield pool


def processes(pool: Pool) -> dict[str, int]:
    found = {name: pool.get(name) for name in ("tf", "jax")}
    return {name: side.pid for name, side in found.items() if isinstance(side, LiveSide)}


def test_a_worker_whose_process_a_workload_has_changed_is_replaced_before_the_next(pool: Pool, held: Held) -> None:
    before = processes(pool)
    held.changed["jax"] = Changed(("the current folder (from /a to /)",))
    pool.renew()
    after = processes(pool)
    assert after["tf"] == before["tf"]
    assert after["jax"] != before["jax"]


def test_a_worker_that_has_grown_is_replaced_before_the_next_workload(pool: Pool, held: Held) -> None:
    before = processes(pool)
    held.bytes["jax"] = HELD + GROWTH_BYTES + 1
    assert processes(pool) == before
    pool.renew()
    after = processes(pool)
    assert after["tf"] == before["tf"]
    assert after["jax"] != before["jax"]
    assert not is_running(before["jax"])


def test_a_worker_that_has_grown_is_closed_where_its_memory_is_wanted(pool: Pool, held: Held) -> None:
    before = processes(pool)
    held.bytes["jax"] = HELD + GROWTH_BYTES + 1
    pool.close_grown()
    assert not is_running(before["jax"])
    after = processes(pool)
    assert after["tf"] == before["tf"]
    assert after["jax"] != before["jax"]


def test_where_memory_is_not_counted_no_worker_has_grown(pool: Pool, held: Held) -> None:
    before = processes(pool)
    held.bytes["jax"] = None
    pool.close_grown()
    assert processes(pool) == before


def test_a_fresh_worker_is_measured_from_its_own_start(pool: Pool, held: Held) -> None:
    processes(pool)
    held.bytes["jax"] = HELD + GROWTH_BYTES + 1
    pool.renew()
    renewed = processes(pool)
    pool.renew()
    assert processes(pool) == renewed


def test_growth_within_the_bound_is_kept_and_so_is_a_worker_that_nobody_waited_for(pool: Pool, held: Held) -> None:
    held.bytes["tf"] = HELD + GROWTH_BYTES
    pool.renew()
    before = processes(pool)
    held.bytes = {"tf": HELD + 2 * GROWTH_BYTES, "jax": HELD + GROWTH_BYTES}
    pool.renew()
    assert processes(pool) == before


def test_only_the_sides_that_are_named_are_replaced(pool: Pool, held: Held) -> None:
    before = processes(pool)
    held.bytes = dict.fromkeys(held.bytes, HELD + GROWTH_BYTES + 1)
    pool.renew("tf")
    after = processes(pool)
    assert after["tf"] != before["tf"]
    assert after["jax"] == before["jax"]


def test_where_memory_is_not_counted_a_worker_serves_so_many_workloads(pool: Pool, held: Held) -> None:
    held.bytes["jax"] = None
    before = processes(pool)
    for _ in range(WORKLOADS):
        pool.renew()
    assert processes(pool) == before
    pool.renew()
    after = processes(pool)
    assert after["tf"] == before["tf"]
    assert after["jax"] != before["jax"]


def test_what_a_process_holds_of_its_own_is_read_off_the_kernel(tmp_path: Path) -> None:
    status = tmp_path / "status"
    status.write_text("Name:\tpython\nVmHWM:\t  99 kB\nVmRSS:\t  90 kB\nRssAnon:\t  60 kB\nRssFile:\t  30 kB\n")
    assert memory.own_bytes(status) == 60 * 1024
    assert memory.peak_rss_bytes(status) == 99 * 1024
    assert memory.own_bytes(tmp_path / "absent") is None
    held = memory.own_bytes(Path(f"/proc/{os.getpid()}/status"))
    assert held is None or held > 1 << 20


def test_workers_are_closed_though_another_thread_drops_one_meanwhile() -> None:
    class Dropped(Side):
        name = "tf"

        def kill(self) -> None:
            workers._sides.pop("tf")

        def call(self, method: str, parameters: Any, arrays: Any = None) -> Reply:
            raise AssertionError("it is asked for nothing")

        def close(self) -> None:
            closed.append(self.name)

    closed: list[str] = []
    workers = WorkerSet(lambda name: Dropped())
    workers.start(["tf"])
    workers.close()
    assert closed == ["tf"]
    assert not workers.sides
