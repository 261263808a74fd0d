"""Workers that tests fork: what a fork gets is what a new process gets."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from pathlib import Path

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
    monkeypatch.setattr(processes, "launch", parents.launch)
    yield parents
    parents.close()


def forked(scratch: Path, name: str = "jax") -> LiveSide:
    """The second worker of its kind: the first one is started, as ever."""
    LiveSide(name, scratch).close()
    side = LiveSide(name, scratch)
    assert isinstance(side._process, Forked)
    return side


def test_a_fork_answers_in_its_own_folder_and_environment(
    parents: Parents, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    side = forked(tmp_path)
    assert requests.environment(side)["jax"] == jax.__version__
    side.close()
    monkeypatch.chdir(tmp_path)
    side = LiveSide("jax", tmp_path)
    assert isinstance(side._process, Forked)
    folder = Path(f"/proc/{side.pid}")
    side.wait_until_started()
    assert (folder / "cwd").resolve() == tmp_path.resolve() and Path(os.readlink(folder / "fd/2")) == side._log
    side.close()


def test_other_variables_are_another_kind(parents: Parents, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    forked(tmp_path).close()
    monkeypatch.setenv("XLA_FLAGS", "--xla_cpu_enable_fast_min_max=true")
    side = LiveSide("jax", tmp_path)
    assert not isinstance(side._process, Forked)
    side.close()


def test_an_end_is_reported_with_its_signal(parents: Parents, tmp_path: Path) -> None:
    side = forked(tmp_path)
    side.wait_until_started()
    assert side.alive
    os.kill(side.pid, signal.SIGSEGV)
    assert side._process.wait(20) == -signal.SIGSEGV and not side.alive
    with pytest.raises(client.SideError, match="SIGSEGV"):
        requests.environment(side)


def test_a_parent_whose_imports_start_threads_is_refused(
    parents: Parents, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "sitecustomize.py").write_text(_THREAD)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    LiveSide("jax", tmp_path).close()
    with pytest.raises(client.SideError, match="the parent of workers ended"):
        LiveSide("jax", tmp_path)
    assert "expected imports that start no threads, found ['planted']" in capfd.readouterr().err


def test_no_fork_outlives_its_coordinator(parents: Parents, tmp_path: Path) -> None:
    side = forked(tmp_path)
    side.wait_until_started()
    side._requests.close()
    assert side._process.wait(30) == 0
    side.close()
