"""What the specifications of pages share: a parser that refuses broken HTML, and records with every possible hole."""

from __future__ import annotations

import contextlib
import copy
from collections.abc import Iterable, Iterator
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import msgspec

from compare.files import convert_plain
from compare.record.envelope import SCHEMA, Record
from compare.record.results_file import decode
from compare.record.workload_part import Workload
from compare.report.pages import Table

HOSTILE = "<b onclick='x'>&amp;\x1b[31m"
VOID = {"meta", "link", "br", "input", "img"}


def texts(table: Table) -> list[list[str]]:
    """The rows of a table as they are shown."""
    return [[cell.text for cell in row] for row in table.compact()[1]]


class Page(HTMLParser):
    """Elements, identifiers, links and visible text; refuses tags that do not nest."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: list[str] = []
        self.attributes: list[tuple[str, str | None]] = []
        self.text = ""
        self.feed(html)
        self.close()
        assert not self.open, f"never closed: {self.open}"

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += attrs
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += attrs

    def handle_endtag(self, tag: str) -> None:
        assert self.open[-1:] == [tag], f"</{tag}> closes {self.open[-3:]}"
        self.open.pop()

    def handle_data(self, data: str) -> None:
        if self.open and self.open[-1] not in ("script", "style"):
            self.text += data

    def values(self, name: str) -> list[str]:
        """Values of that attribute, anywhere."""
        return [value or "" for key, value in self.attributes if key == name]


def shortened(value: Any) -> Any:
    """The value with one item a list: more with a hole teach no more, and take longer. Intervals keep both ends."""
    if isinstance(value, dict):
        return {key: item if key in ("ci95", "ci99") else shortened(item) for key, item in value.items()}
    return [shortened(item) for item in value[:1]] if isinstance(value, list) else value


def holes(value: Any) -> Iterator[Any]:
    """Copies of the value with one part null or gone, for every part at any depth."""
    items = (
        list(value.items()) if isinstance(value, dict) else list(enumerate(value)) if isinstance(value, list) else []
    )
    for key, item in items:
        for changed in (None, *holes(item)):
            copied = value.copy()
            copied[key] = changed
            yield copied
        if isinstance(value, dict):
            yield {other: part for other, part in value.items() if other != key}


def hostile(value: Any) -> Any:
    """Every string made hostile, of JSON that is no record; its keys stay."""
    if isinstance(value, dict):
        return {key: hostile(item) for key, item in value.items()}
    if isinstance(value, list):
        return [hostile(item) for item in value]
    return f"{value}{HOSTILE}" if isinstance(value, str) else value


def decoded(plain: dict[str, Any]) -> Record:
    """The record of plain JSON; what every record has to have is added."""
    return decode({"schema": SCHEMA, "workloads": {}, **copy.deepcopy(plain)}, Path("results.json"))


def workload_of(plain: dict[str, Any] | None) -> Workload:
    """One workload's part of a record."""
    return decoded({"workloads": {"one": plain}}).workloads["one"]


def decodable(workloads: Iterable[dict[str, Any] | None]) -> Iterator[Workload]:
    """Those that a record may hold: a list of texts or whole numbers may be null, and holds no null."""
    for plain in workloads:
        with contextlib.suppress(msgspec.ValidationError):
            yield Workload() if plain is None else convert_plain(plain, Workload)
