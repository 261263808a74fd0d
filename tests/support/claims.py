"""What our pages state as a fact, each sentence with its source: docs/claims.toml, which tests compare with both.

A table of the file is a page, and each of its entries has the `sentence`, word for word, and one source:

- `test = "tests/FILE.py::NAME"`: a test that fails where the sentence is wrong;
- `executed = "TEXT"`: code, or output, of a block of the same page that a test carries out;
- `record = "FILE.json"` with `figure`: a figure that was measured; `says` is the number in the sentence, which is the
  figure times `scale` (1 where it has none), to the digits that it has; where the sentence has it in words, `value` is
  the number; `undecided` is true of a ratio whose interval has 1 in it;
- `file = "PATH"` with `holds = "TEXT"`: what stands in code or in a page; `installed = "PATH"`: in a package;
- `gotcha = "THEME/NAME"`, `limit = "NAME"`: entries that are tried in both frameworks;
- `row = "S1"` with `document = "A"`: a row of what the documents show;
- `url = "https://..."`: a page of the framework's own documentation.
"""

from __future__ import annotations

import ast
import importlib
import importlib.util
import json
import re
import tomllib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from guide_page import blocks

from compare.figures.all_rows import ROWS
from workloads.gotchas import _catalogue

EXECUTED = ("README.md", "docs/dumps.md", "docs/index.md")
FENCE = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)
MEASURED = re.compile(
    r"\d ?(%|x\b|ms\b|µs\b|s\b|seconds|minutes|hours|[KMG]i?B\b)|\d times|\d+e-\d+|thousands of times|fifths|twice"
)
"""What a sentence has that states a measurement."""


@dataclass(frozen=True)
class Claim:
    """A sentence of a page, and where its truth can be looked up."""

    page: str
    sentence: str
    source: Mapping[str, Any]


def read_claims(file: Path) -> list[Claim]:
    """All claims of the file, page by page."""
    pages = tomllib.loads(file.read_text())
    return [
        Claim(page, flat(entry["sentence"]), {key: value for key, value in entry.items() if key != "sentence"})
        for page, entries in pages.items()
        for entry in entries
    ]


def problems(claim: Claim, root: Path) -> list[str]:
    """Why a claim does not stand: the sentence is not in its page, or its source is not there or says otherwise."""
    found = [] if claim.sentence in flat((root / claim.page).read_text()) else ["the page has no such sentence"]
    kinds = [kind for kind in SOURCES if kind in claim.source]
    if len(kinds) != 1:
        return [*found, f"expected one source, found {', '.join(kinds) or 'none'}"]
    return [*found, *filter(None, [SOURCES[kinds[0]](claim, root)])]


def measured_sentences(text: str) -> Iterator[str]:
    """Sentences, items and rows of a page, outside of its blocks of code, that state a measurement."""
    for paragraph in re.split(r"\n\s*\n", FENCE.sub("\n\n", text)):
        lines = [line.strip() for line in paragraph.strip().splitlines()]
        whole = lines if lines and lines[0].startswith("|") else re.split(r"(?<=[.?!]) (?=[A-Z`*\[])", " ".join(lines))
        yield from (flat(sentence) for sentence in whole if MEASURED.search(re.sub(r"`[^`]*`", "", sentence)))


def flat(text: str) -> str:
    """A text with its lines joined."""
    return " ".join(text.split())


def _test(claim: Claim, root: Path) -> str:
    file, _, name = claim.source["test"].partition("::")
    path = root / file
    names = _functions(path) if path.is_file() else frozenset()
    return "" if name in names else f"no test {claim.source['test']}"


@cache
def _functions(path: Path) -> frozenset[str]:
    return frozenset(node.name for node in ast.parse(path.read_text()).body if isinstance(node, ast.FunctionDef))


def _executed(claim: Claim, root: Path) -> str:
    page = (root / claim.page).read_text()
    is_carried_out = claim.page in EXECUTED or claim.page.startswith("docs/guide/")
    texts = [flat(block.text) for block in blocks(page) if block.is_executed] if is_carried_out else []
    wanted = flat(claim.source["executed"])
    return "" if any(wanted in text for text in texts) else f"no block of the page that is carried out has {wanted!r}"


def _record(claim: Claim, root: Path) -> str:
    path = root / claim.source["record"]
    if not path.is_file():
        return f"no record {claim.source['record']}"
    figures = {
        figure["name"]: figure
        for experiment in json.loads(path.read_text())["experiments"]
        for figure in experiment["figures"]
    }
    figure = figures.get(claim.source["figure"])
    if figure is None or figure["value"] is None:
        return f"{claim.source['record']} has no {claim.source['figure']}"
    if "says" in claim.source:
        says = claim.source["says"]
        if not re.search(rf"(?<![\d.,]){re.escape(says)}(?![\d,]|\.\d)", claim.sentence):
            return f"the sentence does not say {says}"
        return _differs(says, figure["value"] * claim.source.get("scale", 1))
    if "value" in claim.source:
        return _differs(str(claim.source["value"]), figure["value"])
    if not claim.source.get("undecided"):
        return "expected says, value or undecided beside record, found none"
    low, high = figure["ci95"] or (1.0, 1.0)
    return "" if low < 1 < high else f"the interval [{low:.3g}, {high:.3g}] does not have 1 in it"


def _differs(says: str, value: float) -> str:
    decimals = len(says.partition(".")[2])
    is_same = round(value, decimals) == float(says.replace(",", ""))
    return "" if is_same else f"the sentence says {says}, the record {value:.6g}"


def _file(claim: Claim, root: Path) -> str:
    path, holds = root / claim.source["file"], flat(claim.source["holds"])
    is_there = path.is_file() and holds in flat(path.read_text())
    return "" if is_there else f"{claim.source['file']} does not have {holds!r}"


def _installed(claim: Claim, _: Path) -> str:
    package, _, rest = claim.source["installed"].partition("/")
    spec = importlib.util.find_spec(package)
    places = list(spec.submodule_search_locations or ()) if spec else []
    holds = flat(claim.source["holds"])
    texts = (flat(path.read_text()) for path in (Path(place, rest) for place in places) if path.is_file())
    return "" if any(holds in text for text in texts) else f"{claim.source['installed']} does not have {holds!r}"


def _gotcha(claim: Claim, _: Path) -> str:
    return "" if claim.source["gotcha"] in _gotchas() else f"no gotcha {claim.source['gotcha']}"


@cache
def _gotchas() -> frozenset[str]:
    return frozenset(entry.id for entry in _catalogue.entries())


def _limit(claim: Claim, root: Path) -> str:
    name = claim.source["limit"]
    themes = (root / "workloads/limits").glob("[!_]*.py")
    return "" if any(f'"{name}"' in theme.read_text() for theme in themes) else f"no limit {name}"


def _row(claim: Claim, _: Path) -> str:
    rows = {row.name: row for row in ROWS}
    letters = {letter for each in rows[claim.source["row"]].claims for letter in each.documents.split()} if (
        claim.source["row"] in rows
    ) else set()  # fmt: skip
    return "" if claim.source["document"] in letters else f"no row {claim.source['row']} of {claim.source['document']}"


def _url(claim: Claim, _: Path) -> str:
    return "" if re.fullmatch(r"https://[\w.-]+/\S*", claim.source["url"]) else f"no address {claim.source['url']}"


SOURCES: dict[str, Callable[[Claim, Path], str]] = {
    "test": _test,
    "executed": _executed,
    "record": _record,
    "file": _file,
    "installed": _installed,
    "gotcha": _gotcha,
    "limit": _limit,
    "row": _row,
    "url": _url,
}
