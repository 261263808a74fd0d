"""The output of `jaxport hlo` on a terminal, and its files."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from rich.console import Console
from rich.text import Text

from compare.files import Json, convert_plain
from compare.plain_json import write_json
from compare.record.target_part import Target
from compare.report.hlo_page import write_hlo_page
from compare.report.model_explorer import write_model_explorer
from compare.report.numbers import count_of
from compare.report.page_console import print_lines, print_rows
from compare.report.pages import Table, columns
from compare.report.pictures import write_picture
from compare.report.program_texts import file_stem
from compare.report.showable import mapping, one_line
from compare.report.target_pages import tabs, write_target_pages
from compare.report.target_tables import print_targets

_MOST_SHOWN = 20
_MOST_LINES = 6
_LEGEND = (
    "matched/left/right values; * the programs are equal; ~ equal where something holds of the inputs; "
    "= every result is the same value, by other formulas in places"
)


def write_alignments(record: Json, out: Path) -> list[str]:
    """Write hlo.json and, for every pair, its pages, pictures and Model Explorer's files; return their paths."""
    write_json(out / "hlo.json", record)
    paths = [str(out / "hlo.json")]
    for pair in record["pairs"]:
        stem = file_stem(pair["name"])
        details = {name: pair[name] for name in ("compilers", "compiled", "passes", "donation")}
        paths.append(str(write_hlo_page({**pair["view"], **details}, out / f"{stem}.html", tabs(pair))))
        paths += [str(path) for path in write_target_pages(pair, out)]
        pictures = [write_picture(module, out / f"{stem}.{cell}") for cell, module in pair["pictures"].items()]
        paths += [str(path) for picture in pictures for path in picture.written]
        paths += dict.fromkeys(picture.hint for picture in pictures if picture.hint)
        paths += [str(path) for path in write_model_explorer(pair["view"], out / f"{stem}.model-explorer")]
    return paths


def print_alignments(record: Json, console: Console) -> None:
    """Print the table of pairs and levels; then, for every pair that is not equal, its results and the reasons."""
    pairs = record["pairs"]
    levels = list(dict.fromkeys(level for pair in pairs for level in pair["levels"]))
    rows = [(pair["name"], *(_cell(pair["levels"].get(level)) for level in levels)) for pair in pairs]
    print_rows(Table(columns("", *map(one_line, levels)), rows, most_on_console=len(rows)), console)
    print_lines([_LEGEND], console, "note")
    for pair in pairs:
        for line in _residue(pair, len(pairs) > 1):
            console.print(line, soft_wrap=True)
    print_targets(
        [
            (str(pair["name"]), device, convert_plain(mapping(pair, "targets", device), Target))
            for pair in pairs
            for device in mapping(pair, "targets")
        ],
        console,
    )


def _cell(level: Json | None) -> str:
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


def _residue(pair: Json, brief: bool) -> Iterator[Text]:
    """The levels that could not be read; then the results, reasons, and places without a reason at the shown level."""
    for level, numbers in pair["levels"].items():
        if "reason" in numbers and not brief:
            yield Text(f"{pair['name']}, {level}: {numbers['reason']}")
    level_data = pair["levels"][pair["level"]]
    for assumption in level_data.get("assumes", ()):
        yield Text(f"{pair['name']}, {pair['level']}: equal where {assumption}")
    reasons = level_data.get("reasons", ())
    if not reasons:
        return
    yield Text(f"{pair['name']}, {pair['level']}: {level_data['headline']}", style="bold")
    if level_data["unequal"] and level_data["results"] > 1:
        yield Text(f"  results that are not equal: {', '.join(map(one_line, level_data['unequal']))}")
    for reason in reasons:
        yield from _reason(reason)
    yield from _unexplained_lines(level_data)


def _reason(reason: Json) -> Iterator[Text]:
    """One reason with its places on either side, then the lines of both sources."""
    places = count_of(reason["places"], "place")
    sides = ", ".join(f"{count} in {one_line(side)}" for side, count in reason["sides"].items())
    meaning = f": {reason['meaning']}" if reason["meaning"] else ""
    name = (one_line(reason["name"]), "" if reason["kind"] else "yellow")
    yield Text.assemble("  ", name, f", {places} ({sides}){meaning}")
    for source in reason["sources"][:_MOST_LINES]:
        yield Text(f"    {source}", style="dim")
    if len(reason["sources"]) > _MOST_LINES:
        yield Text(f"    and {len(reason['sources']) - _MOST_LINES} more lines, in hlo.json", style="dim")


def _unexplained_lines(level: Json) -> Iterator[Text]:
    """The places without a reason, outside of bodies; their group is the last one."""
    places = [entry for entry in level["frontier"] if entry["explanation"] is None][:_MOST_SHOWN]
    yield from map(_place, places)
    more = sum(reason["places"] for reason in level["reasons"] if reason["kind"] is None) - len(places)
    if more > 0:
        yield Text(f"    and {more} more, on the page and in hlo.json")


def _place(entry: Json) -> Text:
    where = f"  {entry['source']}" if entry["source"] else ""
    side = (f"    {entry['side']:4} ", "cyan")
    return Text.assemble(side, f"{entry['op']} {entry['name']}: {entry['reason']}", (where, "dim"))
