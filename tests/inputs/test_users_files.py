"""Users' files: each gets its own folder's modules, which hide nothing that is installed; no other folder is run."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from interpreters import JAX_AS_TF, interpreter
from places import ROOT

from compare.inputs.functions import check_reference
from compare.sides import requests
from compare.sides.client import LiveSide
from workloads.core import files, registry, target
from workloads.core.files import PathError


@pytest.fixture(autouse=True)
def closed() -> Iterator[None]:
    yield
    files.close_folder()


def test_two_folders_with_a_helper_of_one_name_do_not_share_it(tmp_path: Path) -> None:
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "helper.py").write_text(f"NAME = {name!r}")
        (tmp_path / name / "m.py").write_text("import helper\ndef f(): return helper.NAME")
    first, second = (target.resolve(f"{tmp_path}/{name}/m.py:f") for name in ("a", "b"))
    assert (first(), second()) == ("a", "b")


def test_a_function_may_import_from_its_folder_when_it_is_called(tmp_path: Path) -> None:
    (tmp_path / "late_helper.py").write_text("NAME = 3")
    (tmp_path / "m.py").write_text("def f():\n    import late_helper\n    return late_helper.NAME")
    assert target.resolve(f"{tmp_path}/m.py:f")() == 3


def test_a_file_may_hold_dataclasses_with_postponed_annotations(tmp_path: Path) -> None:
    text = "from __future__ import annotations\nfrom dataclasses import dataclass\n@dataclass\nclass A:\n    x: int\n"
    (tmp_path / "m.py").write_text(text + "def f(): return A(1).x")
    assert target.resolve(f"{tmp_path}/m.py:f")() == 1


def test_a_module_that_is_not_there_and_one_that_breaks_are_told_apart(tmp_path: Path) -> None:
    with pytest.raises(target.TargetError, match="expected a module 'no_such_module', found none"):
        target.resolve("no_such_module:f")
    (tmp_path / "m.py").write_text("import no_such_module\ndef f(): pass")
    with pytest.raises(ModuleNotFoundError, match="no_such_module"):
        target.resolve(f"{tmp_path}/m.py:f")


@pytest.mark.parametrize("reference", ["port.py:f", "port:f"])
def test_code_at_a_path_that_is_no_unicode_is_refused_in_one_line(
    reference: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / os.fsdecode(b"b\xff")
    folder.mkdir()
    (folder / "port.py").write_text("def f(): pass")
    monkeypatch.chdir(folder)
    with pytest.raises(target.TargetError, match=r"expected code at a path in UTF-8, found the bytes .*b\\xff/port"):
        target.resolve(reference)
    with pytest.raises(registry.RegistryError, match="rename the folder or the file"):
        registry.check_file(Path("port.py"))
    with pytest.raises(PathError, match="rename the folder or the file"):
        check_reference("--tf", "port.py:f")


def test_the_folder_of_a_file_before_is_importable_no_more(tmp_path: Path) -> None:
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
    (tmp_path / "a/only_in_a.py").touch()
    (tmp_path / "a/m.py").write_text("import only_in_a\ndef f(): pass")
    (tmp_path / "b/m.py").write_text("def f():\n    import only_in_a")
    target.resolve(f"{tmp_path}/a/m.py:f")
    with pytest.raises(ModuleNotFoundError):
        target.resolve(f"{tmp_path}/b/m.py:f")()


@pytest.mark.parametrize("name", ["random", "json", "numpy", "flax", "compare", "pyclbr"])
def test_a_file_beside_hides_nothing_that_is_installed(tmp_path: Path, name: str) -> None:
    (tmp_path / f"{name}.py").write_text("OURS = 0")
    (tmp_path / "m.py").write_text(f"import {name} as found\ndef f(): return hasattr(found, 'OURS')")
    assert not target.resolve(f"{tmp_path}/m.py:f")()


def test_a_module_that_was_named_is_found_in_the_current_folder_with_its_siblings(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "sibling.py").write_text("NAME = 'sibling'")
    (tmp_path / "named.py").write_text("import sibling\ndef f(): return sibling.NAME")
    (tmp_path / "json.py").write_text("raise SystemExit(3)")
    monkeypatch.chdir(tmp_path)
    assert target.resolve("named:f")() == "sibling"
    assert callable(target.resolve("json:loads"))
    assert str(tmp_path) not in sys.path


TRIED = ("pandas", "zstandard", "jax_plugins", "sitecustomize", "usercustomize", "tf_keras", "sklearn_extra")
"""What frameworks and Python import where they find it."""
INSTALLED = ("numpy", "jax", "flax", "random", "json", "tensorflow", "scipy", "compare", "workloads", "msgspec")

PORT = """
import helper
from workloads import ArraySpec, Workload
port = Workload(
    name="mine", tf="functions.py:f", jax="functions.py:f", inputs={"x": ArraySpec((3,))}, builds=False
)
"""


def hostile(folder: Path, names: tuple[str, ...]) -> Path:
    """The folder, with modules and packages that note that they were run; the note is beside the folder."""
    folder.mkdir(exist_ok=True)
    for name in names:
        text = f"import os\nopen({str(folder.parent / 'ran')!r}, 'a').write({name + chr(10)!r})\n"
        (folder / f"{name}.py").write_text(text)
        (folder / f"{name}_package").mkdir()
    (folder / "jax_plugins").mkdir()
    (folder / "jax_plugins/evil.py").write_text(f"open({str(folder.parent / 'ran')!r}, 'a').write('plugin')")
    return folder


@pytest.mark.process
@pytest.mark.parametrize("python_path", ["", f":{ROOT}", f"{ROOT}:"], ids=["unset", "empty entry", "empty at the end"])
def test_nothing_of_the_current_folder_is_run_by_a_worker(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, python_path: str
) -> None:
    monkeypatch.chdir(hostile(tmp_path / "received", (*TRIED, *INSTALLED)))
    monkeypatch.setenv("PYTHONPATH", python_path)
    side = LiveSide("jax", tmp_path)
    assert "jax" in requests.environment(side)
    side.close()
    assert not (tmp_path / "ran").exists()


@pytest.mark.process
def test_a_wish_of_the_user_is_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", str(hostile(tmp_path / "wished", ("sitecustomize",))))
    side = LiveSide("jax", tmp_path)
    side.wait_until_started()
    side.close()
    assert (tmp_path / "ran").read_text() == "sitecustomize\n"


@pytest.mark.slow
@pytest.mark.process
@pytest.mark.parametrize("safe", [["-P"], []], ids=["-P", "as it comes"])
def test_a_run_in_a_received_folder_runs_the_port_that_was_named_and_nothing_beside_it(
    tmp_path: Path, safe: list[str]
) -> None:
    names = tuple(each for each in (*TRIED, *INSTALLED) if safe or each != "compare")  # Python's own choice, without -P
    received, port = hostile(tmp_path / "received", names), hostile(tmp_path / "port", INSTALLED)
    (port / "helper.py").write_text("BY = 2")
    (port / "functions.py").write_text("import helper, random, json, numpy\ndef f(x): return x * helper.BY")
    (port / "port.py").write_text(PORT)
    asked = ["run", "../port/port.py", "--tf-python", interpreter(tmp_path, JAX_AS_TF), "--parity-only"]
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        [sys.executable, *safe, "-m", "compare", *asked], cwd=received, env=environment, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    assert not (tmp_path / "ran").exists()
