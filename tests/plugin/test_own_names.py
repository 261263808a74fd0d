"""A project with packages `compare`, `workloads` and `tests` at its root keeps them, and has jaxport too."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from places import ROOT
from plugin_sessions import PASSED, session

pytestmark = pytest.mark.process

OWN = {"compare": "NAME = 'own compare'\n", "workloads": "NAME = 'own workloads'\n", "tests": ""}

ALONE = ("--disable-plugin-autoload", "-p", "pytest_benchmark.plugin", "-p", "jaxport._pytest_plugin")
"""Whatever version of jaxport is installed beside this checkout."""

TESTS = """
import sys

import compare
import workloads
from jaxport import Model, weights


def own():
    import compare.deeper

    return compare.NAME, workloads.NAME, compare.deeper.NAME


def test_before_a_port():
    assert own() == ("own compare", "own workloads", "deeper")


def test_a_port(port):
    port("no_such_port.py")


def test_after_it():
    assert own() == ("own compare", "own workloads", "deeper")
    assert "compare.run.prover" not in sys.modules
    assert Model.__module__ == "jaxport._model"
"""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """The root of a repository."""
    for name, text in OWN.items():
        (tmp_path / name).mkdir()
        (tmp_path / name / "__init__.py").write_text(text)
    (tmp_path / "compare" / "deeper.py").write_text("NAME = 'deeper'\n")
    (tmp_path / "tests" / "test_own.py").write_text(TESTS)
    return tmp_path


def test_its_tests_import_what_is_theirs_before_and_after_a_port(project: Path) -> None:
    found = session(project, plugin=ALONE)
    assert found.tests.pop("test_a_port").startswith(f"expected a port file at {project}")
    assert set(found.tests.values()) == {PASSED} and len(found.tests) == 2


@pytest.mark.parametrize("command", [("-m", "jaxport"), ("-c", "from jaxport.__main__ import main; exit(main())")])
def test_the_command_line_is_jaxport_s(project: Path, command: tuple[str, ...]) -> None:
    inherited = os.environ | {"PYTHONPATH": f"{project}{os.pathsep}{ROOT}"}
    done = subprocess.run(
        [sys.executable, *command, "list"], cwd=project, env=inherited, capture_output=True, text=True
    )
    assert (done.returncode, done.stderr) == (0, "") and "mnist_mlp" in done.stdout


SHARED = """
from jaxport import Model
from jaxport._model import TargetError
import workloads.core.target
print(workloads.core.target.TargetError is TargetError)
"""


def test_where_no_name_is_another_s_there_is_one_of_each_module(tmp_path: Path) -> None:
    inherited = os.environ | {"PYTHONPATH": str(ROOT)}
    done = subprocess.run([sys.executable, "-c", SHARED], cwd=tmp_path, env=inherited, capture_output=True, text=True)
    assert (done.stdout, done.stderr) == ("True\n", "")
