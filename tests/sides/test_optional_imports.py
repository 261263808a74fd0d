"""What a framework imports only where it finds it is left out, and is there for the user's code."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tomllib

import pytest
import versions
from places import ROOT

from compare.sides import optional_imports
from compare.sides.optional_imports import WHOLE, left_out

NAME = "wave"
HOST = "tf_reference._framework"


@pytest.fixture
def wave(monkeypatch: pytest.MonkeyPatch) -> None:
    """A module that some framework imports where it finds it."""
    monkeypatch.setitem(optional_imports.OPTIONAL, HOST, (NAME,))
    monkeypatch.delitem(sys.modules, NAME, raising=False)


@pytest.mark.usefixtures("wave")
def test_what_is_left_out_cannot_be_imported_meanwhile_and_can_be_afterwards() -> None:
    with left_out(HOST, {}), pytest.raises(ModuleNotFoundError):
        __import__(NAME)
    assert __import__(NAME).__name__ == NAME


@pytest.mark.usefixtures("wave")
@pytest.mark.parametrize(
    ("host", "environment"), [("jaxport._framework", {}), (HOST, {WHOLE: "1"}), (HOST, {"KERAS_BACKEND": "jax"})]
)
def test_who_needs_it_has_it(host: str, environment: dict[str, str]) -> None:
    with left_out(host, environment):
        assert __import__(NAME).__name__ == NAME


@pytest.mark.usefixtures("wave")
def test_what_was_imported_before_stays() -> None:
    before = __import__(NAME)
    with left_out(HOST, {}):
        assert __import__(NAME) is before
    assert sys.modules[NAME] is before


STARTING = """
import importlib, sys
from compare.sides.optional_imports import left_out
with left_out("tf_reference._framework"):
    importlib.import_module("tf_reference._framework").create()
print(sorted({"jax", "sklearn"} & set(sys.modules)))
import jax, sklearn.datasets, keras
"""


@pytest.mark.process
@pytest.mark.parametrize(("environment", "loaded"), [({}, "[]"), ({WHOLE: "1"}, "['jax', 'sklearn']")])
def test_tensorflow_comes_without_them_unless_it_is_measured(environment: dict[str, str], loaded: str) -> None:
    inherited = {name: value for name, value in os.environ.items() if name != "KERAS_BACKEND"}
    done = subprocess.run(
        [sys.executable, "-c", STARTING], cwd=ROOT, env=inherited | environment, capture_output=True, text=True
    )
    assert (done.returncode, done.stdout.strip()) == (0, loaded), done.stderr


ALONE = """
import sys
from importlib.abc import MetaPathFinder

class Absent(MetaPathFinder):
    def find_spec(self, name, path=None, target=None):
        if name in {absent!r}:
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)

sys.meta_path.insert(0, Absent())
import compare.sides.worker
"""


@pytest.mark.process
def test_a_worker_needs_nothing_but_what_is_said_of_the_environment_of_a_side() -> None:
    """docs/versions.py lists what is installed beside a framework: what jaxport declares beyond that is not there."""
    declared = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["dependencies"]
    names = {re.split(r"[^\w-]", each)[0].replace("-", "_").lower() for each in declared}
    there = {name.replace("-", "_").lower() for name in (*versions.WORKER, "numpy")}
    code = ALONE.format(absent=sorted((names | {"google"}) - there))
    done = subprocess.run(
        [sys.executable, "-P", "-c", code],
        cwd=ROOT,
        capture_output=True,
        text=True,
        env=os.environ | {"PYTHONPATH": str(ROOT)},
    )
    assert done.returncode == 0, done.stderr
