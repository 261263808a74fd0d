"""`jaxport.locate`: the operation to blame, as a caller reads it."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from compare.api import departures as words
from compare.api.live_workload import Options, in_callers_process, live_workload
from compare.errors import RequestError
from compare.hlo.locate import Departure
from compare.plain_json import to_json
from compare.progress import Reporter
from compare.prove import locating
from compare.report import table_page, terminal
from compare.report.pages import Table, columns
from compare.report.showable import one_line
from compare.report.table_page import Display
from compare.sides.pool import Pool
from workloads.core.declared import AnyWorkload
from workloads.protocol.framework import PASSES

_TITLES = ("operation", "tf", "jax", "values", "cause", "proof")
"""The rows of a departure that a notebook shows."""


@dataclass(frozen=True)
class FirstDeparture:
    """An operation whose value departs from TensorFlow's while all that it reads agrees.

    Attributes:
      in_pass: "forward", "gradients" or "step".
      operation: its opcode.
      tf_line: "FILE:LINE" in the original; "" where it is not known.
      jax_line: "FILE:LINE" in the port; "" likewise.
      index: of the first element that differs.
      tf_value: of that element; None where the values cannot be compared.
      jax_value: likewise.
      cause: what is likely wrong; "" where nothing known fits.
      remedy: what to do about it; "" likewise.
      gotchas: words to ask `jaxport lookup gotchas` for; "" likewise.
      proof: why this operation is to blame, in words.
    """

    in_pass: str
    operation: str
    tf_line: str
    jax_line: str
    index: tuple[int, ...]
    tf_value: float | None
    jax_value: float | None
    cause: str
    remedy: str
    gotchas: str
    proof: str


@dataclass(frozen=True, repr=False)
class LocateReport(Display):
    """Where a port departs from its original. A notebook shows it as HTML; as text it is what `jaxport locate` prints.

    Attributes:
      verdict: "pass" where no pass departs, "fail" where one does, "not_judged" where one could not be searched.
      departures: the operations to blame, pass by pass.
      passes: by pass, "agrees", "departs", "none" where there is no such pass, or "failed".
      record: the same with its evidence, as `jaxport locate --json` has it.
    """

    verdict: str
    departures: Sequence[FirstDeparture]
    passes: Mapping[str, str]
    record: Mapping[str, object]
    _text: str
    _html: str


def locate_objects(
    tf_fn: object, jax_fn: object, inputs: Mapping[str, Any], passes: Sequence[str], options: Options
) -> LocateReport:
    """See `jaxport.locate`, for objects of this process.

    Raises:
      RequestError, SideError: it cannot be searched.
    """
    with live_workload(tf_fn, jax_fn, inputs, options) as (workload, _):
        results, _ = in_callers_process(lambda pool, progress: _locate(pool, workload, passes, progress), options)
    return _report(results)


def locate_files(pool: Pool, workload: AnyWorkload, passes: Sequence[str], progress: Reporter) -> LocateReport:
    """See `jaxport.locate`, for files.

    Raises:
      RequestError, SideError: it cannot be searched.
    """
    return _report(_locate(pool, workload, passes, progress))


def _locate(
    pool: Pool, workload: AnyWorkload, passes: Sequence[str], progress: Reporter
) -> Mapping[str, Mapping[str, locating.Located]]:
    unknown = [pass_ for pass_ in passes if pass_ not in PASSES]
    if unknown:
        raise RequestError(f"expected passes among {', '.join(PASSES)}, found {unknown[0]!r}: choose one of these")
    choice = locating.Choice(tuple(passes) or PASSES)
    with tempfile.TemporaryDirectory(prefix="jaxport-") as folder:
        return locating.locate_each(pool, (workload,), choice, Path(folder), progress)


def _report(results: Mapping[str, Mapping[str, locating.Located]]) -> LocateReport:
    ((name, passes),) = results.items()
    verdict, sentence = words.conclude(results)
    return LocateReport(
        verdict=verdict,
        departures=tuple(
            _departure(pass_, departure, len(result.departures))
            for pass_, result in passes.items()
            for departure in result.departures
        ),
        passes={pass_: result.verdict for pass_, result in passes.items()},
        record=to_json(locating.record(results)),
        _text="\n".join(filter(None, [terminal.text_of(lambda console: words.show(results, console)), sentence])),
        _html=table_page.render(one_line(name), verdict, _table(passes), [one_line(sentence)]),
    )


def _table(passes: Mapping[str, locating.Located]) -> Table:
    """Each operation with both lines, both values, the cause and the proof, as the console has them."""
    texts = [
        (pass_, {title: fact.whole for title, fact in words.facts(departure, result)})
        for pass_, result in passes.items()
        for departure in result.departures
    ]
    rows = [tuple(one_line(cell) for cell in (pass_, *(of.get(title, "") for title in _TITLES))) for pass_, of in texts]
    return Table(columns("pass", *_TITLES), rows)


def _departure(pass_: str, departure: Departure, departures: int) -> FirstDeparture:
    sample = departure.value
    return FirstDeparture(
        in_pass=pass_,
        operation=departure.op,
        tf_line=locating.source_line(departure.left),
        jax_line=locating.source_line(departure.right),
        index=sample.index if sample else (),
        tf_value=sample.left if sample else None,
        jax_value=sample.right if sample else None,
        cause=departure.cause,
        remedy=departure.remedy,
        gotchas=departure.gotchas,
        proof=locating.describe_proof(departure, departures),
    )
