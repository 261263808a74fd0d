"""What `jaxport hlo` shows on a terminal, and what it writes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from compare import records
from compare.report.hlo_page import write_hlo_page
from compare.report.model_explorer import write_model_explorer
from compare.report.pictures import write_picture
from compare.report.program_texts import file_stem
from compare.report.showable import one_line

_MOST_SHOWN = 20
_LEGEND = (
    "matched/left/right values; * the programs are equal; ~ equal where something holds of the inputs; "
    "= every result is the same value, by other formulas in places"
)


def write_alignments(record: Mapping[str, Any], out: Path) -> list[str]:
    """Write hlo.json and, for every pair, a page, pictures and Model Explorer's files; what was written."""
    out.mkdir(parents=True, exist_ok=True)
    records.save(record, out / "hlo.json")
    written = [str(out / "hlo.json")]
    for pair in record["pairs"]:
        stem = file_stem(pair["name"])
        made = {name: pair[name] for name in ("compilers", "compiled", "passes", "donation")}
        written.append(str(write_hlo_page({**pair["view"], **made}, out / f"{stem}.html")))
        pictures = [write_picture(module, out / f"{stem}.{cell}") for cell, module in pair["pictures"].items()]
        written += [str(path) for picture in pictures for path in picture.written]
        written += dict.fromkeys(picture.hint for picture in pictures if picture.hint)
        written += [str(path) for path in write_model_explorer(pair["view"], out / f"{stem}.model-explorer")]
    return written


def print_alignments(record: Mapping[str, Any], console: Console) -> None:
    """The table of pairs and levels, and of a pair that is alone what leads its frontier."""
    pairs = record["pairs"]
    levels = list(dict.fromkeys(level for pair in pairs for level in pair["levels"]))
    table = Table(box=box.SIMPLE_HEAD if console.is_terminal else None, pad_edge=False)
    for title in ("", *map(one_line, levels)):
        table.add_column(title)
    for pair in pairs:
        table.add_row(Text(one_line(pair["name"])), *(Text(_cell(pair["levels"].get(level))) for level in levels))
    console.print(table)
    console.print(_LEGEND, style="dim", highlight=False, soft_wrap=True)
    for pair in pairs:
        for line in _residue(pair, len(pairs) > 1):
            console.print(line, soft_wrap=True)


def _cell(level: Mapping[str, Any] | None) -> str:
    if level is None or "reason" in level:
        return "-"
    mark = (
        "*"
        if level["equal"]
        else "~"
        if level["assumes"]
        else "="
        if level["results_equal"] == level["results"] > 0
        else ""
    )
    return f"{level['matched']}/{level['left']}/{level['right']}{mark}"


def _residue(pair: Mapping[str, Any], brief: bool) -> Iterator[Text]:
    for level, found in pair["levels"].items():
        if "reason" in found and not brief:
            yield Text(f"{pair['name']}, {level}: {found['reason']}")
    for assumed in pair["levels"][pair["level"]].get("assumes", ()):
        yield Text(f"{pair['name']}, {pair['level']}: equal where {assumed}")
    entries: Sequence[Mapping[str, Any]] = pair["levels"][pair["level"]].get("frontier", ())
    if not entries:
        return
    yield Text(f"{pair['name']}: where they part, at {pair['level']}", style="bold")
    for entry in entries[:_MOST_SHOWN]:
        yield _frontier(entry)
    if len(entries) > _MOST_SHOWN:
        yield Text(f"  and {len(entries) - _MOST_SHOWN} more, in hlo.json")


def _frontier(entry: Mapping[str, Any]) -> Text:
    known = f" [{entry['explained']}]" if entry.get("explained") else ""
    where = f"  {entry['source']}" if entry["source"] else ""
    return Text.assemble(
        (f"  {entry['side']:4} ", "cyan"), f"{entry['op']} {entry['name']}: {entry['reason']}{known}", (where, "dim")
    )
