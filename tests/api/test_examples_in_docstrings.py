"""The examples in the docstrings of public functions give what they say; those that take most of a minute are slow."""

from __future__ import annotations

import doctest
from pathlib import Path
from typing import Any

import pytest
from guide_page import FLAGS

import jaxport
from jaxport import testing

EXECUTED = (
    jaxport.check,
    jaxport.locate,
    jaxport.compare_programs,
    jaxport.carry_weights,
    testing.assert_ports_match,
    jaxport.doctor,
    pytest.param(jaxport.write_port, marks=pytest.mark.slow),
    pytest.param(jaxport.bench, marks=pytest.mark.slow),
)


@pytest.mark.usefixtures("programs_here")
@pytest.mark.parametrize("function", EXECUTED, ids=lambda function: function.__name__)
def test_an_example_gives_what_it_says(function: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)  # a port is written
    said: list[str] = []
    (example,) = doctest.DocTestFinder(recurse=False).find(function, function.__name__, globs={})
    assert example.examples
    doctest.DocTestRunner(optionflags=FLAGS).run(example, out=said.append)
    assert "".join(said) == ""
