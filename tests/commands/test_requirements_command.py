"""`jaxport list requirements`: what one side alone needs, told without any package; what is said where one lacks."""

from __future__ import annotations

import importlib.metadata
import subprocess
import sys
import tomllib

import pytest
from places import ROOT

from compare import cli
from compare.commands import requirements
from compare.commands.requirements import select_requirements
from compare.errors import RequestError

DECLARED = (
    "jax<0.12,>=0.10",
    "jaxlib>=0.10",
    "flax>=0.12",
    "optax>=0.2.8",
    'tensorflow<2.22,>=2.21; python_version < "3.14"',
    "numpy>=2",
    'libtpu>=0.0.42; sys_platform == "linux" and extra == "tpu-target"',
    "tf2jax>=0.3.8; extra == 'peers'",
)


@pytest.mark.parametrize(
    ("side", "extras", "listed"),
    [
        ("jax", [], ["jax<0.12,>=0.10", "jaxlib>=0.10", "flax>=0.12", "optax>=0.2.8", "numpy>=2"]),
        ("tf", [], ["jaxlib>=0.10", 'tensorflow<2.22,>=2.21; python_version < "3.14"', "numpy>=2"]),
        ("tf", ["peers"], ["jaxlib>=0.10", DECLARED[4], "numpy>=2", "tf2jax>=0.3.8"]),
    ],
)
def test_a_side_needs_all_but_what_the_other_one_needs_alone(side: str, extras: list[str], listed: list[str]) -> None:
    assert select_requirements(DECLARED, side, extras) == listed


def test_a_condition_beside_that_of_an_extra_stays() -> None:
    assert select_requirements(DECLARED, "jax", ["tpu-target"])[-1] == 'libtpu>=0.0.42; sys_platform == "linux"'


def test_an_extra_that_is_not_there_is_refused_with_those_that_are() -> None:
    with pytest.raises(RequestError, match=r"expected an extra of jaxport \(peers, tpu-target\), found 'gpu'"):
        select_requirements(DECLARED, "jax", ["gpu"])


def test_every_name_that_is_left_out_is_a_dependency() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    names = {requirements._name(each) for each in project["dependencies"]}
    assert set.union(*map(set, requirements.LEFT_OUT.values())) <= names


def test_what_is_not_installed_has_no_list(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    def absent(name: str) -> list[str]:
        raise importlib.metadata.PackageNotFoundError(name)

    monkeypatch.setattr(requirements, "requires", absent)
    assert cli.main(["list", "requirements", "jax"]) == 2
    assert "expected jaxport to be installed" in capsys.readouterr().err


WITHOUT_PACKAGES = """
import sys
sys.path[:] = [{root!r}, *(path for path in sys.path if "site-packages" not in path)]
from jaxport.__main__ import main
sys.argv = ["jaxport", *{arguments!r}]
sys.exit(main())
"""


def without_packages(*arguments: str) -> subprocess.CompletedProcess[str]:
    """The command line where the standard library is all that is installed."""
    code = WITHOUT_PACKAGES.format(root=str(ROOT), arguments=arguments)
    return subprocess.run([sys.executable, "-P", "-S", "-c", code], capture_output=True, text=True)


@pytest.mark.process
def test_an_installation_without_dependencies_says_so_in_one_line() -> None:
    for arguments in (("list",), ("run", "add"), ("--version",), ("no-such-command",)):
        done = without_packages(*arguments)
        assert done.returncode == 2 and done.stderr.count("\n") == 1, done.stderr
        assert "run `jaxport list requirements jax | pip install -r /dev/stdin`" in done.stderr


@pytest.mark.process
def test_it_has_its_help_and_its_list_all_the_same() -> None:
    assert "List the packages that one side alone needs" in without_packages("list", "requirements", "--help").stdout
    done = without_packages("list", "requirements", "jax")
    # A checkout that was never installed has no metadata: then this command says so, and no import fails.
    assert "numpy" in done.stdout or "expected jaxport to be installed" in done.stderr
