"""The wheel, installed outside of the checkout, and used there: what a user meets first."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest
from places import ROOT

pytestmark = [pytest.mark.process, pytest.mark.slow]

PACKAGES = ("compare", "jaxport", "tf_reference", "workloads")
OWN = "from compare import NAME\n\n\ndef test_own():\n    assert NAME == 'own'\n"
PORT = "def test_port(port):\n    port('port.py', parity_only=True)\n"


@dataclass(frozen=True)
class Installed:
    """An environment with the wheel, and an empty folder to work in."""

    programs: Path
    folder: Path

    def run(self, program: str, *arguments: str) -> subprocess.CompletedProcess[str]:
        inherited = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "PYTEST"))}
        command = [str(self.programs / program), *arguments]
        return subprocess.run(command, cwd=self.folder, env=inherited, capture_output=True, text=True)


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Installed:
    """What the wheel depends on is this environment's: to install it takes 3 GB."""
    folder = tmp_path_factory.mktemp("installed")
    environment = folder / "environment"
    made([sys.executable, "-m", "venv", "--without-pip", str(environment)], folder)
    site = next(environment.glob("lib/python*/site-packages"))
    shared = (path for path in sys.path if Path(path).name == "site-packages")
    (site / "shared.pth").write_text("\n".join(shared))
    python = str(environment / "bin" / "python")
    made([python, "-m", "pip", "install", "-q", "--no-deps", "--no-index", str(wheel(folder))], folder)
    (folder / "empty").mkdir()
    return Installed(environment / "bin", folder / "empty")


def wheel(folder: Path) -> Path:
    """Of a copy of what belongs into it: to build in the checkout would leave folders there."""
    source = folder / "source"
    for package in PACKAGES:
        shutil.copytree(ROOT / package, source / package, ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, source)
    code = f"from setuptools import build_meta; build_meta.build_wheel({str(folder)!r})"
    made([sys.executable, "-c", code], source)
    return next(folder.glob("*.whl"))


def made(command: Sequence[str], folder: Path) -> None:
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-2000:]


def test_the_packages_are_those_of_the_wheel(installed: Installed) -> None:
    code = "import compare, jaxport, workloads; print(compare.__file__, jaxport.__file__, workloads.__file__)"
    done = installed.run("python", "-c", code)
    assert done.stdout.count(str(installed.programs.parent)) == 3, done.stderr


def test_a_port_is_proved_and_its_report_rendered_again(installed: Installed) -> None:
    assert "tensorflow 2" in installed.run("jaxport", "--version").stdout
    assert "mnist_mlp" in installed.run("jaxport", "list").stdout
    assert "tensorflow" not in installed.run("jaxport", "requirements", "jax").stdout
    done = installed.run("jaxport", "run", "add", "--size", "smoke", "--no-timing")
    assert done.returncode == 0, done.stderr
    record = installed.folder / "jaxport-report" / "results.json"
    assert json.loads(record.read_text())["workloads"]["add"]["parity"]["verdict"] == "pass"
    (record.parent / "report.html").unlink()
    assert installed.run("jaxport", "report", str(record)).returncode == 0
    assert (record.parent / "report.html").exists()


def test_its_pages_open_where_they_were_built(installed: Installed) -> None:
    done = installed.run("jaxport", "lookup", "docs", "--print-path")
    if (ROOT / "compare" / "documentation" / "index.html").exists():
        assert Path(done.stdout.strip()).is_relative_to(installed.programs.parent)
    else:
        assert "run `make docs` in a checkout" in done.stderr


def test_an_example_is_proved_by_pytest_beside_a_package_compare_of_the_project(installed: Installed) -> None:
    project = installed.folder / "project"
    shutil.copytree(ROOT / "examples" / "feed_forward", project / "tests")
    (project / "compare").mkdir()
    for name, text in {
        "compare/__init__.py": "NAME = 'own'\n",
        "tests/__init__.py": "",
        "tests/test_own.py": OWN,
        "tests/test_port.py": PORT,
    }.items():
        (project / name).write_text(text)
    # This environment's own jaxport may be of a time when its plugin had another name.
    asked = ("-q", "-p", "no:cacheprovider", "-p", "no:compare.pytest_plugin", "--rootdir", str(project), str(project))
    done = installed.run("python", "-m", "pytest", *asked)
    assert "2 passed" in done.stdout, done.stdout[-2000:]
