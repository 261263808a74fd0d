"""pyproject.toml allows what docs/versions.md shows, and the page says why what is lost is lost."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator

import pytest
from packaging.requirements import Requirement
from packaging.version import Version
from places import ROOT
from versions import TRIALS, Found, Place, kept, places_of
from versions_page import LOSSES, page

KEPT = kept()


def tried(name: str) -> Iterator[Version]:
    """Releases of a framework that passed every command beside the other one and jaxport."""
    for trial, found in KEPT.items():
        if trial.startswith("together") and not any(found.codes.values()):
            side = found.sides["tf" if name == "tensorflow" else "jax"]
            yield Version(side.split(",")[0].split()[1])


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


def test_the_page_has_every_trial_as_it_was_kept() -> None:
    assert list(KEPT) == list(TRIALS)
    assert (ROOT / "docs" / "versions.md").read_text() == page(KEPT)


def test_every_row_says_when_it_was_tried_and_by_what() -> None:
    for name, found in KEPT.items():
        assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", found.created), name
        assert re.fullmatch(r"\d+\.\d+\.\d+ [0-9a-f]{7,}", found.jaxport), f"{name}: of a commit, without changes"


def test_an_environment_is_needed_as_long_as_a_trial_wants_it() -> None:
    both = places_of(["tf-2.16", "oldest"])
    assert Place(("tensorflow-cpu==2.16.2",)) in places_of(["oldest"]) <= both
    assert places_of(["here"]) == set()


def test_what_is_lost_stands_in_its_row_and_is_explained() -> None:
    reason = "jax@tf: Cannot deserialize computation; at 7"
    sides = {"tf": "tensorflow 2.16.2", "jax": "jax 0.10.2"}
    codes = {"run": 0, "hlo": 0, "locate": 1, "tf.keras": 0}
    found = Found(sides, codes, [reason], "2026-11-26T13:20:00Z", "0.1.0 0123456")
    made = page({"tf-2.16": found})
    lost = "jax@tf: Cannot deserialize computation"
    row = f"| tensorflow 2.16.2 | jax 0.10.2 | 0 | 0 | 1 | 0 | {lost} | 2026-11-26, 0.1.0 0123456 |"
    assert row in made.splitlines()
    assert f"| Cannot deserialize computation | {LOSSES['Cannot deserialize computation']} |" in made
    assert "no attribute 'serialize'" not in made


def test_every_loss_on_the_page_is_explained() -> None:
    for loss in (loss for found in KEPT.values() for loss in found.lost):
        assert any(part in loss for part in LOSSES), loss
