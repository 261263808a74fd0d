"""docs/adapters.py tells which private name has moved: what a new release breaks is known before a user meets it."""

from __future__ import annotations

import sys
from types import ModuleType

import adapters
import pytest
from adapters import Named, moved, named
from places import ROOT

SOURCE = """
def late():
    a = _require("frame.hidden", "Maker")()
    b = _private("frame.hidden")
    c = _require(f"frame.{b}", "Other")
    return a, c
"""


@pytest.fixture
def frame(monkeypatch: pytest.MonkeyPatch) -> None:
    """A framework whose release has one private name."""
    hidden = ModuleType("frame.hidden")
    hidden.Maker = object  # pyright: ignore[reportAttributeAccessIssue]
    for name, module in {"frame": ModuleType("frame"), "frame.hidden": hidden}.items():
        monkeypatch.setitem(sys.modules, name, module)


def test_the_names_of_an_adapter_are_read_off_its_source() -> None:
    assert {str(each) for each in named("a.py", SOURCE)} == {"frame.hidden", "frame.hidden.Maker"}


@pytest.mark.usefixtures("frame")
@pytest.mark.parametrize(
    ("module", "attribute", "why"),
    [
        ("frame.hidden", "Maker", ""),
        ("frame.hidden", "", ""),
        ("frame.hidden", "Made", "frame.hidden has no Made"),
        ("frame.gone", "Maker", "No module named 'frame.gone'; 'frame' is not a package"),
    ],
)
def test_what_moved_is_told(module: str, attribute: str, why: str) -> None:
    assert moved(Named("a.py", module, attribute)) == why


@pytest.mark.parametrize("path", adapters.ADAPTERS)
def test_every_adapter_looks_something_up(path: str) -> None:
    assert list(named(path, (ROOT / path).read_text()))
