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

from compare.commands import _arguments
from compare.commands._exit_codes import FAILS, HOLDS
from compare.hlo.locate import Departure, OperationPlace
from compare.progress import reporter
from compare.prove import locating
from compare.records import SCHEMA
from compare.report import terminal
from compare.sides.pool import Pool

TEXT = """\
Find the first operation of the JAX program whose value departs from TensorFlow's while all that it reads agrees, in
the forward pass, the gradients and the training step: both source lines, both values, and the likely cause.

Both programs are promoted to float64 and run on the same arrays, with all of their intermediates. That a departure is
to blame is proved by giving JAX TensorFlow's value in its place: every result agrees then.

examples:
  jaxport locate my_port.py
  jaxport locate my_port.py --pass gradients
  jaxport locate mnist_mlp --data ~/mnist.npz
  jaxport locate --tf my_tf.py:f --jax my_jax.py:g --input x=f32[8,128]
  jaxport locate my_port.py --json | jq '.workloads[].forward.departures[].right.source'

exit codes: 0 nothing departs; 1 a departure was found, or a program could not be had; 2 the request cannot be carried
out
"""


def add_arguments(command: argparse.ArgumentParser) -> None:
    """What can be asked."""
    _arguments.add_workloads(command)
    command.add_argument(
        "--pass", dest="pass_", choices=locating.PASSES, help="only this one (default: every pass of the workload)"
    )
    command.add_argument("--json", action="store_true", help="print the record, and nothing else, on standard output")
    _arguments.add_sides(command)


def main(options: argparse.Namespace) -> int:
    """Locate, print."""
    workloads = _arguments.workloads(options)
    choice = locating.Choice((options.pass_,) if options.pass_ else locating.PASSES, options.size, options.data)
    with contextlib.ExitStack() as stack:
        scratch = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="jaxport-")))
        progress = stack.enter_context(reporter(terminal.console(stderr=True), quiet=options.json))
        pool = stack.enter_context(Pool(_arguments.sources(options), scratch, options.timeout))
        found = locating.locate_each(pool, workloads, choice, scratch, progress)
    if options.json:
        terminal.print_json({"schema": SCHEMA} | locating.record(found))
    else:
        show(found, terminal.console())
    verdicts = {each.verdict for passes in found.values() for each in passes.values()}
    return FAILS if verdicts & {locating.DEPARTS, locating.FAILED} else HOLDS


def show(found: Mapping[str, Mapping[str, locating.Located]], console: Console) -> None:
    """Every pass in a line, its departures below it."""
    for name, passes in found.items():
        for pass_, each in passes.items():
            console.print(Text.assemble((f"{name}, {pass_}: ", "bold"), _headline(each)), soft_wrap=True)
            for departure in each.departures:
                console.print(Padding(_departure(departure, each), (0, 0, 1, 2), expand=False))
            for line in _afterwards(each):
                console.print(Padding(Text(line, style="dim"), (0, 0, 1, 2), expand=False))


def _headline(found: locating.Located) -> str:
    if found.verdict == locating.AGREES:
        return "agrees"
    if found.verdict != locating.DEPARTS:
        return f"{'not looked at' if found.verdict == locating.NONE else 'failed'}: {found.reason}"
    kinds = f"{len(found.departures)} new departure" if found.again else f"{len(found.departures)} departure"
    where = f"in {found.dtype}; {_listed(found.results)} differ{'s' if len(found.results) == 1 else ''}"
    if not found.departures:
        return f"departs where an earlier pass does; {_listed(found.results)} differ"
    return f"{kinds}{'s' if len(found.departures) > 1 else ''} {where}"


def _listed(names: tuple[str, ...], most: int = 3) -> str:
    more = [f"{len(names) - most} more"] if len(names) > most else []
    return ", ".join([*names[:most], *more])


def _departure(departure: Departure, found: locating.Located) -> Table:
    table = Table.grid(padding=(0, 2))
    table.add_column(style="cyan", no_wrap=True)
    table.add_column(overflow="fold")
    for title, text in _rows(departure, found):
        table.add_row(title, text)
    return table


def _rows(departure: Departure, found: locating.Located) -> Iterator[tuple[str, Text]]:
    title = f"{departure.kind} {departure.op}" + (f", {departure.times} times" if departure.times > 1 else "")
    inside = f", in the {', in the '.join(reversed(departure.inside))}" if departure.inside else ""
    yield "operation", Text(title + inside, style="bold red")
    for place in (departure.right, departure.left):
        if place is not None:
            yield place.side, _place(place, found.texts)
    yield "what", Text(departure.difference)
    sample = departure.value
    if sample is not None:
        index = f"[{', '.join(map(str, sample.index))}]" if sample.index else "the value"
        error = f"; off by {sample.error:.3g} of the largest" if sample.error < float("inf") else ""
        yield "values", Text(f"{index}: tf {sample.left:.7g}, jax {sample.right:.7g}{error}")
    yield "cause", Text.assemble((departure.cause, "bold"), f": {departure.remedy}")
    yield "proof", Text(_proof(departure))


def _place(place: OperationPlace, texts: Mapping[str, str]) -> Text:
    file, _, line = place.source.rpartition(":")
    shown = os.path.relpath(file) if file.startswith(os.getcwd() + os.sep) else file
    where = f"{shown}:{line}" if place.source else f"{place.name}, no line known"
    inside = f"  in {place.scope}" if place.scope else ""
    return Text.assemble((where, "bold"), f"  {texts.get(place.source, '')}".rstrip(), (inside, "dim"))


def _proof(departure: Departure) -> str:
    if departure.confirmed:
        return "given TensorFlow's value here, every result agrees"
    return "none: no single value makes the results agree; look at this line and at its consumers"


def _afterwards(found: locating.Located) -> Iterator[str]:
    if any(found.cascade) and found.departures:
        left, right = found.cascade
        yield f"{left} values of tf and {right} of jax downstream also differ"
    if found.reason and found.verdict in (locating.AGREES, locating.DEPARTS):
        yield found.reason
