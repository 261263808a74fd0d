"""`jaxport lookup docs` opens a page that was built, and says in one line what is missing."""

from __future__ import annotations

import webbrowser
from pathlib import Path

import pytest

from compare import cli
from compare.commands import docs


@pytest.fixture
def pages(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "documentation"
    (folder / "guide").mkdir(parents=True)
    for name in ("index", "guide/data"):
        (folder / f"{name}.html").write_text("<p>")
    (tmp_path / "secret.html").write_text("<p>")
    monkeypatch.setattr(docs, "PAGES", folder)
    return folder


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    addresses: list[str] = []
    monkeypatch.setattr(webbrowser, "open", addresses.append)
    return addresses


@pytest.mark.parametrize(("named", "file"), [([], "index.html"), (["guide/data"], "guide/data.html")])
def test_a_page_is_opened_and_named(
    pages: Path, opened: list[str], capsys: pytest.CaptureFixture[str], named: list[str], file: str
) -> None:
    assert cli.main(["lookup", "docs", *named]) == 0
    assert opened == [(pages / file).as_uri()]
    assert capsys.readouterr().out == f"{pages / file}\n"


@pytest.mark.usefixtures("pages")
def test_a_path_is_printed_without_a_browser(opened: list[str]) -> None:
    assert cli.main(["lookup", "docs", "--print-path"]) == 0
    assert opened == []


@pytest.mark.usefixtures("pages")
@pytest.mark.parametrize(("named", "offer"), [("data", "guide/data"), ("../secret", "try index")])
def test_a_page_that_is_none_is_one_line(
    opened: list[str], capsys: pytest.CaptureFixture[str], named: str, offer: str
) -> None:
    assert cli.main(["lookup", "docs", named]) == 2
    assert offer in capsys.readouterr().err and opened == []


def test_pages_that_were_not_built_are_said(pages: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (pages / "index.html").unlink()
    assert cli.main(["lookup", "docs"]) == 2
    assert "`make docs`" in capsys.readouterr().err
