"""A bug report in a zip: one index, one file of each name, and no more unpacked than the index declares."""

from __future__ import annotations

import json
import stat
import zipfile
from pathlib import Path
from typing import Any

import damaged_bundles
import numpy as np
import pytest

from compare.bundles import bundle
from compare.errors import RequestError
from workloads.core.foreign import MEBIBYTE


def shaped(index: dict[str, Any], shape: list[int]) -> dict[str, Any]:
    """The index with the shape of every array, as `jaxport bugreport` writes it."""
    (entry,) = index["modules"]
    arrays = {key: [{**array, "shape": shape} for array in entry[key]] for key in ("parameters", "results")}
    return {**index, "modules": [{**entry, **arrays}]}


def zipped(folder: Path, changed: dict[str, bytes], top: str = "") -> Path:
    """A bug report as a zip, with some files replaced or added."""
    index = shaped(damaged_bundles.bug_report(folder / "b"), [4])
    bundle.save_index(index, folder / "b")
    kept = {path.relative_to(folder / "b").as_posix(): path for path in (folder / "b").rglob("*") if path.is_file()}
    contents = {top + name: path.read_bytes() for name, path in kept.items()} | changed
    with zipfile.ZipFile(folder / "b.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in contents.items():
            archive.writestr(name, data)
    return folder / "b.zip"


def refused(path: Path, scratch: Path) -> str:
    """Why a zip is refused; what was unpacked until then is no larger than a stated limit."""
    scratch.mkdir()
    with pytest.raises(RequestError, match=r"^expected .*, found [^\n]*: [^\n]*$") as error:
        bundle.modules(path, scratch)
    assert sum(file.stat().st_size for file in scratch.rglob("*") if file.is_file()) <= bundle.LEAST_UNPACKED_BYTES
    return str(error.value)


@pytest.mark.usefixtures("programs_here")
@pytest.mark.parametrize("top", ["", "report/"])
def test_a_zip_of_a_bug_report_is_read(tmp_path: Path, top: str) -> None:
    (module,) = bundle.modules(zipped(tmp_path, {}, top), tmp_path)
    np.testing.assert_array_equal(module.recorded["tf@tf"][0], [2, 4, 6, 8])


@pytest.mark.parametrize(
    "changed",
    [
        {"other/bundle.json": b"{}"},
        {"bundle.json": b'{"schema": 1, "modules": []}', "a/bundle.json": b"{}", "b/bundle.json": b"{}"},
    ],
)
def test_a_zip_with_several_indexes_is_refused(tmp_path: Path, changed: dict[str, bytes]) -> None:
    assert "indexes (bundle.json, " in refused(zipped(tmp_path, changed), tmp_path / "s")


@pytest.mark.parametrize("name", ["bundle.json", "inputs/tf.safetensors", "README.md"])
def test_a_zip_with_two_files_of_one_name_is_refused(tmp_path: Path, name: str) -> None:
    path = zipped(tmp_path, {"README.md": b""})
    with zipfile.ZipFile(path, "a") as archive, pytest.warns(UserWarning, match="Duplicate name"):
        archive.writestr(name, b"{}")
    assert f"two files named {name!r}" in refused(path, tmp_path / "s")


@pytest.mark.parametrize(
    ("name", "size", "most"),
    [
        ("bundle.json", 100 * MEBIBYTE, "more than 32"),
        ("programs/tf.mlirbc", 100 * MEBIBYTE, "more than 64"),
        ("inputs/tf.safetensors", MEBIBYTE, "more than 12,416"),
        ("outputs/tf@tf.safetensors", MEBIBYTE, "more than 12,416"),
    ],
)
def test_no_file_is_unpacked_beyond_what_it_may_hold(tmp_path: Path, name: str, size: int, most: str) -> None:
    path = zipped(tmp_path, {name: bytes(size)})
    assert most in refused(path, tmp_path / "s")


def test_files_that_are_small_each_are_counted_together(tmp_path: Path) -> None:
    path = zipped(tmp_path, {})
    index = json.loads((tmp_path / "b" / bundle.INDEX).read_text())
    (entry,) = index["modules"]
    files = {f"programs/{number}": bytes(20 * MEBIBYTE) for number in range(4)}
    index["modules"] = [{**entry, "name": name, "file": name} for name in files]
    path = zipped(tmp_path / "again", {"bundle.json": json.dumps(index).encode(), **files})
    assert "more than" in refused(path, tmp_path / "s")


def test_a_size_that_the_zip_understates_is_counted_while_it_is_unpacked(tmp_path: Path) -> None:
    path = zipped(tmp_path, {"inputs/tf.safetensors": bytes(100 * MEBIBYTE)})
    data = bytearray(path.read_bytes())
    at = data.index(b"inputs/tf.safetensors", data.index(b"PK\x01\x02")) - 22
    assert int.from_bytes(data[at : at + 4], "little") == 100 * MEBIBYTE
    data[at : at + 4] = (64).to_bytes(4, "little")
    path.write_bytes(data)
    assert "a broken zip" in refused(path, tmp_path / "s")


def test_a_link_in_a_zip_is_not_followed(tmp_path: Path) -> None:
    path = zipped(tmp_path, {})
    rest = zipfile.ZipFile(path)
    linked = tmp_path / "linked.zip"
    with zipfile.ZipFile(linked, "w") as archive:
        for name in rest.namelist():
            info = zipfile.ZipInfo(name)
            if name.startswith("inputs"):
                info.external_attr = (stat.S_IFLNK | 0o777) << 16
            archive.writestr(info, rest.read(name))
    rest.close()
    assert "a link" in refused(linked, tmp_path / "s")


@pytest.mark.parametrize("place", ["/etc/passwd", "../outside", "a/../../outside", ""])
def test_an_index_that_names_a_file_outside_is_refused(tmp_path: Path, place: str) -> None:
    path = zipped(tmp_path, {})
    index = json.loads((tmp_path / "b" / bundle.INDEX).read_text())
    index["modules"][0]["file"] = place
    path = zipped(tmp_path / "again", {"bundle.json": json.dumps(index).encode(), place or "x": b"x"})
    assert "does not lie inside" in refused(path, tmp_path / "s")
