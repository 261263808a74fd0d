"""All limits by name: statements, streams of calls, and pairs of functions for autoclustering."""

from __future__ import annotations

import difflib
from collections.abc import Mapping, Sequence

from compare.errors import RequestError
from compare.record.limit_part import PAIR, PROGRAMS, STATEMENT, STREAM, Limit
from workloads.limits._limit import Limit as Pair
from workloads.limits._limit import limits
from workloads.limits._statement import Statement, statements
from workloads.limits.recompilation import STREAMS, Expected, Stream

CUT, WHOLE = "cut", "whole"
"""Outcomes of a pair: whether autoclustering compiles less of the second function, or cuts it into more clusters."""

STREAM_WAYS = {"tf": "tf/jit", "jax": "jax/port"}
"""By side, how the function of a stream is run."""

LISTED = "`jaxport lookup limits` lists them"

_STREAMS = "recompilation"


def all_limits() -> dict[str, Limit]:
    """Every limit by name, nothing run yet."""
    all_limits = [_of_statement(theme, one) for theme, one in statements().values()]
    all_limits += [_of_stream(name, stream) for name, stream in STREAMS.items()]
    all_limits += [_of_pair(theme, pair) for theme, pair in limits().values()]
    return {limit.name: limit for limit in all_limits}


def choose(words: Sequence[str], among: Mapping[str, Limit]) -> list[Limit]:
    """The limits of names and themes, each once; all of them where none is given.

    Raises:
      RequestError: a word is neither; the nearest are offered.
    """
    limits_by_name: dict[str, Limit] = {} if words else dict(among)
    for word in words:
        matching = {name: limit for name, limit in among.items() if word in (name, limit.theme)}
        if not matching:
            raise RequestError(
                f"expected the name or the theme of a limit, found {word!r}: {offer(word, among, LISTED)}"
            )
        limits_by_name |= matching
    return list(limits_by_name.values())


def offer(word: str, among: Mapping[str, Limit], otherwise: str, beside: Sequence[str] = ()) -> str:
    """A hint on a refused word: the command for a limit of that name, or the nearest names.

    Args:
      among: every limit by name.
      beside: names that are no limits, and would do.
    """
    if word in among:
        return f"`{among[word].command}` runs that limit"
    names = dict.fromkeys([*beside, *among, *(limit.theme for limit in among.values())])
    near = difflib.get_close_matches(word.lower(), names, n=3, cutoff=0.7)
    return f"did you mean {' or '.join(near)}?" if near else otherwise


def counts(traces: int | None, compilations: int | None) -> tuple[str, str]:
    """The counts of a stream: "1 trace" and "3 compilations"."""
    return _several(traces, "trace"), _several(compilations, "compilation")


def _several(count: int | None, what: str) -> str:
    return f"{'?' if count is None else count} {what}{'' if count == 1 else 's'}"


def _of_statement(theme: str, one: Statement) -> Limit:
    return Limit(
        name=one.name,
        theme=theme,
        kind=STATEMENT,
        summary=one.summary,
        statement=one.statement,
        source=one.source,
        port=one.port,
        note=one.note,
        says={**one.says},
        expected={**one.seen},
        command=f"{PROGRAMS[STATEMENT]} {one.name}",
    )


def _of_stream(name: str, stream: Stream) -> Limit:
    return Limit(
        name=name,
        theme=_STREAMS,
        kind=STREAM,
        summary=stream.summary,
        statement=stream.statement,
        source=stream.source,
        note=stream.note,
        says={STREAM_WAYS[side]: outcome for side, outcome in stream.says.items()},
        expected={STREAM_WAYS[side]: _count_text(counts) for side, counts in stream.expected.items()},
        command=f"{PROGRAMS[STREAM]} {name}",
    )


def _count_text(expected: Expected) -> str:
    return ", ".join(counts(expected.traces, expected.compilations))


def _of_pair(theme: str, pair: Pair) -> Limit:
    return Limit(
        name=pair.name,
        theme=theme,
        kind=PAIR,
        summary="two functions one line apart, with autoclustering",
        statement=pair.why,
        source="measured",
        says={"tf/autocluster": CUT},
        expected={"tf/autocluster": CUT},
        command=f"{PROGRAMS[PAIR]} {pair.name}",
    )
