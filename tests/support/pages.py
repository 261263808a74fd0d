"""What the specifications of pages share: a parser that refuses broken HTML, and records with every possible hole."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from html.parser import HTMLParser
from typing import Any

HOSTILE = "<b onclick='x'>&amp;\x1b[31m"
VOID = {"meta", "link", "br", "input", "img"}


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
    """The value with one item a list: a longer list with a hole teaches no more, and takes longer."""
    if isinstance(value, dict):
        return {key: shortened(item) for key, item in value.items()}
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


def hostile(value: Any, peers: Collection[str] = ()) -> Any:
    """Every string made hostile, and every key that names a mode, a ratio or a peer; what a page looks for stays."""
    if isinstance(value, dict):
        return {
            f"{key}{HOSTILE}" if "/" in key or key in peers else key: hostile(item, peers)
            for key, item in value.items()
        }
    if isinstance(value, list):
        return [hostile(item, peers) for item in value]
    return f"{value}{HOSTILE}" if isinstance(value, str) else value
