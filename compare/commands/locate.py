"""`jaxport locate`: for a port that fails parity, the operation to blame."""

from __future__ import annotations

import argparse
import contextlib
import os
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path

from rich.console import Console
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from compare.commands import _arguments, _asked
from compare.commands._conclusion import Conclusion
from compare.commands._parser import Help
from compare.hlo.locate import Departure, OperationPlace
from compare.progress import reporter
from compare.prove import locating
from compare.record.envelope import SCHEMA
from compare.record.vocabulary import FAIL, NOT_JUDGED, PASS
from compare.report import terminal
from compare.sides.pool import Pool
from workloads._framework import PASSES, has_no_gradient

HELP = Help(
    description="""\
Find where a port departs from its original: the first operation of the JAX program whose value differs from
TensorFlow's while everything that it reads agrees. Searches the forward pass, the gradients and the training step, and
names both source lines, both values and the likely cause.

Both programs are promoted to float64 and run on the same arrays, with every intermediate value kept. A departure is
proved by putting TensorFlow's value in its place: then every result agrees.
""",
    operands="[WORKLOAD ...]",
    examples="""\
  jaxport locate my_port.py
  jaxport locate my_port.py --pass gradients
  jaxport locate mnist_mlp --data ~/mnist.npz
  jaxport locate --tf my_tf.py:f --jax my_jax.py:g --input x=f32[8,128]
  jaxport locate my_port.py --json | jq '.workloads[].forward.departures[].right.source'
""",
    holds="no departure in any pass",
    fails="a departure was found, or a pass could not be searched",
)


def add_arguments(command: argparse.ArgumentParser) -> None:
    """Add arguments."""
    _arguments.add_workloads(command)
    scope = command.add_argument_group("scope")
    scope.add_argument(
        "--pass", dest="passes", action="append", choices=PASSES, metavar="PASS",
        help=f"search this pass only: {', '.join(PASSES)} (repeatable; default: every pass of the workload)",
    )  # fmt: skip
    _arguments.add_workers(command)
    _arguments.add_json(command.add_argument_group("output"))


def main(options: argparse.Namespace) -> Conclusion:
    """Locate, print; the verdict."""
    workloads = _asked.workloads(options)
    passes = tuple(pass_ for pass_ in PASSES if pass_ in (options.passes or PASSES))
    choice = locating.Choice(passes, options.size, options.data)
    with contextlib.ExitStack() as stack:
        scratch = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="jaxport-")))
        progress = stack.enter_context(reporter(terminal.console(stderr=True), quiet=options.json))
        pool = stack.enter_context(Pool(_asked.sources(options), scratch, options.timeout))
        located = locating.locate_each(pool, workloads, choice, scratch, progress)
    if options.json:
        terminal.print_json({"schema": SCHEMA} | locating.record(located))
    else:
        show(located, terminal.console())
    return concluded(located)


def concluded(located: Mapping[str, Mapping[str, locating.Located]]) -> Conclusion:
    """The verdict on all passes; a pass that was not searched is no pass that agrees."""
    results = [result for of_workload in located.values() for result in of_workload.values()]
    passes = _passes(len(results))
    departing = sum(result.verdict == locating.DEPARTS for result in results)
    if departing:
        return Conclusion(FAIL, f"JAX departs from TensorFlow in {departing} of {passes}")
    agreeing = sum(result.verdict == locating.AGREES for result in results)
    unsearched = [result for result in results if result.verdict != locating.AGREES and not _has_none(result)]
    if unsearched or not agreeing:
        why = (unsearched or results)[0].reason if results else "there is no pass"
        number = len(unsearched) or len(results)
        return Conclusion(NOT_JUDGED, f"{number} of {passes} could not be searched: {why}")
    return Conclusion(PASS, f"no departure in {_passes(agreeing)}")


def _passes(number: int) -> str:
    return f"{number} {'pass' if number == 1 else 'passes'}"


def _has_none(result: locating.Located) -> bool:
    """Whether there is nothing to search, since the original has no gradient."""
    return result.verdict == locating.NONE and has_no_gradient(result.reason)


def show(located: Mapping[str, Mapping[str, locating.Located]], console: Console) -> None:
    """Print one line a pass, with its departures below it."""
    for name, passes in located.items():
        for pass_, result in passes.items():
            console.print(Text.assemble((f"{name}, {pass_}: ", "bold"), _headline(result)), soft_wrap=True)
            for departure in result.departures:
                console.print(Padding(_departure(departure, result), (0, 0, 1, 2), expand=False))
            for line in _afterwards(result):
                console.print(Padding(Text(line, style="dim"), (0, 0, 1, 2), expand=False))


def _headline(located: locating.Located) -> str:
    if located.verdict == locating.AGREES:
        return "agrees"
    if located.verdict != locating.DEPARTS:
        return f"{'not applicable' if _has_none(located) else 'not judged'}: {located.reason}"
    kinds = f"{len(located.departures)} new departure" if located.again else f"{len(located.departures)} departure"
    where = f"in {located.dtype}; {_listed(located.results)} differ{'s' if len(located.results) == 1 else ''}"
    if not located.departures:
        return f"departs where an earlier pass does; {_listed(located.results)} differ"
    return f"{kinds}{'s' if len(located.departures) > 1 else ''} {where}"


def _listed(names: tuple[str, ...], most: int = 3) -> str:
    more = [f"{len(names) - most} more"] if len(names) > most else []
    return ", ".join([*names[:most], *more])


def _departure(departure: Departure, located: locating.Located) -> Table:
    table = Table.grid(padding=(0, 2))
    table.add_column(style="cyan", no_wrap=True)
    table.add_column(overflow="fold")
    for title, text in _rows(departure, located):
        table.add_row(title, text)
    return table


def _rows(departure: Departure, located: locating.Located) -> Iterator[tuple[str, Text]]:
    title = f"{departure.kind} {departure.op}" + (f", {departure.times} times" if departure.times > 1 else "")
    inside = f", in the {', in the '.join(reversed(departure.inside))}" if departure.inside else ""
    yield "operation", Text(title + inside, style="bold red")
    for place in (departure.right, departure.left):
        if place is not None:
            yield place.side, _place(place, located.texts)
    yield "what", Text(departure.difference)
    sample = departure.value
    if sample is not None:
        index = f"[{', '.join(map(str, sample.index))}]" if sample.index else "the value"
        error = f"; off by {sample.error:.3g} of the largest" if sample.error < float("inf") else ""
        yield "values", Text(f"{index}: tf {sample.left:.7g}, jax {sample.right:.7g}{error}")
    yield "cause", Text.assemble((departure.cause, "bold"), f": {departure.remedy}")
    if departure.gotchas:
        yield "see", Text(f"jaxport gotchas {departure.gotchas}")
    yield "proof", Text(_proof(departure, len(located.departures)))


def _place(place: OperationPlace, texts: Mapping[str, str]) -> Text:
    file, _, line = place.source.rpartition(":")
    shown = os.path.relpath(file) if file.startswith(os.getcwd() + os.sep) else file
    where = f"{shown}:{line}" if place.source else f"{place.name}, no source line"
    inside = f"  in {place.scope}" if place.scope else ""
    return Text.assemble((where, "bold"), f"  {texts.get(place.source, '')}".rstrip(), (inside, "dim"))


def _proof(departure: Departure, departures: int) -> str:
    if departure.by_change:
        return "with what the cause says changed, every result agrees"
    if departure.confirmed and departures > 1:
        return f"given TensorFlow's values at these {departures} operations, every result agrees"
    if departure.confirmed:
        return "given TensorFlow's value here, every result agrees"
    return "none: no single value makes the results agree; check the line and its consumers"


def _afterwards(located: locating.Located) -> Iterator[str]:
    if any(located.cascade) and located.departures:
        left, right = located.cascade
        yield f"{left} values of tf and {right} of jax downstream also differ"
    if located.reason and located.verdict in (locating.AGREES, locating.DEPARTS):
        yield located.reason
