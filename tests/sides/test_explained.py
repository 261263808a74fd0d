"""What is said of a module of the user's that has the name of a package of jaxport's."""

from __future__ import annotations

from pathlib import Path

import pytest

from compare.sides.explained import explain

MISTAKES = {
    "an attribute": ("import workloads\nworkloads.MINE", "workloads"),
    "a name": ("from workloads import MINE", "workloads"),
    "a module": ("import compare.mine", "compare"),
}


def failure(folder: Path, code: str) -> str:
    """What is said of code in a file of a folder that fails."""
    file = folder / "my_port.py"
    file.write_text(code)
    try:
        exec(compile(code, str(file), "exec"), {})
    except (ImportError, AttributeError) as error:
        return explain(error)
    raise AssertionError("expected an error, found none")


@pytest.mark.parametrize("mistake", MISTAKES)
@pytest.mark.parametrize("kind", ["package", "module"])
def test_a_users_module_that_a_package_of_jaxports_hides_is_named(tmp_path: Path, mistake: str, kind: str) -> None:
    code, name = MISTAKES[mistake]
    assert "hides" not in failure(tmp_path, code)
    if kind == "package":
        (tmp_path / name).mkdir()
    else:
        (tmp_path / f"{name}.py").touch()
    assert failure(tmp_path, code).endswith(
        f": `{name}` is a package of jaxport's, and hides the one in {tmp_path}: give that one another name"
    )


def test_a_mistake_about_another_module_is_left_as_it_is(tmp_path: Path) -> None:
    (tmp_path / "json").mkdir()
    assert "hides" not in failure(tmp_path, "import json\njson.MINE")
