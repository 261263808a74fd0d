"""What user code changes of its whole process is found, whatever else stays as it was."""

from __future__ import annotations

import locale
import os
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from compare.prove.both_sides import note_changes
from compare.prove.collect import Collected
from compare.sides import process_state, wire
from compare.sides.process_state import ProcessState, is_ours
from compare.sides.replies import Changed

SETTINGS = {"jax.config.jax_enable_x64": "False"}


@pytest.fixture
def state() -> Iterator[ProcessState]:
    mask, errors = os.umask(0o022), np.geterr()
    yield ProcessState(SETTINGS)
    os.umask(mask)
    np.seterr(**errors)


def told(state: ProcessState, settings: Mapping[str, str] = SETTINGS) -> list[str]:
    """What is changed, but for what pytest changes itself."""
    return [each for each in state.find_changes(settings) if "PYTEST_CURRENT_TEST" not in each]


def test_nothing_is_changed_where_nothing_was(state: ProcessState) -> None:
    assert (told(state), state.find_replacements()) == ([], [])


def test_each_of_what_a_process_shares_is_told_with_both_values(
    state: ProcessState, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = os.getcwd()
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XLA_FLAGS", "--xla_cpu_enable_fast_math=true")
    os.umask(0o777)
    np.seterr(all="ignore", over="raise")
    found = told(state, {"jax.config.jax_enable_x64": "True"})
    assert f"the current folder (from {before} to {tmp_path})" in found
    assert found[-1] == "environment variable XLA_FLAGS", "last, and without its value, which may be a secret"
    assert "the umask (from 0022 to 0777)" in found
    assert "jax.config.jax_enable_x64 (from False to True)" in found
    assert any(each.startswith("NumPy's handling of errors (from ") for each in found)
    assert len(found) == 5


@pytest.fixture
def of_packages(monkeypatch: pytest.MonkeyPatch) -> Iterator[Collection[str]]:
    monkeypatch.setattr(os, "putenv", os.putenv)
    monkeypatch.setattr(os, "unsetenv", os.unsetenv)
    yield process_state.watch_package_variables()
    os.environ.pop("SET_IN_TEST", None)


def _run_as(path: str, source: str) -> None:
    exec(compile(source, path, "exec"), {"os": os})


@pytest.mark.parametrize(
    "source",
    [
        "os.environ['SET_IN_TEST'] = '1'",
        "os.environ.setdefault('SET_IN_TEST', '1')",
        "os.environ.update(SET_IN_TEST='1')",
    ],
)
@pytest.mark.parametrize(
    ("path", "found"),
    [
        ("/env/lib/python3.11/site-packages/tensorflow/__init__.py", []),
        ("/home/someone/model.py", ["environment variable SET_IN_TEST"]),
    ],
    ids=["by a package", "by the port"],
)
def test_only_variables_that_the_port_itself_sets_are_told(
    of_packages: Collection[str], source: str, path: str, found: list[str]
) -> None:
    state = ProcessState(SETTINGS, of_packages)
    _run_as(path, source)
    assert told(state) == found


def test_a_variable_that_the_port_sets_after_a_package_is_told(of_packages: Collection[str]) -> None:
    state = ProcessState(SETTINGS, of_packages)
    _run_as("/env/lib/python3.11/site-packages/jax/__init__.py", "os.environ['SET_IN_TEST'] = '1'")
    _run_as("/home/someone/model.py", "os.environ['SET_IN_TEST'] = '2'")
    assert told(state) == ["environment variable SET_IN_TEST"]


def test_a_locale_that_was_set_is_told(state: ProcessState, monkeypatch: pytest.MonkeyPatch) -> None:
    now = locale.setlocale(locale.LC_ALL)
    monkeypatch.setattr(process_state.locale, "setlocale", lambda _: "de_DE.UTF-8")
    assert told(state) == [f"the locale (from {now} to de_DE.UTF-8)"]


def test_a_current_folder_that_was_removed_is_told(
    state: ProcessState, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "gone").mkdir()
    monkeypatch.chdir(tmp_path / "gone")
    (tmp_path / "gone").rmdir()
    assert "to a folder that is no more)" in told(state)[0]


@pytest.mark.parametrize(
    ("module", "name", "ours"),
    [(np, "array", True), (np.testing, "assert_allclose", False), (wire, "save_arrays", True)],
    ids=["NumPy", "numpy.testing", "jaxport"],
)
def test_a_function_that_was_replaced_is_named(
    state: ProcessState, monkeypatch: pytest.MonkeyPatch, module: Any, name: str, ours: bool
) -> None:
    kept = getattr(module, name)
    monkeypatch.setattr(module, name, lambda *given, **named: kept(*given, **named))
    assert state.find_replacements() == [f"{module.__name__}.{name}"]
    assert is_ours(state.find_replacements()[0]) == ours


def test_what_a_port_changes_is_a_remark_and_what_it_replaces_of_ours_a_failure() -> None:
    collected = Collected("jax")
    note_changes("jax", Changed(), collected)
    assert (collected.remarks, collected.failures) == ([], [])
    changed = Changed(tuple(f"environment variable {letter}" for letter in "ABCDEF"), ("jax.numpy.tanh", "numpy.array"))
    note_changes("jax", changed, collected)
    assert collected.remarks == [
        "jax: the workload's code changes what its whole process shares: environment variable A, environment variable "
        "B, environment variable C, environment variable D and 3 more: whoever imports it gets that too"
    ]
    (failure,) = collected.failures
    assert (failure.side, failure.doing) == ("jax", "load")
    assert "found numpy.array replaced: what this side hands over proves nothing" in failure.reason
