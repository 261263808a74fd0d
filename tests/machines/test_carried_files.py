"""What travels with a task: the folder of a port file, and nothing that is not needed."""

from __future__ import annotations

import io
import os
import zipfile
from pathlib import Path

import pytest

from compare.errors import RequestError
from compare.machines import carried_files
from compare.machines.carried_files import Carried


def names(carried: Carried) -> set[str]:
    return set(zipfile.ZipFile(io.BytesIO(carried.pack())).namelist())


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name in ("port.py", "helper.py", "parts/layers.py", "weights.npz", "__pycache__/port.pyc", ".git/config"):
        path = tmp_path / "mine" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(name)
    for name in ("jaxport-report/results.json", "env/pyvenv.cfg", "env/lib.py"):
        path = tmp_path / "mine" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(name)
    return tmp_path / "mine"


def test_a_port_travels_with_what_lies_beside_it(folder: Path) -> None:
    carried = Carried(without=folder / "jaxport-report")
    assert carried.port(folder / "port.py") == "0/port.py"
    assert names(carried) == {"0/port.py", "0/helper.py", "0/parts/layers.py", "0/weights.npz"}


def test_ports_of_one_folder_and_of_two(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "port.py").write_text("another")
    carried = Carried(without=tmp_path / "out")
    assert carried.port(folder / "port.py") == "0/port.py"
    assert carried.port(folder / "helper.py") == "0/helper.py"
    assert carried.port(tmp_path / "other" / "port.py") == "1/port.py"
    packed = zipfile.ZipFile(io.BytesIO(carried.pack()))
    assert packed.read("1/port.py") == b"another" and packed.read("0/port.py") == b"port.py"


def test_the_same_files_are_the_same_bytes(folder: Path) -> None:
    packed = []
    for _ in range(2):
        carried = Carried(without=folder / "out")
        carried.port(folder / "port.py")
        packed.append(carried.pack())
    assert packed[0] == packed[1]


def test_too_much_is_refused_in_one_line(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(carried_files, "MOST_FILES", 3)
    with pytest.raises(RequestError, match=r"expected at most 3 files in .*mine, which travel with --ray, found more"):
        Carried(without=folder / "out").port(folder / "port.py")
    monkeypatch.setattr(carried_files, "MOST_FILES", 100)
    monkeypatch.setattr(carried_files, "MOST_BYTES", 10)
    with pytest.raises(RequestError, match=r"put the port file into a folder of its own"):
        Carried(without=folder / "out").port(folder / "port.py")


def test_data_travels_as_a_file(tmp_path: Path) -> None:
    (tmp_path / "mnist.npz").write_bytes(b"123")
    carried = Carried(without=tmp_path / "out")
    name = carried.file(tmp_path / "mnist.npz")
    assert name.endswith("/mnist.npz") and names(carried) == {name}


def test_a_link_to_a_port_travels_with_the_folder_that_it_lies_in(folder: Path, tmp_path: Path) -> None:
    """As the port is loaded here: what it imports is looked for beside the link."""
    (tmp_path / "links").mkdir()
    (tmp_path / "links" / "mine.py").symlink_to(folder / "port.py")
    (tmp_path / "links" / "helper.py").write_text("beside the link")
    carried = Carried(without=tmp_path / "out")
    assert carried.port(tmp_path / "links" / "mine.py") == "0/mine.py"
    packed = zipfile.ZipFile(io.BytesIO(carried.pack()))
    assert packed.read("0/mine.py") == b"port.py" and packed.read("0/helper.py") == b"beside the link"


def test_a_name_that_is_no_text_is_refused(tmp_path: Path) -> None:
    (tmp_path / "port.py").write_text("")
    Path(os.fsdecode(os.fsencode(tmp_path) + b"/\xff.txt")).write_text("")
    with pytest.raises(RequestError, match=r"expected names in UTF-8 in .*, which travel with --ray"):
        Carried(without=tmp_path / "out").port(tmp_path / "port.py")
