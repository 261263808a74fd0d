"""`jaxport tune`: compiler options with which a port is faster and still the same."""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from rich.console import Console

from compare.commands import _arguments, _asked, _option_types, _timing_arguments
from compare.commands._conclusion import Conclusion, list_names
from compare.commands._output import writable_file
from compare.commands._parser import Help
from compare.errors import RequestError
from compare.inputs.at_size import on_pass
from compare.inputs.port_files import prepare_both
from compare.inputs.sizes import timed_size
from compare.measure.phase_processes import Workers
from compare.plain_json import to_json, write_json
from compare.progress import reporter
from compare.prove.collect import choose_pass
from compare.record.envelope import SCHEMA
from compare.record.timing_part import Ratio
from compare.record.vocabulary import FAIL, PASS
from compare.report import numbers, terminal
from compare.report.page_console import print_lines, print_rows
from compare.report.pages import Cell, Column, Table, Tone, columns
from compare.report.verdicts import INCOMPLETE
from compare.sides import requests
from compare.sides.pool import Pool, Source
from compare.tuning import candidate_options, target_screening, tuner
from compare.tuning.option_search import Row
from compare.tuning.screening import Rules
from compare.tuning.target_screening import Screened, ScreenedTarget
from compare.tuning.tuner import Tuned
from workloads.core.declared import AnyWorkload

HELP = Help(
    description="""\
Search XLA compiler options that make a port faster: its training step, or its forward pass if it has none, or what
--pass names.

Every candidate is compiled; those with new code are timed in fresh processes, slow ones dropped early. The fastest is
timed again in further processes and must pass every parity gate. The result ends with the lines to paste into the port:
`Model(compiler_options=...)`. Takes minutes; run it on a quiet machine. docs/tune.md lists the built-in options.

With --target nothing is run or timed: options are screened for a device that need not be here, by launches, bytes,
spills and memory, so that the few worth trying are known before it is rented.
""",
    operands="WORKLOAD ...",
    examples="""\
  jaxport tune mnist_mlp
  jaxport tune my_port.py --size paper -o tuned.json
  jaxport tune my_port.py --pass forward                options for inference
  jaxport tune my_port.py --option xla_cpu_prefer_vector_width=128,256,512
  jaxport tune my_port.py --option xla_cpu_experimental_ynn_fusion_type=,LIBRARY_FUSION_TYPE_REDUCE
  jaxport tune my_port.py --target H100                 a screen for a GPU that is not here
  jaxport tune --tf my_tf.py:f --jax my_jax.py:g --input x=f32[8,128]
""",
    holds="the search finished, whether or not anything is faster",
    fails="the port fails parity without any option; with --target, a device could not be compiled for",
)

_SCREEN = (
    "A screen, by what is known without running: it says nothing of times, and nothing was judged. On the device, "
    "`jaxport tune` times and judges what stands first."
)
_SCREENED = columns("options", "launches", "spills", "temp", "bytes", "bound", "outcome")
_CANDIDATES = (Column("options"), *columns("time", "sets", kind="number"), Column("outcome"))
_TONES: Mapping[str, Tone] = {"confirmed": "pass", "parity fails": "fail", "faster when screened": "", "not faster": ""}


def add_arguments(command: argparse.ArgumentParser) -> None:
    """Add arguments."""
    _arguments.add_workloads(command, is_required=True)
    scope = command.add_argument_group("scope")
    _arguments.add_pass(scope, "what is compiled and timed; parity judges every pass")
    scope.add_argument(
        "--option", action="append", default=[], metavar="NAME=VALUE,...",
        help="an XLA option and the values to try, in place of the built-in options; `+` joins the parts of one value "
        "(repeatable)",
    )  # fmt: skip
    scope.add_argument(
        "--keep-numbers", action="store_true", help="skip options that may change results, such as fast math"
    )
    _arguments.add_parity_size(scope)
    timing = command.add_argument_group("timing")
    timing.add_argument(
        "--sets", type=_option_types.count, default=Rules.screening, metavar="N",
        help="fresh processes that screen each candidate (default: %(default)s)",
    )  # fmt: skip
    timing.add_argument(
        "--pairs", type=_option_types.count, default=Rules.confirming, metavar="N",
        help="further fresh processes that confirm the fastest; fewer than 5 give no interval (default: %(default)s)",
    )  # fmt: skip
    timing.add_argument(
        "--budget", type=_option_types.seconds, default=tuner.Plan.budget_s, metavar="S",
        help="seconds of timed calls in each process (default: %(default)s)",
    )  # fmt: skip
    _timing_arguments.add_threads(timing)
    _timing_arguments.add_seed(timing)
    _arguments.add_targets(command)
    _arguments.add_workers(command, with_recorded=False)
    output = command.add_argument_group("output")
    _arguments.add_out_file(output, "the record as JSON")
    _arguments.add_json(output)


def main(options: argparse.Namespace) -> Conclusion | None:
    """Search, print, write the record; the verdict."""
    if not options.workloads and not options.tf and not options.jax:
        raise RequestError("expected a workload or a port file, found none: name what to tune")
    if options.out is not None:
        writable_file(options.out)
    workloads = _asked.workloads(options)
    sources, plan = _asked.sources(options), _plan(options)
    if options.targets:
        return _screen(options, workloads, sources, plan)
    results: dict[str, Tuned] = {}
    with (
        tempfile.TemporaryDirectory(prefix="jaxport-") as folder,
        reporter(terminal.console(stderr=True), quiet=options.json) as progress,
    ):
        for workload in workloads:
            size, scratch = timed_size(workload, options.size), Path(folder)
            small, large = on_pass(
                prepare_both(workload, size, options.data, scratch, plan.parity_size), plan.main_pass
            )
            workers = Workers(sources, scratch, options.timeout, plan.threads)
            results[workload.name] = tuner.tune_workload(small, large, workers, plan, progress)
    _deliver(results, lambda console: [show(name, result, console) for name, result in results.items()], options)
    return conclude(results)


def _deliver(workloads: Mapping[str, Any], show: Callable[[Console], object], options: argparse.Namespace) -> None:
    """Print what was found, then write it: it is printed even where the file cannot be written."""
    record = to_json({"schema": SCHEMA, "workloads": workloads})
    terminal.print_answer(record, options.json, show)
    if options.out is not None:
        write_json(options.out, record)


def conclude(results: Mapping[str, Tuned]) -> Conclusion:
    """Whether the search ended, whatever it found; it does not begin with a port that does not pass parity."""
    failing = [f"{name}: {result.reason}" for name, result in results.items() if result.reason]
    if failing:
        return Conclusion(FAIL, f"the port does not pass parity without any option: {list_names(failing, 1)}")
    faster = [name for name, result in results.items() if result.options]
    return Conclusion(
        PASS, f"the search ended; faster options for {list_names(faster) or 'none'}, which pass every gate"
    )


def _screen(
    options: argparse.Namespace, workloads: Sequence[AnyWorkload], sources: dict[str, Source], plan: tuner.Plan
) -> Conclusion | None:
    """Screen options for devices that are not here, print, write the record; which of them could not be."""
    screenings: dict[str, dict[str, ScreenedTarget]] = {}
    with ExitStack() as stack:
        scratch = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="jaxport-")))
        targets = _asked.targets(options, stack)
        assert targets is not None
        progress = stack.enter_context(reporter(terminal.console(stderr=True), quiet=options.json))
        pool = Pool(sources, scratch, options.timeout)
        stack.callback(pool.close)
        for workload in workloads:
            _, instance = prepare_both(workload, timed_size(workload, options.size), options.data, scratch)
            side = pool.get("jax")
            pass_ = choose_pass(requests.load(side, instance.loading), plan.main_pass, workload.name)
            folder = scratch / f"targets-{workload.name}"
            screenings[workload.name] = target_screening.screen(
                targets, side, pass_, plan.options, plan.keep_numbers, folder, progress
            )
    views = {name: {"targets": target_screening.view(targets)} for name, targets in screenings.items()}
    by_name = screenings.items()
    _deliver(views, lambda console: [show_screened(name, targets, console) for name, targets in by_name], options)
    missing = [
        f"{name} on {device}" for name, targets in screenings.items() for device, one in targets.items() if one.reason
    ]
    return Conclusion(INCOMPLETE, f"options could not be screened: {list_names(missing)}") if missing else None


def show_screened(name: str, targets: Mapping[str, ScreenedTarget], console: Console) -> None:
    """Print one line a candidate for each device, the most promising first.

    Args:
      targets: by device.
    """
    for target in targets.values():
        print_lines([f"{name} on {target.device.name}"], console, "strong")
        if target.reason:
            print_lines([target.reason], console)
        else:
            print_rows(Table(_SCREENED, list(map(_screened_row, target.rows))), console)
    print_lines([_SCREEN], console)


def _screened_row(row: Screened) -> tuple[str, ...]:
    cell = row.cell
    if cell.reason:
        return (row.name, *[""] * 5, f"rejected by the compiler: {cell.reason}")
    outcome = "same figures" if row.same else "changes numbers" if row.changes_numbers else ""
    return (
        row.name,
        str(cell.launches if cell.launches is not None else cell.kernels),
        numbers.binary_bytes(row.spill_bytes) if row.spill_bytes is not None else numbers.MISSING,
        numbers.binary_bytes(cell.temp_bytes),
        numbers.binary_bytes(cell.bytes),
        numbers.MISSING if cell.bound_s is None else numbers.seconds(cell.bound_s),
        outcome,
    )


def _plan(options: argparse.Namespace) -> tuner.Plan:
    return tuner.Plan(
        options=candidate_options.parse(options.option) or None,
        keep_numbers=options.keep_numbers,
        rules=Rules(screening=options.sets, confirming=options.pairs),
        budget_s=options.budget,
        threads=_option_types.thread_counts(options.threads)[0],
        seed=options.seed,
        parity_size=options.parity_size,
        main_pass=options.main_pass,
    )


def show(name: str, result: Tuned, console: Console) -> None:
    """Print one line a candidate, then the conclusion, then the lines to paste."""
    dimensions = ", ".join(f"{key} {value}" for key, value in result.dimensions.items())
    what = f"{name}: {result.pass_} at size {result.size}{f' ({dimensions})' if dimensions else ''}"
    print_lines([f"{what}, {result.threads} thread{'s' * (result.threads > 1)}"], console, "strong")
    print_rows(Table(_CANDIDATES, list(map(_candidate_row, sorted(result.rows, key=_place)))), console)
    print_lines(list(_sentences(result)), console)
    if result.snippet:
        print_lines(["", *result.snippet.splitlines(), ""], console)


def _candidate_row(row: Row) -> tuple[Cell | str, ...]:
    ratio = "" if row.ratio is None else f"{row.ratio:.3f}x"
    name = f"{row.name} (changes numbers)" if row.changes_numbers else row.name
    outcome = f"{row.outcome}: {row.reason}" if row.reason else row.outcome
    return name, ratio, str(row.sets or ""), Cell(outcome, _TONES.get(row.outcome, "note"))


def _place(row: Row) -> tuple[float, str]:
    """The fastest first, then what was not timed."""
    return (float("inf") if row.ratio is None else row.ratio, row.outcome)


def _sentences(result: Tuned) -> Iterator[str]:
    if result.reason:
        yield f"The port fails parity, so there is nothing to tune: {result.reason}"
    elif result.confirmed is None:
        yield "Nothing beats the default: no candidate is faster and passes every gate."
    elif result.options:
        yield f"{result.confirmed.name} takes {_ratio_text(result.confirmed.ratio)} of the default's time."
        yield "Every parity gate passes with it. Paste into the port's Model(...):"
    elif result.confirmed.ratio.withheld:
        yield f"No conclusion: {result.confirmed.ratio.withheld}."
    else:
        ratio = result.confirmed.ratio
        yield (
            f"Nothing beats the default: {result.confirmed.name} was fastest in screening and is "
            f"{ratio.verdict} when timed again, {_ratio_text(ratio)}."
        )
        if ratio.note:
            yield f"{ratio.note}."


def _ratio_text(ratio: Ratio) -> str:
    low, high = ratio.ci95 or (0.0, float("inf"))
    return f"{ratio.ratio:.3f}x [{low:.3f}, {high:.3f}] ({ratio.pairs} fresh processes)"
