"""A wheel carries the pages that `jaxport lookup docs` opens, data and the licence, also when built from the sdist."""

from __future__ import annotations

import shutil
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest
from places import ROOT

PAGES = ("compare/documentation/index.html", "compare/documentation/guide/data.html")
TYPED = tuple(f"{package}/py.typed" for package in ("compare", "jaxport", "tf_reference", "workloads"))
PACKAGES = tuple(f"{Path(typed).parent}/__init__.py" for typed in TYPED)
DATA = tuple(
    f"compare/counterparts/{path.name}"
    for path in sorted((ROOT / "compare" / "counterparts").iterdir())
    if path.suffix in (".toml", ".json")
) + tuple(f"compare/bundles/runners/{path.name}" for path in (ROOT / "compare" / "bundles" / "runners").iterdir())


@pytest.mark.process
def test_pages_that_were_built_and_data_reach_the_wheel_through_the_sdist(tmp_path: Path) -> None:
    source = tmp_path / "source"
    for name in (*PAGES, *DATA, *TYPED, "compare/counterparts/__init__.py", "compare/bundles/__init__.py", *PACKAGES):
        (source / name).parent.mkdir(parents=True, exist_ok=True)
        (source / name).touch()
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, source)

    with tarfile.open(built("sdist", source, tmp_path)) as archive:
        archive.extractall(tmp_path, filter="data")
    (unpacked,) = tmp_path.glob("jaxport-*/")

    assert len(DATA) == 8
    names = set(zipfile.ZipFile(built("wheel", unpacked, tmp_path)).namelist())
    assert {*PAGES, *DATA, *TYPED} <= names
    assert [name for name in names if name.endswith(".dist-info/licenses/LICENSE")]


def built(kind: str, source: Path, folder: Path) -> Path:
    """The archive that setuptools makes of a folder."""
    code = f"from setuptools import build_meta; print(build_meta.build_{kind}({str(folder)!r}))"
    done = subprocess.run([sys.executable, "-c", code], cwd=source, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-2000:]
    return folder / done.stdout.splitlines()[-1]
