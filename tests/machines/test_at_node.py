"""What a node says of itself, and what a task there is given and leaves."""

from __future__ import annotations

import io
import os
import subprocess
import zipfile
from pathlib import Path

import pytest

from compare.machines import at_node
from compare.sides.processes import SCRATCH


def test_a_change_in_any_source_is_another_jaxport(tmp_path: Path) -> None:
    for package in at_node.SOURCES:
        (tmp_path / package / "room").mkdir(parents=True)
        (tmp_path / package / "room" / "file.py").write_text("A = 1\n")
    before = at_node.sources(tmp_path)
    (tmp_path / "jaxport" / "notes.txt").write_text("no source")
    assert at_node.sources(tmp_path) == before
    (tmp_path / "jaxport" / "room" / "file.py").write_text("A = 2\n")
    changed = at_node.sources(tmp_path)
    (tmp_path / "jaxport" / "room" / "file.py").rename(tmp_path / "jaxport" / "room" / "other.py")
    assert len({before, changed, at_node.sources(tmp_path)}) == 3


def test_a_node_says_what_results_depend_on() -> None:
    facts = at_node.facts()
    assert {"python", "jaxport", "jaxport's sources", "numpy", "tensorflow", "keras", "jax", "jaxlib", "flax"} <= set(
        facts["versions"]
    )
    assert facts["environment"]["cores"] == len(os.sched_getaffinity(0)) and facts["host"] and facts["machine"]


def test_a_task_is_not_told_how_many_threads_a_library_takes() -> None:
    found = at_node.environment({"OMP_NUM_THREADS": "1", "PATH": "/bin"}, "/scratch")
    assert found == {"PATH": "/bin", SCRATCH: "/scratch"}


@pytest.mark.process
def test_a_task_runs_among_its_files_and_what_it_refuses_comes_back() -> None:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        archive.writestr("0/port.py", "print('no workload in here')\n")
    found = at_node.carried_out(packed.getvalue(), ["run", "0/port.py", "--parity-only"])
    assert found["code"] == 2 and found["wrote"] == {}
    assert "expected one Workload in 0/port.py, found 0" in found["said"]


@pytest.mark.process
def test_a_task_gives_way_no_more_than_who_starts_ray_where_it_may_take_that_back() -> None:
    own, most = os.getpriority(os.PRIO_PROCESS, 0), 19
    with subprocess.Popen(["sleep", "60"]) as task:
        try:
            os.setpriority(os.PRIO_PROCESS, task.pid, most)
            found = at_node.as_nice_as(os.getpid(), task.pid)
            assert found == os.getpriority(os.PRIO_PROCESS, task.pid)
            # Others than root may only give way more.
            assert found in ((own,) if os.geteuid() == 0 else (own, most))
        finally:
            task.kill()
