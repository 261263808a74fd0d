"""Limits on a console and as a Markdown page: the statement of a document beside what was seen of it."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence

from rich.console import Console

from compare.record.limit_part import PAIR, PROGRAMS, STREAM, Limit, LimitWay, TriedLimits, is_as_stated
from compare.report import markdown, numbers
from compare.report.page_console import print_facts, print_lines, print_rows
from compare.report.pages import Cell, Facts, Table, columns

_LONGEST, _SENTENCE = 160, 40
"""Characters of an error: it ends where it gets longer, or with its first sentence unless that is a short one."""
_COLUMNS = {
    "tf/eager": "TensorFlow eager", "tf/jit": "jit_compile=True", "tf/autocluster": "autoclustering",
    "jax/naive": "JAX, written first", "jax/port": "JAX, the port",
}  # fmt: skip
_TAIL = """\
*same* and *other* are results that are, or are not, those of TensorFlow eager, to 1e-5 of the largest value; *runs*
stands where there are none to compare with. *Cut*: autoclustering compiles less of the function, or cuts it into more
clusters, than without the line. Errors are those of TensorFlow and JAX, in short."""

_OURS = "measured"
"""Source of a limit that no document states."""


def print_list(limits: Sequence[Limit], console: Console) -> None:
    """Print what there is, by theme."""
    rows: list[tuple[Cell | str, ...]] = []
    for theme, of_theme in itertools.groupby(limits, lambda limit: limit.theme):
        rows.append((Cell(theme, "strong"), "", ""))
        rows += [(f"  {row.name}", PROGRAMS.get(row.kind, row.command), _statement(row)) for row in of_theme]
    print_rows(Table(columns("limit", "command", "what is run"), rows, most_on_console=len(rows)), console)


def _statement(limit: Limit) -> str:
    """The first sentence of a pair, since all pairs run the same; the summary of another limit."""
    return limit.statement.partition(". ")[0] if limit.kind == PAIR else limit.summary


def print_limits(limits: Sequence[Limit], console: Console) -> None:
    """Print limits that were run, then how many agree."""
    for limit in limits:
        print_lines([f"{limit.name}: {limit.summary}"], console, "strong")
        print_lines([f"{_says(limit)}: {limit.statement}"], console)
        print_facts(Facts([(way, describe_way(outcome)) for way, outcome in limit.ways.items()]), console, "  ")
        print_lines([f"  {line}" for line in _remarks(limit)], console)
        console.print()
    console.print(summary(limits))


def _says(limit: Limit) -> str:
    return "What was measured" if limit.source == _OURS else f"{limit.source} says"


def _remarks(limit: Limit) -> Iterator[str]:
    if limit.port:
        yield f"port: {limit.port}"
    if limit.note:
        yield limit.note
    yield f"today: {verdict(limit)}"
    if limit.unexpected:
        yield f"not as known: {limit.unexpected}"
    if limit.kind in (STREAM, PAIR):
        yield f"more: {limit.command}"


def verdict(limit: Limit) -> str:
    """Whether the outcome is what the document states, and in which ways it is not."""
    if limit.agrees is None:
        return _unknown_text(limit) if limit.ways else "not run"
    if limit.agrees:
        return "agrees"
    differing = (
        f"{way}, stated: {statement}"
        for way, statement in limit.says.items()
        if way not in limit.ways or not is_as_stated(limit.ways[way], statement)
    )
    return f"differs: {', '.join(differing)}"


def _unknown_text(limit: Limit) -> str:
    if any(outcome.lost for outcome in limit.ways.values()):
        return "not known: a worker was lost"
    if not limit.says:
        return "no outcome follows from the statement"
    messages = (_short(outcome.told) for outcome in limit.ways.values() if not outcome.outcome)
    return f"not known: {next(messages, limit.unexpected)}"


def describe_way(outcome: LimitWay) -> str:
    """How a function came out, in one line."""
    parts = [outcome.outcome or ("lost" if outcome.lost else "not known")]
    if outcome.bit_equal:
        parts.append("bit-equal")
    elif outcome.error:
        parts.append(f"to {numbers.error(outcome.error)}")
    if outcome.outside:
        parts.append(f"outside of clusters: {', '.join(outcome.outside)}")
    text = ", ".join(parts)
    sentence = f"{text}: {_short(outcome.told)}" if outcome.told else text
    return f"{sentence} ({outcome.place}  {outcome.code})" if outcome.place else sentence


def _short(text: str) -> str:
    end = text.find(". ", _SENTENCE)
    text = text[: end + 1] if end > 0 else text
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 3].rstrip()}..."


def summary(limits: Sequence[Limit]) -> str:
    """How many agree with their documents, and how many are measurements of our own."""
    from_documents = [limit for limit in limits if limit.source != _OURS]
    claiming = [limit for limit in from_documents if limit.says]
    agreeing, differing, unknown = (sum(limit.agrees is agrees for limit in claiming) for agrees in (True, False, None))
    wrong = sum(bool(limit.unexpected) for limit in limits)
    ours = len(limits) - len(from_documents)
    sentence = f"{len(limits)} limits: {agreeing} agree with the document today, {differing} differ"
    sentence += f", {unknown} not known" if unknown else ""
    sentence += f", {silent} from which no outcome follows" if (silent := len(from_documents) - len(claiming)) else ""
    sentence += f", {ours} from measurements and from no document" if ours else ""
    return f"{sentence}; {wrong} not as known" if wrong else sentence


def page(record: TriedLimits, command: str) -> str:
    """The whole page of limits that were run."""
    limits = record.limits
    lines = [*_introduction(record.versions, command), "", f"{summary(limits)}.", ""]
    for theme in dict.fromkeys(limit.theme for limit in limits):
        lines += [f"## {theme.replace('_', ' ').capitalize()}", ""]
        limits_of_theme = [limit for limit in limits if limit.theme == theme]
        ways = [way for way in _COLUMNS if any(way in limit.ways for limit in limits_of_theme)]
        titles = ("limit", "the document", *(_COLUMNS[way] for way in ways), "today", "command")
        lines += markdown.table(titles, [_row(limit, ways) for limit in limits_of_theme], left_columns=len(titles))
    return "\n".join([*lines, _TAIL]) + "\n"


def _introduction(versions: Mapping[str, str], command: str) -> Iterator[str]:
    packages = ", ".join(markdown.plain(f"{name} {version}") for name, version in versions.items())
    yield from ("# Limits, tried", "")
    yield f"Generated by {markdown.code(command)}: change nothing here by hand."
    yield "What documents state of compiling TensorFlow by XLA, in other words and with their source, beside what was"
    yield f"seen on one CPU with {packages or 'versions that are not known'}."
    yield "How to read it is said in `docs/limits.md` of jaxport."


def _row(limit: Limit, ways: Sequence[str]) -> tuple[str, ...]:
    source = "measured" if limit.source == _OURS else limit.source
    statement = f"{markdown.plain(limit.statement)} *{markdown.plain(source)}*"
    cells = [_cell(limit.ways[way]) if way in limit.ways else "" for way in ways]
    if limit.port and "jax/port" in ways:
        cells[ways.index("jax/port")] += f". {markdown.plain(limit.port)}"
    today = f"{markdown.plain(verdict(limit))}{'. ' + markdown.plain(limit.note) if limit.note else ''}"
    return (
        f"{markdown.code(limit.name)}: {markdown.plain(limit.summary)}",
        statement,
        *cells,
        today,
        markdown.code(limit.command),
    )


def _cell(outcome: LimitWay) -> str:
    text = markdown.plain(describe_way(LimitWay(**{**_fields(outcome), "place": "", "code": ""})))
    return f"{text}, at {markdown.code(outcome.code)}" if outcome.code else text


def _fields(outcome: LimitWay) -> dict[str, object]:
    return {name: getattr(outcome, name) for name in outcome.__struct_fields__}
