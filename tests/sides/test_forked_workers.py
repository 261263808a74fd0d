"""Workers that tests fork: what a fork gets is what a new process gets."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from pathlib import Path

import forked_workers
import jax
import pytest
from forked_workers import Forked, Parents

from compare.sides import client, processes, requests
from compare.sides.client import LiveSide

pytestmark = pytest.mark.process

_THREAD = """
import ctypes, threading
def run():
    ctypes.CDLL(None).prctl(15, b"planted")
    threading.Event().wait()
threading.Thread(target=run, daemon=True).start()
"""


@pytest.fixture
def parents(monkeypatch: pytest.MonkeyPatch) -> Iterator[Parents]:
    parents = Parents()
    monkeypatch.setattr(processes, "open_process", parents.open_process)
    yield parents
    parents.close()


def forked(scratch: Path) -> LiveSide:
    side = LiveSide("jax", scratch)
    assert isinstance(side._process, Forked)
    return side


def test_a_fork_answers_in_its_own_folder_and_environment(
    parents: Parents, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    side = forked(tmp_path)
    assert requests.environment(side)["jax"] == jax.__version__
    side.close()
    monkeypatch.chdir(tmp_path)
    side = forked(tmp_path)
    folder = Path(f"/proc/{side.pid}")
    side.wait_until_started()
    assert (folder / "cwd").resolve() == tmp_path.resolve() and Path(os.readlink(folder / "fd/2")) == side._log
    side.close()


def test_other_variables_have_another_parent(parents: Parents, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    forked(tmp_path).close()
    forked(tmp_path).close()
    assert len(parents.all) == 1
    monkeypatch.setenv("XLA_FLAGS", "--xla_cpu_enable_fast_min_max=true")
    forked(tmp_path).close()
    assert len(parents.all) == 2


def test_an_end_is_reported_with_its_signal(parents: Parents, tmp_path: Path) -> None:
    side = forked(tmp_path)
    side.wait_until_started()
    assert side.alive
    os.kill(side.pid, signal.SIGSEGV)
    assert side._process.wait(20) == -signal.SIGSEGV and not side.alive
    with pytest.raises(client.SideError, match="SIGSEGV"):
        requests.environment(side)


def test_a_fork_lives_on_when_its_parent_retires(
    parents: Parents, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(forked_workers, "_MOST_PARENTS", 1)
    side = forked(tmp_path)
    monkeypatch.setenv("XLA_FLAGS", "--xla_cpu_enable_fast_min_max=true")
    forked(tmp_path).close()
    assert len(parents.all) == 1 and side.alive
    assert requests.environment(side)["jax"] == jax.__version__
    side.close()
    assert not side.alive


def test_where_an_import_starts_a_thread_no_worker_is_a_fork(
    parents: Parents, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "sitecustomize.py").write_text(_THREAD)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    for _ in range(2):
        side = LiveSide("jax", tmp_path)
        assert not isinstance(side._process, Forked)
        side.close()
    assert capfd.readouterr().err.count("expected imports that start no threads, found ['planted']") == 1


def test_no_fork_outlives_its_coordinator(parents: Parents, tmp_path: Path) -> None:
    side = forked(tmp_path)
    side.wait_until_started()
    side._requests.close()
    assert side._process.wait(30) == 0
    side.close()
