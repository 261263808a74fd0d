"""`jaxport explain`: why there is no speed-up, in sentences that each name their measurement."""

from __future__ import annotations

import argparse
import os
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from compare.commands import _arguments, _asked, _timing_arguments
from compare.commands._conclusion import Conclusion
from compare.commands._output import writable_folder, write
from compare.commands._parser import Help
from compare.commands._signals import hold_signals
from compare.errors import RequestError
from compare.explaining import further_evidence
from compare.explaining.sentences import Commands
from compare.explaining.speed_up import MOST, Explanation, explain
from compare.history import store
from compare.inputs.request import Extras, Plan
from compare.plain_json import to_json
from compare.progress import reporter
from compare.record import results_file
from compare.record.envelope import SCHEMA, Record
from compare.report import tables, terminal
from compare.report.numbers import list_first
from compare.report.verdicts import INCOMPLETE
from compare.run import whole_run
from compare.sides.settings import available_processors
from workloads.core import registry

HELP = Help(
    description=f"""\
Say in at most {MOST} sentences why a port is not faster, or why compiling does not help; what takes most of a call's
time comes first. Each states what was measured, with its numbers, the command that shows them, and the source lines
where they are known. A sentence whose measurement is missing, or whose interval does not decide, is left out.

TARGET is a record that `jaxport run` or `jaxport bench` wrote: nothing is measured then. A workload, a port file, or
--tf, --jax and --input are measured first, as `jaxport run` does with few pairs of processes; then the size above
which XLA uses several threads, what autoclustering compiles, and what a call at another size of the named dimensions
recompiles.
""",
    operands="[TARGET]",
    examples="""\
  jaxport explain                                       the last run's jaxport-report/results.json
  jaxport explain bench-report/results.json --workload mnist_mlp
  jaxport explain add                                   measure it, then explain
  jaxport explain my_port.py --pairs 12                 narrower intervals
  jaxport explain --tf my_tf.py:f --jax my_jax.py:g --input x=f32[8,128]
""",
    holds="the measurements are reported, however slow the port",
    fails="it was interrupted: the measurements made before that are reported",
)

PAIRS = 5
"""The fewest that give an interval."""

_OF_FUNCTIONS = ("tf", "jax", "input", "dimension")
_OF_RUNS = ("size", "data", *_OF_FUNCTIONS)
"""Options of what is measured first."""


@dataclass(frozen=True)
class _Measured:
    """A record, where it lies, and what names its one workload on a command line; empty for that of its own command.

    `clustered` names the same to `jaxport compilation clusters`, where that is other words. `interrupted` says
    whether a signal ended the measuring.
    """

    record: Record
    path: Path
    subject: str = ""
    clustered: str = ""
    interrupted: bool = False


def add_arguments(command: argparse.ArgumentParser) -> None:
    """Add arguments."""
    command.add_argument(
        "target", nargs="?", metavar="TARGET",
        help="a results.json or its folder, a workload, or a port file (default: "
        f"{_arguments.DEFAULT_OUT / 'results.json'})",
    )  # fmt: skip
    command.add_argument("--workload", metavar="NAME", help="explain this workload of a record alone (default: all)")
    _arguments.add_size_and_data(command)
    _arguments.add_functions(command)
    timing = command.add_argument_group("timing")
    _timing_arguments.add_pairs(timing, PAIRS)
    _timing_arguments.add_budget(timing, Plan.budget_s)
    _timing_arguments.add_seed(timing)
    _arguments.add_workers(command, with_recorded=False)
    output = command.add_argument_group("output")
    _arguments.add_out_folder(output, _arguments.DEFAULT_OUT)
    _arguments.add_json(output, "the sentences")


def main(options: argparse.Namespace) -> Conclusion | None:
    """Read or measure, then explain; the verdict is incomplete after an interrupt."""
    source = _read(options) if _is_record(options) else _run(options)
    record = source.record
    names = list(record.workloads) if options.workload is None else [_find_name(record, options.workload, source.path)]
    explanations = [explain(record, name, _commands(source, name)) for name in names]
    if options.json:
        terminal.print_json(_plain(explanations, source.path))
    else:
        terminal.say(*(line for explanation in explanations for line in _lines(explanation)), f"record: {source.path}")
    if source.interrupted:
        terminal.complain("interrupted while it measured; the sentences are of what was measured before")
        return Conclusion(INCOMPLETE, "interrupted while it measured; the sentences are of what was measured before")
    return None


def _is_record(options: argparse.Namespace) -> bool:
    """Whether the target is a record; without one, the last run's."""
    if options.target is None:
        return not any(getattr(options, name) for name in _OF_FUNCTIONS)
    return options.target.endswith(".json") or os.path.isdir(options.target)


def _read(options: argparse.Namespace) -> _Measured:
    for name in _OF_RUNS:
        if getattr(options, name):
            raise RequestError(f"expected a workload with --{name}, found a record: drop --{name}, or name a workload")
    path = store.results_of(Path(options.target or _arguments.DEFAULT_OUT / "results.json"))
    return _Measured(results_file.load(path), path)


def _run(options: argparse.Namespace) -> _Measured:
    """Measure what was asked for, and write its record."""
    if options.workload is not None:
        raise RequestError("expected a record with --workload, found something to measure: drop --workload")
    out = writable_folder(options.out)
    options.workloads = [] if options.target is None else [options.target]
    request = whole_run.Request(
        workloads=_asked.workloads(options),
        size=options.size,
        data=options.data,
        sources=_asked.sources(options),
        timeout_s=options.timeout,
        plans=[
            Plan(options.pairs, options.pairs, budget_s=options.budget, threads=available_processors(),
                 seed=options.seed)
        ],
        extras=Extras(handover=True),
    )  # fmt: skip
    with reporter(terminal.console(stderr=True), quiet=options.json) as progress:
        ran = whole_run.run(request, progress)
        record = ran.record if ran.interrupted else further_evidence.gather(ran.record, request, progress)
    with hold_signals():
        write(record, to_json(record), out, options.json)
    cluster_command = _subject(options, [options.tf], ("size", "input", "dimension")) if options.tf else ""
    return _Measured(
        record, out / "results.json", _subject(options, [options.target], _OF_RUNS), cluster_command, ran.interrupted
    )


def _subject(options: argparse.Namespace, operands: Sequence[str | None], names: Sequence[str]) -> str:
    """The workload, as other commands take it."""
    words = [operand for operand in operands if operand]
    for name in names:
        content = getattr(options, name)
        words += [word for value in (content if isinstance(content, list) else [content]) if value
                  for word in (f"--{name}", str(value))]  # fmt: skip
    return shlex.join(words)


def _commands(source: _Measured, name: str) -> Commands:
    subject = source.subject or _recorded_subject(source.record, name)
    part = source.record.workloads[name]
    pass_options = f"--unroll {part.unrolled}" if part.unrolled else f"--pass {part.main_pass}"
    options = pass_options if tables.other_pass(part) else ""
    return Commands(subject, str(source.path), source.clustered, options)


def _recorded_subject(record: Record, name: str) -> str:
    """A built-in workload, or the one port file of a run of one; empty where neither is known."""
    files = [word for word in record.command[1:] if word.endswith(".py")]
    size = f" --size {shlex.quote(record.size)}" if record.size not in ("", "tour") else ""
    if not files and "--tf" not in record.command and name in registry.built_in():
        return name + size
    return shlex.quote(files[0]) + size if len(files) == len(record.workloads) == 1 else ""


def _find_name(record: Record, name: str, path: Path) -> str:
    if name not in record.workloads:
        raise RequestError(
            f"expected a workload of {path}, one of {', '.join(record.workloads)}, found {name!r}: choose one of these"
        )
    return name


def _plain(explanations: list[Explanation], path: Path) -> Mapping[str, Any]:
    return {"schema": SCHEMA, "record": str(path), "workloads": [to_json(explanation) for explanation in explanations]}


def _lines(explanation: Explanation) -> list[str]:
    """The headline, then each sentence with its command and its first lines of source."""
    lines = [f"{explanation.name}: {explanation.headline}", ""]
    for number, sentence in enumerate(explanation.sentences, 1):
        lines += [f"{number:2}. {sentence.text}.", f"    $ {sentence.command}"]
        if sentence.sources:
            lines.append(f"    at {list_first(sentence.sources, 3)}")
    return [*lines, ""]
