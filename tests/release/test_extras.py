"""What is missing is named with an extra that there is."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest
from places import ROOT

from compare.sides import device_worker
from compare.sides.device_worker import EXTRAS, Packages, advice

DECLARED = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]


@pytest.mark.parametrize("platform", sorted(EXTRAS))
def test_outside_of_a_checkout_a_device_names_the_extra_that_compiles_for_it(
    platform: device_worker.DevicePlatform, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(device_worker, "__file__", str(tmp_path / "compare" / "sides" / "device_worker.py"))
    assert advice(platform) == f"pip install 'jaxport[{platform}-target]'" and f"{platform}-target" in DECLARED


def test_where_its_packages_are_not_there_one_line_says_so(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    class Bare:
        def platforms(self) -> dict[str, Packages]:
            return {"tpu": Packages(reason="found no package libtpu")}

    class Device:
        platform = "tpu"

    monkeypatch.setattr(device_worker, "__file__", str(tmp_path / "compare" / "sides" / "device_worker.py"))
    said = device_worker.missing(Bare(), Device())  # pyright: ignore[reportArgumentType]
    assert said == (
        "expected packages that compile for a TPU, found no package libtpu: pip install 'jaxport[tpu-target]'"
    )


def test_every_extra_that_code_and_pages_name_is_declared() -> None:
    texts = [path.read_text() for folder in ("compare", "docs") for path in (ROOT / folder).glob("**/*.[pm][yd]")]
    named = {name for text in texts for found in re.findall(r"jaxport\[([\w,-]+)\]", text) for name in found.split(",")}
    assert {"peers", "gpu-target", "tpu-target"} <= named <= set(DECLARED)
