"""Users' files, run in one process one after the other: each gets its own folder's modules."""

from pathlib import Path

import pytest

from workloads import _target


def test_two_folders_with_a_helper_of_one_name_do_not_share_it(tmp_path: Path) -> None:
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "helper.py").write_text(f"NAME = {name!r}")
        (tmp_path / name / "m.py").write_text("import helper\ndef f(): return helper.NAME")
    first, second = (_target.resolve(f"{tmp_path}/{name}/m.py:f") for name in ("a", "b"))
    assert (first(), second()) == ("a", "b")


def test_a_function_may_import_from_its_folder_when_it_is_called(tmp_path: Path) -> None:
    (tmp_path / "late_helper.py").write_text("NAME = 3")
    (tmp_path / "m.py").write_text("def f():\n    import late_helper\n    return late_helper.NAME")
    assert _target.resolve(f"{tmp_path}/m.py:f")() == 3


def test_a_file_may_hold_dataclasses_with_postponed_annotations(tmp_path: Path) -> None:
    text = "from __future__ import annotations\nfrom dataclasses import dataclass\n@dataclass\nclass A:\n    x: int\n"
    (tmp_path / "m.py").write_text(text + "def f(): return A(1).x")
    assert _target.resolve(f"{tmp_path}/m.py:f")() == 1


def test_a_module_that_is_not_there_and_one_that_breaks_are_told_apart(tmp_path: Path) -> None:
    with pytest.raises(_target.TargetError, match="expected a module 'no_such_module', found none"):
        _target.resolve("no_such_module:f")
    (tmp_path / "m.py").write_text("import no_such_module\ndef f(): pass")
    with pytest.raises(ModuleNotFoundError, match="no_such_module"):
        _target.resolve(f"{tmp_path}/m.py:f")
