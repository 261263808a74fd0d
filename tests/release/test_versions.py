"""pyproject.toml allows what docs/versions.md shows, and the page says why what is lost is lost."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator

import pytest
from packaging.requirements import Requirement
from packaging.version import Version
from places import ROOT
from versions import TRIALS, Found
from versions_page import LOSSES, page

PAGE = (ROOT / "docs" / "versions.md").read_text()
TOGETHER = PAGE.partition("## Both sides and jaxport in one environment")[2].partition("\n## ")[0]
ROW = re.compile(r"^\| tensorflow ([\d.]+), .* \| jax ([\d.]+), .* \| (\d) \| (\d) \| (\d) \| (\d) \| ", re.MULTILINE)


def tried(name: str) -> Iterator[Version]:
    """Releases of a framework that passed every command beside the other one and jaxport."""
    for tensorflow, jax, *codes in ROW.findall(TOGETHER):
        if set(codes) == {"0"}:
            yield Version(tensorflow if name == "tensorflow" else jax)


@pytest.mark.parametrize("name", ["tensorflow", "jax", "jaxlib"])
def test_pyproject_allows_what_was_tried_and_no_more(name: str) -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    (wanted,) = (each for each in map(Requirement, project["dependencies"]) if each.name == name)
    bounds = {each.operator: Version(each.version) for each in wanted.specifier}
    releases = sorted(tried(name))
    # A release is tried by its last patch: others of its minor version are taken to work, but for JAX's first one.
    lowest = Version(f"{releases[0].major}.{releases[0].minor}")
    assert bounds[">="] in (lowest, releases[0])
    assert bounds["<"] == Version(f"{releases[-1].major}.{releases[-1].minor + 1}")


def test_the_page_has_every_trial() -> None:
    assert PAGE.count("\n| tensorflow ") == len(TRIALS)


def test_what_is_lost_stands_in_its_row_and_is_explained() -> None:
    reason = "jax@tf: Cannot deserialize computation; at 7"
    sides = {"tf": "tensorflow 2.16.2", "jax": "jax 0.10.2"}
    codes = {"run": 0, "hlo": 0, "locate": 1, "tf.keras": 0}
    made = page({"tf-2.16": Found(sides, 1.0, codes, [reason])})
    row = "| tensorflow 2.16.2 | jax 0.10.2 | 0 | 0 | 1 | 0 | jax@tf: Cannot deserialize computation |"
    assert row in made.splitlines()
    assert f"| Cannot deserialize computation | {LOSSES['Cannot deserialize computation']} |" in made
    assert "no attribute 'serialize'" not in made


def test_every_loss_on_the_page_is_explained() -> None:
    for row in re.findall(r"^\| tensorflow .* \| (.*) \|$", PAGE, re.MULTILINE):
        for loss in row.split("; "):
            assert loss == "nothing" or any(part in loss for part in LOSSES), loss
