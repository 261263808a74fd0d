"""`jaxport tune ablate`: what each pass and feature of XLA gains, measured by leaving it out."""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

from compare.ablation import leaving_out, live_ablation
from compare.ablation.compiling import COMPILER
from compare.ablation.leaving_out import Omission
from compare.commands import _arguments, _asked, _option_types, _timing_arguments
from compare.commands._conclusion import Conclusion, list_names
from compare.commands._output import writable_file, writable_folder
from compare.commands._parser import Help
from compare.commands._signals import hold_signals
from compare.errors import RequestError
from compare.inputs.port_files import prepare_both
from compare.inputs.sizes import timed_size
from compare.measure.phase_processes import Workers
from compare.plain_json import to_json, write_json
from compare.progress import reporter
from compare.record.ablation_part import UNJUDGED, Ablation
from compare.record.envelope import SCHEMA
from compare.record.vocabulary import FAIL, NOT_JUDGED, PASS
from compare.report import ablation_page, markdown, page_html, terminal
from compare.report.page_console import print_page
from compare.sides._side import SIDES
from compare.sides.sources import source
from compare.tuning import candidate_options
from compare.writing import write_atomically

HELP = Help(
    description="""\
Compile a program again and again by JAX's XLA, each time without one of its passes or features (an ablation), and show
what that changes: kernels, bytes moved, temporaries, time, results, and the vectors, unrolling and fused multiply-adds
of the machine code.

What is left out: each pass that changed this program, found in XLA's own log, and features that options switch off: the
library YNNPACK, the emitters of fusions, vectors, LLVM's optimizer. What makes the same machine code is named and not
timed. Results that are not bit-equal are judged by every parity gate. Takes minutes; run it on a quiet machine.
""",
    operands="WORKLOAD ...",
    examples="""\
  jaxport tune ablate mnist_mlp                                        every pass, every feature
  jaxport tune ablate my_port.py --without fusion --without cse+dce    these alone; `+` leaves out several together
  jaxport tune ablate my_port.py --option xla_cpu_enable_fast_math=true
  jaxport tune ablate running_example --program tf                     TensorFlow's program, by the same compiler
  jaxport tune ablate conv_mnist --no-timing --no-gates -o out         programs and code alone: seconds
""",
    holds="everything was left out and held against the full pipeline",
    fails="the port fails parity with the full pipeline, or results could not be judged by the gates",
)


def add_arguments(command: argparse.ArgumentParser) -> None:
    """Add arguments."""
    _arguments.add_workloads(command, is_required=True)
    scope = command.add_argument_group("scope")
    scope.add_argument(
        "--without", action="append", default=[], metavar="PASS",
        help="leave out this pass, by the name that XLA's dumps give it, in place of everything; `+` joins several "
        "(repeatable)",
    )  # fmt: skip
    scope.add_argument(
        "--option", action="append", default=[], metavar="NAME=VALUE,...",
        help="compile with an XLA option, once for each value, in place of everything; `+` joins the parts of one "
        "value (repeatable)",
    )  # fmt: skip
    scope.add_argument(
        "--program", choices=SIDES, default=COMPILER,
        help="whose program is compiled; the compiler is JAX's XLA (default: %(default)s)",
    )  # fmt: skip
    scope.add_argument(
        "--no-gates", action="store_true", help="do not judge results that are not bit-equal: no TensorFlow is started"
    )
    _arguments.add_parity_size(scope)
    timing = command.add_argument_group("timing")
    timing.add_argument("--no-timing", action="store_true", help="time nothing")
    timing.add_argument(
        "--sets", type=_option_types.count, default=live_ablation.Plan.sets, metavar="N",
        help="fresh processes in which all programs take turns; fewer than 5 give no interval (default: %(default)s)",
    )  # fmt: skip
    _timing_arguments.add_budget(timing, live_ablation.Plan.budget_s)
    _timing_arguments.add_threads(timing)
    _timing_arguments.add_seed(timing)
    _arguments.add_workers(command, with_recorded=False, device=False)
    output = command.add_argument_group("output")
    output.add_argument(
        "-o", "--out", type=Path, metavar="DIR",
        help="output folder: ablation.html and ablation.json (default: none)",
    )  # fmt: skip
    output.add_argument("--markdown", type=Path, metavar="FILE", help="also write the tables as Markdown")
    _arguments.add_json(output)


def main(options: argparse.Namespace) -> Conclusion:
    """Leave out, measure, print, write; the verdict."""
    if not options.workloads and not options.tf and not options.jax:
        raise RequestError("expected a workload or a port file, found none: name whose program to compile")
    if options.out is not None:
        writable_folder(options.out)
    if options.markdown is not None:
        writable_file(options.markdown)
    workloads, plan = _asked.workloads(options), _plan(options)
    sources = {side: source(side, getattr(options, f"{side}_python"), None) for side in SIDES}
    ablations: dict[str, Ablation] = {}
    with (
        tempfile.TemporaryDirectory(prefix="jaxport-") as folder,
        reporter(terminal.console(stderr=True), quiet=options.json) as progress,
    ):
        for workload in workloads:
            scratch = Path(tempfile.mkdtemp(dir=folder))
            size = timed_size(workload, options.size)
            small, large = prepare_both(workload, size, options.data, scratch, plan.parity_size)
            workers = Workers(sources, scratch, options.timeout, plan.threads)
            ablations[workload.name] = live_ablation.ablate_workload(small, large, workers, plan, progress)
    record = to_json({"schema": SCHEMA, "ablations": ablations})
    terminal.print_answer(record, options.json, lambda console: print_page(ablation_page.page(ablations), console))
    _write(options, ablations, record)
    return conclude(ablations, has_gates=not options.no_gates)


def conclude(ablations: Mapping[str, Ablation], has_gates: bool) -> Conclusion:
    """The verdict on the port, and on whether all that changes results was judged.

    Args:
      ablations: by workload.
      has_gates: whether the gates were to judge results that are not bit-equal.
    """
    failing = [f"{name}: {ablation.reason}" for name, ablation in ablations.items() if ablation.reason]
    if failing:
        return Conclusion(FAIL, f"the port does not pass parity with the full pipeline: {list_names(failing, 1)}")
    rows = [row for ablation in ablations.values() for row in ablation.rows]
    missing = [row.name for row in rows if has_gates and row.results == UNJUDGED]
    if missing or not rows:
        return Conclusion(
            NOT_JUDGED, f"results without {list_names(missing) or 'any pass'} were not judged by the gates"
        )
    return Conclusion(PASS, f"{len(rows)} of {len(rows)} left out, each held against the full pipeline")


@hold_signals()
def _write(options: argparse.Namespace, ablations: Mapping[str, Ablation], record: object) -> None:
    """Write the files of the options, after the result was printed."""
    if options.markdown is not None:
        write_atomically(options.markdown, markdown.render(ablation_page.page(ablations)))
    if options.out is not None:
        write_json(options.out / "ablation.json", record)
        page_html.write_page(ablation_page.page(ablations), options.out / "ablation.html")
        if not options.json:
            terminal.say(options.out / "ablation.html")


def _plan(options: argparse.Namespace) -> live_ablation.Plan:
    return live_ablation.Plan(
        omissions=_omissions(options),
        program=options.program,
        sets=0 if options.no_timing else options.sets,
        budget_s=options.budget,
        threads=_option_types.thread_counts(options.threads)[0],
        seed=options.seed,
        has_gates=not options.no_gates,
        parity_size=options.parity_size,
    )


def _omissions(options: argparse.Namespace) -> Sequence[Omission] | None:
    """The passes and features that options name; None, which is all, where they name none."""
    omissions = (
        *leaving_out.parse(options.without),
        *leaving_out.of_options(candidate_options.parse(options.option)),
    )
    return omissions or None
